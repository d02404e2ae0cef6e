#!/usr/bin/env python3
"""Judges rows of a differentially private model by the measures of DP-2Stage's tables: one line per file.

    private.py REAL_TRAIN REAL_TEST SYNTHETIC… [--target income] [--threads 1]

Pairs and histograms: the mean overlap Σ min(p, q), in %, of all pairs of columns and of all columns against REAL_TRAIN,
numbers cut into 50 equal bins of its range. AUC: of XGBoost, logistic regression and a random forest that were trained
on the rows, on REAL_TEST. A file REAL_TEST among the SYNTHETIC ones gives what real rows reach in pairs and histograms.
"""

import argparse
import itertools

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from xgboost import XGBClassifier

BINS = 50


class Judge:
    def __init__(self, train, test, target, threads):
        self.columns, self.target, self.threads = list(train.columns), target, threads
        self.numbers = [c for c in self.columns if pd.api.types.is_numeric_dtype(train[c])]
        self.train, self.test = self.clean(train), self.clean(test)
        self.texts = {c: {v: i for i, v in enumerate(sorted(set(self.train[c]) | set(self.test[c])))}
                      for c in self.columns if c not in self.numbers}
        self.edges = {c: np.linspace(self.train[c].min(), self.train[c].max(), BINS + 1)[1:-1] for c in self.numbers}
        self.codes = self.coded(self.train)

    def clean(self, rows):
        rows = rows[self.columns].copy()
        for c in self.columns:
            rows[c] = rows[c].astype(float) if c in self.numbers else rows[c].astype(object).where(rows[c].notna(), "").astype(str)
        return rows

    def coded(self, rows):
        return {c: np.digitize(rows[c].fillna(-np.inf), self.edges[c]) if c in self.numbers
                else rows[c].map(self.texts[c]).fillna(len(self.texts[c])).astype(int).to_numpy() for c in self.columns}

    def overlap(self, codes, columns):
        def shares(table):
            at = sum(table[c] * scale for c, scale in zip(columns, (1, 1000)))
            values, counts = np.unique(at, return_counts=True)
            return pd.Series(counts / len(at), index=values)
        return np.minimum(*shares(self.codes).align(shares(codes), fill_value=0)).sum()

    def features(self, rows, dummies):
        parts = []
        for c in self.columns:
            if c == self.target:
                continue
            if c in self.numbers:
                parts.append(((rows[c] - self.train[c].mean()) / self.train[c].std()).fillna(0).to_numpy()[:, None])
                continue
            codes = rows[c].map(self.texts[c]).fillna(0).astype(int).to_numpy()
            parts.append(np.eye(len(self.texts[c]))[codes] if dummies else codes[:, None])
        return np.hstack(parts)

    def auc(self, rows, model, dummies=False):
        rare = self.train[self.target].value_counts().index[-1]
        model.fit(self.features(rows, dummies), rows[self.target] == rare)
        return roc_auc_score(self.test[self.target] == rare, model.predict_proba(self.features(self.test, dummies))[:, 1])

    def line(self, name, rows):
        rows = self.clean(rows)
        codes = self.coded(rows)
        trees = XGBClassifier(n_estimators=100, max_depth=4, learning_rate=.15, n_jobs=self.threads, verbosity=0)
        forest = RandomForestClassifier(100, n_jobs=self.threads, min_samples_leaf=5, random_state=0)
        aucs = [self.auc(rows, trees), self.auc(rows, LogisticRegression(max_iter=300), True), self.auc(rows, forest)]
        pairs = 100 * np.mean([self.overlap(codes, p) for p in itertools.combinations(self.columns, 2)])
        histograms = 100 * np.mean([self.overlap(codes, [c]) for c in self.columns])
        return (f"{name}: AUC {np.mean(aucs):.4f} (XGBoost {aucs[0]:.4f}, logistic {aucs[1]:.4f}, forest {aucs[2]:.4f}) · "
                f"pairs {pairs:.2f} % · histograms {histograms:.2f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("synthetic", nargs="+")
    parser.add_argument("--target", default="income")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    judge = Judge(pd.read_csv(options.train), pd.read_csv(options.test), options.target, options.threads)
    for path in options.synthetic:
        print(judge.line(path, pd.read_csv(path)), flush=True)


if __name__ == "__main__":
    main()
