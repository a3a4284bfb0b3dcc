"""The page of the report in a browser: what it shows, how it is steered, what it gives, what it asks for."""

import csv
import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from fwlasso import Status
from fwlasso.report import write_report
from fwlasso.report.call import call_text
from made_paths import M, P, choose, solve, synthetic_path

try:
    from browser import CHROMIUM, Browser
except ModuleNotFoundError as error:
    pytest.skip(f"pages are driven by {error.name}, which is not installed", allow_module_level=True)

pytestmark = [pytest.mark.long, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is found to open pages with")]

NAMES = ("<b>&", "</script><script>alert(1)</script>", '"so", he said', "größe", *(f"x{j}" for j in range(4, P)))
CHARTS = ("coefs", "score", "active", "gap")
HOME = 4
N_POINTS = 7


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def path():
    return replace(solve(standardize=True, eps=0.05), feature_names=NAMES)


@pytest.fixture
def page(browser, tmp_path):
    """Open the report of a path; in the end nobody has complained, and nothing was fetched but the page."""

    def show(path, **options):
        browser.resize(1280, 900)
        browser.prefer("light")
        write_report(path, tmp_path / "report.html", **options)
        browser.open(tmp_path / "report.html")
        return browser

    yield show
    assert browser.complaints() == []
    assert set(browser.requests()) == {(tmp_path / "report.html").as_uri()}


def slide(browser, point):
    """Move the slider by hand, to a point from 0."""
    browser.run(f"slider = document.querySelector('#slider'); slider.value = {point}; 0")
    browser.run("slider.dispatchEvent(new Event('input', {bubbles: true}))")


def count(browser, selector):
    return browser.run(f"document.querySelectorAll('{selector}').length")


def assert_numbers_drawn(browser):
    for name in CHARTS:
        assert not browser.run(f"/NaN|Infinity|undefined|null/.test(document.querySelector('#{name}').innerHTML)"), name


def readout(browser):
    cells = browser.run("[...document.querySelectorAll('#readout > div')].map((cell) => cell.innerText)")
    return dict(cell.split("\n") for cell in cells)


def assert_table(rows, coef, scaled, names=NAMES, rel=5e-6):
    """The rows of the table are these coefficients, the strongest first; by default to six digits."""
    order = np.argsort(-np.abs(scaled), kind="stable")[: np.count_nonzero(scaled)].tolist()
    assert [(row[0], int(row[1])) for row in rows] == [(names[j], j) for j in order]
    for column, values in ((2, coef), (3, scaled)):
        shown = [float(row[column]) for row in rows]
        assert shown == (
            [values[j] for j in order] if rel == 0.0 else pytest.approx([values[j] for j in order], rel=rel)
        )


@pytest.mark.parametrize(("chosen", "title"), [(HOME, "The chosen model"), (None, "The last point")])
def test_table_of_the_model_is_exact(page, path, chosen, title):
    browser = page(path, choice=None if chosen is None else choose(path, chosen))
    point = -1 if chosen is None else chosen
    assert browser.text("#model-title") == title
    assert_table(browser.rows("#features"), path.coef(point), path.coef(point, scaled=True))
    assert browser.text("#intercept") == f"{path.intercepts[point]:.6g}"


def test_names_title_and_settings_are_text(page, path):
    nasty = "</script><script>alert(2)</script>"
    browser = page(replace(path, settings=path.settings | {"note": nasty}), title=nasty)
    assert browser.text("h1") == nasty
    assert f"note={nasty}" in browser.text("#summary")
    assert browser.run("document.scripts.length") == 2
    legend = browser.run("[...document.querySelectorAll('#legend button')].map((button) => button.textContent)")
    assert set(NAMES[:4]) <= set(legend)


def test_tables_tell_what_was_done(page, path):
    choice = choose(path, HOME)
    gaps = np.append(path.gaps[:-1], np.nan)
    browser = page(replace(path, gaps=gaps, ending=Status.TIMED_OUT), choice=choice)
    for k, row in enumerate(browser.rows("#points")):
        numbers = [path.radii[k], path.alphas[k], path.n_active[k], path.r2[k], choice.scores[k], gaps[k]]
        shown = [float("nan" if cell == "-" else cell) for cell in row[1:7]]
        assert shown == pytest.approx(numbers, rel=0.06, abs=1e-4, nan_ok=True)
        assert (row[0], row[7:]) == (str(k + 1), [str(path.counters.iterations[k]), path.statuses[k].value])
    summary = dict(browser.rows("#summary"))
    expected = {
        "data": f"{M} samples, {P} features",
        "path": f"7 points; {Status.TIMED_OUT.sentence}",
        "choice": f"point {HOME + 1} by 1se (mean squared error)",
        "points": path.summary_of_statuses(),
        "iterations": f"{path.counters.iterations.sum():,}",
        "dot products": f"{path.counters.dot_products:,}",
        "features ever active": str(np.unique(path.coefs.indices).size),
        "largest gap": f"{np.nanmax(gaps):.2e}",
    }
    assert expected.items() <= summary.items()
    assert {"solver=certified", "stop=gap", "tol=0.0001"} <= set(summary["settings"].split(", "))


def test_every_chart_is_drawn(page, path):
    browser = page(path, choice=choose(path, HOME))
    for name in CHARTS:
        assert count(browser, f"#{name} svg .line") >= 1, name
        assert count(browser, f"#{name} svg .tick") >= 5, name
    assert_numbers_drawn(browser)
    assert count(browser, "#coefs svg .line") == min(10, np.unique(path.coefs.indices).size)
    marks = {"fold": 5, "band": 1, "chosen": 1, "best": 0}
    assert {mark: count(browser, f"#score .{mark}") for mark in marks} == marks
    assert browser.text("#gap .marked") == "tolerance 1e-4"
    assert browser.text("#score-title") == "Mean squared error"
    browser = page(path, choice=replace(choose(path, HOME - 1), scores=choose(path, HOME).scores))
    assert count(browser, "#score .best") == 1
    assert "Ring: the best score." in browser.text("#score-note")


def test_without_a_choice_the_fit_is_drawn(page, path):
    browser = page(path)
    assert browser.text("#score-title") == "R² on the training data"
    assert count(browser, ".fold, .band, .chosen, .home-line") == 0
    assert browser.run("document.querySelector('#after').disabled")
    for button, point in (("#before", 6), ("#before", 5), ("#after", 6)):
        browser.click(button)
        assert readout(browser)["point"] == f"{point} of 7"
    for place, point in (("#active svg", 1), ("#points tbody tr:nth-child(3)", 3)):
        browser.click(place, 0.01)
        assert readout(browser)["point"] == f"{point} of 7"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda path: replace(path, gaps=np.full(N_POINTS, np.nan)), id="no gaps"),
        pytest.param(lambda path: replace(path, gaps=np.where(np.arange(N_POINTS) % 2, np.nan, 1e-7)), id="some gaps"),
        pytest.param(lambda path: replace(path, gaps=np.zeros(N_POINTS)), id="gaps of zero"),
        pytest.param(lambda path: replace(path, alphas=path.alphas * 0.0), id="no penalty"),
        pytest.param(
            lambda path: solve(y=np.ones(M)),
            id="no active features",
            marks=pytest.mark.filterwarnings("ignore:The response is constant"),
        ),
        pytest.param(lambda path: solve(radii=[2.0]), id="one point"),
        pytest.param(lambda path: solve(radii=[0.0]), id="one empty point"),
        pytest.param(lambda path: solve(solver="sfw", certify=False), id="not certified"),
    ],
)
def test_odd_paths_are_drawn(page, path, change, request):
    odd, chosen = change(path), "one" not in request.node.callspec.id
    browser = page(odd, choice=choose(odd, len(odd) - 1, folds=len(odd) > 1) if chosen else None)
    for k in (0, len(odd) - 1):
        slide(browser, k)
        assert readout(browser)["point"] == f"{k + 1} of {len(odd)}"
        for name in CHARTS:
            browser.hover(f"#{name} svg")
            assert re.search(r"point \d", browser.text(f"#{name} .tip"))
        assert_numbers_drawn(browser)
    assert browser.run("document.querySelector('#axis [value=alpha]').disabled") == bool((odd.alphas <= 0.0).all())
    assert ("not computed" in browser.text("#gap")) == bool(np.isnan(odd.gaps).all())


