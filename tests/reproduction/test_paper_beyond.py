"""The parts of the study beyond the paper: from tiny data, and from records made by hand."""

import json
from pathlib import Path

import numpy as np
import pytest

from fwlasso import lasso_path
from reproduction import sets
from reproduction.beyond import (
    PARTS,
    ablation,
    crossover,
    curves,
    effects,
    elastic_net,
    footprint,
    gaps,
    matched,
    rates,
    scaling,
)
from reproduction.data.paper_sets import PaperSet
from reproduction.measuring import run
from reproduction.methods import Method
from reproduction.study import Findings, Setup
from reproduction.units import STOPPING, UNITS

pytestmark = pytest.mark.usefixtures("baselines")

SYNTHETIC, PYRIM = "synthetic-10000-32", "pyrim"
SETUP = Setup((SYNTHETIC, PYRIM, "e2006-tfidf"), n_seeds=2, data=None, out=Path("out"), n_threads=1)


def tiny_set(name):
    rng = np.random.default_rng(len(name))
    X, X_test = (np.asfortranarray(rng.standard_normal((m, 60))) for m in (24, 10))
    y, y_test = (A[:, :3] @ [3.0, -2.0, 1.0] + 0.1 * rng.standard_normal(len(A)) for A in (X, X_test))
    if name == PYRIM:
        X_test = y_test = None
    return PaperSet(name, f"Tiny {name}", X, y, X_test, y_test, np.arange(3), False)


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(sets, "fetch_paper_set", lambda name, *_, **__: tiny_set(name))
    sets.load.cache_clear()
    yield
    sets.load.cache_clear()


def records_of(part, setup=SETUP):
    """Run the tasks of a part, and return what a file would keep of their records."""
    tasks = {task.key: task for task in part.tasks(setup)}
    return {key: json.loads(json.dumps(task.run(), allow_nan=False)) for key, task in tasks.items()}


def check_whole(findings):
    """Tables are full, figures have no empty panel, and sentences end."""
    assert findings.tables
    assert findings.sentences or findings.claims
    for table in findings.tables:
        assert table.rows
        assert all(len(row) == len(table.header) for row in table.rows)
        assert all(isinstance(cell, str) for row in table.rows for cell in row)
        json.dumps(table.data)
    for figure in findings.figures:
        axes = figure.draw().axes
        assert axes
        for ax in axes:
            assert ax.lines
            assert ax.get_xlabel()
            assert ax.get_ylabel()
    assert all(sentence.endswith(".") for sentence in findings.sentences)


# All parts ---------------------------------------------------------------------------------------------------


def test_parts_are_known_by_name():
    assert [part.name for part in PARTS] == [
        "convergence",
        "gaps",
        "matched",
        "ablation",
        "effects",
        "scaling",
        "rates",
        "crossover",
        "elastic-net",
    ]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_tasks_have_keys_times_and_settings_that_can_be_kept(part):
    tasks = part.tasks(SETUP)
    assert tasks
    for task in tasks:
        assert all(task.key.split("/"))
        assert task.seconds > 0.0
        json.dumps(dict(task.settings))
    of_key = {task.key: dict(task.settings) for task in tasks}
    assert all(of_key[task.key] == dict(task.settings) for task in tasks)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_nothing_is_shown_of_nothing(part):
    assert part.show(SETUP, {}) == Findings([], [], [])


@pytest.mark.parametrize("module", [gaps, matched, ablation, effects, crossover, elastic_net])
def test_sets_that_take_long_are_left_out(module):
    assert module.PART.tasks(SETUP._replace(sets=("e2006-tfidf",))) == []


