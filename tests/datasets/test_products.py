"""Product features and the embedded data that are made of them."""

from math import comb

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import PolynomialFeatures, minmax_scale

from fwlasso.datasets import load_diabetes_products, product_features, product_names

SHAPES = [(1, 0), (1, 5), (2, 3), (3, 2), (4, 4), (5, 1), (6, 3)]  # columns, order


def points(n_columns, n_rows=7):
    return np.random.default_rng(n_columns).uniform(-2, 2, (n_rows, n_columns))


@pytest.mark.parametrize(("d", "order"), SHAPES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_are_those_of_scikit_learn(d, order, dtype):
    products = product_features(points(d), order, dtype=dtype)
    assert products.dtype == dtype
    assert products.flags.f_contiguous
    assert products.shape == (7, comb(d + order, order))
    expected = PolynomialFeatures(order).fit_transform(points(d))
    np.testing.assert_allclose(products, expected, rtol=20 * np.finfo(dtype).eps)
    names = [f"x{j}" for j in range(d)]
    expected = PolynomialFeatures(order).fit(points(d)).get_feature_names_out(names)
    assert list(product_names(names, order)) == expected.tolist()


def test_diabetes_products():
    raw = load_diabetes()
    data = load_diabetes_products(2)
    measurements = minmax_scale(raw.data, (-1, 1))
    polynomial = PolynomialFeatures(2).fit(measurements)
    np.testing.assert_allclose(data.X, polynomial.transform(measurements), atol=1e-15)
    assert data.feature_names == tuple(polynomial.get_feature_names_out(raw.feature_names))
    np.testing.assert_array_equal(data.y, raw.target)


def test_diabetes_default_has_the_promised_number_of_features():
    n_names = sum(1 for _ in product_names(load_diabetes().feature_names, 8))
    assert n_names == comb(18, 8) == 43_758
    assert load_diabetes_products.__defaults__ == (8,)
