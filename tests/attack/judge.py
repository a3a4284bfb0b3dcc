"""The judge: what a path claims, computed again in integers.

A float64 is an integer times a power of two, so columns, residuals, correlations and gaps are fractions, and what is
found is the truth: no rounding of the judge stands between it and a claim. Only the factors f_j of standardized columns
and the norms are not fractions; they are taken to 300 bits, and so are penalty factors and bounds in these units.
"""

import math
from collections import Counter
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from fwlasso import LassoPath, Status

from .duality import PLAIN, Cost, General, Ray, ball_gap, cost_of, dual_loss, penalized_gap

#: A claim may be below the truth by so much, relative to the null loss and to itself: lambda = m alpha is rounded.
SLACK = Fraction(1, 10**15)
_U = Fraction(1, 2**53)
_SMALLEST = Fraction(1, 2**1074)
_LARGEST = 2**1020
_ROOT_BITS = 300
_POLISHES, _CYCLES = 4, 100

Integers = np.ndarray  # of Python's integers
Coefs = dict[int, Fraction]  # by column


class Fault(NamedTuple):
    """What is wrong: its kind is a column of the table."""

    kind: str
    text: str


class Verdict(NamedTuple):
    """What was found on a path."""

    points: int = 0
    certified: int = 0
    faults: tuple[Fault, ...] = ()

    def __add__(self, other: "Verdict") -> "Verdict":  # type: ignore[override]
        return Verdict(*(mine + others for mine, others in zip(self, other, strict=True)))

    def counts(self) -> Counter[str]:
        return Counter(fault.kind for fault in self.faults)


class Truth(NamedTuple):
    """The columns z_j = scales[j] Z[:, j] and the response y_scale y, centred where there is an intercept.

    All products of samples are in the metric of the weights w_scale w.
    """

    Z: Integers
    scales: list[Fraction]
    factors: list[Fraction]  # b_j = factors_j a_j, f_j / v_j of z_j = (f_j / v_j)(x_j - mean_j)
    norms: list[Fraction]
    y: Integers
    y_scale: Fraction
    w: Integers | int
    w_scale: Fraction
    total: Fraction  # the sum of the weights
    cost: Cost
    n_roundings: int  # of factors, by which bounds in units of z_j are off; that of f_j is of a sum of m squares

    @property
    def null_loss(self) -> Fraction:
        """The loss of the columns without a penalty alone, 1/2 y'y if there are none; one where it is zero."""
        q, scale = project(self, self.y)
        return self.w_scale * (scale * self.y_scale) ** 2 * (q @ (self.w * q)) / 2 or Fraction(1)

    @property
    def size(self) -> Fraction:
        """The norm of the response."""
        return self.y_scale * root(self.w_scale * (self.y @ (self.w * self.y)))


class Point(NamedTuple):
    """What the gap of a point is made of: its residual r, and the dual vector W (r - U a)."""

    ray: Ray
    l1: Fraction
    rr: Fraction  # r'W r
    corrs: np.ndarray  # z_j'W r


class Claim(NamedTuple):
    """What is claimed of a point; `value` is the radius, or lambda: alpha l1_ratio sum of weights."""

    grid: str
    value: Fraction
    tol: Fraction
    gap: float
    status: Status
    radius: Fraction
    r2: Fraction
    scaled: Coefs
    coefs: Coefs


def integers(values: np.ndarray) -> tuple[Integers, Fraction]:
    """Return n and a power of two s with values = s n."""
    mantissas, exponents = np.frexp(values)
    n = (mantissas * 2.0**53).astype(np.int64).astype(object)
    if not mantissas.any():
        return n, Fraction(1)
    least = int(exponents[mantissas != 0].min())
    return n << np.where(mantissas != 0, exponents - least, 0).astype(object), Fraction(2) ** (least - 53)