@pytest.mark.parametrize("axis", ["radius", "alpha"])
def test_no_label_is_cut(page, path, axis):
    browser = page(path, choice=choose(path, N_POINTS - 1))
    browser.run(
        f"axis = document.querySelector('#axis'); axis.value = {axis!r}; axis.dispatchEvent(new Event('change'))"
    )
    boxes = browser.run(
        "[...document.querySelectorAll('.chart text')].map((text) => { const svg = text.ownerSVGElement;"
        "const shown = getComputedStyle(svg).overflow === 'visible' ? svg.closest('section') : svg;"
        "const [inner, outer] = [text, shown].map((part) => part.getBoundingClientRect());"
        "return [text.textContent, inner.left - outer.left, outer.right - inner.right]; })"
    )
    assert "chosen" in [text for text, *_ in boxes]
    assert [box for box in boxes if min(box[1:]) < 0.0] == []


@pytest.mark.parametrize("point", [0, 2, 6])
def test_slider_changes_readout_and_table(page, path, point):
    browser = page(path, choice=choose(path, HOME))
    before = readout(browser)
    slide(browser, point)
    now = readout(browser)
    assert now.keys() == {"point", "alpha", "l1 norm", "active", "R²", "mean squared error", "gap", "status"}
    assert all(now[name] != before[name] for name in ("point", "alpha", "l1 norm", "active"))
    assert now["point"] == f"{point + 1} of 7"
    assert int(now["active"]) == path.n_active[point]
    for name, value in {"alpha": path.alphas, "l1 norm": path.radii, "R²": path.r2}.items():
        assert float(now[name]) == pytest.approx(value[point], rel=1e-3, abs=1e-12)
    assert float(now["gap"]) == pytest.approx(path.gaps[point], rel=0.06)
    assert now["status"] == path.statuses[point].value
    assert browser.text("#model-title") == f"Point {point + 1} of 7"
    assert_table(browser.rows("#features"), path.coef(point), path.coef(point, scaled=True))
    assert browser.run("document.querySelector('#points [aria-current]').sectionRowIndex") == point
    browser.click("#back")
    assert readout(browser) == before
    assert_table(browser.rows("#features"), path.coef(HOME), path.coef(HOME, scaled=True))


