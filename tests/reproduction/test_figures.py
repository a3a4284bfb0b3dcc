"""The figures of the study: one look for every method, and what is drawn of small records made by hand."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from reproduction import figures
from reproduction.beyond import footprint, gaps, matched, rates
from reproduction.figures import Growth, error_figure, growth_figure, held_out_figure, sparsity_figure, write_figure
from reproduction.methods import METHODS
from reproduction.pictures import LOOKS, line_of, log_axes, panels, styles
from reproduction.study import Setup
from reproduction.summary import Result, summarize

mpl.use("Agg")

SYNTHETIC = "synthetic-10000-32"
SETUP = Setup((SYNTHETIC, "pyrim"), n_seeds=2, data=None, out=Path("out"), n_threads=1)
RADII = np.geomspace(0.01, 1.0, 12)


def made_result(*, is_standin=False, test=False, missing=(), **changes):
    """All methods on the same models, but for `changes` by the method's key."""
    record = {
        "seconds": 1.0,
        "gaps": (0.01 * RADII).tolist(),
        "l1": RADII.tolist(),
        "n_active": list(range(RADII.size)),
        "train_mse": (2.0 - RADII).tolist(),
    } | ({"test_mse": (1.0 + (RADII - 0.1) ** 2).tolist()} if test else {})
    records = {f"large/pyrim/{key}/0": record | changes.get(key, {}) for key in METHODS if key not in missing}
    found = summarize(records, "large/pyrim")
    title = f"Pyrim{' (stand-in)' * is_standin}"
    return Result("pyrim", title, is_standin, 2.0, found, dict.fromkeys(missing, "no room"))


def run_record(gaps, **more):
    return {"gaps": gaps, "l1": [0.0, 1.0, 2.0], "n_active": [0, 1, 2], "train_mse": [1.0, 0.5, 0.1], **more}