# Ablation ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("tiny")
def test_the_ends_of_the_ablation_are_the_letter_and_ours():
    records = records_of(ablation.PART)
    loaded = sets.load(PYRIM, None, 1)
    for key, variant in (("letter", "paper"), ("without-blocks", "default")):
        record = records[f"ablation/{PYRIM}/{key}"]
        settings = {"solver": "sfw", "sample_size": 1, "block_size": 1, "variant": variant, **STOPPING}
        method = Method("sfw", "FW", "radii", settings, is_random=True)
        paths = [run(loaded, method, seed, 1).path for seed in (0, 1)]
        assert record["iterations"] == [int(path.counters.iterations.sum()) for path in paths]
    assert record["n_active"] == [path.n_active.mean() for path in paths]
    (table,) = ablation.PART.show(SETUP, records).tables
    assert [row[0] for row in (table.rows[0], table.rows[-1])] == ["Algorithm 2 to the letter", "ours"]
    assert len({tuple(row[2:]) for row in table.rows}) > 5  # every change changes something


# Elastic net -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("tiny")
def test_elastic_nets_of_the_letter_are_beside_their_solutions():
    records = records_of(elastic_net.PART)
    exact = records[f"elastic-net/{PYRIM}/certified-radii/0"]
    letter = records[f"elastic-net/{PYRIM}/sfw-1/0"]
    assert exact["largest_gap"] <= 1e-6 < letter["gap"] < letter["largest_gap"]
    assert exact["r2"] > letter["r2"] > 0.0
    findings = elastic_net.PART.show(SETUP, records)
    check_whole(findings)
    assert len(findings.tables[0].rows) == 2 * len(curves.sets_of(SETUP))


# Gaps --------------------------------------------------------------------------------------------------------


def run_record(gap, l1=(0.0, 1.0, 2.0), n_active=(0, 1, 2), train_mse=(1.0, 0.5, 0.1), **more):
    return {"gaps": list(gap), "l1": list(l1), "n_active": list(n_active), "train_mse": list(train_mse), **more}


def test_gaps_are_counted_over_points_and_seeds():
    records = {
        f"curves/{SYNTHETIC}/sfw-1/0": run_record([2e-2, 2e-3, 2e-7], stalled=[1]),
        f"curves/{SYNTHETIC}/sfw-1/1": run_record([2e-5, 2e-5, None]),
        f"curves/{SYNTHETIC}/certified-radii/0": run_record([1e-9, 0.0, 1e-9]),
        f"curves/{SYNTHETIC}/scd/0": {"missing": "no such solver"},
        f"large/{PYRIM}/cd/0": run_record([0.0, 1e-3, 1e-2]),
    }
    findings = gaps.PART.show(SETUP, records)
    check_whole(findings)
    (table,) = findings.tables
    assert [row[1:] for row in table.rows] == [
        ("FW 1 %", "2", "2e-5", "2e-2", "17 %", "33 %", "33 %", "67 %", "0.500"),
        ("certified path, FW's grid", "1", "1e-9", "1e-9", "0 %", "0 %", "0 %", "0 %", "0"),
        ("CD", "1", "1e-3", "1e-2", "0 %", "33 %", "67 %", "67 %", "0"),
    ]
    assert [line["method"] for line in table.data] == ["sfw-1", "certified-radii", "cd"]
    assert "17 % of the points of a set have a true gap above 0.01, and the median gap is 2e-5" in findings.sentences[0]
    assert len(findings.figures[0].draw().axes) == 2  # one panel a set


def test_paths_of_all_columns_only_where_they_are_short():
    keys = [task.key for task in gaps.PART.tasks(SETUP._replace(sets=("synthetic-50000-158", PYRIM)))]
    assert any(key.startswith(f"curves/{PYRIM}/afw/") for key in keys)
    assert not any("synthetic-50000-158/afw/" in key for key in keys)


def test_records_are_shared_with_the_large_sets():
    large = {key for part in (gaps.PART, matched.PART) for key in (task.key for task in part.tasks(SETUP))}
    assert f"large/{PYRIM}/sfw-1/1" in large
    assert f"curves/{SYNTHETIC}/sfw-1/1" in large
    assert f"curves/{PYRIM}/cd-matched/0" in large  # not a method of the paper


