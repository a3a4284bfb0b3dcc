"""The result: a complete path, its certificates and what it cost."""

import operator
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ._core.columns import Vector
from ._core.notices import VERSION, of_this_version
from ._version import __version__
from .data.checks import check
from .data.frames import as_frame
from .data.genotypes import NO_VARIANT, Variant
from .data.keywords import explain_unknown
from .data.labels import Classes, as_classes, encoded
from .data.links import explained_shares, from_link, ratios_of
from .data.path_records import check_record
from .data.predict import Linear, predict
from .data.scores import r2_scores
from .data.sealed import check_supports, is_number, open_arrays, write_arrays
from .data.store import as_container
from .data.terms import beside_the_lasso
from .problem.grid import interpolation
from .problem.points import Counters, as_counters
from .solvers.levels import Confidence, bounds_at, objection
from .status import Status
from .views import current_settings, path_html, points_of, span

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .estimators import LassoCV
    from .models import LinearModel
    from .plots import Abscissa
    from .selection.choice import Choice
    from .selection.cross_validation import CrossValidation

Where = float | Sequence[float] | None  # a place on a path, or several
_FORMAT, _VERSION, _OF_LOSSES = "fwlasso-path", 2, 3  # of saved paths, and of those of other losses
_OF_POINTS, _MAY_BE_NAN = ("alphas", "radii", "intercepts", "gaps", "r2"), ("gaps", "r2")


