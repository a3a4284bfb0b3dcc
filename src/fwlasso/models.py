"""A linear model by itself: what is left of a path, a choice or an estimator when only predictions are wanted."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ._core.columns import Matrix, Vector
from .data.checks import check
from .data.compressed import write_text
from .data.files import naming
from .data.frames import as_frame
from .data.genotypes import NO_VARIANT, Variant
from .data.labels import Classes, as_classes
from .data.links import from_link, ratios_of
from .data.predict import Linear, predict
from .data.sealed import is_number, is_variant, seal, unseal
from .problem.build import LOSSES
from .result import LassoPath
from .selection.choice import Choice

if TYPE_CHECKING:
    from .estimators import Lasso, LassoCV

_FORMAT, _VERSION, _OF_LOSSES = "fwlasso-model", 2, 3
_IN_A_REPR = 3  # coefficients


@dataclass(frozen=True, repr=False)
class LinearModel:
    """The nonzero coefficients of a model, with their names, and the intercept.

    Attributes
    ----------
    n_features : int
        Of the data the model was fitted to.
    indices : array of int
        The features with a nonzero coefficient, from 0, in increasing order.
    coefs : array of float
        Their coefficients, for the columns as given.
    intercept : float
    feature_names : tuple of str or None
        Those of these features, if the data had names. Named data are then asked for these columns by name.
    about : dict
        Where the model comes from, as JSON has it: for the record. `target` is the response, if it has a name, and
        `terms` what was asked for beside the Lasso. `has_offset`: predictions need the offset of the new rows.
    variants : tuple of Variant or None
        Of genotypes: chromosome, position, effect allele, other allele and mean of these features; None of covariates.
    first_index : int or None
        What LIBSVM text, if the model was fitted to it, calls the first feature: 0 or 1.
    means : tuple of float or None
        Of data whose missing values were imputed: the means of these features. `fwlasso predict` fills new rows with
        them, and so does ``read_table(file, impute=dict(zip(model.feature_names, model.means)))``.
    scales : tuple of float or None
        If the columns were standardised: what their coefficients are multiplied by to compare them.
    loss : str
        "squared", "logistic" or "poisson".
    classes : tuple or None
        Of the logistic loss: the two labels, the second of which has a positive linear predictor.

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso import LinearModel, lasso_path
    >>> X = np.asfortranarray(np.random.default_rng(0).standard_normal((50, 200)))
    >>> path = lasso_path(X, 3 * X[:, 0] - 2 * X[:, 7])
    >>> model = LinearModel.from_path(path, point=40)
    >>> model.indices, model.predict(X).shape
    (array([0, 7]), (50,))
    >>> LinearModel.from_json(model.to_json()) == model
    True
    """

    n_features: int
    indices: NDArray[np.int64]
    coefs: Vector
    intercept: float
    feature_names: tuple[str, ...] | None = None
    about: dict[str, Any] = field(default_factory=dict)
    variants: tuple[Variant | None, ...] | None = None
    first_index: int | None = None
    means: tuple[float, ...] | None = None
    loss: str = "squared"
    classes: Classes = None
    scales: tuple[float, ...] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinearModel) and self._record() == other._record()

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def from_path(
        cls, path: LassoPath, point: int | None = None, *, alpha: float | None = None, radius: float | None = None
    ) -> "LinearModel":
        """Return the model at a point, counted from 0, or anywhere between two points: at an alpha or at a radius."""
        if sum(given is not None for given in (point, alpha, radius)) != 1:
            raise ValueError("give point, alpha or radius, one of them")
        for name, value in {"alpha": alpha, "radius": radius}.items():
            check(name, value, np.ndim(value) == 0, "one number")  # type: ignore[arg-type]
        if point is None:
            coef, intercept = path.at(radius=radius, alpha=alpha)
            given = {"alpha": alpha, "radius": radius}
            about = {name: float(value) for name, value in given.items() if value is not None}
            return _of_column(coef, intercept, path.feature_names, about, path)
        if not -len(path) <= point < len(path):
            raise ValueError(f"point must be one of the {len(path)} of the path, got {point}")
        point = range(len(path))[point]
        about = {"point": point, "alpha": float(path.alphas[point]), "radius": float(path.radii[point])}
        return _of_column(path.coefs[:, [point]], float(path.intercepts[point]), path.feature_names, about, path)

    @classmethod
    def from_choice(
        cls, choice: Choice, feature_names: Sequence[str] | None = None, *, path: LassoPath | None = None
    ) -> "LinearModel":
        """Return the model that was chosen on a path; the path has what is known of the features."""
        if path is not None and feature_names is None:
            feature_names = path.feature_names
        about = {"rule": choice.rule, "criterion": choice.criterion, "point": int(choice.point), "blend": choice.blend}
        return _of_column(choice.coef, float(choice.intercept), feature_names, about, path)

    @classmethod
    def from_estimator(cls, model: "Lasso | LassoCV") -> "LinearModel":
        """Return the model of a fitted estimator with one response."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model)
        names = getattr(model, "feature_names_in_", None)
        about = {"estimator": type(model).__name__}
        coef = sp.csc_array(np.asarray(model.coef_, dtype=np.float64).reshape(-1, 1))
        path = getattr(model, "path_", None)  # models of scikit-learn have none
        names = names.tolist() if names is not None else getattr(path, "feature_names", None)
        return _of_column(coef, float(np.ravel(model.intercept_)[0]), names, about, path)

    def predict(
        self,
        X: Any,
        *,
        missing: str = "error",
        offset: Any = None,
        kind: Literal["mean", "link", "class"] | None = None,
    ) -> NDArray[Any]:
        """Predict the response of every row: numbers, labels of classes, or rates, by the loss.

        Parameters
        ----------
        X : array, sparse matrix, frame, Genotypes, store or `fwlasso.datasets.Table`
            If both it and the model have names, the columns are found by name, in any order, among any others.
            Of genotypes, those with A1 and A2 exchanged are turned; variants that have other alleles are an error.
            Otherwise it has as many columns as the data the model was fitted to; of LIBSVM text, any number.
        missing : {"error", "mean"}, default="error"
            What becomes of variants that are not in X, or have no call there. "mean": they stand at their means in the
            data the model was fitted to, with a warning that names them.
        offset : array of shape (n_samples,), optional
            Of a model that was fitted with an offset, that of these rows; by default that of the store or the table.
        kind : {"mean", "link", "class"}, optional
            Of predictions, as in `LassoPath.predict`.

        Returns
        -------
        array of shape (n_samples,)
        """
        return from_link(self.loss, self.decision_function(X, missing=missing, offset=offset), kind, self.classes)

    def predict_proba(self, X: Any, *, missing: str = "error", offset: Any = None) -> Matrix:
        """Return the probabilities of both classes for every row; arguments as in `predict`."""
        if self.classes is None:
            raise ValueError(f"a model of loss={self.loss!r} has no classes")
        eta = self.decision_function(X, missing=missing, offset=offset)
        return from_link(self.loss, np.column_stack([-eta, eta]), "mean", self.classes)

    def decision_function(self, X: Any, *, missing: str = "error", offset: Any = None) -> Vector:
        """Return the linear predictor of every row; arguments as in `predict`."""
        used = self.indices.tolist()
        names = None if self.feature_names is None else dict(zip(used, self.feature_names, strict=True))
        variants = {j: it for j, it in zip(used, self.variants or (), strict=False) if it is not None}
        model = Linear(self.dense_coef(), self.intercept, names, variants, self.first_index, missing)
        return predict(X, model._replace(has_offset=self.has_offset), offset)

    @property
    def has_offset(self) -> bool:
        """Whether predictions need the offset of the new rows."""
        return bool(self.about.get("has_offset"))

    def __repr__(self) -> str:
        largest = self._by_size()[:_IN_A_REPR].tolist()
        names = self.feature_names or self.indices.tolist()
        coefs = [f"{names[k]}: {self.coefs[k]:.4g}" for k in largest] + ["..."] * (self.indices.size > len(largest))
        return (
            f"<LinearModel: {self.indices.size:,} of {self.n_features:,} features, intercept {self.intercept:.4g}"
            + "".join(f", {coef}" for coef in coefs)
            + ">"
        )

    def _by_size(self) -> NDArray[np.int64]:
        """Return the places of the coefficients, the largest first."""
        sizes = np.abs(self.coefs if self.scales is None else self.coefs * self.scales)
        return np.argsort(-sizes, kind="stable")

    def to_frame(self) -> Any:
        """Return a frame of the intercept, in the first row, and the nonzero coefficients, the largest first.

        A feature has its name there, or its column of X, from 0. Genotypes have the columns of `variants`, too.
        Coefficients are for the columns as given: their sizes compare features of one unit. If the columns were
        standardised, those of the scaled columns give the order. Their exponentials are odds ratios of classes, and
        rate ratios of counts. It is a frame of polars, or a table of pyarrow, if X was one; otherwise one of pandas.
        """
        order = self._by_size()
        names = self.indices.tolist() if self.feature_names is None else self.feature_names
        columns = {"feature": ["(intercept)", *(names[k] for k in order)], "coef": [self.intercept, *self.coefs[order]]}
        frame = as_frame(columns | ratios_of(self.loss, np.array(columns["coef"])), self.about.get("frame"))
        if self.variants:
            import pandas as pd

            known = zip(*(self.variants[k] or NO_VARIANT for k in order), strict=True)
            for name, values in zip(Variant._fields, known, strict=True):
                frame[name] = pd.array([None, *values], dtype="Int64" if name == "position" else "string")
        return frame

    def dense_coef(self) -> Vector:
        """Return all coefficients."""
        coef = np.zeros(self.n_features)
        coef[self.indices] = self.coefs
        return coef

    def to_json(self) -> str:
        """Return the model as JSON text, of its nonzero coefficients alone, with its checksum."""
        return seal(self._record())

    @classmethod
    def from_json(cls, text: str) -> "LinearModel":
        """Return the model that `to_json` wrote; raise a ValueError that says what is wrong with any other text."""
        record = unseal(text, _FORMAT, _VERSION, _OF_LOSSES)
        _check_record(record)
        features = record["features"]
        named = all("name" in feature for feature in features)  # a model without features needs none by name
        is_genetic = any(map(_is_variant, features))
        return cls(
            n_features=record["n_features"],
            indices=np.array([feature["index"] for feature in features], dtype=np.int64),
            coefs=np.array([feature["coef"] for feature in features], dtype=np.float64),
            intercept=float(record["intercept"]),
            feature_names=tuple(feature["name"] for feature in features) if named else None,
            about=record["about"],
            variants=tuple(Variant(*map(f.get, Variant._fields)) if _is_variant(f) else None for f in features)
            if is_genetic
            else None,
            first_index=record.get("first_index"),
            loss=record.get("loss", "squared"),
            classes=as_classes(record.get("classes")),
            means=tuple(float(f["mean"]) for f in features)
            if "mean" in (features or [{}])[0] and not is_genetic
            else None,
            scales=tuple(float(f["scale"]) for f in features) if "scale" in (features or [{}])[0] else None,
        )

    def save(self, file: str | Path) -> None:
        """Write the model to a ``.json`` file."""
        write_text(Path(file), self.to_json())

    @classmethod
    def load(cls, file: str | Path) -> "LinearModel":
        """Read a model that `save` wrote."""
        with naming(file := Path(file), Exception):
            return cls.from_json(file.read_bytes().decode())

    def _record(self) -> dict[str, Any]:
        pairs = zip(self.indices.tolist(), self.coefs.tolist(), strict=True)
        features: list[dict[str, Any]] = [{"index": index, "coef": coef} for index, coef in pairs]
        for feature, name in zip(features, self.feature_names or (), strict=False):
            feature["name"] = name
        for feature, variant in zip(features, self.variants or (), strict=False):
            feature.update({} if variant is None else variant._asdict())
        for name, values in {"mean": self.means, "scale": self.scales}.items():
            for feature, value in zip(features, values or (), strict=False):
                feature[name] = value
        head = {"format": _FORMAT, "version": _VERSION, "n_features": self.n_features, "intercept": self.intercept}
        if self.first_index is not None:
            head["first_index"] = self.first_index
        if self.loss != "squared":
            head |= {"version": _OF_LOSSES, "loss": self.loss}
        if self.classes is not None:
            head["classes"] = self.classes
        return {**head, "features": features, "about": self.about}


