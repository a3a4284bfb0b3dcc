"""Commands on a cluster, in this process; `test_cluster` has real workers."""

import contextlib
import sys

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("dask.dataframe", reason="the extra [dask] is not installed")

import dask
import distributed

from cli_cases import NAMES, X, Y, call, call_json, write_csv, write_npy
from fwlasso import LassoPath

ASKED = "--alphas", 5, "--scheduler", "tcp://somewhere:8786"


def test_rows_and_columns_on_a_cluster(tmp_path, monkeypatch, call_main):
    addresses = []

    class NoClient(distributed.Client):
        def __new__(cls, **where):
            addresses.append(where)
            return contextlib.nullcontext()

    monkeypatch.setattr(distributed, "Client", NoClient)
    parquet, out = tmp_path / "table.parquet", tmp_path / "out"
    pd.DataFrame(X, columns=NAMES).assign(y=Y).to_parquet(parquet, row_group_size=10)
    columns, table = write_npy(tmp_path / "X.npy"), write_csv(tmp_path / "table.csv")
    call("convert", table, tmp_path / "store", "--target", "y")
    local = call_json("path", table, "--target", "y", "--alphas", 5)["points"]
    rows = parquet, "--target", "y", *ASKED
    with dask.config.set(scheduler="synchronous"):
        for given in (rows, (columns, *ASKED), (tmp_path / "store", *ASKED)):
            found = call_json("path", *given)
            assert found["traffic"]["round_trips"] > 0
            r2 = [[point["r2"] for point in points] for points in (found["points"], local)]
            np.testing.assert_allclose(*r2, atol=1e-3)
        for given in ((*rows, "--shuffle"), (columns, *ASKED, "--out", out)):
            assert "choice" in call_json("cv", *given)
    assert addresses == 5 * [{"address": "tcp://somewhere:8786"}]
    assert len(LassoPath.load(out / "path.npz")) == 5
    call("report", out)

    for said, given in {
        "give one of --workers and --scheduler": (*rows, "--workers", 2),
        "--resume:": (*rows, "--out", out, "--resume"),
        f"fwlasso convert {table} makes a store": (table, *ASKED),
        "--target: name the response": (parquet, *ASKED),
        "--columns:": (*rows, "--columns", "f1"),
        "--validation:": (*rows, "--validation", table),
    }.items():
        code, _, fault = call_main("path", *given)
        assert (code, said in fault) == (2, True), fault
    assert "--stratify:" in call_main("cv", *rows, "--stratify")[2]
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setattr("fwlasso.cli.cluster.find_spec", lambda name: None)
    assert 'pip install "fwlasso[dask]"' in call_main("path", *rows)[2]
    assert len(addresses) == 5
