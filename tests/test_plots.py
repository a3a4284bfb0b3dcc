"""The pictures of a path: their lines, their labels and where they are drawn."""

import io
from dataclasses import replace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from fwlasso import CrossValidation, lasso_path
from fwlasso.plots import draw_coefs, plot_coefs, plot_error, plot_gap
from made_paths import choose

mpl.use("Agg")

M, P = 30, 20


def solve(y=None, **settings):
    rng = np.random.default_rng(3)
    X = np.asfortranarray(rng.standard_normal((M, P)) * np.linspace(0.5, 2.0, P))
    y = X[:, :5] @ [4.0, -3.0, 2.0, -1.0, 0.5] + 0.5 * rng.standard_normal(M) if y is None else y
    return lasso_path(X, y, **{"radii": 8, "eps": 1e-3, "random_state": 0, "n_threads": 1, **settings})


@pytest.fixture(scope="module")
def path():
    return replace(solve(), gaps=np.geomspace(1e-5, 1e-9, 8))  # none of them is zero: that has no place on a log scale


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def ever_active(path):
    return np.flatnonzero(np.abs(path.coefs.toarray()).max(axis=1))


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def curves(ax):
    """The lines without the zero line, as a set of tuples of ordinates."""
    return {tuple(line.get_ydata()) for line in ax.lines if len(line.get_ydata()) != 2}


@pytest.mark.parametrize("standardize", [False, True])
def test_every_feature_ever_active_has_its_line(ax, standardize):
    path = solve(standardize=standardize, eps=0.05)
    active = ever_active(path)
    assert 5 <= active.size < P
    path.plot(ax=ax)
    assert len(ax.lines) == active.size + 1
    assert curves(ax) == {tuple(row) for row in path.scaled_coefs.toarray()[active]}
    assert [list(line.get_ydata()) for line in ax.lines if len(line.get_ydata()) == 2] == [[0.0, 0.0]]
    for line in ax.lines[:-1]:
        np.testing.assert_array_equal(line.get_xdata(), path.radii)


@pytest.mark.parametrize(("standardize", "what"), [(False, "coefficient"), (True, "coefficient of the scaled feature")])
def test_axes_are_named(ax, standardize, what):
    path = solve(standardize=standardize)
    path.plot(ax=ax)
    assert ax.get_xlabel() == "l1 norm of the coefficients"
    assert ax.get_ylabel() == what
    for fact in ("8 points", f"{ever_active(path).size} of {P} features"):
        assert fact in ax.get_title()


@pytest.mark.parametrize("n_labels", [1, 3, 10, 100])
@pytest.mark.parametrize("named", [True, False])
def test_the_largest_coefficients_are_labelled(path, ax, n_labels, named):
    names = [f"feature {j}" if named else str(j) for j in range(P)]
    path = replace(path, feature_names=tuple(names) if named else None)
    plot_coefs(path, ax=ax, n_labels=n_labels)
    sizes = np.abs(path.coefs.toarray()).max(axis=1)
    order = np.argsort(-sizes, kind="stable")[: min(n_labels, np.count_nonzero(sizes))]
    assert legend_of(ax) == [names[j] for j in order]
    by_label = {line.get_label(): line for line in ax.lines}
    for j in order:
        np.testing.assert_array_equal(by_label[names[j]].get_ydata(), path.coefs.toarray()[j])


def test_long_names_leave_room_for_the_lines(path):
    figure = draw_coefs(replace(path, feature_names=tuple("W" * 60 + str(j) for j in range(P))))
    figure.draw_without_rendering()
    (ax,) = figure.axes
    assert ax.get_position().width > 0.5
    assert all(name.startswith("W") and name[-1].isdigit() for name in legend_of(ax))


def test_labelled_lines_look_different(path, ax):
    path.plot(ax=ax, n_labels=14)
    labelled = ax.lines[-15:-1]
    assert len({(line.get_color(), line.get_linestyle()) for line in labelled}) == min(14, ever_active(path).size)


def test_no_labels(path, ax):
    path.plot(ax=ax, n_labels=0)
    assert ax.get_legend() is None
    assert len(ax.lines) == ever_active(path).size + 1


def test_given_axes_are_drawn_on_and_returned(path, ax):
    before = plt.get_fignums()
    assert path.plot(ax=ax) is ax
    assert plt.get_fignums() == before


