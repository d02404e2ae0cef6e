"""What a learner makes of the synthetic table: trained on it and tested on real rows (utility), and asked to tell it from the real one (C2ST).

One fixed setting, no search. XGBoost: 100 trees of depth 5, learning rate .3, histograms, every other parameter its default. On Adult the search of the
literature (tabsyn's 36 settings) gives the same AUC to .001. Text is one-hot (levels beyond the 100 commonest are one level), numbers are as they are.
"""

import warnings

import numpy as np
import pandas as pd
import xgboost
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, mean_squared_error, r2_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler

TREES = {"n_estimators": 100, "max_depth": 5, "learning_rate": 0.3, "tree_method": "hist"}
MAX_LEVELS = 100
FOLDS = 3


def one_hot(frames, numeric, text):
    """The frames as float32 matrices with the same columns. Missing numbers stay NaN, missing text is a level."""
    parts = [[frame[numeric].to_numpy(np.float32)] for frame in frames]
    for name in text:
        columns = [frame[name].fillna("").astype(str) for frame in frames]
        levels = pd.concat(columns).value_counts().index[:MAX_LEVELS]
        for part, column in zip(parts, columns):
            codes = levels.get_indexer(column)  # −1: a rare level, the row of zeros
            part.append((codes[:, None] == np.arange(len(levels))).astype(np.float32))
    return [np.hstack(part) for part in parts]


def utility(tables, synthetic, target, threads, seed):
    """Scores on the real test rows of XGBoost trained on `synthetic`: AUC, accuracy, F1 of the rarer class; R² and RMSE for a numeric target."""
    numeric = [name for name in tables.numeric if name != target]
    text = [name for name in tables.text if name != target]
    train, test = synthetic.dropna(subset=[target]), tables.test.dropna(subset=[target])
    x, x_test = one_hot([train, test], numeric, text)
    options = {**TREES, "n_jobs": threads, "random_state": seed}
    if target in tables.numeric:
        guess = xgboost.XGBRegressor(**options).fit(x, train[target]).predict(x_test)
        return {"r2": float(r2_score(test[target], guess)), "rmse": float(np.sqrt(mean_squared_error(test[target], guess)))}
    classes = list(tables.train[target].value_counts().index)  # the rarest last: of two, the positive one
    truth = np.array([classes.index(value) if value in classes else -1 for value in test[target]])
    x_test, truth = x_test[truth >= 0], truth[truth >= 0]
    known = train[target].isin(classes).to_numpy()
    label = train[target][known].map(classes.index).to_numpy()
    seen = np.unique(label)
    shares = np.zeros((len(truth), len(classes)))
    if len(seen) < 2:
        shares[:, seen] = 1
    else:
        model = xgboost.XGBClassifier(**options).fit(x[known], np.searchsorted(seen, label))
        shares[:, seen] = model.predict_proba(x_test)
    guess = shares.argmax(axis=1)
    if len(classes) == 2:
        auc, f1 = roc_auc_score(truth, shares[:, 1]), f1_score(truth, guess, pos_label=1)
    else:
        present = np.unique(truth)
        auc = np.mean([roc_auc_score(truth == k, shares[:, k]) for k in present])
        f1 = f1_score(truth, guess, average="macro")
    return {"auc": float(auc), "accuracy": float(accuracy_score(truth, guess)), "f1": float(f1)}


def two_sample(tables, synthetic, threads, seed, real=None, linear=True):
    """Classifier two-sample tests: AUC of telling real rows (those of training, or `real`) from synthetic ones, three-fold, as many of each. .5 = cannot be told apart.

    logistic_score is sdmetrics' LogisticDetection, 1 − mean over folds of (max(AUC, ½)·2 − 1); 1 = cannot be told apart.
    """
    real = tables.train if real is None else real
    rows = min(len(real), len(synthetic))
    real = real.sample(rows, random_state=seed)
    made = synthetic.sample(rows, random_state=seed + 1)
    x = np.vstack(one_hot([real, made], tables.numeric, tables.text))
    label = np.repeat([0, 1], rows)
    scores = {"logistic": [], "tree": []}
    for fit, test in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(x, label):
        models = {"tree": xgboost.XGBClassifier(**TREES, n_jobs=threads, random_state=seed).fit(x[fit], label[fit])}
        if linear:
            models["logistic"] = make_pipeline(SimpleImputer(keep_empty_features=True), RobustScaler(), LogisticRegression())
            with warnings.catch_warnings():  # sdmetrics stops at 100 iterations too
                warnings.simplefilter("ignore", ConvergenceWarning)
                models["logistic"].fit(x[fit], label[fit])
        for name, model in models.items():
            scores[name].append(roc_auc_score(label[test], model.predict_proba(x[test])[:, 1]))
    if not linear:
        return {"tree_auc": float(np.mean(scores["tree"]))}
    return {"logistic_auc": float(np.mean(scores["logistic"])),
            "logistic_score": float(1 - np.mean([max(auc, 0.5) * 2 - 1 for auc in scores["logistic"]])),
            "tree_auc": float(np.mean(scores["tree"]))}
