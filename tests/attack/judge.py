"""The judge: what a path claims, computed again in integers.

A float64 is an integer times a power of two, so columns, residuals, correlations and gaps are fractions, and what is
found is the truth: no rounding of the judge stands between it and a claim. Only the factors f_j of standardized columns
and the norms are not fractions; they are taken to 300 bits.
"""

import math
from collections import Counter
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from fwlasso import LassoPath, Status

#: A claim may be below the truth by so much, relative to 1/2 ||y||^2 and to itself: lambda = m alpha is rounded.
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
    """The columns z_j = scales[j] Z[:, j] and the response y_scale y, centred where there is an intercept."""

    Z: Integers
    scales: list[Fraction]
    factors: list[Fraction]  # f_j of z_j = f_j (x_j - mu_j)
    norms: list[Fraction]
    y: Integers
    y_scale: Fraction

    @property
    def null_loss(self) -> Fraction:
        """1/2 ||y||^2, and one where y is zero."""
        return self.y_scale**2 * (self.y @ self.y) / 2 or Fraction(1)


class Point(NamedTuple):
    """What the gap of a point is made of."""

    l1: Fraction
    rr: Fraction
    yr: Fraction
    corrs: list[Fraction]  # z_j'r
    ac: Fraction  # a'Z'r

    @property
    def largest(self) -> Fraction:
        return max(map(abs, self.corrs))


class Claim(NamedTuple):
    """What is claimed of a point; `value` is the radius, or lambda = m alpha."""

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


def truth_of(values: np.ndarray, y: np.ndarray, fit_intercept: bool, standardize: bool) -> Truth:
    """Form the columns z_j; centred, x_j is (m x_j - sum(x_j)) / m."""
    m, p = values.shape
    Z, scales, factors, norms = np.zeros((m, p), object), [], [], []

    def centred(numbers: np.ndarray) -> tuple[Integers, Fraction]:
        n, scale = integers(numbers)
        return (m * n - n.sum(), scale / m) if fit_intercept else (n, scale)

    for j in range(p):
        Z[:, j], scale = centred(values[:, j])
        norm = scale * root(Fraction(Z[:, j] @ Z[:, j]))
        factors.append(root(Fraction(m)) / norm if standardize and norm else Fraction(1))
        scales.append(scale * factors[j])
        norms.append(norm * factors[j])
    return Truth(Z, scales, factors, norms, *centred(y))