def _of_column(
    coef: sp.csc_array, intercept: float, names: Sequence[str] | None, about: dict[str, Any], path: LassoPath | None
) -> LinearModel:
    """Return the model with these coefficients; the path tells what is known of the features."""
    column = sp.csc_array(coef)
    order = np.argsort(column.indices)
    order = order[column.data[order] != 0.0]
    indices = column.indices[order].astype(np.int64)
    known = path.variants if path is not None else {}
    return LinearModel(
        n_features=int(column.shape[0]),
        indices=indices,
        coefs=column.data[order].astype(np.float64),
        intercept=intercept,
        feature_names=None if names is None else tuple(str(names[j]) for j in indices.tolist()),
        about=about if path is None else about | _origin(path),
        variants=tuple(map(known.get, indices.tolist())) if known else None,
        first_index=None if path is None else path.first_index,
        means=tuple(path.means[j] for j in indices.tolist()) if path is not None and path.means else None,
        scales=None if path is None or not path.settings.get("standardize") else _scales(path, indices),
        loss="squared" if path is None else path.loss,
        classes=None if path is None else path.classes,
    )


def _scales(path: LassoPath, indices: NDArray[np.int64]) -> tuple[float, ...]:
    """Return what coefficients of the scaled columns are of those of the columns as given, which a path has both."""
    scales, is_known = np.ones(path.coefs.shape[0]), path.coefs.data != 0.0
    scales[path.coefs.indices[is_known]] = path.scaled_coefs.data[is_known] / path.coefs.data[is_known]
    return tuple(scales[indices].tolist())


