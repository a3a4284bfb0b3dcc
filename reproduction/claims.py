"""What the paper claims of its large sets, held against what was measured. Every number comes from the run.

A claim has a threshold in its text and looks both ways; a case says no "within the error" where the 95 % interval
reaches across the threshold. Stand-ins are never held against published figures, and count for cost alone.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from fwlasso._core.columns import Vector

from . import published
from .data.paper_sets import PAPER_SETS
from .intervals import Interval, deviation, of_mean, ratio
from .methods import METHODS
from .study import Case, Claim, Record
from .summary import Mean, Result, Summary
from .text import listed, number, power, share

#: Reproduced is what lies so close to the published figure, above it or below.
NEAR = {"iterations": 0.10, "dot_products": 0.10, "n_active": 0.08}
#: Figures of three sample sizes count as the same up to this share of their mean.
ROBUST = 0.10
#: An objective or a best test error counts as the same up to this share.
SAME = 0.05
#: SLEP is much denser than CD from this ratio of active features on.
MUCH = 2.0
#: Speed-ups count as the same up to this factor, and times as proportional to dot products.
FACTOR = 2.0
#: A l1 norm is low below this share of the largest.
LOW = 0.5
#: Where the best model's test error is above this share of the empty model's, best models cannot be compared.
EMPTY = 0.99
MINUTE = 60.0

FW = ("sfw-1", "sfw-2", "sfw-3")
SLEP = ("apg", "apg-ball")
_LABELS = {key: method.label for key, method in METHODS.items()}
_EVERY = math.inf
_WAITING = (
    "Single columns are scattered reads of memory, where CD reads in a row: what FW saves in dot products it loses in "
    "part by waiting."
)
_STRICT = "The stopping rule is absolute: where y has a large scale, as in News20, points take thousands of steps."
_NO_E2006 = "E2006-log1p was left out of this study, which otherwise runs on a stand-in of its size."


def large_claims(results: Sequence[Result]) -> list[Claim]:
    """Return the claims on the large sets."""
    real = [result for result in results if not result.is_standin]
    return [
        *_count_claims(results, real),
        *_time_claims(results, real),
        *_sparsity_claims(real),
        *_accuracy_claims(real),
    ]


def _count_claims(results: Sequence[Result], real: Sequence[Result]) -> list[Claim]:
    order = [*((key, "cd") for key in FW), ("cd", "scd")]
    below = partial(_compared, what="dot_products", high=1.0)
    return [
        Claim(
            f"FW takes the published iterations, within {share(NEAR['iterations'])}.",
            _look(real, partial(_near, what="iterations")),
            place="Table 5",
        ),
        Claim(
            f"FW takes the published dot products, counted as there, within {share(NEAR['dot_products'])}.",
            _look(real, partial(_near, what="dot_products")),
            place="Table 5",
        ),
        Claim("Dot products: FW below CD, CD below SCD.", _pairs(results, order, below), _STRICT, "Tables 4, 5"),
        Claim(
            "Dot products: SCD below SLEP.",
            _pairs(results, [("scd", key) for key in SLEP], below),
            place="Table 4",
        ),
        *(
            Claim(
                f"{_LABELS[key]} takes the fewest iterations of all methods.",
                [*_look(results, partial(_fewest, key=key)), *_fewest_published(key)],
                place="section 5.2, Table 4",
            )
            for key in SLEP
        ),
    ]


def _time_claims(results: Sequence[Result], real: Sequence[Result]) -> list[Claim]:
    rivals = (("cd", "our CD"), ("glmnet", "R's glmnet"))
    slower = partial(_compared, what="seconds", low=1.0)
    return [
        *(
            Claim(
                f"FW is faster than {whose}.",
                _pairs(real, [(rival, key) for key in FW], slower),
                _STRICT,
                place="section 5.2, Tables 4, 5",
            )
            for rival, whose in rivals
        ),
        *(
            Claim(
                f"FW is faster than {whose} by the published factor, up to a factor of {FACTOR:g} more or less.",
                _look(real, partial(_speed_up, rival=rival)),
                _WAITING,
                place="Table 5",
            )
            for rival, whose in rivals
        ),
        Claim(
            "SCD takes more time than CD.",
            _pairs(real, [("scd", "cd")], slower),
            place="section 5.2, Table 4",
        ),
        Claim(
            "Time is about proportional to dot products: CD, SCD and FW differ in time per dot product by a factor of "
            f"{FACTOR:g} at most.",
            _look(real, _proportional),
            _WAITING,
            place="section 5.2",
        ),
        Claim(
            "The path of four million variables takes less than a minute.",
            [*(measured := _look(results, _in_a_minute)), *_minute_published()],
            "" if measured else _NO_E2006,
            place="abstract, Table 5",
        ),
    ]


def _sparsity_claims(real: Sequence[Result]) -> list[Claim]:
    active = partial(_compared, what="n_active")
    rivals = ("cd", "scd", *SLEP)
    return [
        Claim(
            f"FW has the published number of active features, within {share(NEAR['n_active'])}.",
            _look(real, partial(_near, what="n_active")),
            place="Table 5",
        ),
        Claim(
            "FW finds the sparsest models of all methods, on the paper's grids and on average over the path.",
            _pairs(real, [("sfw-1", key) for key in rivals], partial(active, high=1.0)),
            place="section 5.2, Tables 4, 5",
        ),
        Claim(
            "FW has sparse iterations, never more features than steps; SLEP has not.",
            _look(real, _sparse_steps),
            place="Table 2",
        ),
        Claim(
            f"SLEP's models are denser than those of CD, at least {MUCH:g} times.",
            _pairs(real, [(key, "cd") for key in SLEP], partial(active, low=MUCH)),
            place="section 5.2, Table 4",
        ),
        Claim(
            f"FW does not depend on the sample size: active features of 1, 2 and 3 % are within {share(ROBUST)}.",
            _look(real, _robust),
            place="section 5.2, Table 5",
        ),
        Claim(
            "Sampling costs no sparsity: FW that looks at all columns has as many active features as FW 1 %, within "
            f"{share(NEAR['n_active'])}.",
            _pairs(real, [("fw", "sfw-1")], partial(active, low=1.0 - NEAR["n_active"], high=1.0 + NEAR["n_active"])),
            "A sample without the best column brings another one into the model.",
            place="section 5.2",
        ),
    ]


def _accuracy_claims(real: Sequence[Result]) -> list[Claim]:
    tested = [result for result in real if _has_test(result)]
    none = "" if tested else "No set with test samples was run."
    return [
        Claim(
            f"The objective falls as that of the others does: FW 1 % is within {share(SAME)} of the minimum at every "
            "point.",
            _look(real, _objective),
            "One short step ends a point, and a sample without a good column makes one: weak evidence of a solution "
            "([more](method/convergence.md)).",
            place="section 5.2, Figures 5, 6",
        ),
        Claim(
            f"CD and FW come to the same best test error, that of exact solutions within {share(SAME)}.",
            _look(tested, _same_best),
            none,
            place="section 5.2, Figures 5, 6",
        ),
        Claim(
            f"The best model has a low l1 norm, below {share(LOW)} of the largest.",
            _look(tested, _low_minimum),
            none,
            place="section 5.2, Figures 5, 6",
        ),
    ]


def _look(results: Iterable[Result], look: Callable[[Result], Iterable[Case]]) -> list[Case]:
    return [case for result in results for case in look(result)]


def _pairs(
    results: Iterable[Result], pairs: Sequence[tuple[str, str]], look: Callable[[Result, str, str], Case | None]
) -> list[Case]:
    """Compare two methods wherever both were run."""
    cases = (look(result, *pair) for result in results for pair in pairs if {*pair} <= result.found.keys())
    return [case for case in cases if case is not None]


def _compared(result: Result, above: str, below: str, what: str, low: float = 0.0, high: float = _EVERY) -> Case | None:
    """Hold the ratio of two methods against thresholds, the published ratio beside it."""
    means: list[Mean | None] = [getattr(result.found[key], what) for key in (above, below)]
    if means[0] is None or means[1] is None:
        return None  # a peer does not tell
    found = ratio(means[0], means[1])
    holds, sure = found.lies(low, high)
    costs = [_published(result, key) for key in (above, below)]
    theirs = number(getattr(costs[0], what) / getattr(costs[1], what)) if costs[0] and costs[1] else ""
    form = power if what == "dot_products" else number
    shown = f"{found.text()} ({form(means[0].value)} / {form(means[1].value)})"
    return Case(result.title, holds, shown, theirs, f"{_LABELS[above]} / {_LABELS[below]}", sure)


def _published(result: Result, key: str) -> published.Cost | None:
    """Return the published cost of a method; glmnet is the paper's CD."""
    return None if result.is_standin else published.COSTS.get(result.name, {}).get("cd" if key == "glmnet" else key)