def test_without_axes_a_figure_is_made(path):
    first, second = path.plot(), path.plot()
    assert first is not second
    assert first.figure is not second.figure
    assert len(plt.get_fignums()) == 2


def test_figure_for_files_is_not_shown(path):
    figure = draw_coefs(path)
    assert plt.get_fignums() == []
    assert len(figure.axes[0].lines) == ever_active(path).size + 1


@pytest.mark.parametrize("format", ["png", "svg", "pdf"])
def test_figure_is_written(path, format):
    file = io.BytesIO()
    draw_coefs(path).savefig(file, format=format)
    assert file.getvalue()[:5] in (b"\x89PNG\r", b"<?xml", b"%PDF-")


@pytest.mark.parametrize("grid", [{"radii": 3}, {"radii": None, "alphas": 3}, {"radii": [0.0]}])
def test_path_without_active_features(ax, grid):
    path = solve(y=np.ones(M), **grid)
    assert path.coefs.nnz == 0
    path.plot(ax=ax)
    assert len(ax.lines) == 1
    assert ax.get_legend() is None
    assert f"0 of {P} features" in ax.get_title()
    draw_coefs(path).savefig(io.BytesIO())


def test_path_of_one_point(ax):
    path = solve(radii=[2.0])
    path.plot(ax=ax)
    assert len(ax.lines) == path.n_active[0] + 1
    assert "1 point" in ax.get_title()


@pytest.mark.parametrize("name", ["_hidden", "__", "", "<b>&", "größe", "x_1^2", "two\nlines"])
def test_names_of_every_kind_are_shown(path, ax, name):
    names = tuple(f"{name}{j}" for j in range(P))
    replace(path, feature_names=names).plot(ax=ax, n_labels=4)
    shown = legend_of(ax)
    assert len(shown) == 4
    for text in shown:
        assert any(name in text for name in names)


@pytest.mark.parametrize("name", [r"$\nonsense$", "$", "$$", "from $5 to $9", r"\frac"])
def test_dollars_in_names_are_not_formulas(path, name):
    file = io.BytesIO()
    with mpl.rc_context({"svg.fonttype": "none"}):  # text stays text
        draw_coefs(replace(path, feature_names=(name,) * P)).savefig(file, format="svg")
    assert file.getvalue().decode().count(f">{name}</text>") == 10


# Errors, gaps and the abscissa ----------------------------------------------------------------------------------


def line_of(ax, values):
    """The one line with these ordinates."""
    (line,) = [line for line in ax.lines if np.array_equal(line.get_ydata(), values)]
    return line


PICTURES = {
    "coefs": lambda path, **options: path.plot(**options),
    "error": lambda path, **options: path.plot_error(choose(path, 2), **options),
    "gap": lambda path, **options: path.plot_gap(**options),
}


@pytest.mark.parametrize("picture", PICTURES)
def test_pictures_are_drawn_along_the_norm_or_the_penalty(path, ax, picture):
    assert PICTURES[picture](path, ax=ax) is ax
    assert (ax.get_xlabel(), ax.get_xscale()) == ("l1 norm of the coefficients", "linear")
    longest = max((line.get_xdata() for line in ax.lines), key=len)
    np.testing.assert_array_equal(longest, path.radii)

    other = PICTURES[picture](path, ax=Figure().subplots(), x="alpha")
    assert (other.get_xlabel(), other.get_xscale()) == ("alpha", "log")
    assert other.xaxis.get_inverted()  # from sparse to dense
    longest = max((line.get_xdata() for line in other.lines), key=len)
    np.testing.assert_array_equal(longest, path.alphas)


@pytest.mark.parametrize("picture", PICTURES)
def test_abscissa_must_be_known(path, ax, picture):
    with pytest.raises(ValueError, match="x must be 'radius' or 'alpha', got 'lambda'"):
        PICTURES[picture](path, ax=ax, x="lambda")


@pytest.mark.parametrize("picture", PICTURES)
def test_points_without_penalty_are_left_out(path, picture):
    alphas = path.alphas.copy()
    alphas[-1] = 0.0
    drawn = PICTURES[picture](replace(path, alphas=alphas), x="alpha")
    drawn.figure.savefig(io.BytesIO())
    assert drawn.get_xlim()[1] > 0.0
    assert drawn.get_xlabel() == "alpha (1 at 0 left out)"
    with pytest.raises(ValueError, match="x: every alpha of this path is 0"):
        PICTURES[picture](replace(path, alphas=0.0 * alphas), x="alpha")