def _origin(path: LassoPath) -> dict[str, Any]:
    """Return what a path tells of its response, and of what was asked for beside the Lasso."""
    known = {"target": path.target, "has_offset": path.has_offset or None, "terms": path.terms or None}
    known["frame"] = path.settings.get("frame")
    return {name: value for name, value in known.items() if value is not None}


def _is_variant(feature: dict[str, Any]) -> bool:
    return "position" in feature


def _has_variant(feature: dict[str, Any], *, has_mean: bool, is_genetic: bool) -> bool:
    """Tell whether all that is told of a variant is there and of its type, or a mean alone, if the others have one."""
    known = {name: feature[name] for name in Variant._fields if name in feature}
    if is_genetic:  # covariates have nothing
        return not known or is_variant(list(known.values()))
    return set(known) == ({"mean"} if has_mean else set()) and is_number(known.get("mean", 0.0))


def _check_record(record: dict[str, Any]) -> None:
    p, features = record.get("n_features"), record.get("features")
    counted = type(p) is int and 0 <= p <= np.iinfo(np.int64).max
    if not counted or not is_number(record.get("intercept")) or not isinstance(features, list):
        raise ValueError("not a model: n_features, intercept or features are missing or of a wrong type")
    if not isinstance(record.get("about"), dict):
        raise ValueError("not a model: about is missing")
    if record.get("loss", "squared") not in LOSSES:
        raise ValueError(f"not a model: its loss is {record['loss']!r}")
    if record.get("first_index") not in (None, 0, 1):
        raise ValueError(f"not a model: first_index is neither 0 nor 1, but {record['first_index']!r}")
    last, is_genetic = -1, any(_is_variant(feature) for feature in features if isinstance(feature, dict))
    for place, feature in enumerate(features):
        known = isinstance(feature, dict) and type(feature.get("index")) is int and is_number(feature.get("coef"))
        if not known or not isinstance(feature.get("name", ""), str):
            raise ValueError(f"not a model: feature {place} has no index, no finite coefficient or no text as its name")
        if not last < feature["index"] < p:
            raise ValueError(f"not a model: the index of feature {place} is not between {last} and {p}")
        for part in ("name", "scale"):
            if (part in feature) != (part in features[0]):
                raise ValueError(f"not a model: some features have a {part}, and feature {place} differs")
        if not is_number(feature.get("scale", 1.0)):
            raise ValueError(f"not a model: the scale of feature {place} is no finite number")
        if not _has_variant(feature, has_mean="mean" in features[0], is_genetic=is_genetic):
            raise ValueError(f"not a model: chromosome, position or alleles of feature {place} are not as in the first")
        last = feature["index"]