def _near(result: Result, what: str) -> Iterable[Case]:
    """Hold a figure of FW with 1, 2 and 3 % against the published one."""
    for key in FW:
        cost = _published(result, key)
        if cost is None or key not in result.found:
            continue
        mean, theirs = getattr(result.found[key], what), getattr(cost, what)
        away = deviation(mean, theirs)
        holds, sure = away.lies(-NEAR[what], NEAR[what])
        form = power if what == "dot_products" else number
        shown = f"{form(mean.value)}: {away.text(_percent)}"
        yield Case(result.title, holds, shown, form(theirs), _LABELS[key], sure)


def _percent(value: float) -> str:
    return f"{100.0 * value:+.1f} %"


def _speed_up(result: Result, rival: str) -> Iterable[Case]:
    for key in FW:
        theirs = published.SPEED_UPS.get(result.name, {}).get(key)
        if theirs is None or not {key, rival} <= result.found.keys():
            continue
        found = ratio(result.found[rival].seconds, result.found[key].seconds)
        holds, sure = found.lies(theirs / FACTOR, theirs * FACTOR)
        yield Case(result.title, holds, f"{found.text()} times", f"{number(theirs)} times", _LABELS[key], sure)


def _proportional(result: Result) -> Iterable[Case]:
    keys = [key for key in ("cd", "scd", "sfw-1") if key in result.found]
    if len(keys) < 3:
        return
    paces = [_pace(result.found[key]) for key in keys]
    spread = ratio(max(paces), min(paces))
    holds, sure = spread.lies(0.0, FACTOR)
    theirs = [cost.seconds / cost.dot_products for key in keys if (cost := _published(result, key))]
    shown = listed([f"{_LABELS[key]} {number(1e9 * pace.value)}" for key, pace in zip(keys, paces, strict=True)])
    beside = number(max(theirs) / min(theirs)) if theirs else ""
    yield Case(result.title, holds, f"{spread.text()} ({shown} ns)", beside, "largest / smallest", sure)


