"""The embedded demonstration set: scikit-learn's diabetes patients with product features."""

from ..data.table import Table
from .products import product_features, product_names


def load_diabetes_products(order: int = 8) -> Table:
    """Return 442 patients with all products of their ten measurements up to `order`: 43,758 for the default.

    The measurements are scaled to [-1, 1] first. Nothing is downloaded: the data comes with scikit-learn.

    Examples
    --------
    >>> load_diabetes_products(order=3).X.shape
    (442, 286)
    """
    from sklearn.datasets import load_diabetes
    from sklearn.preprocessing import minmax_scale

    raw = load_diabetes()
    measurements = minmax_scale(raw.data, feature_range=(-1.0, 1.0))
    names = tuple(product_names(raw.feature_names, order))
    return Table(product_features(measurements, order), raw.target, names)