@pytest.mark.parametrize("picture", PICTURES)
def test_every_picture_makes_a_figure_without_axes(path, picture):
    assert PICTURES[picture](path).figure is not PICTURES[picture](path).figure
    assert len(plt.get_fignums()) == 2


def test_error_is_drawn_with_band_folds_and_chosen_point(path, ax):
    choice = choose(path, 3)
    assert plot_error(path, choice, ax=ax) is ax
    line_of(ax, choice.scores)
    for fold in choice.fold_scores.T:
        line_of(ax, fold)
    (band,) = ax.collections
    heights = band.get_paths()[0].vertices[:, 1]
    low, high = choice.scores - choice.standard_errors, choice.scores + choice.standard_errors
    assert set(np.concatenate([low, high])) <= set(heights)
    (chosen,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert (chosen.get_xdata()[0], chosen.get_ydata()[0]) == (path.radii[3], choice.scores[3])
    assert ax.get_ylabel() == "mean squared error"
    assert legend_of(ax) == ["folds", "standard error", "mean", f"chosen by 1se: {path.n_active[3]} features"]


def test_the_best_point_is_drawn_where_another_one_was_chosen(path, ax):
    choice = replace(choose(path, 2), scores=choose(path, 3).scores)
    assert choice.best == 3
    plot_error(path, choice, ax=ax)
    best, chosen = (line for line in ax.lines if line.get_marker() == "o")
    assert (best.get_xdata()[0], best.get_ydata()[0]) == (path.radii[3], choice.scores[3])
    assert (chosen.get_xdata()[0], chosen.get_ydata()[0]) == (path.radii[2], choice.scores[2])
    assert f"best: {path.n_active[3]} features" in legend_of(ax)


def test_criterion_without_folds(path, ax):
    choice = choose(path, 3, folds=False)
    path.plot_error(choice, ax=ax)
    line_of(ax, choice.scores)
    assert len(ax.lines) == 3
    assert not ax.collections
    assert ax.get_ylabel() == "bic"
    assert legend_of(ax) == [f"chosen by 1se: {path.n_active[3]} features"]


@pytest.mark.parametrize("name", ["_hidden", "$x$", "<lambda>"])
def test_rules_and_criteria_of_every_kind_are_shown(path, ax, name):
    path.plot_error(replace(choose(path, 3), rule=name, criterion=name), ax=ax)
    ax.figure.savefig(io.BytesIO())
    assert len(legend_of(ax)) == 4


@pytest.mark.parametrize("other", [{"y": np.arange(30.0)}, {"radii": 7}], ids=["other data", "other points"])
def test_the_choice_of_another_path_is_refused(path, other):
    with pytest.raises(ValueError, match=r"^choice must be that of a point of this path"):
        path.plot_error(choose(solve(**other), 3))


def test_what_holds_a_choice_stands_for_it(path, ax):
    choice = choose(path, 3)
    path.plot_error(CrossValidation(path, choice), ax=ax)
    line_of(ax, choice.scores)
    with pytest.raises(TypeError, match=r"^choice must be a Choice, the result of lasso_cv .*, got LassoPath"):
        path.plot_error(path)


def test_gaps_are_drawn_with_their_tolerance(path, ax):
    assert plot_gap(path, ax=ax) is ax
    line_of(ax, path.gaps)
    assert ax.get_yscale() == "log"
    assert ax.get_ylabel() == "relative duality gap"
    assert legend_of(ax) == ["tolerance 0.0001"]
    assert ax.lines[-1].get_ydata() == [1e-4, 1e-4]


@pytest.mark.parametrize("missing", [np.nan, 0.0])
def test_gaps_with_no_place_on_a_log_scale_are_left_out(path, ax, missing):
    gaps = np.geomspace(1e-3, 1e-9, 8)
    gaps[[1, 4]] = missing
    replace(path, gaps=gaps).plot_gap(ax=ax)
    kept = [0, 2, 3, 5, 6, 7]
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), gaps[kept])
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), path.radii[kept])


def test_other_rules_have_no_tolerance_of_the_gap(ax):
    path = solve(solver="sfw")
    path.plot_gap(ax=ax)
    assert len(ax.lines) == 1
    assert ax.get_legend() is None


def test_gaps_that_were_not_computed(ax):
    solve(solver="sfw", certify=False).plot_gap(ax=ax)
    ax.figure.savefig(io.BytesIO())
    assert ax.lines[0].get_ydata().size == 0
