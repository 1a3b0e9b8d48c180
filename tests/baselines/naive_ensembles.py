"""What is here: ECC and RAkEL spelled out with scikit-learn's parts and plain loops, and data."""

import numpy as np
from sklearn.multioutput import ClassifierChain
from sklearn.svm import LinearSVC

# Tight enough that two ways to the same optimum agree to six digits.
TIGHT = {"tol": 1e-10, "max_iter": 200_000}


def correlated_labels(n_samples=90, n_features=6, n_labels=5, seed=0):
    """Dense X and Y; each label leans on the features and on the label before it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features)) * (rng.random((n_samples, n_features)) < 0.6)
    Y = np.zeros((n_samples, n_labels), dtype=int)
    for i in range(n_labels):
        score = X @ rng.normal(size=n_features) + rng.normal(size=n_samples) * 0.7
        score += (2 * Y[:, i - 1] - 1) * 0.8 if i else 0
        Y[:, i] = score > 0.3
    return X, Y


def machine(loss, C, **settings):
    return LinearSVC(loss=loss, C=C, dual=True, random_state=0, **{**TIGHT, **settings})


def ecc(X, Y, X_new, orders, counts, loss, C):
    """Mean decision value and mean vote of chains fitted to repeated rows."""
    values, votes = [], []
    for order, count in zip(orders, counts, strict=True):
        rows = np.repeat(np.arange(len(X)), count)
        chain = ClassifierChain(machine(loss, C), order=list(order)).fit(X[rows], Y[rows])
        values.append(chain.decision_function(X_new))
        votes.append(chain.predict(X_new))
    return np.mean(values, axis=0), np.mean(votes, axis=0)


def rakel_votes(X, Y, X_new, labelsets, loss, C):
    """Votes for each label divided by the models that contain it, counted one by one."""
    votes = np.zeros((len(X_new), Y.shape[1]))
    asked = np.zeros(Y.shape[1])
    for labels in labelsets:
        # The first label is the last digit: rare classes can tie, and then the order decides.
        classes = [int("".join(map(str, row[::-1]))) for row in Y[:, labels]]
        predicted = machine(loss, C).fit(X, classes).predict(X_new)
        for j, digits in enumerate(predicted):
            for place, label in enumerate(labels):
                votes[j, label] += digits // 10**place % 10
        asked[labels] += 1
    return votes / asked
