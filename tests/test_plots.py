"""The pictures of a path: each has the numbers of the path, and can be saved. The report's are tested in a browser."""

import io
from dataclasses import replace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from fwlasso import CrossValidation
from fwlasso.plots import draw_coefs, plot_coefs
from made_paths import M, P, choose, solve

mpl.use("Agg")

PICTURES = {
    "coefs": lambda path, **options: path.plot(**options),
    "error": lambda path, **options: path.plot_error(choose(path, 2), **options),
    "gap": lambda path, **options: path.plot_gap(**options),
}


@pytest.fixture(scope="module")
def path():
    solved = solve(standardize=True, eps=0.05)
    return replace(solved, gaps=np.geomspace(1e-5, 1e-9, 7))  # none of them is zero: that has no place on a log scale


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def lines_of(ax):
    return {tuple(line.get_ydata()) for line in ax.lines}


@pytest.mark.parametrize("picture", PICTURES)
def test_pictures_are_drawn_along_the_norm_or_the_penalty(path, ax, picture):
    draw = PICTURES[picture]
    assert draw(path, ax=ax) is ax
    assert plt.get_fignums() == []
    np.testing.assert_array_equal(max((line.get_xdata() for line in ax.lines), key=len), path.radii)
    other = draw(path, x="alpha")
    assert (other.get_xlabel(), other.get_xscale()) == ("alpha", "log")
    assert other.xaxis.get_inverted()  # from sparse to dense
    np.testing.assert_array_equal(max((line.get_xdata() for line in other.lines), key=len), path.alphas)
    alphas = np.append(path.alphas[:-1], 0.0)
    other = draw(replace(path, alphas=alphas), x="alpha")
    other.figure.savefig(io.BytesIO())
    assert other.get_xlabel() == "alpha (1 at 0 left out)"
    with pytest.raises(ValueError, match="x: every alpha of this path is 0"):
        draw(replace(path, alphas=0.0 * alphas), x="alpha")
    with pytest.raises(ValueError, match="x must be 'radius' or 'alpha', got 'lambda'"):
        draw(path, x="lambda")


def test_every_feature_ever_active_has_its_line_and_the_largest_a_label(path, ax):
    names = tuple(f"_{j}$" for j in range(P))
    plot_coefs(replace(path, feature_names=names), ax=ax, n_labels=3)
    scaled = path.scaled_coefs.toarray()
    order = np.argsort(-np.abs(scaled).max(axis=1), kind="stable")
    assert lines_of(ax) >= {tuple(scaled[j]) for j in range(P) if scaled[j].any()}
    assert [text.replace("\\$", "$").strip("\u200b") for text in legend_of(ax)] == [names[j] for j in order[:3]]
    assert f"{np.unique(path.coefs.indices).size} of {P} features" in ax.get_title()


@pytest.mark.parametrize("name", [r"$\nonsense$", "from $5 to $9"])
def test_dollars_in_names_are_not_formulas(path, name):
    file = io.BytesIO()
    with mpl.rc_context({"svg.fonttype": "none"}):  # text stays text
        draw_coefs(replace(path, feature_names=(name,) * P)).savefig(file, format="svg")
    assert file.getvalue().decode().count(f">{name}</text>") == np.unique(path.coefs.indices).size


ODD = {
    "no active features": lambda path, ax: plot_coefs(solve(y=np.ones(M), radii=3), ax=ax),
    "one empty point": lambda path, ax: plot_coefs(solve(y=np.ones(M), radii=[0.0]), ax=ax),
    "no folds": lambda path, ax: path.plot_error(replace(choose(path, 3, folds=False), rule="_$x$"), ax=ax),
    "no gaps": lambda path, ax: solve(solver="sfw", certify=False).plot_gap(ax=ax),
}


@pytest.mark.filterwarnings("ignore:.*all models are empty")
@pytest.mark.parametrize("odd", ODD)
def test_odd_paths_are_drawn(path, ax, odd):
    ODD[odd](path, ax).figure.savefig(io.BytesIO())
    assert not ax.collections
    assert (ax.get_legend() is None) == (odd != "no folds")


def test_error_is_drawn_with_band_folds_best_and_chosen_point(path, ax):
    choice = replace(choose(path, 2), scores=choose(path, 3).scores)
    path.plot_error(CrossValidation(path, choice), ax=ax)
    assert lines_of(ax) >= {tuple(choice.scores), *map(tuple, choice.fold_scores.T)}
    (band,) = ax.collections
    assert set(choice.scores + choice.standard_errors) <= set(band.get_paths()[0].vertices[:, 1])
    marked = [(*line.get_xdata(), *line.get_ydata()) for line in ax.lines if line.get_marker() == "o"]
    assert marked == [(path.radii[k], choice.scores[k]) for k in (3, 2)]
    assert {f"best: {path.n_active[3]} features", f"chosen by 1se: {path.n_active[2]} features"} < set(legend_of(ax))
    with pytest.raises(ValueError, match=r"^choice must be that of a point of this path"):
        path.plot_error(choose(solve(radii=6), 3))


def test_gaps_are_drawn_with_their_tolerance(path, ax):
    gaps = path.gaps.copy()
    gaps[[1, 4]] = np.nan, 0.0  # no place on a log scale
    replace(path, gaps=gaps).plot_gap(ax=ax)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), gaps[gaps > 0.0])
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), path.radii[gaps > 0.0])
    assert (ax.get_yscale(), legend_of(ax)) == ("log", ["tolerance 0.0001"])
