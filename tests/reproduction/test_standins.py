"""Stand-ins for E2006: their size and law, and that a test part belongs to its training part."""

import hashlib

import numpy as np
import pytest

from fwlasso import lasso_path
from reproduction.data import standins
from reproduction.data.standins import LOG1P, TFIDF, Size

SIZE = Size(m=2_000, n_test=500, p=3_000, nnz=120_000)
KINDS = {"tfidf": standins.tfidf, "log1p": standins.log1p}


@pytest.fixture(scope="module", params=KINDS)
def made(request):
    return KINDS[request.param](SIZE)


def digest(*arrays):
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()[:16]


def lengths(X):
    return np.diff(X.indptr)


def test_sizes_are_those_of_the_real_sets():
    assert TFIDF == (16_087, 3_308, 150_360, 19_971_014)
    assert LOG1P == (16_087, 3_308, 4_272_227, 96_731_839)


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize(
    "size", [Size(1, 1, 1, 1)._replace(m=2), Size(40, 7, 1, 30), Size(300, 1, 500, 500), SIZE], ids=str
)
def test_any_size(make, size):
    made = make(size)
    for X, y, n_rows in ((made.X, made.y, size.m), (made.X_test, made.y_test, size.n_test)):
        assert X.shape == (n_rows, size.p)
        assert X.format == "csc"
        assert X.has_canonical_format
        assert X.indices.dtype == X.indptr.dtype == np.int32
        assert np.isfinite(X.data).all()
        assert y.shape == (n_rows,)
        assert np.isfinite(y).all()


def test_nonzeros_are_about_as_many_as_asked(made):
    assert 0.9 * SIZE.nnz < made.X.nnz <= 1.05 * SIZE.nnz
    assert made.X.nnz / SIZE.m == pytest.approx(made.X_test.nnz / SIZE.n_test, rel=0.03)


def test_every_word_is_in_the_training_part(made):
    assert lengths(made.X).min() >= 1
    assert lengths(made.X).max() <= 0.95 * SIZE.m


def test_lengths_fall_like_their_rank(made):
    ranked = np.sort(lengths(made.X))[::-1]
    ranks = np.array([100, 300, 1_000])
    assert np.ptp(np.log(ranked[ranks] * ranks)) < 0.25


def test_test_words_are_as_common_as_in_training(made):
    often = lengths(made.X) > 100
    shares = lengths(made.X)[often] / SIZE.m, lengths(made.X_test)[often] / SIZE.n_test
    assert np.corrcoef(*shares)[0, 1] > 0.98
    rare = lengths(made.X) <= 20
    assert lengths(made.X_test)[rare].sum() / lengths(made.X)[rare].sum() == pytest.approx(0.25, rel=0.05)


def test_words_keep_their_topics():
    """Two words that share documents in training do so in the test part."""
    made = standins.log1p(SIZE._replace(n_test=SIZE.m))
    often = np.flatnonzero((lengths(made.X) > 150) & (lengths(made.X) <= SIZE.m // 8))

    def cosines(X):
        part = (X[:, often] > 0).astype(float).toarray()
        return np.corrcoef(part.T)[np.triu_indices(often.size, 1)]

    assert np.corrcoef(cosines(made.X), cosines(made.X_test))[0, 1] > 0.5


@pytest.mark.compiled
def test_model_of_the_training_part_predicts_the_test_part(made):
    path = lasso_path(made.X, made.y, alphas=20)
    errors = ((path.predict(made.X_test) - made.y_test[:, None]) ** 2).mean(axis=0)
    assert errors.min() < 0.5 * made.y_test.var()


def test_rows_of_tfidf_have_unit_norm():
    made = standins.tfidf(SIZE)
    for X in (made.X, made.X_test):
        np.testing.assert_allclose(X.power(2).sum(axis=1), 1.0)


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_the_training_part_does_not_depend_on_the_test_part(make):
    one, other = make(SIZE), make(SIZE._replace(n_test=10))
    assert digest(one.X.data, one.X.indices, one.X.indptr, one.y) == digest(
        other.X.data, other.X.indices, other.X.indptr, other.y
    )


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_seeds(make):
    one, same, other = make(SIZE, seed=3), make(SIZE, seed=3), make(SIZE, seed=4)
    np.testing.assert_array_equal(one.y_test, same.y_test)
    np.testing.assert_array_equal(one.X_test.data, same.X_test.data)
    assert not np.array_equal(one.y, other.y)


def test_blocks_end_between_words(monkeypatch):
    monkeypatch.setattr(standins, "_BLOCK", 10_000)
    made = standins.log1p(SIZE)
    assert made.X.shape == (SIZE.m, SIZE.p)
    assert 0.9 * SIZE.nnz < made.X.nnz <= 1.05 * SIZE.nnz
    assert made.X.has_canonical_format


@pytest.mark.parametrize(
    "size", [Size(0, 5, 5, 5), Size(5, 0, 5, 5), Size(5, 5, 0, 0), Size(10, 5, 20, 19), Size(10, 5, 20, 181)]
)
def test_impossible_sizes_are_refused(size):
    with pytest.raises(ValueError, match=r"size must have .*Size\("):
        standins.tfidf(size)
