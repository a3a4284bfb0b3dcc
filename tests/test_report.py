"""The report: a page that parses, needs no network, and says what the path says."""

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from fwlasso import Status, lasso_path
from fwlasso.report import largest_coefs, point_rows, write_report

M, P = 30, 12
VOID = {"meta", "br", "hr", "img", "input", "link"}
NASTY = ("<b>&", "</td></tr></table>", "--><script>alert(1)</script>", "\"quoted\" & 'so'", "&amp;", "größe")


def solve(y=None, **settings):
    rng = np.random.default_rng(5)
    X = np.asfortranarray(rng.standard_normal((M, P)) * np.linspace(0.5, 2.0, P))
    y = X[:, :6] @ [6.0, -5.0, 4.0, -3.0, 2.0, 1.0] + 0.1 * rng.standard_normal(M) if y is None else y
    return lasso_path(X, y, **{"radii": 7, "random_state": 0, "n_threads": 1, **settings})


@pytest.fixture(scope="module")
def path():
    return solve()


class Page(HTMLParser):
    """Tags must be closed in order; rows of tables, attributes and texts are collected."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.tables, self.texts, self.prologue = [], [], [], [], {}, []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_decl(self, decl):
        self.prologue.append(decl)

    handle_pi = handle_decl

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data
        elif self.open:
            self.texts.setdefault(self.open[-1], []).append(data)


@pytest.fixture
def report(tmp_path):
    def read(path, **options):
        write_report(path, tmp_path / "report.html", **options)
        return Page((tmp_path / "report.html").read_text(encoding="utf-8"))

    return read


def tables_of(page):
    """The summary as a dict, the largest coefficients and the points as rows without their header."""
    summary, features, points = page.tables
    return dict(summary), features[1:], points[1:]


def test_page_is_well_formed(report, path):
    page = report(path)
    assert page.prologue == ["doctype html"]
    assert page.tags.count("html") == page.tags.count("head") == page.tags.count("body") == page.tags.count("svg") == 1
    assert ("charset", "utf-8") in page.attributes
    assert page.texts["title"] == page.texts["h1"] == ["Lasso path"]


def test_nothing_is_fetched(report, path):
    page = report(path)
    assert not {"script", "img", "link", "iframe", "object", "embed", "base"} & set(page.tags)
    links = [value for name, value in page.attributes if name.split(":")[-1] in ("src", "href", "srcset", "data")]
    assert links  # matplotlib's glyphs point to each other
    assert all(link.startswith(("#", "data:")) for link in links)  # glyphs, and the colour bar as a picture
    styles = page.texts["style"] + [value for name, value in page.attributes if name in ("style", "clip-path")]
    assert not any("@import" in style for style in styles)
    assert all(style.count("url(") == style.count("url(#") for style in styles)


@pytest.mark.parametrize("solver", ["corrective", "sfw"])
def test_every_point_has_its_row(report, solver):
    path = solve(solver=solver)
    _, _, points = tables_of(report(path))
    assert [tuple(row) for row in points] == point_rows(path, range(len(path)))
    assert len(points) == len(path) == 7
    for k, row in enumerate(points):
        assert row[0] == str(k + 1)
        assert [float(cell) for cell in row[1:3]] == pytest.approx([path.radii[k], path.alphas[k]], rel=1e-3)
        assert float(row[4]) == pytest.approx(path.r2[k], abs=1e-4)
        assert float(row[5]) == pytest.approx(path.gaps[k], rel=0.06)
        assert (int(row[3]), int(row[6])) == (path.n_active[k], path.counters.iterations[k])
        assert row[7] == path.statuses[k].value


def test_header_has_as_many_cells_as_the_rows(report, path):
    for table in report(path).tables:
        assert len({len(row) for row in table}) == 1


def test_missing_gaps_are_dashes(report):
    summary, _, points = tables_of(report(solve(solver="sfw", certify=False)))
    assert [row[5] for row in points] == ["-"] * 7
    assert summary["largest gap"] == "not computed"


def test_gaps_that_the_solver_has_found_are_shown_without_a_closing_pass(report, path):
    _, _, points = tables_of(report(solve(certify=False)))
    assert [float(row[5]) for row in points] == pytest.approx(path.gaps, rel=0.06)


def test_one_missing_gap_is_a_dash(report, path):
    gaps = np.full(7, 0.125)
    gaps[2] = np.nan
    summary, _, points = tables_of(report(replace(path, gaps=gaps)))
    assert [row[5] == "-" for row in points] == [False, False, True, False, False, False, False]
    assert float(summary["largest gap"]) == 0.125


def test_names_are_escaped(report, path):
    named = replace(path, feature_names=NASTY + tuple(f"x{j}" for j in range(P - len(NASTY))))
    page = report(named)
    _, features, _ = tables_of(page)
    assert {row[0] for row in features} >= set(NASTY)
    assert not {"b", "script"} & set(page.tags)


def test_title_and_settings_are_escaped(report, path):
    page = report(replace(path, settings={**path.settings, "note": NASTY[1]}), title=NASTY[2])
    assert page.texts["title"] == page.texts["h1"] == [NASTY[2]]
    assert "script" not in page.tags
    assert f"note={NASTY[1]}" in tables_of(page)[0]["settings"]


@pytest.mark.parametrize("standardize", [False, True])
def test_largest_coefficients_of_the_last_point(report, standardize):
    path = solve(standardize=standardize)
    coef, scaled = path.coef(-1), path.scaled_coefs.toarray()[:, -1]
    order = np.argsort(-np.abs(scaled))[: np.count_nonzero(scaled)]
    assert largest_coefs(path, point=-1) == [(str(j), coef[j], scaled[j]) for j in order]
    _, features, _ = tables_of(report(path))
    assert [row[0] for row in features] == [str(j) for j in order]
    assert [float(row[1]) for row in features] == pytest.approx(coef[order], rel=1e-5)
    assert [float(row[2]) for row in features] == pytest.approx(scaled[order], rel=1e-5)


@pytest.mark.parametrize("n_largest", [0, 2, 100])
@pytest.mark.parametrize("point", [0, 3, -1])
def test_number_of_largest_coefficients(path, n_largest, point):
    assert len(largest_coefs(path, point, n_largest)) == min(n_largest, path.n_active[point])


def test_summary_tells_what_was_done(report, path):
    summary, _, _ = tables_of(report(path))
    assert summary["data"] == f"{M} samples, {P} features"
    assert summary["path"] == "7 points; complete"
    assert summary["points"] == path.summary_of_statuses()
    assert summary["iterations"] == f"{path.counters.iterations.sum():,}"
    assert summary["dot products"] == f"{path.counters.dot_products:,}"
    assert float(summary["largest gap"]) == pytest.approx(path.gaps.max(), rel=0.01)
    assert list(path.counters.seconds) == [part.split()[0] for part in summary["seconds"].split(", ")]
    for setting in ("solver=corrective", "stop=gap", "tol=0.0001", f"seed={path.settings['seed']}"):
        assert setting in summary["settings"].split(", ")


@pytest.mark.parametrize("ending", [Status.TIMED_OUT, Status.INTERRUPTED, Status.STOPPED])
def test_early_ending_is_told(report, path, ending):
    summary, _, _ = tables_of(report(replace(path, ending=ending)))
    assert ending.sentence in summary["path"]


@pytest.mark.parametrize("grid", [3, [0.0]])
def test_path_without_active_features(report, grid):
    _, features, points = tables_of(report(solve(y=np.ones(M), radii=grid)))
    assert features == []
    assert [row[3] for row in points] == ["0"] * len(points)
    assert len(points) in (1, 3)


def test_old_report_is_replaced(report, path):
    report(path, title="first " * 1000)
    assert report(path, title="second").texts["title"] == ["second"]
