"""What `make golden` compares: a bit that differs is found, wherever it is, and a damaged file is refused."""

import numpy as np
import pytest

from golden.__main__ import run
from golden.cases import cases
from golden.kept import difference, differences, read, write


@pytest.mark.parametrize(
    ("old", "new", "by"),
    [
        ([1.0, np.nan, np.inf], [1.0, np.nan, np.inf], 0.0),
        ([4.0, 2.0], [4.0, 2.0 + 4e-13], pytest.approx(1e-13, rel=1e-3)),
        ([0.0], [-0.0], 5e-324),
        ([1.0], [np.nan], np.inf),
        ([np.inf], [-np.inf], np.inf),
        ([1.0], [1.0, 1.0], np.inf),
        ([1, 2], [1, 3], np.inf),
        ([1, 2], [1.0, 2.0], np.inf),
        (["certified"], ["precision"], np.inf),
    ],
)
def test_difference(old, new, by):
    assert difference(np.array(old), np.array(new)) == by


def test_missing_arrays_and_cases_differ():
    kept = {"a": {"gaps": np.ones(2), "radii": np.ones(2)}, "b": {"gaps": np.ones(1)}}
    found = {"a": {"gaps": np.ones(2)}, "c": {"gaps": np.ones(1)}}
    assert differences(kept, found) == {"a": {"radii": np.inf}, "b": {"gaps": np.inf}, "c": {"gaps": np.inf}}


def test_file_is_as_it_was_written(tmp_path):
    results = {"a/b": {"path.gaps": np.array([1.0, np.nan]), "route": np.array("gram")}}
    write(tmp_path / "kept.npz", results)
    assert differences(read(tmp_path / "kept.npz"), results) == {"a/b": {}}
    with np.load(tmp_path / "kept.npz") as kept:
        members = {**kept, "a/b|path.gaps": np.array([1.0, 2.0])}
    np.savez(tmp_path / "kept.npz", **members)
    with pytest.raises(ValueError, match="a/b is not as it was written"):
        read(tmp_path / "kept.npz")


def test_a_case_tells_all_of_its_path():
    arrays = run(next(case for name, case in cases(1) if name == "default/dense64/centred/tall"))
    assert arrays["coefs"].shape == (20, 12)
    assert arrays["gaps"].max() <= 1e-4
    assert arrays["counters.iterations"].sum() > 0
    assert str(arrays["statuses"]).count("certified") == 12
    assert str(arrays["settings.route"]) == "gram"


def test_an_error_is_a_result():
    def fail():
        raise ValueError("no such solver")

    assert str(run(fail)["error"]) == "ValueError('no such solver')"
