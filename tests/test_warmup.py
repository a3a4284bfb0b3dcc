import json
import logging
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from conftest import STORAGES
from fwlasso import warm_up, warmup
from programs import run_program


def test_warm_up_compiles_for_what_is_asked(caplog):
    with caplog.at_level(logging.ERROR):
        warm_up(sparse=[True], dtypes=[np.float32], solvers=["certified", "sfw", "cd"])
        warm_up(sparse=[False], folds=True)  # and warns of nothing: warnings are errors here
    assert not caplog.records


def test_the_table_has_every_storage_and_is_compiled_once(monkeypatch):
    assert list(warmup.STORAGES) == list(STORAGES)
    compiled = []
    monkeypatch.setattr(warmup, "compile_kind", compiled.append)
    monkeypatch.setattr(warmup, "ProcessPoolExecutor", lambda jobs, _: ThreadPoolExecutor(jobs))
    monkeypatch.setattr(sys, "argv", ["warmup", "--jobs", "1"])
    warmup.main()
    assert sorted(compiled) == sorted(warmup.TABLE)
    assert [kind.storage for kind in compiled] == sorted([kind.storage for kind in compiled], key=list(STORAGES).index)


# What is compiled, or loaded from the cache, after `warm_up`: kernels with more types than they had then.
AFTER_WARM_UP = """
import json, sys, warnings
import numpy as np, scipy.sparse as sp, fwlasso
from numba.core.dispatcher import Dispatcher

def overloads():
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("fwlasso")]
    kernels = {id(k): k for module in modules for k in vars(module).values() if isinstance(k, Dispatcher)}.values()
    return {f"{k.py_func.__module__}.{k.py_func.__name__}{types}" for k in kernels for types in k.overloads}

warnings.simplefilter("ignore")
settings = json.loads(sys.argv[1])
fwlasso.warm_up(**settings)
before = overloads()
rng = np.random.default_rng(0)
entries = rng.standard_normal((4000, 3000)) * (rng.random((4000, 3000)) < 0.003)
few = [(m, p, 1e-2) for m, p in [(30, 400), (200, 20), (1, 5), (20, 1)]]
for solver in settings["solvers"]:
    for m, p, eps in [*few, (400, 6000, 0.3), (300, 280, 1e-3)]:
        X = rng.standard_normal((m, p)) + (0.0 if p < 300 else rng.standard_normal((m, 1)))
        X[:, p // 2 :] = X[:, : p - p // 2] if p == 400 else X[:, p // 2 :]
        y = X[:, :3].sum(axis=1) + rng.standard_normal(m)
        for is_sparse in settings["sparse"]:
            for grid in ("alphas", "radii"):
                if grid in fwlasso.warmup.SOLVERS[solver].grids:
                    form = sp.csc_array if is_sparse else np.asfortranarray
                    fwlasso.lasso_path(form(X), y, eps=eps, solver=solver, max_iter=50, **{grid: 5})
    if solver == "certified":
        X, y = sp.csc_array(entries), entries[:, ::2].sum(axis=1) + rng.standard_normal(4000)
        path = fwlasso.lasso_path(X, y, alphas=3, eps=2e-3)
        assert path.n_active[-1] > 1500
        fwlasso.lasso_cv(X[:100, :200], y[:100], cv=2, alphas=5)
        fwlasso.Lasso(radius=1.0, warm_start=True).fit(X[:100, :200], y[:100]).fit(X[:100, :200], y[:100])
print(json.dumps(sorted(overloads() - before)))
"""


@pytest.mark.compiled
@pytest.mark.parametrize("solvers", [["certified"], ["sfw", "fw", "cd", "afw", "pfw"]], ids=len)
def test_after_warm_up_nothing_is_compiled(solvers):
    settings = {"sparse": [False, True], "solvers": solvers, "folds": solvers == ["certified"]}
    assert json.loads(run_program(AFTER_WARM_UP, json.dumps(settings)).stdout) == []