def test_refitted_model_is_not_a_point_of_the_path(page, path):
    choice = choose(path, HOME, blend=0.5)
    browser = page(path, choice=choice)
    assert browser.text(".lede").endswith("a refit of one of them, for which no gap is known.")
    model, told = browser.rows("#features"), readout(browser)
    expected = dict(zip(choice.coef.indices, choice.coef.data, strict=True))
    assert {int(row[1]): float(row[2]) for row in model} == pytest.approx(expected, rel=5e-6)
    assert (told["R²"], told["gap"], told["status"]) == ("0.625", "\N{EN DASH}", "refitted")
    assert float(told["l1 norm"]) == pytest.approx(choice.radius, rel=1e-3)
    assert browser.rows("#points")[HOME][4] == "0.6250"
    slide(browser, HOME - 1)
    slide(browser, HOME)
    assert browser.text("#model-title") == f"Point {HOME + 1} of 7"
    assert float(readout(browser)["R²"]) == pytest.approx(path.r2[HOME], rel=1e-3)
    assert_table(browser.rows("#features"), path.coef(HOME), path.coef(HOME, scaled=True))
    for home in ("#back", "#points .chosen"):
        browser.click(home)
        assert (browser.rows("#features"), readout(browser)) == (model, told)
        assert browser.text("#intercept") == f"{choice.intercept:.6g}"
        slide(browser, 0)


def test_pointing_at_a_line_names_its_feature(page, path):
    browser = page(path)
    # The strongest line at the last point, at the right end of the chart.
    strongest = int(np.abs(path.coef(-1, scaled=True)).argmax())
    browser.run(
        "line = document.querySelector('#coefs .line.colour-0'); end = line.getPointAtLength(line.getTotalLength())"
    )
    across, down = browser.run(
        "(() => { const box = document.querySelector('#coefs svg').viewBox.baseVal;"
        "return [end.x / box.width, end.y / box.height]; })()"
    )
    browser.hover("#coefs svg", across, down)
    name, coefficient, where = browser.text("#coefs .tip").split("\n")
    assert name == NAMES[strongest]
    shown = [float(number) for number in re.findall(r"-?[\d.]+(?:e-?\d+)?", coefficient)]
    assert shown == pytest.approx([path.coef(-1)[strongest], path.coef(-1, scaled=True)[strongest]], rel=1e-4)
    assert where == f"feature {strongest} at point 7"
    browser.hover("h1")
    assert browser.run("document.querySelector('#coefs .tip').hidden")


