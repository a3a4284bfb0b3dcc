"""The real thing: a cluster of two processes, of which some die."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

pytest.importorskip("distributed", reason="the extra [dask] is not installed")

import dask
import dask.array as da
import dask.dataframe as dd
import pandas as pd
from distributed import Client, LocalCluster
from test_columns_in_parts import assert_same, in_files, made

import fwlasso
from fwlasso import Status
from fwlasso.distributed import lasso_cv, lasso_path
from fwlasso.distributed.columns import ClusterDesign, columnar
from fwlasso.distributed.tasks import OnCluster

pytestmark = [pytest.mark.compiled, pytest.mark.long]


@pytest.fixture(scope="module")
def client():
    asked = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": "2GB"}
    with (
        dask.config.set({"distributed.worker.daemon": True}),
        LocalCluster(**asked) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def designs(client):
    """What is opened on the cluster; nothing is kept there after a test."""
    opened = []

    def make(X, folder, tasks=None):
        opened.append(ClusterDesign(columnar([in_files(X, folder)], 4, None), tasks or OnCluster(client)))
        return opened[-1]

    yield make
    for design in opened:
        design.close()
    until = time.monotonic() + 10.0
    while any(client.who_has().values()) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(client.who_has().values())


def kill(client, n=1):
    """Kill some workers, as a machine that goes does: new ones are started."""
    for pid in list(client.run(os.getpid).values())[:n]:
        os.kill(pid, signal.SIGKILL)


def killing(client, function, n=1):
    """Let workers die in the middle of the second request of a function, once."""
    seen = []

    class Killed(OnCluster):
        def _ask(self, asked, calls, look):
            seen.append(asked.__name__)
            if seen.count(function) == 2 and seen[-1] == function:
                threading.Timer(0.002, kill, (client, n)).start()
            return super()._ask(asked, calls, look)

    return Killed(client)


def wide_data(rng, kind, m=40, p=400):
    X = made(rng, kind, m, p, False)
    y = X @ np.eye(p)[3] - X @ np.eye(p)[7] + 0.3 * rng.standard_normal(m)
    return X, y


@pytest.mark.parametrize("kind", ["f8", "csc", "bed"])
def test_columns_have_the_bits_of_one_machine(client, designs, rng, tmp_path, kind):
    X, y = wide_data(rng, kind)
    design = designs(X, tmp_path)
    path = lasso_path(design, y)
    assert_same(path, fwlasso.lasso_path(X, y, solver="working-set"))
    assert path.counters.traffic.round_trips > 3


@pytest.mark.parametrize(("function", "n"), [("summarize", 1), ("read_part", 1), ("fetch", 2)])
def test_workers_may_die(client, designs, rng, tmp_path, function, n):
    X, y = wide_data(rng, "f8")
    local = fwlasso.lasso_path(X, y, solver="working-set")
    design = designs(X, tmp_path, killing(client, function, n))
    if function == "summarize":
        kill(client, n)  # while it opens
    assert_same(lasso_path(design, y), local)


def test_rows_have_the_same_bits_wherever_they_are_summed_up(client, designs, rng):
    X = rng.standard_normal((9000, 8))
    y = X[:, :3] @ [3.0, -2.0, 1.0] + 9.0 * rng.standard_normal(9000)
    arrays = da.from_array(X, (2000, 8)), da.from_array(y, 2000)
    with dask.config.set(scheduler="synchronous"):
        inline = fwlasso.distributed.rows.RowChunks(*arrays)
        inline._client = None
        here = fwlasso.lasso_path(inline.sum_up(fwlasso.monitor.Monitor(None, None)))
    assert_same(lasso_path(*arrays), here)
    threading.Timer(0.01, kill, (client,)).start()
    assert_same(lasso_path(*arrays), here)
    frame = dd.from_pandas(pd.DataFrame(X).rename(columns=str).assign(y=y), npartitions=5)
    found = lasso_cv(frame, "y", cv=4)
    assert found.choice.point == fwlasso.lasso_cv(X, y, cv=4).choice.point
    np.testing.assert_allclose(
        found.path.coefs.toarray(), fwlasso.lasso_path(X, y, tol=1e-6).coefs.toarray(), atol=1e-12
    )


def test_a_dask_array_is_read_by_columns(client, designs, rng):
    X, y = wide_data(rng, "f8")
    path = lasso_path(da.from_array(X, (15, 150)), da.from_array(y, 15))
    assert_same(path, fwlasso.lasso_path(X, y, solver="working-set"))


def test_a_file_that_is_touched_is_named(client, designs, rng, tmp_path):
    X, y = wide_data(rng, "f8")
    matrix = columnar([in_files(X, tmp_path)], 4, None)
    os.utime(tmp_path / "store" / "X.npy", ns=(0, 0))
    with pytest.raises(ValueError, match=r"X\.npy was altered"):
        lasso_path(ClusterDesign(matrix, OnCluster(client)), y)


def test_the_clock_ends_a_path_in_a_pass(client, designs, rng, tmp_path):
    X, y = wide_data(rng, "f8")

    class Slow(OnCluster):
        is_slow = False

        def _ask(self, asked, calls, look):
            if self.is_slow and asked.__name__ == "read_part":
                asked = _sleeping
            return super()._ask(asked, calls, look)

    design = designs(X, tmp_path, Slow(client))
    lasso_path(design, y, alphas=2)  # workers import and compile
    design.tasks.is_slow, started = True, time.monotonic()
    with pytest.warns(ConvergenceWarning, match="time limit"):
        path = lasso_path(design, y, time_limit=2.0)
    assert path.ending is Status.TIMED_OUT
    assert time.monotonic() - started < 20.0


def _sleeping(*_):
    time.sleep(30.0)


def test_a_scheduler_that_is_gone_leaves_the_path_so_far(rng, tmp_path):
    X, y = wide_data(rng, "f8")
    with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster, Client(cluster) as client:
        seen = []

        class Closing(OnCluster):
            def _ask(self, asked, calls, look):
                seen.append(asked.__name__)
                if seen.count("read_part") == 3:
                    cluster.close()
                return super()._ask(asked, calls, look)

        design = ClusterDesign(columnar([in_files(X, tmp_path)], 2, None), Closing(client))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            path = lasso_path(design, y)
        assert path.ending is Status.LOST
        assert 0 < len(path) < 100
        assert any("cluster was lost" in str(it.message) for it in told)
