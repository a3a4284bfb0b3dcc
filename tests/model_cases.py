"""Data with few features that matter, for the tests of models."""

import numpy as np

M, P = 40, 12


def make_data():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 3, (M, P)).astype(np.float64)
    return X, 3.0 * X[:, 1] - 2.0 * X[:, 7] + rng.standard_normal(M) + 5.0


X, Y = make_data()
