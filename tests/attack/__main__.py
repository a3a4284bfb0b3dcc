"""Run cases in worker processes, and count what is wrong: nothing may be."""

import argparse
import sys
from collections import Counter

from .cases import DRAWN, MAKERS, PROMISES, case_of, run
from .workers import Asked, verdicts

COLUMNS = ["cases", "points", "certified", "refused"]
#: What must not be: the table has a column for each.
FORBIDDEN = ["non-finite", "aborts", "hangs", "above tol", "below truth", "wrong", "refused wrongly", "errors"]
_MOST_FAILURES = 20


def table(rows: dict[str, Counter[str]]) -> str:
    """Return the counts as text, a line for every generator and promise, and their sum."""
    rows = {**rows, "all": sum(rows.values(), Counter())}
    lines = [f"{'':28}" + "".join(f"{name:>{max(9, len(name) + 2)}}" for name in COLUMNS + FORBIDDEN)]
    for row, counts in rows.items():
        lines.append(f"{row:28}" + "".join(f"{counts[name]:{max(9, len(name) + 2)}}" for name in COLUMNS + FORBIDDEN))
    return "\n".join(lines)


def broken_promises(rows: dict[str, Counter[str]]) -> list[str]:
    """Return what is said of promises with too few certified points."""
    said = []
    for name, promise in PROMISES.items():
        counts = rows.get(f"promise: {name}", Counter())
        if counts["certified"] < promise.share * counts["points"]:
            said.append(
                f"{name}: {counts['certified']} of {counts['points']} points certified, not {promise.share:.0%}"
            )
    return said


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--limit", type=float, default=60.0, help="seconds of a case; five times as many if it compiles"
    )
    parser.add_argument("--generator", choices=MAKERS, help="this one only")
    parser.add_argument(
        "--promises", action=argparse.BooleanOptionalAction, default=True, help="the promised sets, too"
    )
    parser.add_argument("--keep-going", action="store_true", help=f"do not end after {_MOST_FAILURES} failures")
    parser.add_argument("--strict", action="store_true", help="no slack, and the dual point of the coefficients only")
    parser.add_argument("--case", help="one case, with details, in this process: a number, or promise/number")
    return parser.parse_args()


def main() -> int:
    args = parse()
    names = (args.generator,) if args.generator else DRAWN
    asked = Asked(args.seed, names, args.strict, args.jobs, args.limit)
    if args.case is not None:
        case = case_of(args.case, args.seed, names)
        print(case, flush=True)
        verdict = run(case, asked.strict)
        print(f"{verdict.points} points, {verdict.certified} certified")
        print("\n".join(f"{fault.kind}: {fault.text}" for fault in verdict.faults))
        return int(any(verdict.counts()[name] for name in FORBIDDEN))
    keys = [str(number) for number in range(args.cases)]
    if args.promises and not args.generator:
        keys += [f"{name}/{number}" for name, promise in PROMISES.items() for number in range(promise.n_sets)]
    rows: dict[str, Counter[str]] = {}
    n_failing = 0
    for key, name, verdict in verdicts(keys, asked):
        counts = verdict.counts()
        rows.setdefault(name, Counter()).update(
            {"cases": 1, "points": verdict.points, "certified": verdict.certified}, **counts
        )
        bad = [fault for fault in verdict.faults if fault.kind in FORBIDDEN]
        if bad:
            n_failing += 1
            print(f"case {key}, {name}, {len(bad)} faults: {bad[0].kind}: {bad[0].text}", flush=True)
            if n_failing == _MOST_FAILURES and not args.keep_going:
                print("The others were not run: --keep-going runs them.")
                break
    print(table(dict(sorted(rows.items()))))
    broken = broken_promises(rows)
    print("\n".join(broken))
    return int(n_failing > 0 or bool(broken))


if __name__ == "__main__":
    sys.exit(main())