def test_pointing_at_the_error_tells_its_folds(page, path):
    choice = choose(path, HOME)
    browser = page(path, choice=choice)
    browser.hover("#score svg", 0.999)
    lines = browser.text("#score .tip").split("\n")
    assert lines[0] == "point 7"
    assert float(lines[1].removeprefix("mean squared error: ")) == pytest.approx(choice.scores[-1], rel=1e-3)
    assert float(lines[2].split()[1].rstrip(",")) == pytest.approx(choice.standard_errors[-1], rel=1e-2)
    folds = [float(number) for number in lines[3].removeprefix("folds: ").split(", ")]
    assert folds == pytest.approx(choice.fold_scores[-1], rel=1e-2)


def test_finger_on_a_line_names_its_feature(page, path):
    browser = page(path)
    browser.resize(390, 844, mobile=True)
    browser.send("Emulation.setTouchEmulationEnabled", enabled=True)
    try:
        x, y = browser.place("#coefs svg", 0.97, 0.3)
        browser.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        browser.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        browser.settle()
    finally:
        browser.send("Emulation.setTouchEmulationEnabled", enabled=False)
    name, _, where = browser.text("#coefs .tip").split("\n")
    assert name in NAMES
    assert where.endswith("at point 7")
    assert readout(browser)["point"] == "7 of 7"


@pytest.mark.parametrize("chosen", [None, HOME, N_POINTS - 1])
def test_points_without_a_logarithm_are_left_out_of_its_axis(page, rng, chosen):
    path = synthetic_path(40, N_POINTS, 20, rng)
    ended = replace(path, alphas=np.append(path.alphas[:-1], 0.0))
    browser = page(ended, choice=None if chosen is None else choose(ended, chosen))
    assert not browser.run("document.querySelector('#axis [value=alpha]').disabled")
    lines = "[...document.querySelectorAll('#coefs path')].map((line) => line.getAttribute('d').split(/[ML]/).length)"
    before = browser.run(lines)
    browser.run("axis = document.querySelector('#axis'); axis.value = 'alpha'; axis.dispatchEvent(new Event('change'))")
    after = browser.run(lines)
    assert "alpha, on a log scale" in browser.run("document.querySelector('#gap').textContent")
    for name in CHARTS:
        assert "(1 at 0 left out)" in browser.run(f"document.querySelector('#{name}').textContent")
        browser.hover(f"#{name} svg", 0.999)
        assert "point 6" in browser.text(f"#{name} .tip")
        browser.focus(f"#{name} svg")
        browser.press("End")
        assert "point 7" in browser.text(f"#{name} .tip")
    assert_numbers_drawn(browser)
    # Every line goes on to the last point, and is there with a point less; the faint ones are one path.
    faint, *labelled, highlight = zip(before, after, strict=True)
    assert [had - has for had, has in (faint, *labelled)] == [10] + [1] * 10
    assert highlight == (1, 1)


@pytest.mark.parametrize("place", ["#slider", "#coefs svg", "#score svg", "#active svg", "#gap svg"])
def test_points_by_keyboard(page, path, place):
    browser = page(path, choice=choose(path, HOME))
    browser.focus(place)
    tip = place.replace("svg", ".tip")
    for key, point in (("ArrowRight", 6), ("ArrowLeft", 5), ("Home", 1), ("ArrowLeft", 1), ("End", 7)):
        browser.press(key)
        assert readout(browser)["point"] == f"{point} of 7"
        assert place == "#slider" or f"point {point}" in browser.text(tip)
    browser.press("Escape")
    assert place == "#slider" or browser.run(f"document.querySelector('{tip}').hidden")


