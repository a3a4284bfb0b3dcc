"""Cuts cover the work, threads give the bits of one thread, and paths may run side by side."""

import functools
import itertools
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from numba.core.compiler_lock import global_compiler_lock
from threadpoolctl import threadpool_info, threadpool_limits

import fwlasso.solvers.frank_wolfe as frank_wolfe
from fwlasso import lasso_path
from fwlasso._core import threads as parallel
from fwlasso._core.columns import column_chunks, nbytes
from fwlasso._core.csc import Csc
from fwlasso._core.dense import Dense
from fwlasso._core.standardized import Standardized
from fwlasso._core.threads import Workers, even_cuts, lazy, n_chunks, one_blas_thread, resolve_threads
from fwlasso.data.design import as_design
from fwlasso.solvers.registry import SOLVERS

CHUNK = parallel._CHUNK_BYTES


def assert_cuts(cuts, n_items):
    """The cuts cover range(n_items) exactly, in increasing steps."""
    assert cuts[0] == 0
    assert cuts[-1] == n_items
    assert all(lo < hi for lo, hi in itertools.pairwise(cuts))


def test_work_is_cut_evenly_into_few_chunks():
    fewest = parallel._FEWEST_CHUNKS * CHUNK
    for n_bytes in (0, 1, CHUNK, fewest - 1):
        assert n_chunks(n_bytes) == 1
    for n_bytes in (fewest, 100 * CHUNK, 10**9, 10**13):
        assert parallel._FEWEST_CHUNKS <= n_chunks(n_bytes) <= parallel._MAX_CHUNKS
        assert n_chunks(n_bytes) <= n_chunks(2 * n_bytes)
    for n_items, n_bytes in itertools.product((1, 2, 7, 9, 256, 257, 100_003), (0, 8 * CHUNK, 37 * CHUNK + 11, 10**13)):
        cuts = even_cuts(n_items, n_bytes)
        assert_cuts(cuts, n_items)
        assert len(cuts) - 1 == min(n_items, n_chunks(n_bytes))
        assert np.ptp(np.diff(cuts)) <= 1
    assert even_cuts(0, 10**9) == [0, 0]
    assert_cuts(column_chunks(Dense(np.zeros((500, 300)))), 500)


