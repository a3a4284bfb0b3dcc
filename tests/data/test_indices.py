"""Sparse matrices with an index outside their shape: refused by everything that reads them, before scipy does."""

import numpy as np
import pytest
import scipy.sparse as sp

from cli_cases import BAD_INPUT
from fwlasso import Lasso, LinearModel, lasso_path
from fwlasso.datasets import Table, dump_libsvm, write_store
from fwlasso.report.describe import describe

M, P = 30, 12


@pytest.fixture(scope="module")
def good():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((M, P)) * (rng.random((M, P)) < 0.4)
    return sp.csc_array(values), values @ np.arange(P) + rng.standard_normal(M)


@pytest.fixture(scope="module")
def path(good):
    return lasso_path(*good, alphas=5)


def with_index(X, kind, index, where=3):
    """Return a matrix that scipy makes without a word."""
    spoilt = X.asformat(kind).copy()
    spoilt.indices[where] = index
    return spoilt


USES = {
    "lasso_path": lambda X, y, path: lasso_path(X, y, alphas=5),
    "LassoPath.predict": lambda X, y, path: path.predict(X),
    "LinearModel.predict": lambda X, y, path: LinearModel.from_path(path, -1).predict(X),
    "LinearModel.predict by name": lambda X, y, path: LinearModel.from_path(path, -1).predict(Table(X, y)),
    "Lasso.fit": lambda X, y, path: Lasso().fit(X, y),
    "Lasso.predict": lambda X, y, path: Lasso().fit(sp.eye_array(M, P), y).predict(X),
    "describe": lambda X, y, path: describe(Table(X, y)),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(("kind", "index"), [("csr", -1), ("csc", 2**30), ("bsr", 2**30)])
def test_index_outside_the_shape_is_refused_by_all_who_read_it(good, path, use, kind, index):
    X, y = good
    with pytest.raises(ValueError, match=r"X is not a valid (CSR|CSC|BSR) matrix"):
        USES[use](with_index(X, kind, index), y, path)


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
def test_such_a_matrix_is_not_written(good, tmp_path, kind):
    X, y = good
    for write in (lambda X: dump_libsvm(X, y, tmp_path / "data.svm"), lambda X: write_store(tmp_path / "store", X, y)):
        with pytest.raises(ValueError, match="X is not a valid"):
            write(with_index(X, kind, 2**30))


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
def test_pointers_that_lead_outside_are_refused(good, kind):
    from fwlasso.data.checks import check_indices

    X, _ = good
    for where, value in ((-1, 10**6), (0, 3), (2, -5), (2, 2**30)):
        spoilt = X.asformat(kind).copy()
        spoilt.indptr[where] = value
        with pytest.raises(ValueError, match="indptr"):
            check_indices(spoilt)
    check_indices(X.asformat(kind))
    check_indices(X.tocoo())
    check_indices(X.toarray())


def test_store_with_such_an_index_is_refused_before_it_is_multiplied(good, path, tmp_path, call_main):
    X, y = good
    write_store(tmp_path / "store", X, y)
    indices = np.load(tmp_path / "store" / "indices.npy")
    indices[5] = 2**30
    np.save(tmp_path / "store" / "indices.npy", indices)
    path.save(tmp_path / "path.npz")
    exit_code, _, told = call_main("predict", tmp_path / "path.npz", tmp_path / "store", "--point", 5)
    assert exit_code == BAD_INPUT
    assert f"{tmp_path / 'store'}: X is not a valid CSC matrix: an index is outside the shape" in told
