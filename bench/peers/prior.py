"""Random tables of `tessera prior` beside TabICL's generators: what small models learn from them.

    venv/bin/pip install tabicl scikit-learn scipy
    venv/bin/python prior.py TESSERA [--tables 150] [--kinds mlp,graph] [--rows 512] [--seed 1]

Both make classification tables of 2 to 60 features and 2 to 10 classes. Of each table: features, classes, the share of the
largest class, the accuracy on held-out rows of extremely randomized trees and of logistic regression, what both gain over
the largest class, mean correlation of features, their median kurtosis, the share of features with up to ten values.
Prints for each of these the means and the p-value of Kolmogorov and Smirnov's test, and the area under the ROC curve of
trees that are to tell whose table it is (cross-validated; .5: they cannot).
"""

import argparse
import contextlib
import glob
import io
import json
import subprocess
import sys
import tempfile
import time
import types
import warnings

import numpy
import scipy.stats
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import StandardScaler

FEATURES = 60


def described(x, y):
    x, y = numpy.nan_to_num(numpy.asarray(x, float)), numpy.asarray(y).astype(int)
    half = len(y) // 2
    scale = StandardScaler().fit(x[:half])
    seen, unseen = scale.transform(x[:half]), scale.transform(x[half:])
    shares = numpy.bincount(y) / len(y)
    top = shares.max()
    learnable = len(set(y[:half])) > 1
    trees, linear = (
        model.fit(seen, y[:half]).score(unseen, y[half:]) if learnable else top
        for model in (ExtraTreesClassifier(50, min_samples_leaf=2, random_state=0), LogisticRegression(max_iter=200))
    )
    r = numpy.abs(numpy.corrcoef(seen.T)) if seen.shape[1] > 1 else numpy.zeros((2, 2))
    return {
        "features": x.shape[1],
        "classes": int((shares > 0).sum()),
        "largest class": top,
        "trees": trees,
        "linear": linear,
        "trees gain": trees - top,
        "trees over linear": trees - linear,
        "correlation": float(numpy.nan_to_num(r[numpy.triu_indices(len(r), 1)]).mean()),
        "kurtosis": float(numpy.log(numpy.median((seen**4).mean(axis=0)) + 1)),
        "few values": float(numpy.mean([len(numpy.unique(c)) <= 10 for c in x.T])),
    }


def of_tabicl(kind, tables, rows, seed):
    for name in ("xgboost",):  # of a task that is not drawn here
        sys.modules.setdefault(name, types.ModuleType(name)).XGBRegressor = object
    import torch
    from tabicl.prior import _dataset

    numpy.random.seed(seed)
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    options = dict(batch_size=1, batch_size_per_gp=1, min_features=2, max_features=FEATURES, max_classes=10, max_seq_len=rows, n_jobs=1)
    if kind == "graph":
        from tabicl.prior.graph_lib._config import PriorConfig

        config = PriorConfig()
        config.filter_unpredictable_graphs = config.filter_unpredictable_datasets = True
        prior = _dataset.GraphPrior(config=config, **options)
    else:
        from tabicl.prior._prior_config import DEFAULT_FIXED_HP, DEFAULT_SAMPLED_HP

        # as in its first version, which Tessera follows: the target is a unit among others in half of the groups
        fixed = {name: value for name, value in DEFAULT_FIXED_HP.items() if name != "is_causal"}
        sampled = {**DEFAULT_SAMPLED_HP, "is_causal": {"distribution": "meta_choice", "choice_values": [True, False]}}
        prior = _dataset.SCMPrior(prior_type=f"{kind}_scm", fixed_hp=fixed, sampled_hp=sampled, **options)
    for _ in range(tables):
        with contextlib.redirect_stdout(io.StringIO()):
            x, y, features, *_ = prior.get_batch(1)
        yield x[0][:, : int(features[0])].numpy(), y[0].numpy()


def of_tessera(program, kind, tables, rows, seed):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "prior", "--kind", kind, "--tables", str(tables), "--rows", str(rows), "--features", f"2..{FEATURES}",
                        "--classes", "2..10", "--format", "npy", "--output", folder, "--seed", str(seed), "--threads", "1", "--quiet"], check=True)
        for path in sorted(glob.glob(folder + "/*_X.npy")):
            yield numpy.load(path), numpy.load(path.replace("_X", "_y"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--tables", type=int, default=150)
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--kinds", default="mlp,graph")
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()
    warnings.filterwarnings("ignore")
    for kind in a.kinds.split(","):
        sides, used = [], []
        for draw in (of_tessera, of_tabicl):
            begun = time.process_time()
            arguments = (a.program, kind) if draw is of_tessera else (kind,)
            sides.append([described(x, y) for x, y in draw(*arguments, a.tables, a.rows, a.seed)])
            used.append(round(time.process_time() - begun, 1))
        for name in sides[0][0]:
            ours, theirs = ([t[name] for t in side] for side in sides)
            print(json.dumps({"kind": kind, "of a table": name, "tessera": round(float(numpy.mean(ours)), 3),
                              "tabicl": round(float(numpy.mean(theirs)), 3), "p": round(float(scipy.stats.ks_2samp(ours, theirs).pvalue), 3)}), flush=True)
        both = numpy.array([list(t.values()) for side in sides for t in side])
        whose = numpy.repeat([0, 1], [len(s) for s in sides])
        scores = cross_val_predict(RandomForestClassifier(300, min_samples_leaf=3, random_state=0), both, whose, cv=10, method="predict_proba")
        print(json.dumps({"kind": kind, "told apart, AUC": round(float(roc_auc_score(whose, scores[:, 1])), 3),
                          "tables": [len(s) for s in sides]}), flush=True)


if __name__ == "__main__":
    main()
