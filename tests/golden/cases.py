"""The cases: small problems of every kind, by public names only, so that any commit can run them."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.model_selection import KFold

from fwlasso import Lasso, LassoCV, LassoPath, lasso_cv, lasso_path, stability_selection, sum_table
from fwlasso.datasets import open_bed, write_store

SHAPES = {"wide": (30, 80), "tall": (200, 20)}  # by a working set, by the Gram matrix
UNITS = {"raw": (False, False), "centred": (True, False), "scaled": (False, True), "standardized": (True, True)}
#: The solvers and the forms that they solve. The default one has no name here: names may change.
SOLVERS: dict[str, dict[str, Any]] = {
    "default": {"alphas": 12},
    "tight": {"alphas": 12, "tol": 1e-9},
    "radii": {"radii": 12},
    "sfw": {"solver": "sfw", "radii": 10, "sample_size": 7},
    "sfw-alphas": {"solver": "sfw", "alphas": 10, "sample_size": 0.2, "block_size": 1},
    "fw": {"solver": "fw", "radii": 10},
    "fw-alphas": {"solver": "fw", "alphas": 10, "stop": "paper"},
    "afw": {"solver": "afw", "radii": 10},
    "pfw": {"solver": "pfw", "radii": 10},
    "cd": {"solver": "cd", "alphas": 10},
}


def _with_int64(X: sp.csc_array) -> sp.csc_array:
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def _mapped(values: np.ndarray) -> Any:
    with TemporaryDirectory() as folder:  # what is mapped stays, though its file goes
        np.save(f"{folder}/X.npy", np.asfortranarray(values))
        return np.load(f"{folder}/X.npy", mmap_mode="r")


def _stored(X: Any) -> Any:
    with TemporaryDirectory() as folder:
        return write_store(f"{folder}/store", X, np.zeros(X.shape[0])).X


def _genotypes(values: np.ndarray) -> Any:
    """Count alleles by the signs; the largest numbers are missing calls."""
    codes = np.select([values >= 8, values > 0, values == 0], [0b01, 0b00, 0b10], 0b11).astype(np.uint8)
    fours = np.pad(codes, [(0, -len(codes) % 4), (0, 0)]).reshape(-1, 4, values.shape[1])
    packed = np.bitwise_or.reduce(fours << np.array([0, 2, 4, 6], np.uint8)[:, None], axis=1).T
    with TemporaryDirectory() as folder:
        file = Path(folder, "cohort.bed")
        file.write_bytes(b"\x6c\x1b\x01" + packed.tobytes())
        file.with_suffix(".bim").write_text("".join(f"1 rs{j} 0 {j + 1} A C\n" for j in range(len(packed))))
        file.with_suffix(".fam").write_text("".join(f"f s{i} 0 0 0 -9\n" for i in range(len(values))))
        return open_bed(file).X


STORAGES: dict[str, Callable[[np.ndarray], Any]] = {
    "dense64": np.asfortranarray,
    "csc32": lambda values: sp.csc_matrix(values.astype(np.float32)),
    "bed": _genotypes,
    "dense32": lambda values: np.asfortranarray(values, dtype=np.float32),
    "csc64": sp.csc_array,
    "csc64-int64": lambda values: _with_int64(sp.csc_array(values)),
    "rows32": lambda values: values.astype(np.float32),
    "frame": pd.DataFrame,
    "csr64": sp.csr_array,
    "memmap": _mapped,
    "store-dense32": lambda values: _stored(np.asfortranarray(values, dtype=np.float32)),
    "store-csc64": lambda values: _stored(sp.csc_array(values)),
}
FEW = ("dense64", "csc32", "bed")  # one of every kind


def make_data(m: int, p: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return columns of different scales and means, with zeros, that float32 holds exactly, and a response."""
    rng = np.random.default_rng((seed, m, p))
    values = (rng.integers(-8, 9, (m, p)) / 2.0 + rng.integers(0, 2, p)) * (rng.random((m, p)) < 0.5)
    k = min(p, 6)
    y = values[:, :k] @ [2.0, -1.0, 0.5, 1.5, -3.0, 1.0][:k] + rng.standard_normal(m) + 3.0
    return values * 2.0 ** rng.integers(-2, 3, p), y