@dataclass(frozen=True, repr=False, eq=False)
class LassoPath:
    """A Lasso path, from the sparsest model to the densest: ``path[k]`` is the `LinearModel` at a point.

    Attributes
    ----------
    alphas : array of shape (n_points,)
        Penalty of every point in scikit-learn's units, lambda / m: those that were given, to the bit. On a path over
        radii: the penalty that the point belongs to, a'X'(y - X a) / (m ||a||_1), less what a ridge has of it.
    radii : array of shape (n_points,)
        Norm ``sum v_j |b_j|`` of every point, v_j the penalty factors, in the units of the standardised columns if
        ``standardize=True``; columns without a penalty do not count. On a path over radii: the constraint.
    coefs : scipy.sparse.csc_array of shape (n_features, n_points)
        Coefficients for the columns as given.
    scaled_coefs : scipy.sparse.csc_array of shape (n_features, n_points)
        Coefficients of the columns as the solver sees them, scaled if ``standardize=True`` and divided by their
        penalty factors: comparable with each other, and what the l1 norm is of.
    intercepts : array of shape (n_points,)
    gaps : array of shape (n_points,)
        Duality gap over all columns divided by 1/2 ||y||^2 (y centred if there is an intercept, and less what columns
        without a penalty explain), or by half the null deviance: how far the objective can be above its minimum. NaN
        for points whose gaps were not computed: with ``certify=False`` or after Ctrl-C, unless the solver has certified
        them.
    r2 : array of shape (n_points,)
        Share of the variation of y explained on the training data; of another loss than least squares, of the deviance.
    statuses : tuple of Status
        How the work on every point ended.
    ending : Status or None
        What ended the path before its last point: time limit, keyboard or callback.
    counters : Counters
        Iterations, dot products, passes over the data and seconds by phase.
    feature_names : tuple of str or None
    settings : dict
        The arguments of the call, for the record.
    variants : dict of int to Variant
        Of genotypes: chromosome, position, effect allele, other allele and mean of every feature that was ever active.
    means : dict of int to float
        Where means of columns stand for missing values: those of every feature that was ever active.
    classes : tuple or None
        Of the logistic loss: the two labels, the second of which predictions are the probability of.

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso import lasso_path
    >>> rng = np.random.default_rng(0)
    >>> X = np.asfortranarray(rng.standard_normal((50, 200)))
    >>> y = 3 * X[:, 0] - 2 * X[:, 7] + rng.standard_normal(50)
    >>> path = lasso_path(X, y, radii=20, random_state=0)
    >>> path.coefs.shape, path.predict(X).shape
    ((200, 20), (50, 20))
    >>> path[-1].predict(X).shape, path.predict(X, radius=2.5).shape, path.score(X, y, point=-1) > 0.9
    ((50,), (50,), True)
    """

    alphas: Vector
    radii: Vector
    coefs: sp.csc_array
    scaled_coefs: sp.csc_array
    intercepts: Vector
    gaps: Vector
    r2: Vector
    statuses: tuple[Status, ...]
    counters: Counters
    ending: Status | None = None
    feature_names: tuple[str, ...] | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    variants: dict[int, Variant] = field(default_factory=dict)
    means: dict[int, float] = field(default_factory=dict)
    classes: Classes = None

    def __len__(self) -> int:
        return len(self.statuses)

    def __iter__(self) -> NoReturn:
        # scikit-learn's function returns a tuple.
        what = "path.alphas, path.coefs and path.gaps, or the models path[k] for k in range(len(path))"
        raise TypeError(f"a LassoPath is no tuple: take {what}; Lasso.path(X, y) returns a tuple as scikit-learn does")

    @overload
    def __getitem__(self, point: int) -> "LinearModel": ...
    @overload
    def __getitem__(self, point: slice) -> "LassoPath": ...
    def __getitem__(self, point: int | slice) -> "LinearModel | LassoPath":
        """Return the model at a point, counted from the end if it is negative; of a slice, the path of its points."""
        from .models import LinearModel

        return points_of(self, point) if isinstance(point, slice) else LinearModel.from_path(self, self._place(point))

    def _place(self, point: int) -> int:
        """Return a point counted from the first one, or raise an IndexError that tells which there are."""
        n = len(self)
        if not -n <= operator.index(point) < n:
            raise IndexError(f"point must be from 0 to {n - 1}, or from {-n} to -1 to count from the end, got {point}")
        return operator.index(point) % n

    def __getstate__(self) -> dict[str, Any]:
        # Plain text: skops makes an object without its values first, and there is no such Status.
        ending = self.ending.value if self.ending else None
        statuses = tuple(status.value for status in self.statuses)
        return {**self.__dict__, "statuses": statuses, "ending": ending, VERSION: __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = of_this_version("path", state)
        ending = Status(state["ending"]) if state["ending"] else None
        statuses, settings = tuple(map(Status, state["statuses"])), current_settings(state["settings"])
        self.__dict__.update({**state, "statuses": statuses, "ending": ending, "settings": settings})

    def __repr__(self) -> str:
        p, n_points = self.coefs.shape
        ending = f"\n  ended   {self.ending.sentence}" if self.ending else ""
        compiled = f", {self.counters.compile_seconds:.1f} s compiling" if self.counters.compile_seconds else ""
        return (
            f"<LassoPath: {n_points} points on {p:,} features by {self.settings.get('solver')}\n"
            f"  radius  {span(self.radii)}\n"
            f"  alpha   {span(self.alphas)}\n"
            f"  active  {span(self.n_active)}\n"
            f"  gap     {'not computed' if np.isnan(self.gaps).all() else span(self.gaps)}\n"
            f"  status  {self.summary_of_statuses()}\n"
            f"  cost    {int(self.counters.iterations.sum()):,} iterations, {self.counters.passes:.1f} passes "
            f"({self.counters.readings:.1f} readings), "
            f"{self.counters.solving_seconds:.3f} s{compiled}{ending}>"
        )

    def _repr_html_(self) -> str:
        return path_html(self)

    @property
    def dual_gaps(self) -> Vector:
        """Duality gaps of 1/(2m) ||y - X b - b0||^2 + alpha ||b||_1, in the units of y^2: as scikit-learn has them."""
        null_objective = self.settings.get("null_objective")
        return self.gaps * (np.nan if null_objective is None else null_objective)

    @property
    def n_active(self) -> NDArray[np.int64]:
        """Number of features with a nonzero coefficient at every point."""
        return np.asarray(np.diff(self.coefs.indptr), dtype=np.int64)

    @property
    def first_index(self) -> int | None:
        """What the first feature is called in LIBSVM text, 0 or 1; None if the data were of another kind."""
        found: int | None = self.settings.get("first_index")
        return found

    @property
    def target(self) -> str | None:
        """The response: a column, an array or a file; None if it has no name."""
        found: str | None = self.settings.get("target")
        return found

    @property
    def loss(self) -> str:
        """The loss: squared, logistic or poisson."""
        return str(self.settings.get("loss", "squared"))

    @property
    def has_offset(self) -> bool:
        """Whether a part of the response was known for every sample: predictions ask for that of new rows."""
        return bool(self.settings.get("has_offset"))

    @property
    def terms(self) -> dict[str, Any]:
        """What was asked for beside the Lasso: weights, an offset, terms of columns; nothing of a plain path."""
        return beside_the_lasso(self.settings)

    @property
    def gap_tolerance(self) -> float | None:
        """What the gaps were to be at most; None if the points were done by another rule."""
        return self.settings.get("tol") if self.settings.get("stop") == "gap" else None

    def confidence(self, level: float = 0.95) -> Confidence:
        """Return bounds that hold with a probability, for paths by "sfw" over radii with independent draws.

        Draws are independent with ``variant="paper"``. The bounds follow from their number alone, and are hardly ever
        worth it: the first bound takes about three passes of draws, where one pass proves a gap, which `gaps` has.
        They are for columns that cannot all be looked at. The settings decide which law they follow, not the outcome
        of a run: the binomial one if the number of draws was fixed before the first (``stop="gap"`` with
        ``tol=0`` and `max_iter`), else one that holds for all numbers of draws at once.

        Parameters
        ----------
        level : float, default=0.95
            Probability that the bound of a point holds, over the draws.

        Returns
        -------
        Confidence
        """
        check("level", level, isinstance(level, Real) and 0.0 < level < 1.0, "a number in (0, 1)")
        known = self.settings
        kappa, reach = known.get("kappa", np.nan), known.get("reach", np.nan)
        if not (is_number(kappa) and is_number(reach)):
            lacks = "sample_size: it was a function, or the saved path lacks what a level needs"
            raise ValueError(objection(known) or lacks)
        draws, is_fixed = self.counters.iterations, self.gap_tolerance == 0.0
        if is_fixed:  # but for a point that was cut short
            draws = np.where([status.ends_path for status in self.statuses], 0, draws)
        share = kappa / self.coefs.shape[0]
        return bounds_at(level, self.radii, draws, share, reach, is_fixed=is_fixed)

    def summary_of_statuses(self) -> str:
        """Return how many points ended in which way, as text."""
        names = [status.value for status in self.statuses]
        return ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names))

    @explain_unknown()
    def predict(
        self,
        X: Any,
        point: int | Sequence[int] | None = None,
        *,
        alpha: Where = None,
        radius: Where = None,
        offset: Any = None,
        kind: Literal["mean", "link", "class"] | None = None,
    ) -> NDArray[Any]:
        """Predict by every point, or by some models.

        Parameters
        ----------
        X : array, sparse matrix, frame, Genotypes, store or table of shape (n_samples, n_features), as in `lasso_path`
            Genotypes with names may have other variants, too, in any order: see `fwlasso.datasets.open_bed`.
        point : index of a point, or several
        alpha, radius : where on the path the model is, as in `at`, or several such places
            One of the three, or none of them for all points.
        offset : array of shape (n_samples,), optional
            Of a path with an offset, that of these rows; by default that of the store or the table that X is.
        kind : {"mean", "link", "class"}, optional
            "mean": numbers, probabilities of ``classes[1]``, or rates, by the loss; "link": the linear predictor;
            "class": labels. By default labels of classes, as scikit-learn has it, and means of everything else.

        Returns
        -------
        array of shape (n_samples, n_models), or (n_samples,) for a single number
        """
        if sum(given is not None for given in (point, alpha, radius)) > 1:
            raise ValueError("give one of point, alpha and radius")
        model = Linear(self.coefs, self.intercepts, self.feature_names, self.variants, self.first_index)
        model = model._replace(has_offset=self.has_offset)
        asked = next((given for given in (alpha, radius, point) if given is not None), None)
        if asked is not None:
            if point is None:
                coefs, intercepts = self.at(alpha=alpha, radius=radius)
            else:
                places = [self._place(k) for k in np.atleast_1d(point)]
                coefs, intercepts = self.coefs[:, places], self.intercepts[places]
            if np.ndim(asked) == 0:
                coefs, intercepts = coefs.toarray()[:, 0], np.ravel(intercepts)[0]
            model = model._replace(coefs=coefs, intercepts=intercepts)
        return from_link(self.loss, predict(X, model, offset), kind, self.classes)

    def score(self, X: Any, y: Any = None, point: int | Sequence[int] | None = None, **where: Any) -> Vector | float:
        """Return the coefficient of determination R^2 on (X, y) of every point, or of some models, as in `predict`.

        Of another loss than least squares it is D^2, the share of the deviance. By default y is that of the store or
        the table that X is.
        """
        predicted = self.predict(X, point, kind="link", **where)
        container = as_container(X)
        y = container.y if y is None and container is not None else y
        truth, table = encoded(self.loss, y, self.classes, len(predicted)), predicted.reshape(len(predicted), -1)
        scores = r2_scores(table, truth) if self.loss == "squared" else explained_shares(self.loss, table, truth)
        return scores if predicted.ndim > 1 else float(scores[0])

    def coef(self, point: int, *, scaled: bool = False) -> Vector:
        """Return the coefficients, or the scaled ones, of one point as an array of length n_features."""
        coefs, place = self.scaled_coefs if scaled else self.coefs, self._place(point)
        part, dense = slice(coefs.indptr[place], coefs.indptr[place + 1]), np.zeros(coefs.shape[0])
        dense[coefs.indices[part]] = coefs.data[part]
        return dense

    def at(self, *, radius: Where = None, alpha: Where = None) -> tuple[sp.csc_array, Any]:
        """Interpolate to any radius or alpha within the path, or to several.

        The model is a mix of its two neighbours on the grid, and has no certificate: it is as accurate as they are
        if no feature enters or leaves between them, and less so on a coarse grid. For a certified one, add
        it to the grid.

        Returns
        -------
        coef : scipy.sparse.csc_array of shape (n_features, n_models)
        intercept : float, or array of shape (n_models,) if several are asked for
        """
        if (radius is None) == (alpha is None):
            raise ValueError("give radius or alpha, one of them")
        name, grid, asked = ("radius", self.radii, radius) if alpha is None else ("alpha", self.alphas, alpha)
        mix = interpolation(name, grid, asked)
        intercepts = self.intercepts @ mix
        return self.coefs @ mix, float(intercepts[0]) if np.ndim(asked) == 0 else intercepts  # type: ignore[arg-type]

    def point_columns(self) -> dict[str, list[Any]]:
        """Return what is known of every point as columns of plain numbers."""
        return {
            "alpha": self.alphas.tolist(),
            "radius": self.radii.tolist(),
            "n_active": self.n_active.tolist(),
            "r2": self.r2.tolist(),
            "gap": self.gaps.tolist(),
            "iterations": self.counters.iterations.tolist(),
            "status": [status.value for status in self.statuses],
        }

    def to_frame(self, kind: Literal["points", "coefs"] = "points") -> Any:
        """Return a frame: one row per point, or one row per nonzero coefficient.

        A feature has its name there, or its column of X, from 0. Genotypes have the columns of `variants`, too.
        It is a frame of polars, or a table of pyarrow, if X was one; otherwise a frame of pandas.
        """
        package = self.settings.get("frame")
        if kind == "points":
            return as_frame(self.point_columns(), package)
        if kind != "coefs":
            raise ValueError(f"kind must be 'points' or 'coefs', got {kind!r}")
        point = np.repeat(np.arange(len(self)), self.n_active)
        feature = self.coefs.indices
        names = feature if self.feature_names is None else [self.feature_names[j] for j in feature.tolist()]
        known = zip(*(self.variants.get(j, NO_VARIANT) for j in feature.tolist()), strict=True) if self.variants else ()
        columns = {"point": point, "radius": self.radii[point], "feature": names, "coef": self.coefs.data}
        columns |= ratios_of(self.loss, self.coefs.data)
        return as_frame(columns | dict(zip(Variant._fields, known, strict=False)), package)

    def plot(self, *, ax: "Axes | None" = None, x: "Abscissa" = "radius", n_labels: int = 10) -> "Axes":
        """Draw the coefficients along the path; see `fwlasso.plots.plot_coefs`."""
        from .plots import plot_coefs

        return plot_coefs(self, ax=ax, x=x, n_labels=n_labels)

    def plot_error(
        self, choice: "Choice | CrossValidation | LassoCV", *, ax: "Axes | None" = None, x: "Abscissa" = "radius"
    ) -> "Axes":
        """Draw the criterion of a choice along the path; see `fwlasso.plots.plot_error`."""
        from .plots import plot_error

        return plot_error(self, choice, ax=ax, x=x)

    def plot_gap(self, *, ax: "Axes | None" = None, x: "Abscissa" = "radius") -> "Axes":
        """Draw the duality gap of every point; see `fwlasso.plots.plot_gap`."""
        from .plots import plot_gap

        return plot_gap(self, ax=ax, x=x)

    def save(self, file: str | Path) -> None:
        """Write the path to a ``.npz`` file of plain arrays, in one step: it is the old file or the new one.

        The file holds the SHA-256 of every array, and of the record with the names, the settings and the statuses.
        """
        record = {
            "format": _FORMAT,
            "version": _VERSION if self.loss == "squared" else _OF_LOSSES,
            "shape": self.coefs.shape,
            "statuses": [status.value for status in self.statuses],
            "ending": self.ending.value if self.ending else None,
            "feature_names": self.feature_names,
            "settings": self.settings,
            "variants": {str(j): list(variant) for j, variant in self.variants.items()},
            **({"means": {str(j): mean for j, mean in self.means.items()}} if self.means else {}),
            **({"classes": self.classes} if self.classes else {}),
            "counters": {k: v for k, v in asdict(self.counters).items() if k != "iterations"},
        }
        arrays = {name: np.asarray(getattr(self, name), dtype=np.float64) for name in _OF_POINTS} | {
            "iterations": self.counters.iterations.astype(np.int64),
            "indptr": self.coefs.indptr.astype(np.int64),
            "indices": self.coefs.indices.astype(np.int64),
            "data": self.coefs.data,
            "scaled_data": self.scaled_coefs.data,
        }
        write_arrays(Path(file), record, arrays)

    @classmethod
    def load(cls, file: str | Path) -> "LassoPath":
        """Read a path that `save` wrote; a damaged or modified file is rejected with an error that names it."""
        with open_arrays(Path(file), _FORMAT, _VERSION, _OF_LOSSES) as arrays:
            record = arrays.record
            check_record(record)
            p, n = shape = tuple(record["shape"])
            indptr = arrays.take("indptr", np.int64, n + 1)
            indices = arrays.take("indices", np.int64, int(indptr[-1]))
            check_supports(indptr, indices, p)
            coefs, scaled_coefs = (
                sp.csc_array((arrays.take(data, np.float64, indices.size), indices, indptr), shape=shape)
                for data in ("data", "scaled_data")
            )
            names = record["feature_names"]
            return cls(
                **{name: arrays.take(name, np.float64, n, finite=name not in _MAY_BE_NAN) for name in _OF_POINTS},
                coefs=coefs,
                scaled_coefs=scaled_coefs,
                statuses=tuple(Status(value) for value in record["statuses"]),
                counters=Counters(arrays.take("iterations", np.int64, n), **as_counters(record["counters"])),
                ending=Status(record["ending"]) if record["ending"] else None,
                feature_names=None if names is None else tuple(names),
                settings=current_settings(record["settings"]),
                variants={int(j): Variant(*known) for j, known in record["variants"].items()},
                means={int(j): float(mean) for j, mean in record.get("means", {}).items()},
                classes=as_classes(record.get("classes")),
            )