@pytest.mark.compiled
def test_gaps_of_a_tiny_set(tiny):
    findings = gaps.PART.show(SETUP, records_of(gaps.PART))
    check_whole(findings)
    by_method = {(line["set"], line["method"]): line for line in findings.tables[0].data}
    assert by_method[PYRIM, "certified-radii"]["largest_gap"] <= 1e-6
    assert by_method[PYRIM, "sfw-1"]["runs"] == 2


# Matched -----------------------------------------------------------------------------------------------------


def test_penalties_are_those_of_the_radii(tiny):
    loaded = matched.with_penalties_of_radii(sets.load(PYRIM, None, 1))
    X, y, radii = loaded.data.X, loaded.data.y, loaded.grids.radii
    solved = lasso_path(X, y, alphas=loaded.grids.alphas, tol=1e-12, **UNITS)
    np.testing.assert_allclose(solved.radii, radii, rtol=1e-4)


def matched_records(**n_active):
    return {
        f"curves/{SYNTHETIC}/{key}/0": run_record(
            (0.0,) * 3, n_active=counts, test_mse=[2.0, 1.0, 1.5], l1=(0.1, 1.0, 2.0 if key != "cd-matched" else 2.1)
        )
        for key, counts in {name.replace("_", "-"): counts for name, counts in n_active.items()}.items()
    }


def test_sparsity_is_compared_on_both_grids():
    records = matched_records(
        sfw_1=(1, 2, 6),
        cd=(2, 6, 10),
        cd_matched=(1, 2, 9),
        cd_solved=(1, 2, 3),
        certified=(0, 5, 10),
        certified_radii=(1, 2, 4),
    )
    findings = matched.PART.show(SETUP, records)
    check_whole(findings)
    (table,) = findings.tables
    assert table.rows[0][1:] == ("1", "3.00", "6.00", "4.00", "2.00", "5.00", "2.33", "5 %")
    (claim,) = findings.claims  # by CD at the same l1 norms
    assert claim.verdict == "Reproduced"
    assert claim.cases[0].ours == "0.750, where CD's norms are off by 5 % at most; against exact solutions 1.29"


def test_a_set_with_a_method_missing_is_not_compared():
    records = matched_records(sfw_1=(1, 2, 6), cd=(2, 6, 10), certified=(0, 5, 10))
    assert matched.PART.show(SETUP, records).tables == []


@pytest.mark.compiled
def test_matched_on_tiny_sets(tiny):
    check_whole(matched.PART.show(SETUP, records_of(matched.PART)))


# Effects -----------------------------------------------------------------------------------------------------


def test_effects_take_one_synthetic_set_and_pyrim():
    setup = SETUP._replace(sets=("synthetic-10000-32", "synthetic-50000-158", "pyrim", "triazines"))
    assert effects.sets_of(setup) == ["synthetic-10000-32", "pyrim"]


FACTORS = {setting.factor for setting in effects.SETTINGS}


def test_settings_that_change_nothing_share_a_record():
    tasks = effects.PART.tasks(SETUP)
    assert [task.key for task in tasks].count(f"effects/{PYRIM}/base") == len(FACTORS)


def test_effects_are_medians_with_ranges():
    keys = [task.key for task in effects.PART.tasks(SETUP._replace(sets=(PYRIM,)))]
    record = {
        "seconds": [0.1, 0.3],
        "iterations": [10, 20],
        "median_gap": [1e-3, 3e-3],
        "largest_gap": [0.1, 0.1],
        "n_active": [4.0, 5.0],
    }
    findings = effects.PART.show(SETUP, dict.fromkeys(keys, record))
    check_whole(findings)
    (table,) = findings.tables
    assert len(table.rows) == len(effects.SETTINGS)
    cells = ("2", "200 [100, 300]", "15 [10, 20]", "2e-3 [1e-3, 3e-3]", "1e-1", "4.5 [4.0, 5.0]")
    assert {row[1:] for row in table.rows} == {cells}
    assert all("not settled" in sentence for sentence in findings.sentences)
    assert len(findings.figures[0].draw().axes) == len(FACTORS)