def test_features_by_keyboard(page, path):
    browser = page(path)
    by_value = [NAMES[j] for j in np.argsort(-path.coef(-1, scaled=True), kind="stable") if path.coef(-1)[j]]
    browser.focus("#coefs svg")
    told = []
    for _ in range(len(by_value) + 1):
        browser.press("ArrowDown")
        told.append(browser.text("#coefs .tip").split("\n")[0])
    assert told == [*by_value, by_value[-1]]
    browser.press("ArrowUp")
    assert browser.text("#coefs .tip").split("\n")[0] == by_value[-2]
    browser.focus("#legend li:nth-child(2) button")
    names = []
    for _ in range(2):
        names.append(browser.run("document.activeElement.textContent"))
        assert browser.text("#coefs .tip").split("\n")[0] == names[-1]
        browser.press("Tab")
    assert names[0] != names[1]


def test_everything_is_reached_by_tab_and_seen(page, path):
    browser = page(path, choice=choose(path, HOME))
    slide(browser, 1)
    reached = []
    for _ in range(60):
        browser.press("Tab")
        here, ring = browser.run(
            "(() => { const now = document.activeElement; const style = getComputedStyle(now);"
            "return [now.id || now.parentElement.id || now.tagName, style.outlineStyle + style.outlineWidth]; })()"
        )
        if here in ("BODY", "HTML") or reached.count("before") > 1:
            break
        reached.append(here)
        assert ring == "solid3px", here
    expected = ["before", "slider", "after", "back", "axis", *CHARTS, "download", "copy", "call"]
    assert [name for name in reached if name in expected][: len(expected)] == expected


@pytest.mark.parametrize(
    ("column", "key", "descending_first", "by_keyboard"),
    [
        (1, None, False, True),
        (2, lambda row: int(row[1]), False, False),
        (3, lambda row: abs(float(row[2])), True, True),
        (4, lambda row: abs(float(row[3])), False, False),  # it is sorted by this one already, from the largest on
    ],
)
def test_table_is_sorted(page, path, column, key, descending_first, by_keyboard):
    browser = page(path)
    button = f"#features thead th:nth-child({column}) button"
    rows = browser.rows("#features")

    def sort():
        if by_keyboard:
            browser.focus(button)
            browser.press("Enter")
        else:
            browser.click(button)
        return browser.rows("#features")

    first = sort()
    assert sorted(first) == sorted(rows)
    if key:
        assert first == sorted(rows, key=key, reverse=descending_first)
    else:
        assert first == browser.run(
            f"{json.dumps(rows)}.sort((a, b) => a[0].localeCompare(b[0], 'en', {{numeric: true}}))"
        )
    if column == 2:  # the order is kept along the path
        slide(browser, 5)
        assert [int(row[1]) for row in browser.rows("#features")] == np.flatnonzero(path.coef(5)).tolist()
        slide(browser, 6)
    sorting = browser.run(f"document.querySelector('#features thead th:nth-child({column})').ariaSort")
    assert sorting == ("descending" if descending_first else "ascending")
    assert sort() == first[::-1]
    assert count(browser, "#features [aria-sort]") == 1


@pytest.mark.parametrize("point", [None, 2])
def test_download(page, path, point):
    browser = page(path, choice=choose(path, HOME))
    if point is not None:
        slide(browser, point)
    browser.click("#download")
    name, text = browser.downloaded()
    assert name == ("lasso-chosen.csv" if point is None else f"lasso-point-{point + 1}.csv")
    head, intercept, *rows = csv.reader(io.StringIO(text, newline=""))
    assert head == ["feature", "index", "coefficient", "scaled_coefficient"]
    shown = browser.rows("#features")
    assert [row[:2] for row in rows] == [row[:2] for row in shown]
    assert all(len(cell.strip("-").replace(".", "")) <= 7 for row in shown for cell in row[2:])  # six, and a zero
    k = HOME if point is None else point
    assert intercept[:2] + intercept[3:] == ["(intercept)", "", ""]
    assert float(intercept[2]) == pytest.approx(path.intercepts[k], rel=0.0 if point is None else 1e-6)
    assert_table(rows, path.coef(k), path.coef(k, scaled=True), rel=0.0 if point is None else 1e-6)


