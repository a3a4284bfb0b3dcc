"""What the record of a saved path must be."""

from typing import Any

import numpy as np

from .sealed import is_number, is_variant, require

_MOST = np.iinfo(np.int64).max  # features, or points, that an index can count


def check_record(record: dict[str, Any]) -> None:
    """Raise an exception unless the record of a saved path is of the types that it was written with."""
    p, n = record["shape"]
    require(type(p) is type(n) is int and 0 <= p <= _MOST and 0 < n <= _MOST, "its shape is invalid")
    require(isinstance(record["statuses"], list) and len(record["statuses"]) == n, f"there are not {n} statuses")
    names, settings, counters = record["feature_names"], record["settings"], record["counters"]
    named = isinstance(names, list) and len(names) == p and all(isinstance(name, str) for name in names)
    require(names is None or named, f"the names are not {p} texts")
    for j, variant in record["variants"].items():
        fits = isinstance(variant, list) and is_variant(variant) and 0 <= int(j) < p
        require(fits, f"variant {j} is not of chromosome, position and two alleles")
    means = record.get("means", {})
    fits = isinstance(means, dict) and all(is_number(mean) and 0 <= int(j) < p for j, mean in means.items())
    require(fits, "its means are not numbers of its columns")
    cost = counters["dot_products"], counters["passes"], counters.get("readings", 0.0), *counters["seconds"].values()
    require(all(is_number(value) for value in cost), "its counters are not numbers")
    solver, tol, m = (settings.get(name, default) for name, default in (("solver", ""), ("tol", 0.0), ("n_samples", 0)))
    given = tol, *map(settings.get, ("null_objective", "ridge", "l1_ratio"))
    numbers = [number for number in given if number is not None]
    known = isinstance(solver, str) and all(map(is_number, numbers)) and type(m) is int
    known = known and settings.get("first_index") in (None, 0, 1) and isinstance(settings.get("target"), str | None)
    require(known, "solver, tol, n_samples, null_objective, first_index or target are not as they were written")
