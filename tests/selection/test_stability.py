"""Stability selection, against paths on the rows of every subsample."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fwlasso import lasso_path, stability_selection
from fwlasso.selection.stability import _subsamples


@pytest.fixture
def data(rng):
    X = np.asfortranarray(rng.standard_normal((60, 100)))
    return X, X[:, :3] @ [3.0, -3.0, 2.0] + rng.standard_normal(60)


def test_frequencies_are_those_of_the_subsamples(data):
    X, y = data
    found = stability_selection(X, y, n_subsamples=7, alphas=12, eps=0.1, random_state=4, tol=1e-8)
    counts, n_selected = 0, []
    for mask in _subsamples(np.ones(60, bool), 7, 0.5, 4):
        path = lasso_path(X[mask], y[mask], alphas=found.path.alphas, tol=1e-8)
        active = path.coefs.toarray() != 0
        counts = counts + active
        n_selected.append(active.any(axis=1).sum())
    np.testing.assert_allclose(found.frequencies.toarray(), counts / 7)
    np.testing.assert_allclose(found.max_frequencies, counts.max(axis=1) / 7)
    assert found.n_subsamples == 7
    assert found.mean_selected == pytest.approx(np.mean(n_selected))


def test_features_without_a_penalty_are_not_selected(data):
    X, y = data
    found = stability_selection(X, y, n_subsamples=4, alphas=6, eps=0.2, random_state=0, unpenalized=[0, 50])
    assert not found.max_frequencies[[0, 50]].any()
    assert not {0, 50} & set(found.selected().tolist())
    assert found.path.coefs[[0, 50]].nnz == 12
    assert found.error_bound() == pytest.approx(found.mean_selected**2 / (0.2 * 98))


def test_features_that_matter_are_selected_most_often(data):
    found = stability_selection(*data, n_subsamples=20, eps=0.2, random_state=0)
    selected = found.selected(0.9)
    assert set(selected[:3].tolist()) == {0, 1, 2}
    assert (np.diff(found.max_frequencies[selected]) <= 0).all()
    assert found.selected(1.0).size <= selected.size
    assert found.error_bound(0.9) == pytest.approx(found.mean_selected**2 / (0.8 * 100))


@pytest.mark.parametrize("fraction", [0.5, 0.3, 0.8])
def test_subsamples_are_of_one_size_and_pairs_are_disjoint(fraction):
    masks = _subsamples(np.ones(41, bool), 6, fraction, 0)
    assert {int(mask.sum()) for mask in masks} == {int(fraction * 41)}
    assert len({mask.tobytes() for mask in masks}) == 6
    if fraction <= 0.5:
        assert not any((first & second).any() for first, second in zip(masks[::2], masks[1::2], strict=True))


def test_an_early_end_keeps_the_subsamples_that_are_complete(data):
    with pytest.warns(ConvergenceWarning, match="points"):
        found = stability_selection(
            *data, n_subsamples=4, alphas=10, eps=0.2, n_threads=1, callback=lambda now: now.point >= 34
        )
    assert found.n_subsamples == 2
    assert found.frequencies.shape == (100, 10)


def test_bad_arguments_are_named(data):
    for name, value in (("n_subsamples", 0), ("n_subsamples", 10**30), ("fraction", 1.0), ("fraction", 0.001)):
        with pytest.raises(ValueError, match=name):
            stability_selection(*data, **{name: value})
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_splits'"):
        stability_selection(*data, n_splits=3)
    found = stability_selection(*data, n_subsamples=2, alphas=3)
    for call in (found.selected, found.error_bound):
        with pytest.raises(ValueError, match="threshold"):
            call(1.5)