def zipf_columns(p, n_rows):
    """Column k has about n_rows / (k + 1) entries, in shuffled order; many columns are empty."""
    rng = np.random.default_rng(0)
    lengths = rng.permutation(n_rows // np.arange(1, p + 1))
    indices = np.concatenate([np.sort(rng.permutation(n_rows)[:n]) for n in lengths]).astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return sp.csc_array((rng.standard_normal(indices.size), indices, indptr), shape=(n_rows, p))


@pytest.fixture
def tiny_chunks(monkeypatch):
    """Chunks of a few hundred bytes, so that small data are cut like large ones."""
    monkeypatch.setattr(parallel, "_CHUNK_BYTES", 256)


@pytest.mark.usefixtures("tiny_chunks")
def test_uneven_sparse_columns_are_cut_by_their_work():
    X = as_design(zipf_columns(2000, 5000)).columns
    cuts = column_chunks(X)
    assert_cuts(cuts, 2000)
    assert len(cuts) > 8
    # No chunk has much more than its share, except by one column that is longer than that.
    share = X.data.size / n_chunks(nbytes(X))
    longest = [np.diff(X.indptr[lo : hi + 1]).max() for lo, hi in itertools.pairwise(cuts)]
    assert (np.diff(X.indptr[cuts]) <= share + np.array(longest) + 1).all()


@pytest.mark.usefixtures("tiny_chunks")
@pytest.mark.parametrize(
    "lengths",
    [[0] * 500, [5000] + [0] * 499, [0] * 499 + [5000], [0, 5000, 0], [5000]],
    ids=["empty", "first", "last", "middle", "only"],
)
def test_extreme_sparse_columns_are_covered(lengths):
    nnz = sum(lengths)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    columns = Csc(np.ones(nnz), np.zeros(nnz, np.int32), indptr, 5000)
    assert_cuts(column_chunks(columns), len(lengths))
    p = len(lengths)
    assert column_chunks(Standardized(columns, np.zeros(p), np.ones(p))) == column_chunks(columns)


@pytest.mark.parametrize(
    ("given", "stated", "expected"),
    [
        (3, "7", 3),
        (None, "7", 7),
        (None, "2,4", 2),  # OpenMP's levels of nesting: the outer one
        (None, "-2", 5),
        (None, "many", 5),
        (None, None, 5),
    ],
)
def test_number_of_threads(monkeypatch, given, stated, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(10, 15)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if stated is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", stated)
    assert resolve_threads(given) == expected


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture
def three_blas_threads():
    with threadpool_limits(3, user_api="blas"):
        assert blas_threads() == {3}
        yield


@pytest.mark.usefixtures("three_blas_threads")
def test_blas_has_one_thread_within_contexts_only():
    with one_blas_thread():
        with pytest.raises(ArithmeticError), one_blas_thread():
            raise ArithmeticError
        assert blas_threads() == {1}
    assert blas_threads() == {3}
    # Paths in several threads: the first to come is the first to go.
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    within_second = blas_threads()
    second.__exit__(None, None, None)
    assert (within_second, blas_threads()) == ({1}, {3})


@pytest.mark.usefixtures("three_blas_threads")
def test_a_certified_path_has_one_blas_thread_and_gives_the_others_back():
    seen = []
    X, y = data("dense")
    lasso_path(X, y, alphas=4, callback=lambda now: seen.append(blas_threads()))
    assert seen
    assert all(n_threads == {1} for n_threads in seen)
    assert blas_threads() == {3}


@pytest.mark.parametrize("n_threads", [1, 5])
def test_results_come_in_order_and_one_piece_or_one_thread_stays_in_this_one(n_threads):
    with Workers(n_threads) as workers:
        for n_pieces in (1, 2, 100):  # the pool is used again
            cuts = [k * k for k in range(n_pieces + 1)]
            assert workers.map(lambda lo, hi: (lo, hi), cuts) == list(itertools.pairwise(cuts))
        for cuts in ([0, 10], range(20)) if n_threads == 1 else ([0, 10],):
            assert set(workers.map(lambda lo, hi: threading.current_thread(), cuts)) == {threading.current_thread()}


def helpers():
    return {thread for thread in threading.enumerate() if thread.name.startswith("fwlasso")}


@pytest.mark.parametrize("error", [None, ArithmeticError])
def test_chunks_run_at_the_same_time_and_the_pool_ends_with_its_context(error):
    together = threading.Barrier(5)  # every chunk waits until all have started

    def chunk(lo, hi):
        together.wait(60)
        if error and threading.current_thread() is not threading.main_thread():
            raise error("in a helper")
        return threading.current_thread()

    with pytest.raises(ArithmeticError, match="in a helper") if error else nullcontext(), Workers(5) as workers:
        found = workers.map(chunk, range(6))
        assert len(set(found)) == 5
        assert threading.current_thread() in found
        assert len(helpers()) == 4
    assert helpers() == set()


@pytest.mark.parametrize(("n_threads", "bad"), [(1, 7), (5, 29)])
def test_an_error_in_a_chunk_comes_out(n_threads, bad):
    def chunk(lo, hi):
        if lo == bad:
            raise ArithmeticError(f"chunk {lo}")
        return lo

    with Workers(n_threads) as workers:
        with pytest.raises(ArithmeticError, match=f"chunk {bad}"):
            workers.map(chunk, range(31))
        assert workers.map(lambda lo, hi: lo, range(31)) == list(range(30))  # and the pool is still good


@functools.cache
def data(kind):
    rng = np.random.default_rng(5)
    if kind == "sparse":
        X = zipf_columns(3000, 400)
        X.data += 0.5
    else:
        X = np.asfortranarray(rng.standard_normal((60, 3000)) + 0.5)
    relevant = np.argsort(-np.asarray(abs(X).sum(axis=0)))[:10]
    y = X[:, relevant] @ rng.standard_normal(10) + 0.1 * rng.standard_normal(X.shape[0])
    return X, y


def solve(kind, solver, stop="change", **options):
    X, y = data(kind)
    options.setdefault(SOLVERS[solver].grids[0], 4)
    options["tol"] = {"change": 1e-3, "gap": 1e-6 if solver == "certified" else 0.02}[stop]
    return lasso_path(X, y, solver=solver, stop=stop, sample_size=0.5, standardize=True, random_state=7, **options)


def cut_finely(monkeypatch, kind):
    """Make a scan of all columns 24 chunks, and one of half of them 12."""
    X, _ = data(kind)
    monkeypatch.setattr(parallel, "_CHUNK_BYTES", nbytes(as_design(X).columns) // 24)


def bits(path):
    """Everything that a path tells of its points, exactly."""
    arrays = (path.coefs.data, path.coefs.indices, path.coefs.indptr, path.intercepts, path.gaps, path.alphas)
    arrays += (path.radii, path.r2, path.counters.iterations)
    return [array.tobytes() for array in arrays], path.statuses, path.counters.dot_products


@pytest.fixture
def seen_scans(monkeypatch):
    """The numbers of pieces that Frank-Wolfe's threaded scans were cut into."""
    seen = []

    def parallel_scan(problem, iterate, sampler, n_blocks, n_bytes, workers):
        seen.append(len(even_cuts(n_blocks, n_bytes)) - 1)
        return original(problem, iterate, sampler, n_blocks, n_bytes, workers)

    original = frank_wolfe.parallel_scan
    monkeypatch.setattr(frank_wolfe, "parallel_scan", parallel_scan)
    return seen


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("solver", "stop", "grid"),
    [
        ("certified", "gap", "alphas"),
        ("certified", "gap", "radii"),
        ("sfw", "change", "radii"),
        ("sfw", "gap", "radii"),
        ("fw", "change", "radii"),
        ("cd", "gap", "alphas"),
        ("afw", "gap", "radii"),
        ("pfw", "gap", "radii"),
    ],
)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_same_bits_for_any_number_of_threads(monkeypatch, seen_scans, kind, solver, stop, grid):
    options = {"alphas": None, grid: 12 if solver == "certified" else 4}
    whole = bits(solve(kind, solver, stop, n_threads=1, **options))
    assert seen_scans == []  # one chunk: the compiled burst
    cut_finely(monkeypatch, kind)
    for n_threads in (1, 2, 4):
        assert bits(solve(kind, solver, stop, n_threads=n_threads, **options)) == whole, n_threads
    if solver == "sfw":
        assert min(seen_scans) >= 8


@pytest.mark.compiled
def test_paths_in_several_threads(monkeypatch):
    cut_finely(monkeypatch, "sparse")
    methods = [("certified", "gap"), ("sfw", "change"), ("cd", "change")] * 2
    jobs = [(kind, *method) for method in methods for kind in ("dense", "sparse")]
    alone = [bits(solve(*job, n_threads=1)) for job in jobs]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda job: bits(solve(*job, n_threads=2)), jobs))
    assert together == alone
    assert helpers() == set()