def hard_data() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield data with dependent columns, and of shapes where there is little to solve."""
    for shape, (m, p) in SHAPES.items():
        X, y = make_data(m, p, seed=1)
        noise = np.random.default_rng(2).standard_normal((m, p))
        yield f"copies-{shape}", np.hstack([X, X[:, :5], -X[:, 3:9]]), y
        yield f"constant-{shape}", np.where(np.isin(np.arange(p), (2, 5)), np.arange(p) - 2.0, X), y
        yield f"collinear-{shape}", X[:, :1] + 1e-5 * noise, y
        yield f"shared-{shape}", noise + 3.0 * noise[:, :1], y
        yield f"offset-{shape}", X + 1e6, y
        yield f"same-y-{shape}", X, np.full(m, 4.0)
    for m, p in ((1, 5), (2, 7), (9, 1), (1, 1), (12, 12)):
        yield f"{m}x{p}", *make_data(m, p, seed=3)


def resumed(X: Any, y: Any, **options: Any) -> list[LassoPath]:
    """Return a path that a callback ends, and the same gone on with from its folder."""
    with TemporaryDirectory() as folder:
        call = partial(lasso_path, X, y, checkpoint=f"{folder}/run", **options)
        return [call(callback=lambda now: now.done and now.point >= 8), call()]


def saved(X: Any, y: Any, **options: Any) -> list[Any]:
    """Return a path that was written and read again, what it predicts, and a model between two points."""
    with TemporaryDirectory() as folder:
        lasso_path(X, y, **options).save(f"{folder}/path.npz")
        path = LassoPath.load(f"{folder}/path.npz")
    return [path, path.predict(X), path.score(X, y), *path.at(alpha=0.3 * path.alphas[3] + 0.7 * path.alphas[4])]


def warm_started(X: Any, y: Any, **options: Any) -> list[Any]:
    """Return models for a few penalties, each from the one before, and one of the constrained form."""
    model = Lasso(warm_start=True, **options)
    fits = (model.set_params(alpha=alpha).fit(X, y) for alpha in (0.5, 0.2, 0.2, 0.3))
    found = [[fit.path_, fit.coef_, fit.intercept_, fit.dual_gap_, fit.n_iter_] for fit in fits]
    return [*found, Lasso(radius=2.0, **options).fit(X, y).path_]


def estimated(X: Any, y: Any, **options: Any) -> list[Any]:
    model = LassoCV(cv=3, alphas=9, **options).fit(X, y)
    return [model.path_, model.choice_, model.coef_, model.intercept_, model.mse_path_, model.n_iter_]


def summed(X: np.ndarray, y: np.ndarray, n_threads: int | None, **options: Any) -> LassoPath:
    """Return a path on a file that is read row by row."""
    with TemporaryDirectory() as folder:
        pd.DataFrame(X).add_prefix("x").assign(y=y).to_csv(f"{folder}/table.csv", index=False)
        return lasso_path(sum_table(f"{folder}/table.csv", "y", n_threads=n_threads), n_threads=n_threads, **options)


OTHERS: dict[str, Callable[..., Any]] = {
    **{f"max-iter-{name}": partial(lasso_path, max_iter=2, **solver) for name, solver in SOLVERS.items()},
    **{name: partial(lasso_path, solver=name, alphas=12, standardize=True) for name in ("gram", "working-set")},
    **{f"tol-{tol}": partial(lasso_path, alphas=12, tol=tol) for tol in (0.1, 0.01, 1e-6, 0.0)},
    "some-alphas": partial(lasso_path, alphas=[1.0, 0.25, 0.5, 0.01, 0.0]),
    "some-radii": partial(lasso_path, radii=[0.0, 1.0, 3.0, 1e6]),
    "not-certified": partial(lasso_path, solver="sfw", alphas=5, certify=False),
    **{f"resumed-{name}": partial(resumed, **SOLVERS[name]) for name in ("default", "radii", "sfw", "cd")},
    "saved": partial(saved, alphas=12),
    "warm-start": warm_started,
    "estimator": estimated,
    "folds-shuffled": partial(lasso_cv, cv=KFold(3, shuffle=True, random_state=0), radii=9, rule="1se"),
    "folds-relax": partial(lasso_cv, cv=3, alphas=9, relax=True, scoring="r2"),
    "folds-cd": partial(lasso_cv, cv=3, alphas=9, solver="cd"),
    "validation": partial(lasso_cv, validation=0.25, alphas=9),
    "bic": partial(lasso_cv, rule="bic", alphas=12),
    "stability": partial(stability_selection, n_subsamples=6, alphas=9),
}


def cases(n_threads: int | None) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield every case: its name, and what computes its results."""
    call: dict[str, Any]
    always: dict[str, Any] = {"n_threads": n_threads, "random_state": 0}
    for (shape, size), (storage, store) in product(SHAPES.items(), STORAGES.items()):
        values, y = make_data(*size)
        X = store(values)
        for units, (fit_intercept, standardize) in UNITS.items():
            if storage in FEW or fit_intercept:
                at, call = f"{storage}/{units}/{shape}", {"fit_intercept": fit_intercept, "standardize": standardize}
                yield f"folds/{at}", partial(lasso_cv, X, y, cv=4, alphas=12, **call, **always)
                for name, solver in SOLVERS.items():
                    yield f"{name}/{at}", partial(lasso_path, X, y, **call, **solver, **always)
        for name, other in OTHERS.items() if storage in FEW else ():
            yield f"{name}/{storage}/{shape}", partial(other, X, y, **always)
    yield "summed", partial(summed, *make_data(200, 20), alphas=12, **always)
    for (data, values, y), (name, solver), scaled in product(hard_data(), SOLVERS.items(), (False, True)):
        call = {"standardize": scaled, "max_iter": 2000, **solver, **always}
        yield f"{name}/{data}{'/scaled' * scaled}", partial(lasso_path, np.asfortranarray(values), y, **call)
    for size, storage in product(((300, 3000), (20_000, 32)), FEW):  # of several chunks, which threads share
        values, y = make_data(*size)
        X = STORAGES[storage](values)
        for name in ("default", "radii", "sfw", "cd"):
            yield f"{name}/{storage}/{size}", partial(lasso_path, X, y, **SOLVERS[name], **always)
        yield f"folds/{storage}/{size}", partial(lasso_cv, X, y, cv=3, alphas=9, **always)