def labels_of(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def line(ax, label):
    """The line whose label begins so."""
    return next(line for line in ax.lines if line.get_label().startswith(label))


def test_every_method_has_a_look_of_its_own():
    colours, markers = ([look[k] for look in LOOKS.values()] for k in (0, 1))
    assert len(set(colours)) == len(set(markers)) == len(LOOKS)
    drawn = {*figures._METHODS, *figures._SHARES, *gaps._ALL, *matched._ALL, *rates.METHODS, *footprint.METHODS}
    assert {line_of(key)["color"] for key in drawn} <= set(colours)
    assert line_of("certified-radii") == line_of("certified")  # the same method on another grid
    settings = [(style["color"], style["marker"]) for style in styles()]
    assert len({colour for colour, _ in settings}) == len({marker for _, marker in settings}) == len(settings) >= 8


# Along the path ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("test", [True, False])
def test_figures_have_labels_lines_and_no_empty_panels(test, tmp_path):
    result = made_result(test=test)
    for make, n_panels in ((sparsity_figure, 1), (error_figure, 6 if test else 4)):
        figure = make(result)
        canvas = figure.draw()
        assert len(canvas.axes) == n_panels
        for ax in canvas.axes:
            assert "units of y" in ax.get_xlabel()
            assert ax.get_ylabel()
            assert len(ax.lines) >= 4
        labels = labels_of(canvas)
        assert {"FW 1 %", "CD", "SLEP const."} <= set(labels)
        assert len(set(labels)) == len(labels)
        write_figure(figure, tmp_path)
        assert {file.name for file in tmp_path.glob(f"{figure.name}.*")} == {f"{figure.name}.png", f"{figure.name}.svg"}


def test_errors_are_held_against_the_optimum():
    result = made_result(**{"sfw-1": {"train_mse": (1.5 * (2.0 - RADII)).tolist()}})
    _, _, above, of_shares = error_figure(result).draw().axes
    for ax in (above, of_shares):
        np.testing.assert_allclose(line(ax, "FW 1 %").get_ydata(), 0.5)
        assert any("the optimum, as far as it is known" in text.get_text() for text in ax.texts)
    assert line(above, "CD").get_ydata().max() < 1e-10  # on the optimum: below the floor, and not along it


def test_the_smallest_test_error_of_every_line_is_marked():
    *_, ax = error_figure(made_result(test=True)).draw().axes
    marks = [mark for mark in ax.lines if mark.get_markerfacecolor() == "none" and len(mark.get_xdata())]
    assert len(marks) == 4
    best = RADII[np.argmin((RADII - 0.1) ** 2)]
    assert all(mark.get_xdata()[0] == pytest.approx(best) for mark in marks)


def test_titles_say_what_is_a_stand_in_and_how_large_a_set_is():
    figure = sparsity_figure(made_result(is_standin=True))
    assert "stand-in" in figure.title
    assert figure.draw().axes[0].get_title() == "Pyrim, 74 x 201,376 (stand-in): active features"


def test_figures_say_which_methods_were_not_run():
    result = made_result(missing=("scd", "apg", "apg-ball", "glmnet"))
    figure = sparsity_figure(result).draw()
    note = figure.legends[0].get_title().get_text()
    assert "Not run: SCD: no room; SLEP reg.: no room; SLEP const.: no room." in note.replace("\n", " ")
    assert set(labels_of(figure)) == {"CD", "FW 1 %", "certified path, FW's grid"}
    assert [len(ax.lines) for ax in error_figure(result).draw().axes] == [4, 5, 3, 4]


# Synthetic sets ----------------------------------------------------------------------------------------------


def made_growth(n_runs=3):
    """Two features; every run is a little above the one before, and its first point stalled."""
    l1 = [1.0, 10.0, 100.0]
    runs = [
        {"l1": l1, "coefs": [[1.0, 5.0, 50.0 + k], [0.0, -2.0, -50.0]], "test_mse": [9.0, 7.0, 8.0 + k], "stalled": [0]}
        for k in range(n_runs)
    ]
    return Growth(SYNTHETIC, "Made", [4, 1234], runs, runs, {**runs[0], "l1": [0.0, 10.0, 100.0]}, 372)


def test_growth_shows_medians_ranges_features_and_stalled_points():
    figure = growth_figure(made_growth()).draw()
    for ax, (of, name) in zip(figure.axes, 2 * [("FW, 372 columns a step", "FW"), ("FW, ours", "ours")], strict=True):
        np.testing.assert_array_equal(line(ax, of).get_ydata(), [1.0, 5.0, 51.0])
        assert len(ax.collections) == 2  # a band a feature of FW
        np.testing.assert_array_equal(line(ax, f"points of {name} that ended on").get_xdata(), [1.0])
    assert [text.get_text() for text in figure.axes[0].texts] == ["4", "1,234"]
    assert any("whole ball" in label for label in labels_of(figure))


def test_a_single_run_has_no_band():
    growth = made_growth(n_runs=1)
    for make in (growth_figure, held_out_figure):
        figure = make(growth).draw()
        assert not any(ax.collections for ax in figure.axes)
        assert "FW, 372 columns a step" in labels_of(figure)


def test_test_errors_are_held_against_the_empty_model():
    figure = held_out_figure(made_growth()).draw()
    whole, closer = figure.axes
    assert whole.get_ylim()[0] == 0.0
    assert closer.get_ylim()[0] > 0.5
    for ax in figure.axes:
        np.testing.assert_allclose(line(ax, "CD").get_ydata(), [1.0, 7.0 / 9.0, 8.0 / 9.0])
        np.testing.assert_array_equal(line(ax, "empty model").get_ydata(), 1.0)


# Beyond the paper --------------------------------------------------------------------------------------------


def test_gaps_below_the_floor_are_hidden_and_the_floor_is_named():
    records = {
        f"curves/{SYNTHETIC}/sfw-1/0": run_record([2e-2, 2e-3, 2e-7], stalled=[1]),
        f"curves/{SYNTHETIC}/certified-radii/0": run_record([0.0, 0.0, 1e-9]),
    }
    (ax,) = gaps.PART.show(SETUP, records).figures[0].draw().axes
    assert [text.get_text() for text in ax.texts] == ["below 1e-8: not drawn"]
    assert line(ax, "certified").get_ydata().max() < 1e-8  # not raised to the floor
    np.testing.assert_array_equal(line(ax, "points of FW 1 %").get_xdata(), [1.0])


def test_no_panel_of_gaps_has_more_lines_than_can_be_read():
    records = {f"large/pyrim/{key}/0": run_record([1e-2, 1e-3, 1e-4]) for key in METHODS if key in gaps._ALL}
    records |= {f"curves/pyrim/{key}/0": run_record([1e-2, 1e-3, 1e-4]) for key in ("afw", "pfw")}
    axes = gaps.PART.show(SETUP, records).figures[0].draw().axes
    drawn = [set(ax.get_legend_handles_labels()[1]) for ax in axes]
    assert [len(names) for names in drawn] == [6, 7]
    assert len(set.union(*drawn)) == len(gaps._ALL)


def test_logarithmic_axes_name_few_values():
    figure, axes = panels(2)
    for ax, largest in zip(axes, (30.0, 3e5), strict=True):
        ax.plot([10.0, largest], [10.0, largest])
        log_axes(ax)
    figure.draw_without_rendering()
    short, long = ([label.get_text() for label in ax.get_xticklabels() if label.get_text()] for ax in axes)
    assert {"10", "20"} <= set(short)
    assert {"10", "1,000", "$10^{4}$"} <= set(long)
    assert not any(ax.xaxis.get_minorticklabels()[0].get_text() for ax in axes)