# What Python 3.12 and later warn of is what is tested.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def holds_in_child(check):
    """Return whether a check holds in a forked child; one that hangs is ended."""
    child = os.fork()
    if child == 0:
        holds = False
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(30)
            holds = check()
        finally:
            os._exit(0 if holds else 1)
    return os.waitpid(child, 0)[1] == 0


@contextmanager
def beside(work):
    """Call ``work(started, may_end)`` in another thread, and wait until it has started."""
    started, may_end = threading.Event(), threading.Event()
    thread = threading.Thread(target=work, args=(started, may_end))
    thread.start()
    try:
        assert started.wait(60)
        yield
    finally:
        may_end.set()
        thread.join()


@pytest.mark.posix
@pytest.mark.long
@pytest.mark.compiled
def test_children_forked_beside_a_running_path_compute_paths():
    def path():
        return bits(solve("dense", "certified", "gap", n_threads=2))

    def paths(started, may_end):
        while not may_end.is_set():
            path()
            started.set()

    expected = path()
    with beside(paths):
        for _ in range(20):
            assert holds_in_child(lambda: path() == expected)


@pytest.fixture
def three_blas_threads_for_all():
    """What `three_blas_threads` is, but no thread that lives is the one that may change it."""
    limits = []
    parallel._in_passing(lambda: limits.append(threadpool_limits(3, user_api="blas")))
    assert blas_threads() == {3}
    yield
    parallel._in_passing(limits[0].restore_original_limits)