def point_of(truth: Truth, coefs: Coefs) -> Point:
    """Return what a gap is made of."""
    shares = {j: a * truth.scales[j] / truth.y_scale for j, a in coefs.items()}
    unit = math.lcm(*(share.denominator for share in shares.values()))
    r, scale = unit * truth.y, truth.y_scale / unit  # the residual is scale r
    for j, share in shares.items():
        r = r - truth.Z[:, j] * (share.numerator * (unit // share.denominator))
    corrs = [own * c * scale for own, c in zip(truth.scales, truth.Z.T @ r, strict=True)]
    return Point(
        l1=sum(map(abs, coefs.values()), Fraction(0)),
        rr=scale**2 * (r @ r),
        yr=scale * truth.y_scale * (truth.y @ r),
        corrs=corrs,
        ac=sum((a * corrs[j] for j, a in coefs.items()), Fraction(0)),
    )


def dual_scale(point: Point, lam: Fraction) -> Fraction:
    """Return s of the dual point s r: the best with |s| max |z_j'r| <= lambda."""
    s = point.yr / point.rr if point.rr else Fraction(0)
    limit = lam / point.largest if point.largest else abs(s)
    return max(-limit, min(limit, s))


def dual_of(point: Point, lam: Fraction) -> Fraction:
    """Return theta'y - 1/2 ||theta||^2 of theta = s r."""
    s = dual_scale(point, lam)
    return s * point.yr - s * s * point.rr / 2


def gap_of(truth: Truth, point: Point, grid: str, value: Fraction) -> Fraction:
    """Return the duality gap relative to 1/2 ||y||^2."""
    if grid == "radii":
        return (value * point.largest - point.ac) / truth.null_loss
    return (point.rr / 2 + value * point.l1 - dual_of(point, value)) / truth.null_loss


def smallest_gap(truth: Truth, coefs: Coefs, lam: Fraction) -> Fraction:
    """Return the gap of a point with the best dual point that is found.

    Better ones than the residual's are looked for in float64, by descent and by Newton's steps; what they prove is
    computed exactly.
    """
    own = point_of(truth, coefs)
    dual = dual_of(own, lam)
    for start in (coefs, descend(truth, coefs, lam)):
        nearer = start
        for _ in range(_POLISHES):
            point = point_of(truth, nearer)
            dual = max(dual, dual_of(point, lam))
            nearer = newton(truth, nearer, point, lam)
    return (own.rr / 2 + lam * own.l1 - dual) / truth.null_loss


def unit_columns(truth: Truth, columns: list[int]) -> np.ndarray:
    return np.array([[number(n * truth.scales[j] / truth.norms[j]) for n in truth.Z[:, j]] for j in columns]).T


def number(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def descend(truth: Truth, coefs: Coefs, lam: Fraction) -> Coefs:
    """Return coefficients after some cycles of coordinate descent, for columns and y of norm one."""
    columns = [j for j, norm in enumerate(truth.norms) if norm]
    size = short(root(2 * truth.null_loss))
    if not columns or not truth.y.any():
        return coefs
    Z = unit_columns(truth, columns)
    a = np.array([number(coefs.get(j, Fraction(0)) * truth.norms[j] / size) for j in columns])
    lams = [number(lam / truth.norms[j] / size) for j in columns]
    r = np.array([number(n * truth.y_scale / size) for n in truth.y]) - Z @ a
    for _ in range(_CYCLES if np.isfinite(a).all() else 0):
        for j in range(len(columns)):
            x = a[j] + Z[:, j] @ r
            new = np.sign(x) * max(abs(x) - lams[j], 0.0)
            r += (a[j] - new) * Z[:, j]
            a[j] = new
    if not np.isfinite(a).all():
        return coefs
    return {j: short(Fraction(b) * size / truth.norms[j]) for j, b in zip(columns, a.tolist(), strict=True) if b}


def newton(truth: Truth, coefs: Coefs, point: Point, lam: Fraction) -> Coefs:
    """Return coefficients with |z_j'r| = lambda on the active columns and those beyond lambda, but for rounding."""
    signs = {j: a > 0 for j, a in coefs.items() if truth.norms[j]}
    signs |= {j: c > 0 for j, c in enumerate(point.corrs) if abs(c) > lam and j not in signs}
    if not signs or not point.rr:
        return coefs
    rho = short(root(point.rr))
    corrs = [number((point.corrs[j] - (lam if up else -lam)) / truth.norms[j] / rho) for j, up in signs.items()]
    if not np.isfinite(corrs).all():
        return coefs
    _, sizes, right = np.linalg.svd(unit_columns(truth, list(signs)), full_matrices=False)
    kept = sizes > 1e-14 * sizes[0]
    moves = right[kept].T @ ((right[kept] @ corrs) / sizes[kept] ** 2)
    return {
        j: coefs.get(j, Fraction(0)) + short(Fraction(move) * rho / truth.norms[j])
        for j, move in zip(signs, moves.tolist(), strict=True)
    }


def short(exact: Fraction) -> Fraction:
    """Return a number to 64 bits, so that integers do not grow from step to step."""
    if not exact:
        return exact
    shift = 64 - (exact.numerator.bit_length() - exact.denominator.bit_length())
    return int(exact * Fraction(2) ** shift) / Fraction(2) ** shift


def dual_loss(truth: Truth, point: Point, lam: Fraction, d: Fraction) -> Fraction:
    """Bound what a residual that is off by a norm of d takes from the dual objective; s falls as max |z_j'r| rises."""
    s = abs(dual_scale(point, lam))
    lost = min(Fraction(1), max(truth.norms) * d / point.largest) if point.largest else Fraction(1)
    return s * (abs(point.yr) * lost + root(2 * truth.null_loss) * d) + s * s * (root(point.rr) * d + d * d / 2)


def rounding_of_residual(truth: Truth, point: Point, claim: Claim) -> Fraction:
    """Bound what the gap gains if the dual point is made of y - Z a as float64 has it, off by gamma of its terms."""
    terms = root(2 * truth.null_loss) + sum((abs(a) * truth.norms[j] for j, a in claim.scaled.items()), Fraction(0))
    d = (truth.y.size + len(claim.scaled) + 8) * _U * terms
    return dual_loss(truth, point, claim.value, d) / truth.null_loss


def rounding_of_coefs(truth: Truth, point: Point, claim: Claim) -> Fraction:
    """Bound what a relative rounding by 4 (m + 8) u of every coefficient, and underflow, add to the gap.

    So exact are f_j, of a sum of m squares, and b_j = f_j a_j. The fit moves by at most d = sum |change_j| ||z_j||.
    """
    delta = 4 * (truth.y.size + 8) * _U
    change = {j: delta * abs(a) + _SMALLEST / truth.factors[j] for j, a in claim.scaled.items()}
    d = sum((change[j] * truth.norms[j] for j in change), Fraction(0))
    rho = root(point.rr)
    if claim.grid == "radii":
        bound = claim.value * max(truth.norms) * d + d * (2 * rho + root(2 * truth.null_loss)) + d * d
    else:
        bound = claim.value * sum(change.values(), Fraction(0)) + rho * d + d * d / 2
        bound += dual_loss(truth, point, claim.value, d)
    return bound / truth.null_loss


def judge(
    path: LassoPath, X: Any, values: np.ndarray, y: np.ndarray, rows: Any = slice(None), strict: bool = False
) -> Verdict:
    """Judge a path on some rows of X, which holds `values`.

    Any feasible theta proves a claim, and a solver's is made of its residual, which is not to the last bit that of its
    coefficients. Where that may be why a claim is below their gap, any dual point that proves it will do; unless
    `strict`, which is without `SLACK`, too.
    """
    settings = path.settings
    truth = truth_of(values[rows], y[rows], settings["fit_intercept"], settings["standardize"])
    faults = _look(path, truth.y.size)
    for k in range(len(path)):
        claim = _claim(path, k)
        if claim is not None:
            faults += [Fault(kind, f"point {k}: {text}") for kind, text in _judge_point(truth, claim, strict)]
    if not any(fault.kind == "non-finite" for fault in faults):
        faults += _judge_units(path, X, values, y, rows)
    certified = sum(status is Status.CERTIFIED for status in path.statuses)
    return Verdict(len(path), certified, tuple(faults))


def _look(path: LassoPath, m: int) -> list[Fault]:
    """Look at what needs no data: finite numbers, places of coefficients, samples and endings."""
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


def _claim(path: LassoPath, k: int) -> Claim | None:
    """Return what is claimed of a point; None where its numbers are not finite."""
    m, grid = path.settings["n_samples"], path.settings["grid"]
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
    value = radius if grid == "radii" else m * alpha
    tol = Fraction(float(path.settings["tol"]))
    return Claim(grid, value, tol, float(path.gaps[k]), path.statuses[k], radius, r2, scaled, coefs)


def _judge_point(truth: Truth, claim: Claim, strict: bool) -> list[tuple[str, str]]:
    """Return what is wrong with a point."""
    faults, slack = [], Fraction(0) if strict else SLACK
    point = point_of(truth, claim.scaled)
    gap = gap_of(truth, point, claim.grid, claim.value)
    may_be_better = claim.grid == "alphas" and not strict and claim.gap < gap
    if may_be_better and gap <= claim.gap + rounding_of_residual(truth, point, claim):
        gap = smallest_gap(truth, claim.scaled, claim.value)
    said = f"claimed {claim.gap:.3e}, is {_told(gap)}, {claim.status.value}, {len(claim.scaled)} active"
    if math.isfinite(claim.gap):
        said += f", truth less claim {_told(gap - Fraction(claim.gap))}"
        if Fraction(claim.gap) < gap * (1 - slack) - slack:
            faults.append(("below truth", said))
        if claim.scaled != claim.coefs:
            back = point_of(truth, {j: b / truth.factors[j] for j, b in claim.coefs.items()})
            found = gap_of(truth, back, claim.grid, claim.value)
            if found > (Fraction(claim.gap) + rounding_of_coefs(truth, point, claim) + slack) * (1 + slack):
                faults.append(("below truth", f"{said}; of the coefficients as given {_told(found)}"))
    else:
        size = gap + claim.value * max(truth.norms) * root(2 * truth.null_loss) / truth.null_loss
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
    r2 = (truth.null_loss - point.rr / 2) / truth.null_loss if truth.y.any() else -point.rr / 2
    fitted = sum((abs(a) * truth.norms[j] for j, a in claim.scaled.items()), Fraction(0))
    if abs(claim.r2 - r2) > (1 + fitted**2 / truth.null_loss) / 10**9:
        faults.append(("wrong", f"r2 {_told(claim.r2)}, is {_told(r2)}"))
    return faults


def _judge_units(path: LassoPath, X: Any, values: np.ndarray, y: np.ndarray, rows: Any) -> list[Fault]:
    """Compare intercepts and predictions with the coefficients, in long double, up to rounding of their terms."""
    faults = []
    u, coefs = float(_U), path.coefs.toarray().astype(np.longdouble)
    known, response = values[rows].astype(np.longdouble), y[rows].astype(np.longdouble)
    terms = len(response) + np.diff(path.coefs.indptr) + 8
    if path.settings["fit_intercept"]:
        exact = response.mean() - known.mean(axis=0) @ coefs
        size = np.abs(response).mean() + np.abs(known).mean(axis=0) @ np.abs(coefs)
    else:
        exact, size = np.zeros(len(path)), np.zeros(len(path))
    wrong = ~(np.abs(path.intercepts - exact) <= terms * (u * size + float(_SMALLEST)))
    if wrong.any():
        k = int(np.argmax(wrong))
        faults.append(Fault("wrong", f"point {k}: intercept {path.intercepts[k]!r}, is {exact[k]!r}"))
    try:
        predicted = path.predict(X)
    except Exception as error:
        return [*faults, Fault("errors", repr(error))]
    if not np.isfinite(predicted).all():
        return [*faults, Fault("non-finite", "predictions")]
    exact = values.astype(np.longdouble) @ coefs + path.intercepts
    size = np.abs(values).astype(np.longdouble) @ np.abs(coefs) + np.abs(path.intercepts)
    terms = np.diff(path.coefs.indptr) + 8
    if not (np.abs(predicted - exact) <= terms * (u * size + float(_SMALLEST))).all():
        faults.append(Fault("wrong", f"predictions off by {np.abs(predicted - exact).max():.3e}"))
    return faults


def _told(exact: Fraction) -> str:
    return f"{number(exact):.3e}"