def _pace(summary: Summary) -> Mean:
    """Return seconds per dot product."""
    n_dots, seconds = _value(summary, "dot_products"), summary.seconds
    return Mean(seconds.value / n_dots, seconds.deviation / n_dots, seconds.n_runs)


def _fewest(result: Result, key: str) -> Iterable[Case]:
    others = [one for one in ("cd", "scd", *FW) if one in result.found]
    if key not in result.found or not others:
        return
    least = min(others, key=lambda one: _value(result.found[one], "iterations"))
    case = _compared(result, key, least, "iterations", high=1.0)
    if case is not None:
        yield case


def _fewest_published(key: str) -> Iterable[Case]:
    """Return where the paper's own table contradicts it."""
    for name, costs in published.COSTS.items():
        least = min((one for one in costs if one not in SLEP), key=lambda one: costs[one].iterations)
        if costs[key].iterations >= costs[least].iterations:
            shown = f"{costs[key].iterations:g} / {costs[least].iterations:g}"
            yield Case(_as_published(name), False, "", shown, f"{_LABELS[key]} / {_LABELS[least]}")


def _as_published(name: str) -> str:
    return f"{PAPER_SETS[name].title}, as published"


def judged(
    where: str, found: Interval, lies: tuple[bool, bool], of: str = "", form: Callable[[float], str] = number
) -> Case:
    """Return the case of a number and of how it lies to its thresholds."""
    return Case(where, lies[0], found.text(form), of=of, sure=lies[1])


def _in_a_minute(result: Result) -> Iterable[Case]:
    if result.name != "e2006-log1p":
        return
    for key in FW:
        if key in result.found:
            taken = of_mean(result.found[key].seconds)
            holds, sure = taken.lies(0.0, MINUTE)
            theirs = published.COSTS[result.name][key].seconds
            yield Case(result.title, holds, f"{taken.text()} s", f"{number(theirs)} s", _LABELS[key], sure)


def _minute_published() -> Iterable[Case]:
    for key in FW:
        seconds = published.COSTS["e2006-log1p"][key].seconds
        yield Case(_as_published("e2006-log1p"), seconds < MINUTE, "", f"{number(seconds)} s", _LABELS[key])


