"""
Choosing a model
================

A path is a hundred models. This page chooses one: by held-out samples, by an information criterion, with a refit, with
groups of samples that stay together, and by asking which features are selected again and again.
"""

# %%
# Data whose truth is known: five of 2,000 features matter, and features have correlated neighbours.
import matplotlib.pyplot as plt
import numpy as np

from fwlasso import LassoCV, lasso_cv, stability_selection

rng = np.random.default_rng(0)
n_samples, n_features = 150, 2_000
X = np.empty((n_samples, n_features), order="F")
X[:, 0] = rng.standard_normal(n_samples)
for j in range(1, n_features):
    X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * rng.standard_normal(n_samples)
truth = np.zeros(n_features)
truth[[100, 400, 800, 1200, 1600]] = [2.0, -1.5, 1.5, -1.0, 1.0]
y = X @ truth + 1.5 * rng.standard_normal(n_samples)

# %%
# By folds
# --------
# :func:`fwlasso.lasso_cv` computes the path on all samples and one path per fold, and scores every point on the
# samples that were held out. The folds are masks over the same ``X``: nothing is copied. All paths are certified, so
# that differences of scores are those of the models, not of the solver.
by_min = lasso_cv(X, y, cv=5, rule="min")
by_1se = lasso_cv(X, y, cv=5, rule="1se")

for found in (by_min, by_1se):
    choice = found.choice
    n_true = np.count_nonzero(truth[choice.coef.indices])
    error = choice.scores[choice.point]
    print(
        f"{choice.rule:>4}: {choice.coef.nnz:3d} features, {n_true} true, error {error:.2f}"
    )

# %%
# ``min`` has the smallest error, ``1se`` is the sparsest model within one standard error of it. The minimum is flat:
# many models predict as well, and the best one for prediction takes features along that do not matter.
fig, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", sharey=True)
by_min.path.plot_error(by_min.choice, ax=axes[0], x="alpha")
by_1se.path.plot_error(by_1se.choice, ax=axes[1], x="alpha")

# %%
# By an information criterion
# ---------------------------
# ``aic``, ``bic`` and ``ebic`` look at the path alone and need no folds. The extended criterion counts how many models
# of a size there are, and stays sparse where there are far more features than samples.
for rule in ("aic", "bic", "ebic"):
    choice = lasso_cv(X, y, rule=rule).choice
    n_true = np.count_nonzero(truth[choice.coef.indices])
    print(f"{rule:>4}: {choice.coef.nnz:3d} features, {n_true} of the 5 true ones")

# %%
# Relaxed
# -------
# The Lasso shrinks what it selects. With ``relax=True`` blends of its coefficients and of a least-squares refit on the
# selected features are scored, too. Where few strong features matter, a refitted, sparser model often wins.
relaxed = lasso_cv(X, y, relax=True)
print(
    f"Lasso:   {by_min.choice.coef.nnz:3d} features, error {by_min.choice.scores.min():.2f}"
)
print(
    f"relaxed: {relaxed.choice.coef.nnz:3d} features, error {relaxed.choice.scores.min():.2f}"
)
print(f"blend:   {relaxed.choice.blend:g} (1 is the Lasso, 0 is least squares)")

# %%
# Groups
# ------
# Samples of one patient, site or day belong together: a model that has seen one of them knows the others. Every
# splitter of scikit-learn is taken, and ``groups`` is passed on to it.
from sklearn.model_selection import GroupKFold

patients = np.repeat(np.arange(30), 5)
model = LassoCV(cv=GroupKFold(5), rule="1se").fit(X, y, groups=patients)
print(f"{np.count_nonzero(model.coef_)} features, gap {model.relative_gap_:.1e}")

# %%
# Stability
# ---------
# Which features are selected on random halves of the samples, again and again? The answer does not rest on one penalty.
# ``error_bound`` bounds the expected number of features that are selected falsely.
stable = stability_selection(X, y, n_subsamples=50, eps=0.4, random_state=0)
selected = stable.selected(0.8)
print("selected:", sorted(selected.tolist()))
print(f"falsely, at most, expected: {stable.error_bound(0.8):.2f}")

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
frequencies = stable.max_frequencies
ax.plot(frequencies, ".", color="0.6", markersize=3)
ax.plot(
    np.flatnonzero(truth), frequencies[truth != 0], "o", label="features that matter"
)
ax.axhline(0.8, linestyle="--", color="black", linewidth=0.8)
ax.set(xlabel="feature", ylabel="share of the subsamples")
_ = ax.legend(loc="lower right")

# %%
# The report
# ----------
# :func:`fwlasso.report.write_report` writes one page with the charts, the chosen model in full precision and what it
# rests on. It needs no network to be read.
from pathlib import Path
from tempfile import TemporaryDirectory

from fwlasso.report import write_report

with TemporaryDirectory() as folder:
    page = Path(folder, "report.html")
    write_report(by_1se.path, page, title="Five of 2,000", choice=by_1se.choice)
    print(f"{page.stat().st_size / 1000:.0f} kB")
