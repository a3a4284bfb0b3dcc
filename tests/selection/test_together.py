"""Paths on parts of the samples that are kept in a folder: they go on where they stopped, to the same bits."""

import numpy as np
import pytest

from fwlasso import Status, lasso_cv, stability_selection
from fwlasso.checkpoints.folder import clear_checkpoint, json_text
from run_cases import assert_same_bits, make_data, stop_at

# Paths are ended early here.
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:No point was solved in every fold"),
]

CALLS = {
    "default": {"alphas": 20, "cv": 3},
    "radii": {"radii": 10, "cv": 3},
    "relaxed": {"alphas": 10, "cv": 3, "relax": True, "standardize": True},
    "fraction": {"alphas": 10, "validation": 0.25, "random_state": 1},
    "sfw": {"solver": "sfw", "radii": 6, "cv": 2, "random_state": 1},
    "any seed": {"solver": "sfw", "radii": 6, "cv": 2},
}


def assert_same(found, whole):
    for path, expected in zip((found.path, *found.fold_paths), (whole.path, *whole.fold_paths), strict=True):
        assert_same_bits(path, expected)
    np.testing.assert_array_equal(found.choice.fold_scores, whole.choice.fold_scores)
    assert json_text(found.choice.record()) == json_text(whole.choice.record())  # which has no NaN


@pytest.mark.filterwarnings("ignore:The mean squared error is best at the last point")
@pytest.mark.parametrize("call", CALLS)
def test_folds_go_on_where_they_stopped(tmp_path, call):
    X, y = make_data()
    settings = CALLS[call] if call == "any seed" else {"random_state": 3, **CALLS[call]}
    n_points = (1 + (1 if call == "fraction" else settings["cv"])) * settings.get("alphas", settings.get("radii"))
    begun = lasso_cv(X, y, checkpoint=tmp_path / "parts", callback=stop_at(n_points // 4), **settings)
    assert begun.ending is Status.STOPPED
    again = lasso_cv(X, y, checkpoint=tmp_path / "parts", callback=stop_at(n_points // 2), **settings)
    assert again.ending is Status.STOPPED
    told = []
    found = lasso_cv(X, y, checkpoint=tmp_path / "parts", callback=told.append, **settings)
    assert found.ending is None
    assert (told[-1].point, told[-1].n_points, told[-1].done) == (n_points - 1, n_points, True)
    if call != "any seed":  # whose draws are of the run: another one has others
        assert_same(found, lasso_cv(X, y, checkpoint=tmp_path / "whole", n_threads=1, **settings))
    # A complete one is not computed again: only the last point of a segment is told.
    assert_same(lasso_cv(X, y, checkpoint=tmp_path / "parts", callback=lambda now: not now.done, **settings), found)


def test_another_rule_chooses_from_the_same_paths(tmp_path):
    X, y = make_data()
    first = lasso_cv(X, y, alphas=20, cv=3, checkpoint=tmp_path)
    told = []
    sparser = lasso_cv(X, y, alphas=20, cv=3, rule="1se", checkpoint=tmp_path, callback=told.append)
    assert all(now.done for now in told)
    assert sparser.choice.point < first.choice.point
    np.testing.assert_array_equal(sparser.choice.fold_scores, first.choice.fold_scores)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cv": 4}, "1 holds another run: the data have changed: samples"),
        ({"cv": 3, "tol": 1e-7}, "holds another run: tol was 1e-06, and is 1e-07"),
        ({"cv": 3, "alphas": 21}, "holds another run: points was 20, and is 21"),
    ],
)
def test_other_folds_and_settings_are_refused_before_any_work(tmp_path, settings, message):
    X, y = make_data()
    lasso_cv(X, y, alphas=20, cv=3, checkpoint=tmp_path, callback=stop_at(5))
    told = []
    with pytest.raises(ValueError, match=message):
        lasso_cv(X, y, **{"alphas": 20, **settings}, checkpoint=tmp_path, callback=told.append)
    assert told == []


def test_subsamples_go_on_where_they_stopped(tmp_path):
    X, y = make_data()
    settings = {"n_subsamples": 5, "alphas": 8, "random_state": 0}
    stability_selection(X, y, checkpoint=tmp_path / "parts", callback=stop_at(20), **settings)
    found = stability_selection(X, y, checkpoint=tmp_path / "parts", **settings)
    whole = stability_selection(X, y, checkpoint=tmp_path / "whole", **settings)
    assert (found.frequencies != whole.frequencies).nnz == 0
    assert found.n_subsamples == 5
    assert_same_bits(found.path, whole.path)


def test_samples_that_are_drawn_need_a_seed_to_go_on(tmp_path):
    X, y = make_data()
    for call in (
        lambda: lasso_cv(X, y, validation=0.25, checkpoint=tmp_path / "run"),
        lambda: stability_selection(X, y, n_subsamples=2, checkpoint=tmp_path / "run"),
    ):
        with pytest.raises(ValueError, match="random_state must be given with a checkpoint"):
            call()
    assert list(tmp_path.iterdir()) == []


def test_a_run_is_removed_with_its_subsets_and_nothing_else(tmp_path):
    X, y = make_data()
    lasso_cv(X, y, alphas=5, cv=2, checkpoint=tmp_path)
    (tmp_path / "subsets" / "1" / "notes.txt").write_text("mine")
    clear_checkpoint(tmp_path)
    assert [file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*") if file.is_file()] == [
        "subsets/1/notes.txt"
    ]