@pytest.mark.posix
@pytest.mark.usefixtures("three_blas_threads_for_all")
def test_a_child_has_the_blas_threads_that_another_thread_was_limiting():
    def limit(started, may_end):
        with one_blas_thread():
            started.set()
            may_end.wait(60)

    def check():
        before = blas_threads()
        with one_blas_thread():
            within = blas_threads()
        return (before, within, blas_threads()) == ({3}, {1}, {3})

    with beside(limit):
        assert holds_in_child(check)
        assert blas_threads() == {1}
    assert blas_threads() == {3}


@pytest.mark.posix
@pytest.mark.usefixtures("three_blas_threads")
def test_a_limit_of_the_thread_that_forks_holds_in_the_child():
    def check():
        within = blas_threads()
        context.__exit__(None, None, None)
        return (within, blas_threads()) == ({1}, {3})

    context = one_blas_thread()
    with context:
        assert holds_in_child(check)


@pytest.mark.posix
@pytest.mark.parametrize("lock", [one_blas_thread._lock, global_compiler_lock], ids=["blas", "compiler"])
def test_no_child_is_forked_while_another_thread_has_a_lock(lock):
    def hold(started, may_end):
        with lock:
            started.set()
            may_end.wait(0.2)

    def check():
        with lock:
            return True

    with beside(hold):
        assert holds_in_child(check)


@pytest.mark.posix
def test_a_child_computes_what_another_thread_was_computing():
    class Number:
        def __init__(self, wait):
            self.wait = wait

        @lazy
        def value(self):
            """Return the answer."""
            self.wait()
            return 42

    with beside(lambda started, may_end: Number(lambda: (started.set(), may_end.wait(60))).value):
        assert holds_in_child(lambda: Number(lambda: None).value == 42)
    waits = []
    number = Number(lambda: waits.append(1))
    assert (number.value, number.value, waits, Number.value.__doc__) == (42, 42, [1], "Return the answer.")


@pytest.mark.posix
def test_workers_have_threads_in_a_child():
    def use():
        together = threading.Barrier(3)
        return len(workers.map(lambda lo, hi: together.wait(20), range(4))) == 3

    with Workers(3) as workers:
        assert use()
        assert holds_in_child(use)
        assert use()


def path_with_threads(X, y, solver):
    """A path, and the number of threads that it would use by default: run in joblib's workers."""
    return bits(lasso_path(X, y, radii=3, solver=solver, random_state=7)), resolve_threads(None)


@pytest.mark.long
@pytest.mark.compiled
def test_paths_in_joblib_processes():
    solver = "certified"
    X, y = data("dense")
    tasks = [X[:, :1000], X[:, 1000:2000], X[:, 2000:]]
    alone = [path_with_threads(part, y, solver)[0] for part in tasks]
    with joblib.parallel_config(backend="loky", inner_max_num_threads=3):
        # Arrays above max_nbytes reach the workers as read-only memory maps.
        run = joblib.Parallel(n_jobs=2, max_nbytes=1000)
        found = run(joblib.delayed(path_with_threads)(part, y, solver) for part in tasks)
    assert [result for result, _ in found] == alone
    assert {n_threads for _, n_threads in found} == {3}