def _robust(result: Result) -> Iterable[Case]:
    if not {*FW} <= result.found.keys():
        return
    active = [result.found[key].n_active for key in FW]
    spread = _spread([mean.value for mean in active])
    theirs = [cost.n_active for key in FW if (cost := _published(result, key))]
    shown = f"{share(spread)} ({' / '.join(of_mean(mean).text() for mean in active)})"
    yield Case(result.title, spread <= ROBUST, shown, share(_spread(theirs)) if theirs else "")


def _sparse_steps(result: Result) -> Iterable[Case]:
    """Hold the features of the densest model against the steps that were taken up to it."""
    for key in (*FW, "fw", *SLEP):
        if key in result.found:
            runs = result.found[key].runs
            most, steps = max(max(run["n_active"]) for run in runs), min(run["iterations"] for run in runs)
            bounded = all(max(run["n_active"]) <= run["iterations"] for run in runs)
            shown = f"at most {number(most)} features, at least {number(steps)} steps"
            yield Case(result.title, bounded != (key in SLEP), shown, "no" if key in SLEP else "yes", _LABELS[key])


def _spread(values: Sequence[float]) -> float:
    return float(np.ptp(values) / np.mean(values))


def _objective(result: Result) -> Iterable[Case]:
    """Compare train errors at equal radii: the objective is half the error times m."""
    if not {"sfw-1", "certified-radii"} <= result.found.keys():
        return
    exact = result.found["certified-radii"].train_mse

    def times_minimum(run: Record) -> Vector:
        return np.array(run["train_mse"]) / exact

    fw = result.found["sfw-1"]
    worst = of_mean(fw.mean_of(lambda run: float(times_minimum(run).max())))
    last = of_mean(fw.mean_of(lambda run: float(times_minimum(run)[-1])))
    median = of_mean(fw.mean_of(lambda run: float(np.median(times_minimum(run)))))
    holds, sure = worst.lies(0.0, 1.0 + SAME)
    shown = f"{worst.text()} at the worst point, {last.text()} at the last, {median.text()} in the median"
    yield Case(result.title, holds, shown, of="FW 1 % / minimum", sure=sure)


def _has_test(result: Result) -> bool:
    exact = result.found.get("certified")
    return exact is not None and exact.test_mse is not None and "sfw-1" in result.found


def _best_test(run: Record) -> float:
    return float(min(run["test_mse"]))


def _emptiness(result: Result) -> float:
    """Return the best test error of exact solutions over that of the empty model, where the path begins."""
    (run,) = result.found["certified"].runs
    return _best_test(run) / float(run["test_mse"][0])


def _same_best(result: Result) -> Iterable[Case]:
    exact = result.found["certified"].mean_of(_best_test)
    for key in ("cd", *FW):
        if key in result.found:
            found = ratio(result.found[key].mean_of(_best_test), exact)
            yield compared_best(result.title, _LABELS[key], found, _emptiness(result))


def compared_best(where: str, label: str, found: Interval, emptiness: float) -> Case:
    """Judge the ratio of two best test errors; void where exact solutions hardly beat the empty model."""
    if emptiness > EMPTY:
        return Case(where, None, f"no model beats the empty one: {number(emptiness)} of its error at best", of=label)
    holds, sure = found.lies(1.0 - SAME, 1.0 + SAME)
    return Case(where, holds, f"{found.text()} times", of=label, sure=sure)


def _low_minimum(result: Result) -> Iterable[Case]:
    largest = float(result.found["certified"].l1[-1])
    for key in ("certified", "cd", "sfw-1"):
        if key in result.found:
            found = of_mean(result.found[key].mean_of(lambda run: run["l1"][int(np.argmin(run["test_mse"]))] / largest))
            yield low_minimum(result.title, _LABELS[key], found, _emptiness(result))


def low_minimum(where: str, label: str, found: Interval, emptiness: float) -> Case:
    """Judge the l1 norm of the best model, as a share of the largest."""
    if emptiness > EMPTY:
        return Case(where, None, "the empty model is the best", of=label)
    holds, sure = found.lies(0.0, LOW)
    return Case(where, holds, f"{found.text(share)} of the largest", of=label, sure=sure)


def _value(summary: Summary, what: str) -> float:
    return float(getattr(summary, what).value)
