"""Columns in parts, which lose what they hold: the bits of one machine; `test_cluster` has real workers."""

import os
import pickle
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("dask.array", reason="the extra [dask] is not installed")

import dask.array as da
from sklearn.exceptions import ConvergenceWarning

import fwlasso
from fwlasso._core import threads
from fwlasso.bed import Genotypes
from fwlasso.data.design import as_design
from fwlasso.datasets import open_store, write_store
from fwlasso.distributed import lasso_cv, lasso_path, open_design
from fwlasso.distributed.columns import ClusterDesign, columnar
from fwlasso.distributed.tasks import InThisProcess, Made, OnCluster
from programs import run_program


class Lossy(InThisProcess):
    """Loses what a part is made of now and then, and passes everything on as bytes."""

    def __init__(self, seed, rate=0.03):
        self.rng, self.rate, self.n_lost = np.random.default_rng(seed), rate, 0

    def _lose(self, made):
        made.value.clear()
        for given in made.given:
            if isinstance(given, Made):
                self._lose(given)

    def ask(self, function, calls, look):
        found = []
        for handle, given in calls:
            if self.rng.random() < self.rate:
                self._lose(handle)
                self.n_lost += 1
            part = pickle.loads(pickle.dumps(handle.get())) if self.rng.random() < self.rate else handle.get()
            found.append(pickle.loads(pickle.dumps(function(part, *pickle.loads(pickle.dumps(given))))))
        return found


def in_files(X, folder):
    """The storage of X, mapped from files."""
    if isinstance(X, Genotypes):
        X.packed.tofile(folder / "x.bed")
        return (
            Genotypes(np.memmap(folder / "x.bed", np.uint8, "r", shape=X.packed.shape), X.shape[0]).as_design().columns
        )
    write_store(folder / "store", X, np.zeros(X.shape[0]))
    return as_design(open_store(folder / "store").X).columns


