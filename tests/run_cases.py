"""Data of runs in segments, and what of two paths must be equal: for the tests of segments, runs and fingerprints."""

import numpy as np

from conftest import STORAGES

M, P = 40, 120


def make_data(storage="dense64"):
    rng = np.random.default_rng(5)
    values = rng.integers(0, 3, (M, P)).astype(np.float64)
    y = values[:, :6] @ [3.0, -2.0, 2.0, 1.0, -1.0, 0.5] + rng.standard_normal(M)
    return STORAGES[storage](values), y


def assert_same_bits(first, second):
    """Everything but the seconds, and the settings that may change on the way."""
    for name in ("alphas", "radii", "intercepts", "gaps", "r2"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)
    for name in ("coefs", "scaled_coefs"):
        for part in ("data", "indices", "indptr"):
            ours, theirs = (getattr(getattr(path, name), part) for path in (first, second))
            np.testing.assert_array_equal(ours, theirs, err_msg=f"{name}.{part}")
    np.testing.assert_array_equal(first.counters.iterations, second.counters.iterations)
    assert first.counters.dot_products == second.counters.dot_products
    assert first.counters.passes == second.counters.passes
    assert first.statuses == second.statuses
    assert first.ending == second.ending
    assert first.feature_names == second.feature_names
    assert {**first.settings, "time_limit": None} == {**second.settings, "time_limit": None}


def stop_at(point):
    return lambda now: now.done and now.point >= point