def root(square: Fraction) -> Fraction:
    """Return the square root, to `_ROOT_BITS` bits."""
    if square == 0:
        return square
    shift = _ROOT_BITS - (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    return math.isqrt(int(square * Fraction(4) ** shift)) / Fraction(2) ** shift


def fractions(values: np.ndarray) -> np.ndarray:
    """Return numbers that are exact; what is infinite stays."""
    exact = [Fraction(x) if math.isfinite(x) else x for x in np.asarray(values, float).ravel().tolist()]
    return np.array(exact, object).reshape(np.shape(values))


def truth_of(
    values: np.ndarray, y: np.ndarray, fit_intercept: bool, standardize: bool, asked: General = PLAIN
) -> Truth:
    """Form the columns z_j; centred, x_j is (W x_j - sum w_i x_ij) / W."""
    m, p = values.shape
    Z, scales, factors, norms = np.zeros((m, p), object), [], [], []
    w, w_scale = (1, Fraction(1)) if asked.sample_weight is None else integers(asked.sample_weight)
    total = m if asked.sample_weight is None else w.sum()

    def centred(n: Integers, scale: Fraction) -> tuple[Integers, Fraction]:
        return (total * n - (w * n).sum(), scale / total) if fit_intercept else (n, scale)

    for j, v in enumerate(asked.factors(p).tolist()):
        Z[:, j], scale = centred(*integers(values[:, j]))
        norm = scale * root(w_scale * (Z[:, j] @ (w * Z[:, j])))
        factor = root(w_scale * total) / norm if standardize and norm else Fraction(1)
        factors.append(short(factor / Fraction(v) if 0.0 < v < math.inf else factor, _ROOT_BITS))
        scales.append(scale * factors[j] * (v < math.inf))
        norms.append(norm * factors[j] * (v < math.inf))
    response, y_scale = integers(y if asked.offset is None else np.concatenate([y, asked.offset]))
    response, y_scale = centred(response[:m] - (0 if asked.offset is None else response[m:]), y_scale)
    cost = cost_of(asked, np.array(factors, object), w_scale * total, fractions)
    for ends in (cost.lower, cost.upper):
        ends[:] = [end if abs(end) == math.inf else short(end, _ROOT_BITS) for end in ends]
    n_roundings = 4 * (m + 8) if standardize else 4
    return Truth(Z, scales, factors, norms, response, y_scale, w, w_scale, w_scale * total, cost, n_roundings)


def project(truth: Truth, r: Integers) -> tuple[Integers, Fraction]:
    """Return n and a scale s with s n = r - U a, where U'W U a = U'W r: U are the columns without a penalty.

    The equations are solved by elimination; a column that depends on those before has a coefficient of zero.
    """
    if truth.cost.slopes.all():
        return r, Fraction(1)
    columns = truth.Z[:, ~truth.cost.slopes]
    A = np.column_stack([columns, r]).T @ np.column_stack([truth.w * column for column in (*columns.T, r)])
    A, k = A * Fraction(1), columns.shape[1]
    for i in range(k):
        others = np.arange(k) != i
        if A[i, i]:
            A[:k][others] -= np.outer(A[:k][others, i] / A[i, i], A[i])
        else:
            A[i] = Fraction(0)
    a = [A[i, k] / A[i, i] if A[i, i] else Fraction(0) for i in range(k)]
    unit = math.lcm(*(share.denominator for share in a))
    shares = [share.numerator * (unit // share.denominator) for share in a]
    return unit * r - columns @ np.array(shares, object), Fraction(1, unit)


def point_of(truth: Truth, coefs: Coefs) -> Point:
    """Return what a gap is made of."""
    shares = {j: a * truth.scales[j] / truth.y_scale for j, a in coefs.items()}
    unit = math.lcm(*(share.denominator for share in shares.values()))
    r, scale = unit * truth.y, truth.y_scale / unit  # the residual is scale r
    for j, share in shares.items():
        r = r - truth.Z[:, j] * (share.numerator * (unit // share.denominator))
    q, shrink = project(truth, r)  # the dual vector is scale w_scale shrink W q
    units, slopes = np.array(truth.scales, object) * (scale * truth.w_scale), truth.cost.slopes
    c = units * (truth.Z.T @ (truth.w * q)) * shrink
    corrs = c if slopes.all() else units * (truth.Z.T @ (truth.w * r))
    b = np.array([coefs.get(j, Fraction(0)) for j in range(c.size)], object)
    rr, qq = (truth.w_scale * own**2 * (v @ (truth.w * v)) for own, v in ((scale, r), (scale * shrink, q)))
    longest = (qq + b @ c) / qq if qq else Fraction(0)
    return Point(Ray(b, c, lambda s: (rr + (s - 2) * s * qq) / 2, longest), truth.cost.l1(b), rr, corrs)


def gap_of(truth: Truth, point: Point, grid: str, value: Fraction) -> Fraction:
    """Return the duality gap relative to the null loss."""
    gap = (ball_gap if grid == "radii" else penalized_gap)(truth.cost, point.ray, value)
    return gap / truth.null_loss


def dual_of(truth: Truth, point: Point, lam: Fraction) -> Fraction:
    """Return the dual objective that the residual of a point brings."""
    primal = point.rr / 2 + truth.cost.values(point.ray.b, lam).sum()
    return primal - penalized_gap(truth.cost, point.ray, lam)


def smallest_gap(truth: Truth, coefs: Coefs, lam: Fraction) -> Fraction:
    """Return the gap of a point with the best dual point that is found.

    Better ones than the residual's are looked for in float64, by descent and by Newton's steps; what they prove is
    computed exactly.
    """
    own = point_of(truth, coefs)
    dual = dual_of(truth, own, lam)
    for start in (coefs, descend(truth, coefs, lam)):
        nearer = start
        for _ in range(_POLISHES):
            point = point_of(truth, nearer)
            dual = max(dual, dual_of(truth, point, lam))
            nearer = newton(truth, nearer, point, lam)
    return (own.rr / 2 + truth.cost.values(own.ray.b, lam).sum() - dual) / truth.null_loss


def unit_columns(truth: Truth, columns: list[int]) -> np.ndarray:
    """Return columns of norm one, their rows times roots of the weights."""
    Z = [[number(n * truth.scales[j] / truth.norms[j]) for n in truth.Z[:, j]] for j in columns]
    return np.array(Z).T * roots(truth)[:, None]


def roots(truth: Truth) -> np.ndarray:
    return np.sqrt([number(w * truth.w_scale) for w in truth.w + 0 * truth.y])


def number(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def descend(truth: Truth, coefs: Coefs, lam: Fraction) -> Coefs:
    """Return coefficients after some cycles of coordinate descent, for columns and y of norm one."""
    columns = [j for j, norm in enumerate(truth.norms) if norm]
    size = short(truth.size)
    if not columns or not size:
        return coefs
    Z, cost = unit_columns(truth, columns), truth.cost.pick(columns)
    units = np.array([truth.norms[j] / size for j in columns], object)  # a_j of norm one is a_j times this
    a = numbers(np.array([coefs.get(j, Fraction(0)) for j in columns], object) * units)
    lams = np.where(cost.slopes, numbers(lam / size / (units * size)), 0.0)
    bents = 1.0 + numbers(cost.curvatures(lam) / (units * size) ** 2)
    ends = [
        numbers(np.array([x if abs(x) == math.inf else x * unit for x, unit in zip(own, units, strict=True)], object))
        for own in (cost.lower, cost.upper)
    ]
    r = np.array([number(n * truth.y_scale / size) for n in truth.y]) * roots(truth) - Z @ a
    for _ in range(_CYCLES if np.isfinite(a).all() else 0):
        for j in range(len(columns)):
            x = a[j] + Z[:, j] @ r
            new = np.clip(np.sign(x) * max(abs(x) - lams[j], 0.0) / bents[j], ends[0][j], ends[1][j])
            r += (a[j] - new) * Z[:, j]
            a[j] = new
    if not np.isfinite(a).all():
        return coefs
    found = {}
    for j, b, unit, *at in zip(columns, a.tolist(), units, *ends, cost.lower, cost.upper, strict=True):
        if b:
            found[j] = at[2] if b == at[0] else at[3] if b == at[1] else short(Fraction(b) / unit)
    return boxed(truth, found)


def newton(truth: Truth, coefs: Coefs, point: Point, lam: Fraction) -> Coefs:
    """Return coefficients with |z_j'r - mu_j a_j| = lambda on the active columns and those beyond lambda.

    But for rounding, and for coefficients at bounds, which stay there.
    """
    cost, mu = truth.cost, truth.cost.curvatures(lam)
    signs = {j: a > 0 for j, a in coefs.items() if truth.norms[j] and cost.lower[j] < a < cost.upper[j]}
    room = cost.room(point.ray.c)
    signs |= {j: c > 0 for j, c in enumerate(point.ray.c) if abs(c) > lam and room[j] > 0 and j not in coefs}
    signs |= {j: True for j, norm in enumerate(truth.norms) if norm and not cost.slopes[j]}
    if not signs or not point.rr:
        return coefs
    rho, columns = short(root(point.rr)), list(signs)
    norms = np.array([truth.norms[j] for j in columns], object)
    leans = np.array([(lam if up else -lam) if cost.slopes[j] else Fraction(0) for j, up in signs.items()], object)
    leans += mu[columns] * [coefs.get(j, Fraction(0)) for j in columns]
    corrs = numbers((point.corrs[columns] - leans) / norms / rho)
    if not np.isfinite(corrs).all():
        return coefs
    ridges = np.diag(np.sqrt(numbers(mu[columns] / norms**2)))
    _, sizes, right = np.linalg.svd(np.vstack([unit_columns(truth, columns), ridges]), full_matrices=False)
    kept = sizes > 1e-14 * sizes[0]
    moves = right[kept].T @ ((right[kept] @ corrs) / sizes[kept] ** 2)
    moved = {
        j: coefs.get(j, Fraction(0)) + short(Fraction(move) * rho / truth.norms[j])
        for j, move in zip(columns, moves.tolist(), strict=True)
    }
    return boxed(truth, {**coefs, **moved})


def boxed(truth: Truth, coefs: Coefs) -> Coefs:
    """Return coefficients inside their bounds."""
    return {j: max(truth.cost.lower[j], min(truth.cost.upper[j], a)) for j, a in coefs.items()}


def numbers(exact: np.ndarray) -> np.ndarray:
    return np.array([number(x) for x in exact])


def short(exact: Fraction, bits: int = 64) -> Fraction:
    """Return a number to so many bits, so that integers do not grow from step to step."""
    if not exact:
        return exact
    shift = bits - (exact.numerator.bit_length() - exact.denominator.bit_length())
    return int(exact * Fraction(2) ** shift) / Fraction(2) ** shift


def lost(truth: Truth, point: Point, lam: Fraction, d: Fraction) -> Fraction:
    """Bound what a residual that is off by a norm of d takes from the dual objective."""
    off = np.array([norm * d for norm in truth.norms], object)
    return dual_loss(truth.cost, point.ray, lam, off, (d, truth.size, root(point.rr)))


def rounding_of_residual(truth: Truth, point: Point, claim: Claim) -> Fraction:
    """Bound what the gap gains if the dual point is made of y - Z a as float64 has it, off by gamma of its terms."""
    terms = truth.size + sum((abs(a) * truth.norms[j] for j, a in claim.scaled.items()), Fraction(0))
    d = (truth.y.size + len(claim.scaled) + 8) * _U * terms
    return lost(truth, point, claim.value, d) / truth.null_loss


def rounding_of_coefs(truth: Truth, point: Point, claim: Claim) -> Fraction:
    """Bound what a relative rounding by 4 (m + 8) u of every coefficient, and underflow, add to the gap.

    So exact are f_j, of a sum of m squares, and b_j = f_j a_j. The fit moves by at most d = sum |change_j| ||z_j||.
    """
    delta = 4 * (truth.y.size + 8) * _U
    change = {j: delta * abs(a) + _SMALLEST / truth.factors[j] for j, a in claim.scaled.items()}
    d = sum((change[j] * truth.norms[j] for j in change), Fraction(0))
    rho = root(point.rr)
    if claim.grid == "radii":
        bound = claim.value * max(truth.norms) * d + d * (2 * rho + truth.size) + d * d
        lam = Fraction(0)
    else:
        bound = claim.value * sum(change.values(), Fraction(0)) + rho * d + d * d / 2
        bound += lost(truth, point, claim.value, d)
        lam = claim.value
    mu = truth.cost.curvatures(lam)
    bound += sum((mu[j] * own * (abs(claim.scaled[j]) + own) for j, own in change.items()), Fraction(0))
    return bound / truth.null_loss


def judge(
    path: LassoPath,
    X: Any,
    values: np.ndarray,
    y: np.ndarray,
    asked: General = PLAIN,
    *,
    rows: Any = slice(None),
    strict: bool = False,
) -> Verdict:
    """Judge a path on some rows of X, which holds `values`.

    Any feasible theta proves a claim, and a solver's is made of its residual, which is not to the last bit that of its
    coefficients. Where that may be why a claim is below their gap, any dual point that proves it will do; unless
    `strict`, which is without `SLACK`, too.
    """
    settings, own = path.settings, asked.on(rows)
    truth = truth_of(values[rows], y[rows], settings["fit_intercept"], settings["standardize"], own)
    faults = _look(path, np.count_nonzero(truth.w + 0 * truth.y))
    for k in range(len(path)):
        claim = _claim(path, k, truth.total * Fraction(asked.l1_ratio))
        if claim is not None:
            faults += [Fault(kind, f"point {k}: {text}") for kind, text in _judge_point(truth, claim, strict)]
    if not any(fault.kind == "non-finite" for fault in faults):
        faults += _judge_bounds(path, asked) + _judge_units(path, X, values, y, asked, rows)
    certified = sum(status is Status.CERTIFIED for status in path.statuses)
    return Verdict(len(path), certified, tuple(faults))


def _judge_bounds(path: LassoPath, asked: General) -> list[Fault]:
    """Look for coefficients outside of the bounds, as users have both."""
    coefs = path.coefs.toarray()
    lower, upper = (ends[:, None] for ends in asked.bounds(len(coefs)))
    outside = (coefs < lower) | (coefs > upper)
    return [Fault("wrong", f"{outside.sum()} coefficients outside of their bounds")] if outside.any() else []


def _look(path: LassoPath, m: int) -> list[Fault]:
    """Look at what needs no data: finite numbers, places of coefficients, samples with a weight and endings."""
    p = path.coefs.shape[0]
    arrays = {"coefs": path.coefs.data, "scaled_coefs": path.scaled_coefs.data}
    arrays |= {name: getattr(path, name) for name in ("intercepts", "alphas", "radii", "r2")}
    faults = [
        Fault("non-finite", f"{np.count_nonzero(~np.isfinite(numbers))} of {np.size(numbers)} {name}")
        for name, numbers in arrays.items()
        if not np.isfinite(numbers).all()
    ]
    for indices in (path.coefs.indices, path.scaled_coefs.indices):
        if indices.size and not 0 <= indices.min() <= indices.max() < p:
            faults.append(Fault("wrong", "a column outside"))
    if path.ending is not None or path.settings["n_samples"] != m:
        faults.append(Fault("wrong", f"of {path.settings['n_samples']} samples, not {m}; ended by {path.ending}"))
    return faults


def _claim(path: LassoPath, k: int, unit: Fraction) -> Claim | None:
    """Return what is claimed of a point, with lambda = unit alpha; None where its numbers are not finite."""
    grid = path.settings["grid"]
    columns = []
    for matrix in (path.scaled_coefs, path.coefs):
        part = slice(matrix.indptr[k], matrix.indptr[k + 1])
        columns.append(
            {j: a for j, a in zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True) if a}
        )
    numbers = [float(path.alphas[k]), float(path.radii[k]), float(path.r2[k])]
    if not np.isfinite([*numbers, *columns[0].values(), *columns[1].values()]).all():
        return None
    alpha, radius, r2 = map(Fraction, numbers)
    scaled, coefs = ({j: Fraction(a) for j, a in column.items()} for column in columns)
    value = radius if grid == "radii" else unit * alpha
    tol = Fraction(float(path.settings["tol"]))
    return Claim(grid, value, tol, float(path.gaps[k]), path.statuses[k], radius, r2, scaled, coefs)


def _judge_point(truth: Truth, claim: Claim, strict: bool) -> list[tuple[str, str]]:
    """Return what is wrong with a point."""
    faults, slack = [], Fraction(0) if strict else SLACK
    inside = boxed(truth, claim.scaled)
    if any(abs(a - inside[j]) > truth.n_roundings * _U * abs(inside[j]) for j, a in claim.scaled.items()):
        faults.append(("wrong", "scaled coefficients outside of their bounds"))
    claim = claim._replace(scaled=inside)  # bounds in these units are rounded
    point = point_of(truth, inside)
    gap = gap_of(truth, point, claim.grid, claim.value)
    may_be_better = claim.grid == "alphas" and not strict and claim.gap < gap
    if may_be_better and gap <= claim.gap + rounding_of_residual(truth, point, claim):
        gap = smallest_gap(truth, inside, claim.value)
    said = f"claimed {claim.gap:.3e}, is {_told(gap)}, {claim.status.value}, {len(claim.scaled)} active"
    if math.isfinite(claim.gap):
        said += f", truth less claim {_told(gap - Fraction(claim.gap))}"
        if Fraction(claim.gap) < gap * (1 - slack) - slack:
            faults.append(("below truth", said))
        if claim.scaled != claim.coefs:
            back = point_of(truth, boxed(truth, {j: b / truth.factors[j] for j, b in claim.coefs.items()}))
            found = gap_of(truth, back, claim.grid, claim.value)
            is_above = found > (Fraction(claim.gap) + slack) * (1 + slack)
            if is_above and found > (Fraction(claim.gap) + rounding_of_coefs(truth, point, claim) + slack) * (
                1 + slack
            ):
                faults.append(("below truth", f"{said}; of the coefficients as given {_told(found)}"))
    else:
        size = gap + claim.value * max(truth.norms) * truth.size / truth.null_loss
        if math.isnan(claim.gap) or size < _LARGEST:
            faults.append(("non-finite", said))
    if claim.status is Status.CERTIFIED and not (claim.gap <= claim.tol and gap <= claim.tol * (1 + slack) + slack):
        faults.append(("above tol", f"tol {float(claim.tol):.0e}, {said}"))
    shown = {j for j, a in claim.scaled.items() if abs(a) * truth.factors[j] >= _SMALLEST}  # others underflow
    if not shown <= claim.coefs.keys() <= claim.scaled.keys():
        faults.append(("wrong", f"{len(claim.coefs)} coefficients as given, {len(claim.scaled)} scaled"))
    if claim.grid == "radii":
        if point.l1 > claim.value * (1 + Fraction(1, 10**9)):
            faults.append(("wrong", f"||a||_1 is {number(point.l1 / (claim.value or 1)):.12g} times the radius"))
    elif abs(point.l1 - claim.radius) > point.l1 / 10**12 + _SMALLEST:
        faults.append(("wrong", f"radius {_told(claim.radius)}, ||a||_1 = {_told(point.l1)}"))
    # Made of S and F, it may lose as much as the terms of the fit are larger than y.
    is_explained = project(truth, truth.y)[0].any()
    r2 = (truth.null_loss - point.rr / 2) / truth.null_loss if is_explained else -point.rr / 2
    fitted = sum((abs(a) * truth.norms[j] for j, a in claim.scaled.items()), Fraction(0))
    if abs(claim.r2 - r2) > (1 + fitted**2 / truth.null_loss) / 10**9:
        faults.append(("wrong", f"r2 {_told(claim.r2)}, is {_told(r2)}"))
    return faults


def _judge_units(path: LassoPath, X: Any, values: np.ndarray, y: np.ndarray, asked: General, rows: Any) -> list[Fault]:
    """Compare intercepts and predictions with the coefficients, in long double, up to rounding of their terms."""
    faults = []
    u, coefs = float(_U), path.coefs.toarray().astype(np.longdouble)
    shift = np.zeros(len(y)) if asked.offset is None else asked.offset
    response = (y.astype(np.longdouble) - shift)[rows]
    known, weights = values[rows].astype(np.longdouble), asked.on(rows).sample_weight
    terms = len(response) + np.diff(path.coefs.indptr) + 8
    if path.settings["fit_intercept"]:

        def mean(numbers: np.ndarray) -> np.ndarray:
            return np.average(numbers, axis=0, weights=None if weights is None else weights.astype(np.longdouble))

        exact = mean(response) - mean(known) @ coefs
        size = mean(np.abs(response)) + mean(np.abs(known)) @ np.abs(coefs)
    else:
        exact, size = np.zeros(len(path)), np.zeros(len(path))
    wrong = ~(np.abs(path.intercepts - exact) <= terms * (u * size + float(_SMALLEST)))
    if wrong.any():
        k = int(np.argmax(wrong))
        faults.append(Fault("wrong", f"point {k}: intercept {path.intercepts[k]!r}, is {exact[k]!r}"))
    try:
        predicted = path.predict(X, **({} if asked.offset is None else {"offset": shift}))
    except Exception as error:
        return [*faults, Fault("errors", repr(error))]
    if not np.isfinite(predicted).all():
        return [*faults, Fault("non-finite", "predictions")]
    exact = values.astype(np.longdouble) @ coefs + path.intercepts + shift[:, None]
    size = np.abs(values).astype(np.longdouble) @ np.abs(coefs) + np.abs(path.intercepts) + np.abs(shift)[:, None]
    terms = np.diff(path.coefs.indptr) + 8
    if not (np.abs(predicted - exact) <= terms * (u * size + float(_SMALLEST))).all():
        faults.append(Fault("wrong", f"predictions off by {np.abs(predicted - exact).max():.3e}"))
    return faults


def _told(exact: Fraction) -> str:
    return f"{number(exact):.3e}"
