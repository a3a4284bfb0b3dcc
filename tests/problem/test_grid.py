import numpy as np

from fwlasso.problem.grid import log_grid


def test_a_logarithmic_grid():
    np.testing.assert_allclose(log_grid(0.01, 1.0, 3), [0.01, 0.1, 1.0])
    np.testing.assert_array_equal(log_grid(0.01, 1.0, 1), [1.0])
