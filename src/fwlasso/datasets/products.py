"""Product features: all monomials of the columns of a table up to some degree, column by column."""

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, groupby
from math import comb
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from .._jit import kernel


def product_features(X: Any, order: int, *, dtype: Any = np.float64) -> NDArray[Any]:
    """Return all monomials of degree 0 to `order` of the columns of X, in column-major order.

    The columns come by degree, and within a degree as `itertools.combinations_with_replacement` has them: the order
    of scikit-learn's PolynomialFeatures.

    Parameters
    ----------
    X : array of shape (m, d)
    order : int
    dtype : float64 or float32

    Returns
    -------
    array of shape (m, comb(d + order, order))

    Examples
    --------
    >>> product_features([[2.0, 3.0]], order=2)
    array([[1., 2., 3., 4., 6., 9.]])
    """
    X = check_array(X, dtype=np.float64, order="F", input_name="X")
    if not isinstance(order, Integral) or order < 0:
        raise ValueError(f"order must be an integer of at least 0, got {order}")
    m, d = X.shape
    products = np.empty((m, comb(d + order, order)), dtype=dtype, order="F")
    products[:, 0] = 1.0
    # The monomials of one degree that begin with column i are x_i times those of the degree below that begin with
    # column i or later: a trailing part of them. first[i] is where that part starts.
    first = np.zeros(d, np.int64)
    n_below = n_done = 1
    for _ in range(order):
        start = n_done
        n_done = _next_degree(X, products, first, n_done - n_below, n_done)
        n_below = n_done - start
    return products


@kernel
def _next_degree(
    X: NDArray[np.float64], products: NDArray[Any], first: NDArray[np.int64], below: int, start: int
) -> int:
    """Fill the columns of one degree from those of the degree below, columns `below` to `start`."""
    column = start
    for i in range(X.shape[1]):
        begin = below + first[i]
        first[i] = column - start
        for source in range(begin, start):
            for row in range(X.shape[0]):
                products[row, column] = X[row, i] * products[row, source]
            column += 1
    return column


def product_names(names: Sequence[str], order: int) -> Iterator[str]:
    """Yield the names of the columns of `product_features`.

    Examples
    --------
    >>> list(product_names(["a", "b"], order=2))
    ['1', 'a', 'b', 'a^2', 'a b', 'b^2']
    """
    for degree in range(order + 1):
        for factors in combinations_with_replacement(names, degree):
            powers = ((name, len(list(group))) for name, group in groupby(factors))
            yield " ".join(name if power == 1 else f"{name}^{power}" for name, power in powers) or "1"
