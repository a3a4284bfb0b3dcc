import xml.etree.ElementTree as ET

import numpy as np
import pytest

from fwlasso import LassoPath, lasso_cv, lasso_path, stability_selection
from fwlasso.views import curves, small_html, spread


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 12))
    return X, X[:, :3] @ [3.0, -2.0, 1.0] + rng.standard_normal(40)


@pytest.fixture(scope="module")
def path(data):
    return lasso_path(*data, alphas=15)


@pytest.mark.parametrize("part", [slice(2, 5), slice(None), slice(-3, None), slice(None, None, 4), slice(7, 8)])
def test_a_slice_is_the_path_of_its_points(path, data, part, tmp_path):
    some, places = path[part], range(15)[part]
    assert len(some) == len(places)
    np.testing.assert_array_equal(some.alphas, path.alphas[places])
    np.testing.assert_array_equal(some.predict(data[0]), path.predict(data[0])[:, places])
    assert [some[k].coefs.tolist() for k in range(len(some))] == [path[k].coefs.tolist() for k in places]
    assert some.statuses == tuple(path.statuses[k] for k in places)
    np.testing.assert_array_equal(some.counters.iterations, path.counters.iterations[places])
    some.save(tmp_path / "some.npz")
    assert repr(LassoPath.load(tmp_path / "some.npz")) == repr(some)


@pytest.mark.parametrize("part", [slice(5, 5), slice(20, 30), slice(None, None, -1)])
def test_a_slice_of_no_points_or_backwards_is_refused(path, part):
    with pytest.raises(IndexError, match=r"^a slice of a path has points, from sparse to dense"):
        path[part]


def cells(html):
    """The texts of the rows of the tables, and how many curves there are; the page is well-formed."""
    tree = ET.fromstring(f"<page>{html}</page>")
    return [["".join(cell.itertext()) for cell in row] for row in tree.iter("tr")], len(list(tree.iter("polyline")))


def test_a_notebook_shows_points_and_curves_of_a_path(path):
    (head, *rows), n_curves = cells(path._repr_html_())
    assert head[:3] == ["point", "alpha", "radius"]
    assert [int(row[0]) for row in rows] == spread(15)
    assert [row[-1] for row in rows] == [path.statuses[k].value for k in spread(15)]
    assert n_curves == min(12, np.count_nonzero(abs(path.coefs).max(axis=1).toarray()))
    assert "LassoPath: 15 points" in path._repr_html_()


def test_a_notebook_shows_what_was_chosen_and_what_is_stable(data):
    found = lasso_cv(*data, cv=3, alphas=15)
    (head, *rows), n_curves = cells(found.choice._repr_html_())
    assert head[0] == "point"
    assert [row for row in rows if int(row[0]) == found.choice.point]
    assert n_curves == 1
    assert found._repr_html_().count("font-weight: bold") == 1
    table, n_curves = cells(found._repr_html_())
    assert n_curves > 1
    assert len(table) >= len(rows) + 11
    stable = stability_selection(*data, n_subsamples=4, alphas=5, random_state=0)
    (_, *rows), _ = cells(stable._repr_html_())
    assert {0, 1, 2} <= {int(row[0]) for row in rows}
    assert float(rows[0][1]) == 1.0


def test_texts_are_escaped_and_numbers_that_are_none_have_no_point():
    html = small_html("<script>", ["<b>"], [["<i>&"]])
    assert cells(html) == ([["<b>"], ["<i>&"]], 0)
    assert "<script>" not in html
    x = np.arange(4.0)
    for values in (np.full((1, 4), np.nan), np.zeros((2, 4)), np.array([[1.0, np.nan, np.inf, 2.0]])):
        assert "nan" not in curves(x, values)
        assert "inf" not in curves(x, values)
    assert curves(x[:1], np.ones((1, 1))) == ""