def made(rng, kind, m, p, is_odd):
    """A matrix; an odd one has columns far from zero, constant ones and copies."""
    if kind == "bed":
        codes = np.zeros((p, -(-m // 4) * 4), np.uint8)
        codes[:, :m] = rng.choice(4, (p, m), p=[0.3, 0.02, 0.38, 0.3])
        packed = codes[:, 0::4] | codes[:, 1::4] << 2 | codes[:, 2::4] << 4 | codes[:, 3::4] << 6
        packed[p // 2] = packed[p // 3]
        return Genotypes(packed, m)
    X = rng.standard_normal((m, p)) * rng.uniform(0.1, 10.0, p)
    X = X * (rng.random((m, p)) < 0.2) if kind == "csc" else X
    if is_odd:
        X[:, 1] = rng.standard_normal(m) + 1e6
        X[:, 2] = 3.25
        X[:, p // 2] = X[:, p // 3]
        X[:, p - 1] = -X[:, p // 3]
    return sp.csc_array(X) if kind == "csc" else np.asfortranarray(X.astype(np.float32 if kind == "f4" else np.float64))


def problem_of(seed):
    """A random problem: X, y, and what is asked of it."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(["f8", "f4", "csc", "bed"]))
    m, p = int(rng.integers(8, 16)), int(rng.integers(12, 40))
    X = made(rng, kind, m, p, rng.random() < 0.4)
    beta = np.zeros(p)
    beta[rng.choice(p, 3, replace=False)] = rng.standard_normal(3)
    y = X @ beta
    y = y / (y.std() or 1.0) + 0.3 * rng.standard_normal(m)
    asked = {"fit_intercept": bool(rng.random() < 0.7), "standardize": bool(rng.random() < 0.4)}
    asked["tol"] = float(rng.choice([1e-4, 1e-6, 1e-8]))
    if rng.random() < 0.3:
        asked["sample_weight"] = rng.choice([0.0, 1.0, 1.0], m) if rng.random() < 0.5 else rng.uniform(0.5, 2.0, m)
    if rng.random() < 0.3:
        asked["penalty_factor"] = rng.choice([0.5, 1.0, 2.0, np.inf], p)
    form = rng.choice(["alphas", "radii", "net", "bounds", "logistic"], p=[0.4, 0.2, 0.2, 0.1, 0.1])
    asked |= {
        "alphas": {"alphas": 6},
        "radii": {"radii": 4},
        "net": {"alphas": 5, "l1_ratio": 0.7},
        "bounds": {"alphas": 5, "lower": -0.5, "upper": 0.3},
        "logistic": {"alphas": 3, "loss": "logistic", "tol": 1e-4},
    }[form]
    return X, (y > np.median(y)) if form == "logistic" else y, asked, int(rng.integers(1, 10))


def assert_same(path, local):
    for name in ("alphas", "radii", "intercepts", "gaps", "r2", "statuses"):
        np.testing.assert_array_equal(getattr(path, name), getattr(local, name), err_msg=name)
    for name in ("coefs", "scaled_coefs"):
        ours, theirs = getattr(path, name), getattr(local, name)
        for array in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(ours, array), getattr(theirs, array), err_msg=name)
    assert path.counters.passes == local.counters.passes
    assert path.counters.readings == local.counters.readings


def fuzz(n, folder):
    """Solve problems on columns in parts, and on one machine; nets have sums, which pieces of the columns decide."""
    threads._CHUNK_BYTES, n_lost, reopened = 64, 0, 0
    for seed in range(n):
        X, y, asked, n_parts = problem_of(seed)
        own = Path(folder, str(seed))
        own.mkdir()
        tasks = Lossy(seed)
        design = ClusterDesign(columnar([in_files(X, own)], n_parts, None), tasks)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            path = fwlasso.lasso_path(design, y, **asked)
            local = fwlasso.lasso_path(X, y, solver="working-set", **asked)
        assert_same(path, local)
        n_lost += tasks.n_lost
        reopened += design.traffic.reopened
    return n_lost, reopened


@pytest.mark.long
def test_columns_in_parts_that_get_lost_have_the_bits_of_one_machine(tmp_path):
    """As plain Python, in a process of its own: each of the many kinds of data would be compiled."""
    code = f"from test_columns_in_parts import fuzz; print(*fuzz(200, {str(tmp_path)!r}))"
    done = run_program(code, NUMBA_DISABLE_JIT=1, PYTHONPATH=os.pathsep.join(sys.path))
    n_lost, reopened = map(int, done.stdout.split())
    assert n_lost > 0
    assert reopened > 0


def design_of(X, folder, n_parts=3):
    return ClusterDesign(columnar([in_files(X, folder)], n_parts, None), InThisProcess())


@pytest.fixture
def wide(rng):
    X = np.asfortranarray(rng.standard_normal((30, 90)))
    return X, X[:, :4] @ [3.0, -2.0, 1.0, 1.0] + rng.standard_normal(30)


def test_what_travels_is_what_the_formula_says(wide, tmp_path):
    X, y = wide
    design, asked = design_of(X, tmp_path), []
    ask = design.ask

    def listen(function, calls):
        found = ask(function, calls)
        asked.append((function.__name__, calls, found))
        return found

    design.ask = listen
    traffic = fwlasso.lasso_path(design, y, alphas=20).counters.traffic
    m, p, n_parts = 30, 90, 3
    v = 8 * (m + 1)
    kinds = {name: [(calls, found) for it, calls, found in asked if it == name] for name, _, _ in asked}
    (first,), passes = kinds["summarize"], kinds["read_part"]
    assert traffic.round_trips == sum(map(len, kinds.values())) == len(asked)
    assert sum(8 * one.means.size * 3 for one in first[1]) == 24 * p
    n_read = [len(calls[0][1][1]) for calls, _ in passes]  # residuals of every pass
    in_passes = sum(4 * p * (1 + (k > 1)) + 8 * k * n_parts for k in n_read)
    listed, fetched = kinds.get("read_some_of_part", []), kinds["fetch"]
    n_listed = sum(given[0].size for calls, _ in listed for _, given in calls)
    n_fetched = sum(given[0].size for calls, _ in fetched for _, given in calls)
    in_lists = sum(top.nbytes + found.nbytes for _, answers in listed for top, found in answers)
    assert traffic.bytes_in == 24 * p + in_passes + in_lists + n_fetched * 8 * m
    out_lists = sum(given[1].nbytes for calls, _ in listed for _, given in calls)  # short vectors go with every task
    assert traffic.bytes_out == n_parts * v * (1 + sum(n_read)) + out_lists + 8 * n_listed + 8 * n_fetched
    assert traffic.reopened == 0


def test_files_that_change_or_are_cut_off_are_named(wide, tmp_path):
    X, y = wide
    design = design_of(X, tmp_path)
    file = tmp_path / "store" / "X.npy"
    os.utime(file, ns=(0, 0))
    with pytest.raises(ValueError, match=r"X\.npy was altered"):
        fwlasso.lasso_path(design, y)
    with pytest.raises(ValueError, match="must lie in files"):
        columnar([as_design(X).columns], 2, None)


@pytest.mark.parametrize("solver", ["gram", "sfw", "cd"])
def test_solvers_that_read_x_here_are_refused(wide, tmp_path, solver):
    X, y = wide
    with pytest.raises(ValueError, match="columns are on a cluster"):
        fwlasso.lasso_path(design_of(X, tmp_path), y, solver=solver)


def test_what_needs_all_columns_here_is_refused_by_name(wide, tmp_path):
    X, y = wide
    for asked in ({"unpenalized": [3]}, {"checkpoint": tmp_path / "run"}):
        with pytest.raises(ValueError, match=next(iter(asked))):
            fwlasso.lasso_path(design_of(X, tmp_path), y, **asked)


def test_the_clock_ends_a_pass(wide, tmp_path):
    X, y = wide
    design = design_of(X, tmp_path)
    with pytest.raises(TimeoutError, match="time_limit"):
        lasso_path(design, y, time_limit=1e-9)

    def stop(progress):
        return progress.done and progress.point == 5

    with pytest.warns(ConvergenceWarning, match="callback"):
        assert 5 < len(fwlasso.lasso_path(design, y, callback=stop)) < 100


def test_folds_of_columns_in_parts(wide, tmp_path):
    X, y = wide
    y = y + 9.0 * np.random.default_rng(1).standard_normal(30)  # the best model is not the last
    found, local = lasso_cv(design_of(X, tmp_path), y, cv=3, alphas=10), fwlasso.lasso_cv(X, y, cv=3, alphas=10)
    np.testing.assert_array_equal(found.choice.fold_scores, local.choice.fold_scores)
    assert_same(found.path, local.path)


def test_what_may_be_opened(wide, tmp_path):
    X, y = wide
    local = fwlasso.lasso_path(X, y, alphas=10)
    np.save(tmp_path / "X.npy", X)
    write_store(tmp_path / "data", X, y, feature_names=[f"c{j}" for j in range(90)])
    for given in (tmp_path / "X.npy", str(tmp_path / "data"), open_store(tmp_path / "data"), da.from_array(X, (7, 20))):
        is_store = "data" in str(getattr(given, "folder", given))
        path = lasso_path(open_design(given, n_parts=4), None if is_store else y, alphas=10)
        assert_same(path, local)
        assert path.feature_names == (tuple(f"c{j}" for j in range(90)) if is_store else None)
    assert_same(lasso_path(da.from_array(X, (7, 20)), da.from_array(y, 7), alphas=10), local)


def test_files_of_several_chromosomes_are_side_by_side(rng, tmp_path):
    whole = made(rng, "bed", 20, 60, False)
    y = whole @ np.eye(60)[3] + rng.standard_normal(20)
    for k, columns in enumerate((slice(0, 25), slice(25, 60))):
        write_bed(tmp_path / f"chr{k}.bed", whole.packed[columns], 20)
    path = lasso_path([tmp_path / "chr0.bed", tmp_path / "chr1.bed"], y, alphas=10)
    assert_same(path, fwlasso.lasso_path(whole, y, alphas=10, solver="working-set"))
    assert path.feature_names[25:27] == ("c1_0", "c1_1")


def write_bed(file, packed, n_samples):
    """A .bed file with its .bim and .fam."""
    number = file.stem[-1]
    file.write_bytes(b"\x6c\x1b\x01" + packed.tobytes())
    bim = [f"1\tc{number}_{j}\t0\t{j + 1}\tA\tC\n" for j in range(len(packed))]
    file.with_suffix(".bim").write_text("".join(bim))
    file.with_suffix(".fam").write_text("".join(f"0 s{i} 0 0 0 -9\n" for i in range(n_samples)))


def test_workers_that_are_too_small_are_refused_before_anything_is_read():
    workers = {"workers": {"a": {"memory_limit": 10**9}, "b": {"memory_limit": 10**9}}}
    tasks = OnCluster(SimpleNamespace(scheduler_info=lambda **_: workers))
    tasks.check_room(4 * 10**8)
    with pytest.raises(ValueError, match=r"2,000,000,000 bytes.*room for 400,000,000.*10 such workers"):
        tasks.check_room(2 * 10**9)