@pytest.mark.compiled
def test_effects_on_tiny_sets(tiny, monkeypatch):
    few = [setting for setting in effects.SETTINGS if setting.label in ("1 %", "quantile rule", "the whole sample")]
    monkeypatch.setattr(effects, "SETTINGS", few)
    findings = effects.PART.show(SETUP, records := records_of(effects.PART))
    assert len(records) == 2 * len(few)
    assert [table.name for table in findings.tables] == [f"effects-{SYNTHETIC}", f"effects-{PYRIM}"]
    assert all(len(record["seconds"]) == 2 for record in records.values())


# Scaling -----------------------------------------------------------------------------------------------------


def scaling_records():
    return {
        f"scaling/{p}/{method}": {
            "p": p,
            "method": method,
            "bytes": 160 * p,
            "extra_bytes": 32 * p,
            "iterations": 100,
            "seconds": 1e-6 * (p if p >= 400_000 else 400_000),  # small sizes have a fixed cost
            "seconds_per_step": 1e-9 * p**0.5,
            "runs": {"seconds": [1e-6 * p, 1e-7 * p**1.1]},
            "passes": 10.0,
            "median_gap": 1e-3,
            "n_active": 7,
        }
        for p in scaling.SIZES
        for method in footprint.METHODS
    }


def test_exponents_are_those_of_the_records():
    findings = scaling.PART.show(SETUP, scaling_records())
    check_whole(findings)
    measured, fitted = findings.tables
    assert [row[1:] for row in fitted.rows] == [
        ("0.50", "1.00 [1.00, 1.10]", "1.00"),
        ("0.50", "1.00 [1.00, 1.10]", "1.00"),
        ("", "1.00 [1.00, 1.10]", "1.00"),
    ]
    assert len(measured.rows) == len(scaling.SIZES) * len(footprint.METHODS)
    assert "extra memory like p^1.00, at the end 20 % of X" in findings.sentences[0]


def test_memory_that_is_not_known_is_not_shown():
    records = {key: {**record, "extra_bytes": None} for key, record in scaling_records().items()}
    findings = scaling.PART.show(SETUP, records)
    check_whole(findings)
    assert len(findings.figures[0].draw().axes) == 2
    assert not any("memory" in sentence for sentence in findings.sentences)


def test_a_single_size_has_no_exponent():
    records = {key: record for key, record in scaling_records().items() if key.startswith("scaling/10000/")}
    findings = scaling.PART.show(SETUP, records)
    assert [table.name for table in findings.tables] == ["scaling"]
    assert findings.figures == findings.sentences == []


def test_a_process_measures_one_path():
    record = footprint.measured_apart(3000, "sfw-share")
    assert record["p"] == 3000
    assert record["bytes"] == 3000 * footprint.N_NONZERO * 8 + 3001 * 4
    assert record["iterations"] >= 100
    assert record["extra_bytes"] is None or record["extra_bytes"] > 0
    json.dumps(record, allow_nan=False)


def test_a_process_that_fails_says_why():
    with pytest.raises(RuntimeError, match=r"a path on 3,000 columns by nothing failed: [\s\S]*KeyError"):
        footprint.measured_apart(3000, "nothing")


def test_the_wide_problem_is_sorted_and_of_fixed_length():
    X, y = footprint.wide_problem(500)
    assert X.shape == (footprint.N_SAMPLES, 500)
    assert X.dtype == np.float32
    assert (np.diff(X.indptr) == footprint.N_NONZERO).all()
    assert X.has_sorted_indices
    assert y.shape == (footprint.N_SAMPLES,)


# Rates -------------------------------------------------------------------------------------------------------


