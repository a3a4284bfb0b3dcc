"""A matrix of one's own that knows its columns: nothing asks whether it is genotypes."""

import numpy as np
import pytest
import scipy.sparse as sp

from fwlasso import Lasso, lasso_path
from fwlasso.data.design import as_design, described

RNG = np.random.default_rng(0)
VALUES = np.asfortranarray(RNG.standard_normal((30, 5)))
Y = VALUES[:, 0] - VALUES[:, 3] + 0.1 * RNG.standard_normal(30)


class Turned:
    """Columns that may lie in the reverse order elsewhere, and are found there."""

    variants = None

    def __init__(self, values, names):
        self._values, self.shape, self.feature_names = np.asfortranarray(values), values.shape, tuple(names)

    def as_design(self):
        return as_design(self._values)._replace(feature_names=self.feature_names)

    def check_order(self, y):
        if y is self:
            raise ValueError("y is in another order")

    def facts_of(self, columns):
        return {j: ("fact", "of", j, "x") for j in columns}

    def carry_over(self, coefs, names, facts, *, at_means):
        assert set(facts) == set(np.unique(coefs.indices).tolist())
        return sp.csc_array(coefs.tocsr()[[names.index(name) for name in self.feature_names]]), np.zeros(coefs.shape[1])

    def __matmul__(self, coefs):
        return self._values @ coefs


def test_a_matrix_that_knows_its_columns_is_matched_by_itself():
    X, names = Turned(VALUES, "abcde"), "abcde"
    assert described(X) is X
    assert described(VALUES) is None
    path = lasso_path(X, Y, alphas=5)
    np.testing.assert_array_equal(path.coefs.toarray(), lasso_path(VALUES, Y, alphas=5).coefs.toarray())
    assert path.variants[3] == ("fact", "of", 3, "x")
    turned = Turned(VALUES[:, ::-1], names[::-1])
    np.testing.assert_allclose(path.predict(turned), path.predict(VALUES), atol=1e-12)
    model = Lasso(alpha=0.1).fit(X, Y)
    np.testing.assert_allclose(model.predict(turned), VALUES @ model.coef_ + model.intercept_, atol=1e-12)
    with pytest.raises(ValueError, match="y is in another order"):
        lasso_path(X, X)
