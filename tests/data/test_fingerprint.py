"""Data are known again, value by value or by the manifest of their store."""

import numpy as np
import pytest

from conftest import STORAGES
from fwlasso import lasso_path
from fwlasso.data.design import as_design
from fwlasso.data.fingerprint import fingerprint
from fwlasso.datasets import open_store, write_store
from run_cases import M, P, assert_same_bits, make_data


@pytest.mark.parametrize("storage", STORAGES)
def test_it_tells_every_change_of_a_value(storage):
    X, y = make_data(storage)
    design = as_design(X)
    before = fingerprint(design, y)
    assert fingerprint(as_design(make_data(storage)[0]), y) == before
    rng = np.random.default_rng(0)
    values = rng.integers(0, 3, (M, P)).astype(np.float64)
    assert fingerprint(as_design(STORAGES[storage](values)), y)["X"] != before["X"]
    assert fingerprint(design, y[::-1].copy())["y"] != before["y"]


def test_that_of_a_view_is_that_of_its_values():
    X, y = make_data()
    wide = np.asfortranarray(np.vstack([X, X]))
    assert fingerprint(as_design(wide[:M]), y) == fingerprint(as_design(X), y)


def test_that_of_a_store_reads_its_manifest(tmp_path, monkeypatch):
    X, y = make_data()
    write_store(tmp_path / "store", X, y)
    whole = lasso_path(tmp_path / "store", alphas=10, checkpoint=tmp_path / "run", random_state=0)
    assert_same_bits(whole, lasso_path(X, y, alphas=10, checkpoint=tmp_path / "other", random_state=0))
    checked = []
    from fwlasso.data import fingerprint as module

    checksum = module.checksum
    monkeypatch.setattr(module, "checksum", lambda array: checked.append(array.size) or checksum(array))
    assert_same_bits(lasso_path(tmp_path / "store", alphas=10, checkpoint=tmp_path / "run", random_state=0), whole)
    assert checked == [M]
    write_store(tmp_path / "store", X + 1.0, y)
    with pytest.raises(ValueError, match="the data have changed: X was different"):
        lasso_path(open_store(tmp_path / "store"), alphas=10, checkpoint=tmp_path / "run", random_state=0)