def test_laws_are_told_apart():
    steps = np.arange(1, 1001)
    sublinear = [{"steps": steps.tolist(), "errors": (1.0 / steps**k).tolist(), "n_active": [9] * 1000} for k in (1, 2)]
    few = np.arange(1, 25)
    linear = {"steps": few.tolist(), "errors": (0.5**few).tolist(), "n_active": few.tolist()}
    cost = {"p": [1.0, 2.0, 4.0], "m": [3.0, 3.0, 3.0]}
    records = {"rates/sfw/0": sublinear[0], "rates/sfw/1": sublinear[1], "rates/afw/0": linear, "rates/cost/sfw": cost}
    findings = rates.PART.show(SETUP, records)
    check_whole(findings)
    sfw, afw = findings.tables[0].rows
    assert sfw[3:6] == ("falls like steps^-1.00 to -2.00", "100 to 1,000", "2")
    assert afw[3:6] == ("falls by 50 % a step", "3 to 24", "1")
    assert sfw[7:] == ("p^1.0 m^0.0", "yes", "9")
    assert [claim.verdict for claim in findings.claims] == ["Reproduced"]
    slow = {**sublinear[0], "errors": (1.0 / steps**0.5).tolist()}
    assert rates.PART.show(SETUP, {"rates/sfw/0": slow}).claims[0].verdict == "Not reproduced"
    assert afw[7:] == ("-", "-", "24, ≤ steps")


def test_too_few_points_are_not_fitted():
    record = {"steps": [1, 2], "errors": [1.0, 0.5], "n_active": [1, 2]}
    findings = rates.PART.show(SETUP, {"rates/fw/0": record})
    assert findings.tables[0].rows[0][3] == "too few points to fit"


@pytest.mark.compiled
def test_rates_of_a_few_steps(monkeypatch):
    monkeypatch.setattr(rates, "MOST_STEPS", 300)
    monkeypatch.setattr(rates, "MOST_EPOCHS", 20)
    monkeypatch.setattr(rates, "N_FEATURES", 500)
    records = records_of(rates.PART)
    check_whole(rates.PART.show(SETUP, records))
    best = {}
    for key in rates.METHODS:
        record = records[f"rates/{key}/0"]
        assert record["steps"] == sorted(record["steps"])
        best[key] = min(record["errors"])
        assert -1e-12 < best[key] < min(1.0, record["errors"][0])
    assert max(best[key] for key in ("afw", "pfw", "apg-ball", "wolfe", "cd", "scd")) < best["fw"] < best["sgd"]
    growth = {
        key: [float(np.log2(cost[2] / cost[0]) / 2) for cost in records[f"rates/cost/{key}"].values()] for key in best
    }
    np.testing.assert_allclose(
        [growth[key] for key in ("fw", "sgd", "scd", "sfw")], [(1, 1), (1, 0), (0, 1), (0, 1)], atol=0.1
    )
    assert records["rates/sfw/0"]["steps"][-1] == 300  # no sample ends it
    for key in ("fw", "sfw", "afw", "pfw", "wolfe"):  # a step takes in one vertex at most
        assert np.all(np.array(records[f"rates/{key}/0"]["n_active"]) <= records[f"rates/{key}/0"]["steps"])


def test_mean_curves_skip_no_run():
    runs = [run_record((0.0, 0.0, 1.0)), run_record((1.0, 0.0, None))]
    np.testing.assert_array_equal(curves.curve(runs, "gaps"), [0.5, 0.0, np.nan])


# Residuals or active covariates ------------------------------------------------------------------------------


@pytest.mark.usefixtures("tiny")
def test_active_covariates_take_the_steps_of_residuals_and_fewer_dot_products():
    records = records_of(crossover.PART)
    for name in (SYNTHETIC, PYRIM):
        residuals, covariates = (records[f"crossover/{name}/{method}"] for method in crossover.METHODS)
        assert residuals["steps"] == covariates["steps"]
        assert residuals["n_active"] == covariates["n_active"]
        assert residuals["dot_products"][-1] >= 60 * residuals["steps"][-1]
        assert covariates["dot_products"][-1] < 0.5 * residuals["dot_products"][-1]
        assert covariates["dot_products"][-1] % 60 == 0
    findings = crossover.PART.show(SETUP, records)
    check_whole(findings)
    assert findings.claims[0].verdict == "Reproduced"
