"""
Product features, as in QSAR
============================

Quantitative structure-activity studies describe a molecule by a few dozen numbers, and take products of them as
features: powers and interactions up to some degree. That makes hundreds of thousands of columns of a hundred rows.
Among them are copies and near copies, on which a solver that stops by a loose rule stops too early. The same is done
here with the diabetes patients that come with scikit-learn.
"""

# %%
# Ten measurements, products up to degree six: 8,008 columns.
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import minmax_scale

from fwlasso import lasso_cv, lasso_path
from fwlasso.datasets import product_features, product_names

raw = load_diabetes()
measurements = minmax_scale(raw.data, feature_range=(-1.0, 1.0))
X = product_features(measurements, order=6)  # column-major: used where it lies
names = tuple(product_names(raw.feature_names, order=6))
print(X.shape, names[:12], "...")

train, test = train_test_split(np.arange(len(X)), test_size=0.3, random_state=0)
X_train, X_test = np.asfortranarray(X[train]), X[test]
y_train, y_test = raw.target[train], raw.target[test]

# %%
# A path, with a certificate for every point
# ------------------------------------------
# ``standardize=True`` scales the columns without a copy. The gap is computed over all 8,008 columns.
path = lasso_path(X_train, y_train, standardize=True)
print(f"{len(path)} models, {path.n_active[-1]} features in the last")
print(f"largest gap {path.gaps.max():.0e} in {path.counters.passes:.0f} passes")

# %%
# More exact is a matter of ``tol``. The number of passes over the data hardly grows.
exact = lasso_path(X_train, y_train, standardize=True, tol=1e-8)
print(f"largest gap {path.gaps.max():.0e} in {path.counters.passes:.0f} passes, "
      f"{exact.gaps.max():.0e} in {exact.counters.passes:.0f} passes")  # fmt: skip
exact.plot_gap(x="alpha")

# %%
# Copies
# ------
# ``sex`` has two values, -1 and 1, so that ``sex^2`` is constant and ``sex^2 bmi`` is a copy of ``bmi``. Any split of a
# coefficient between copies is a solution. Here the first of the copies gets all of it, so that models stay readable.
column = {name: j for j, name in enumerate(names)}
same = [
    name for name in names if np.array_equal(X[:, column[name]], X[:, column["bmi"]])
]
print("copies of bmi:", same)
print(
    "coefficients: ", exact.coefs[[column[name] for name in same], 40].toarray().ravel()
)

# %%
# Which products matter
# ---------------------
# Somewhere along the path the model begins to fit noise. Cross-validation looks for the point before that.
found = lasso_cv(X_train, y_train, standardize=True, cv=5, rule="1se")
choice = found.choice
order = np.argsort(-np.abs(found.path.scaled_coefs[:, choice.point].toarray().ravel()))[
    : choice.coef.nnz
]
for j in order[:8]:
    print(f"{choice.coef[j, 0]:8.1f}  {names[j]}")

# %%
# On the patients that were left out, every point of the path has a score:
r2 = found.path.score(X_test, y_test)
print(f"R2 of the chosen point {r2[choice.point]:.2f}, of the best {r2.max():.2f}")
print(f"of the densest {r2[-1]:.2f}")
found.path.plot_error(choice, x="alpha")
# sphinx_gallery_thumbnail_number = 2
