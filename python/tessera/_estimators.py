"""Models with the interface of scikit-learn's estimators; scikit-learn is not required."""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Iterator
from typing import Any, ClassVar

from . import _errors
from ._files import Path
from ._model import Model, fit
from ._options import options

_BASE = {
    name: parameter.default
    for name, parameter in inspect.signature(fit).parameters.items()
    if parameter.kind is inspect.Parameter.KEYWORD_ONLY and name not in ("method", "seed", "callback")
}


class _Signature:
    """The parameters of an estimator, as ``inspect.signature`` and notebooks show them."""

    def __get__(self, estimator: Any, owner: Any) -> inspect.Signature:
        defaults = owner._defaults()
        parameters = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=d) for n, d in defaults.items()]
        return inspect.Signature(parameters)


class Synthesizer:
    """An estimator around :func:`tessera.fit`: the constructor takes parameters, :meth:`fit` the table.

    Parameters
    ----------
    method : str, optional
        As in :func:`tessera.fit`; :class:`TVAE`, :class:`CTGAN` and :class:`TimeGAN` set it.
    random_state : int or None
        The seed; None: a random one.
    **parameters
        All parameters of :func:`tessera.fit`, including options of the method.

    Attributes
    ----------
    model_ : Model
        Available after :meth:`fit`.

    Examples
    --------
    >>> synthesizer = tessera.TVAE(epochs=1, random_state=0, types={"children": "category"})
    >>> synthesizer
    TVAE(epochs=1, types={'children': 'category'})
    >>> len(synthesizer.fit(people).sample(10))
    10
    """

    method: ClassVar[str | None] = None
    __signature__: ClassVar[Any] = _Signature()

    def __init__(self, **parameters: Any) -> None:
        self._parameters = self._defaults()
        self.set_params(**parameters)

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        own = {} if cls.method else {"method": None}
        return {**own, "random_state": 0, **_BASE, **dict.fromkeys(options(cls.method))}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters, with defaults for those not given."""
        return dict(self._parameters)

    def set_params(self, **parameters: Any) -> Synthesizer:
        """Changes parameters; :meth:`fit` checks their values.

        Raises
        ------
        UsageError
            For an unknown parameter.
        """
        unknown = [name for name in parameters if name not in self._parameters]
        if unknown:
            raise _errors.UsageError(
                f"{type(self).__name__} has no parameter {unknown[0]!r}. Parameters: {', '.join(self._parameters)}."
            )
        self._parameters.update(parameters)
        return self

    def fit(self, X: Any, y: Any = None, **arguments: Any) -> Synthesizer:
        """Fits the model to the table `X`; `y` is ignored. `arguments`, such as ``callback``, go to :func:`tessera.fit`."""
        given = self.get_params()
        seed = given.pop("random_state")
        method = self.method or given.pop("method")
        seed = secrets.randbits(63) if seed is None else seed
        self.model_: Model = fit(X, method=method, seed=seed, **{**given, **arguments})
        return self

    def sample(self, n: int, where: str | None = None, **arguments: Any) -> Any:
        """As :meth:`Model.sample`."""
        return self._fitted().sample(n, where, **arguments)

    def score_samples(self, X: Any) -> Any:
        """ln p of each row (:meth:`tessera.Model.log_prob`), as the density estimators of scikit-learn return it."""
        return self._fitted().log_prob(X)["log_probability"]

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of :meth:`score_samples`, which cross-validation compares; `y` is ignored."""
        return self._fitted()._mean_log_prob(X)

    def sample_iter(self, *arguments: Any, **options: Any) -> Iterator[Any]:
        """As :meth:`Model.sample_iter`."""
        return self._fitted().sample_iter(*arguments, **options)

    def save(self, path: Path, *, overwrite: bool = True) -> None:
        """As :meth:`Model.save`; :func:`tessera.load` returns a :class:`Model`."""
        self._fitted().save(path, overwrite=overwrite)

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks an estimator before it uses it."""
        from sklearn.base import BaseEstimator

        tags = BaseEstimator().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def _fitted(self) -> Model:
        if not self.__sklearn_is_fitted__():
            raise _errors.UsageError(f"This {type(self).__name__} is not fitted: call fit first.")
        return self.model_

    def __repr__(self) -> str:
        defaults = self._defaults()
        given = [f"{name}={value!r}" for name, value in self._parameters.items() if value != defaults[name]]
        return f"{type(self).__name__}({', '.join(sorted(given))})"


class TVAE(Synthesizer):
    """A variational autoencoder for tables (Xu et al. 2019). Parameters: see :class:`Synthesizer`."""

    method = "tvae"


class CTGAN(Synthesizer):
    """A conditional adversarial network for tables (Xu et al. 2019). Parameters: see :class:`Synthesizer`."""

    method = "ctgan"


class TimeGAN(Synthesizer):
    """An adversarial network for sequences (Yoon et al. 2019). Parameters: see :class:`Synthesizer`."""

    method = "timegan"