def test_no_cell_of_the_download_is_a_formula(page, path):
    names = ("=1+2", "+x", "-x", "@y", "-1.5", *NAMES[5:])
    browser = page(replace(path, feature_names=names))
    browser.click("#download")
    _, _, *rows = csv.reader(io.StringIO(browser.downloaded()[1], newline=""))
    safe = {name: f"'{name}" for name in names[:4]}
    assert [row[0] for row in rows] == [safe.get(row[0], row[0]) for row in browser.rows("#features")]
    assert set(safe.values()) <= {row[0] for row in rows}
    assert any(row[2].startswith("-") for row in rows)  # numbers stay what they are
    assert all(float(cell) for row in rows for cell in row[2:])


def test_call_is_copied(page, path):
    browser = page(path)
    browser.send("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    assert browser.text("#call") == call_text(path)
    browser.click("#copy")
    assert browser.run("navigator.clipboard.readText()") == call_text(path)


@pytest.mark.parametrize("width", [320, 768, 2560])
def test_page_is_as_wide_as_the_screen(page, path, width):
    long = replace(path, feature_names=tuple(f"{'a long name ' * 9}{j}" + "x" * 99 for j in range(P)))
    browser = page(long, title="a_title_without_a_space_" * 9, choice=choose(long, HOME))
    browser.resize(width, 844, mobile=width < 500)
    assert browser.run("document.documentElement.scrollWidth") <= width
    drawn = browser.run("document.querySelector('#coefs svg').viewBox.baseVal.width")
    assert drawn == browser.run("document.querySelector('#coefs').clientWidth")
    browser.hover("#coefs svg", 0.9, 0.4)
    assert browser.run("document.documentElement.scrollWidth") <= width


def luminance(colour):
    """Relative luminance of a colour such as rgb(1, 2, 3)."""
    channels = np.array([int(number) for number in re.findall(r"\d+", colour)[:3]]) / 255.0
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("scheme", "media"), [("light", ""), ("dark", ""), ("light", "print"), ("dark", "print")])
def test_colours_suit_the_scheme(page, path, scheme, media):
    browser = page(path, choice=choose(path, HOME))
    browser.prefer(scheme, media)
    style = "getComputedStyle(document.querySelector({!r})).{}".format
    paper, ink = browser.run(style("body", "backgroundColor")), browser.run(style("body", "color"))
    assert (luminance(paper) > 0.5) == (scheme == "light" or media == "print")
    assert contrast(ink, paper) > 7.0
    card = browser.run(style("section", "backgroundColor"))
    card = paper if card == "rgba(0, 0, 0, 0)" else card
    assert contrast(browser.run(style(".hint", "color")), card) > 4.5
    for rank in range(6):
        line = browser.run(style(f"#coefs .colour-{rank}", "stroke"))
        assert contrast(line, card) > (3.0 if scheme == "dark" and not media else 2.0), rank
    controls = [browser.run(style(selector, "display")) for selector in (".controls", "#download", "#copy")]
    assert all((display == "none") == (media == "print") for display in controls)


def test_without_scripts_there_are_tables(page, path):
    browser = page(path)
    features, points, summary = (browser.rows(table) for table in ("#features", "#points", "#summary"))
    browser.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.send("Page.reload")
        browser.wait_for("Page.loadEventFired")
        tree = browser.send("DOMSnapshot.captureSnapshot", computedStyles=["display"])
    finally:
        browser.send("Emulation.setScriptExecutionDisabled", value=False)
    layout = tree["documents"][0]["layout"]
    shown = {tree["strings"][number] for number in layout["text"] if number >= 0}
    for cell in {cell for row in (*features, *points, *summary) for cell in row}:
        assert cell in shown
    assert "The charts need JavaScript; the tables below do not." in shown
    assert "Download CSV" not in shown


def test_many_features(page, rng):
    path = synthetic_path(635_376, 100, 2_500, rng)
    choice = choose(path, 50)
    browser = page(path, choice=choice)
    assert browser.text("#drawn").startswith("The 2,000 strongest of 2,500 features")
    rows = browser.rows("#features")
    assert_table(rows, path.coef(50), path.coef(50, scaled=True), names=path.feature_names)
    slide(browser, 99)
    assert len(browser.rows("#features")) == 2_000
    assert browser.text("#left-out") == "; 500 weaker features are not on this page"
    browser.hover("#coefs svg", 0.9, 0.3)
    assert browser.text("#coefs .tip").split("\n")[0] in path.feature_names
