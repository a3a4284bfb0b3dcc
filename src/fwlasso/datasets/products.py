"""Product features: all monomials of the columns of a table up to some degree."""

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, groupby
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.checks import check_in_memory, check_kind


def product_features(X: Any, order: int, *, dtype: Any = np.float64) -> NDArray[Any]:
    """Return all monomials of degree 0 to `order` of the columns of X, in column-major order.

    They are those of scikit-learn's PolynomialFeatures: by degree, and within a degree as
    `itertools.combinations_with_replacement` has them.

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
    if not isinstance(order, Integral) or order < 0:
        raise ValueError(f"order must be an integer of at least 0, got {order}")
    from sklearn.preprocessing import PolynomialFeatures
    from sklearn.utils import check_array

    check_in_memory("X", X)
    check_kind("X", X)
    X = check_array(X, dtype=dtype, input_name="X")
    return np.asarray(PolynomialFeatures(order, order="F").fit_transform(X))


def product_names(names: Sequence[str], order: int) -> Iterator[str]:
    """Yield the names of the columns of `product_features`: scikit-learn would make a matrix of powers first.

    Examples
    --------
    >>> list(product_names(["a", "b"], order=2))
    ['1', 'a', 'b', 'a^2', 'a b', 'b^2']
    """
    for degree in range(order + 1):
        for factors in combinations_with_replacement(names, degree):
            powers = ((name, len(list(group))) for name, group in groupby(factors))
            yield " ".join(name if power == 1 else f"{name}^{power}" for name, power in powers) or "1"
