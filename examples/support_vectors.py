"""
Support vectors and other polytopes
===================================

Frank-Wolfe needs one thing of a polytope: the best of some of its vertices. On the l1 ball these are the columns of the
Lasso, on a simplex the samples of a support vector machine, where the method comes from. This page solves three kinds of
SVM, sees the Lasso as one, and then lets the Lasso leave out most of the support vectors of another.
"""

# %%
# An L2-SVM is a point of least norm
# ----------------------------------
# With squared hinge loss, the SVM asks for min 1/2 ||w||² + C Σ ξ² with y w'x + ξ ≥ 1 for every sample, where x ends with
# a 1 for the intercept, as in scikit-learn's ``LinearSVC``. Put ξ into the vector of weights: v = (w, √(2C) ξ) has to have a
# product of at least 1 with every column a = (y x, e/√(2C)), and the least norm. That is 1/d, if d is the distance of the
# convex hull of these columns from zero: v = q/d² for the point q of the hull with the least norm.
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale
from sklearn.svm import SVC, LinearSVC

from fwlasso import lasso_path
from fwlasso.solvers.polytopes import minimise_on_simplices

C = 0.1
X, target = load_breast_cancer(return_X_y=True)
X, y = np.column_stack([scale(X), np.ones(len(X))]), 2.0 * target - 1.0
n_samples, n_weights = X.shape
vertices = sp.vstack(
    [sp.csc_array((y[:, None] * X).T), sp.eye_array(n_samples) / np.sqrt(2 * C)],
    format="csc",
)


def l2_objective(w):
    """Return what the L2-SVM minimises."""
    return 0.5 * w @ w + C * np.sum(np.maximum(0, 1 - y * (X @ w)) ** 2)


peer = LinearSVC(C=C, tol=1e-9, max_iter=100_000).fit(X[:, :-1], target)
theirs = l2_objective(np.append(peer.coef_, peer.intercept_))

# %%
# A step of ``sfw`` looks at 60 of the 569 samples and moves towards one of them; pairwise steps, ``pfw``, also take weight
# from others, and converge fast. Whatever steps have seen, the gap is over all samples, and proved: d² is known up to a
# share of ``tol``, and so is the minimum of the SVM, 1/(2d²).
for solver, tol in (("sfw", 1e-1), ("sfw", 1e-2), ("pfw", 1e-6)):
    found = minimise_on_simplices(
        vertices, solver=solver, sample_size=60, tol=tol, random_state=0
    )
    q = vertices @ found.u
    ours = l2_objective(q[:n_weights] / (q @ q))
    print(
        f"{solver}, tol {tol:.0e}: {found.n_iter:6d} steps, {np.count_nonzero(found.u)} support vectors, "
        f"objective {abs(ours / theirs - 1):.0e} from that of LinearSVC"
    )

# %%
# Two classes, two simplices
# --------------------------
# If the intercept costs nothing, as in ``SVC``, each class has a hull of its own, and the SVM is the shortest line between
# the two: the columns y x, and a simplex for each class. If they can be separated, no ξ is needed, and ||w|| is 2/d.
X, target = load_iris(return_X_y=True)
X, is_setosa = scale(X), target == 0
vertices = np.column_stack([X[is_setosa].T, -X[~is_setosa].T])
found = minimise_on_simplices(
    vertices, sizes=[50, 100], sample_size=20, tol=1e-3, random_state=0
)
peer = SVC(kernel="linear", C=1e6, tol=1e-9).fit(X, is_setosa)
print(
    f"ours   {1 / found.value:.4f} <= 1/2 ||w||^2 <= {1 / (found.value - found.gap):.4f}"
)
print(f"SVC    {0.5 * np.sum(peer.coef_**2):.4f}")

# %%
# One simplex for every sample
# ----------------------------
# The multiclass SVM of Crammer and Singer pays, for every sample, its worst class. In its dual every sample has a simplex,
# whose vertices are the classes, and a step changes one sample. The gap is that of the SVM itself: the objective plus
# ``found.value``, which is minus that of the dual.
X, C = np.column_stack([X, np.ones(len(X))]), 0.5
is_class = np.eye(3)[target]
# C (e_target - e_k) x for the classes k of each sample, and what it costs to mistake one class for another.
vertices = np.einsum("ikc,id->cdik", is_class[:, None] - np.eye(3), C * X)
vertices = vertices.reshape(-1, is_class.size)
costs = C * (1 - is_class).ravel()


def multiclass_objective(W):
    """Return what the multiclass SVM minimises; W has a row for every class."""
    scores = X @ W.T
    margins = scores - np.sum(scores * is_class, axis=1, keepdims=True) + 1 - is_class
    return 0.5 * np.sum(W**2) + C * np.sum(margins.max(axis=1))


found = minimise_on_simplices(
    vertices, costs, sizes=[3] * len(X), solver="fw", tol=1e-4, random_state=0
)
ours = multiclass_objective((vertices @ found.u).reshape(3, -1))
peer = LinearSVC(C=C, multi_class="crammer_singer", tol=1e-9, max_iter=1_000_000)
peer.fit(X[:, :-1], target)
theirs = multiclass_objective(np.column_stack([peer.coef_, peer.intercept_]))
print(f"{found.n_iter} steps, gap {found.gap:.1e} = {ours + found.value:.1e}")
print(f"objective {ours:.5f}, that of LinearSVC {theirs:.5f}")

# %%
# The Lasso is a point of least norm, too
# ---------------------------------------
# The l1 ball of radius δ is the convex hull of its 2p vertices ±δ e, so that y - Z b is a point of the hull of the columns
# ±δ z - y, up to its sign. The Lasso looks for the one of least norm (Jaggi, 2014): its columns are the samples of an SVM.
Z, y = load_diabetes(return_X_y=True)
Z, y, radius = scale(Z), scale(y), 1.5
path = lasso_path(Z, y, radii=[radius], fit_intercept=False, tol=1e-10)
vertices = np.column_stack([radius * Z, -radius * Z]) - y[:, None]
found = minimise_on_simplices(vertices, solver="pfw", tol=1e-8)
plus, minus = np.split(radius * found.u, 2)
difference = np.abs(plus - minus - path.coefs[:, 0].toarray().ravel()).max()
print(f"gap {found.gap:.0e}, coefficients differ by {difference:.0e}")

# %%
# Fewer support vectors
# ---------------------
# Kernel machines are slow where they have many support vectors: every prediction looks at all of them. Is a digit even or odd?
X, digit = load_digits(return_X_y=True)
X, X_test, digit, digit_test = train_test_split(
    X / 16, digit, test_size=0.5, stratify=digit, random_state=0
)
y, y_test = digit % 2, digit_test % 2
svm = SVC(C=1.0, gamma=0.02).fit(X, y)
support, weights = svm.support_vectors_, svm.dual_coef_[0]
n_support = len(support)
print(f"{n_support} support vectors, accuracy {svm.score(X_test, y_test):.3f}")

# %%
# In the space of the kernel the SVM is one vector, w = Σ β φ(x) over its support vectors. With a root Z of their kernel
# matrix, Z'Z = K, the columns of Z have the inner products of the φ(x), and w is Z β. To write nearly the same w with few
# columns is a Lasso, whose path has every number of them. Coefficients are fitted again on those that were selected.
kernel = rbf_kernel(support, support, gamma=0.02)
eigenvalues, eigenvectors = np.linalg.eigh(kernel)
Z = np.asfortranarray((np.sqrt(eigenvalues.clip(0)) * eigenvectors).T)
w = Z @ weights
test_kernel = rbf_kernel(X_test, support, gamma=0.02)


def refit(kept):
    """Return the relative distance to w with these support vectors, and the accuracy."""
    own = kernel[np.ix_(kept, kept)] + 1e-9 * np.eye(len(kept))
    coefs = np.linalg.solve(own, kernel[kept] @ weights)
    distance = np.linalg.norm(w - Z[:, kept] @ coefs) / np.linalg.norm(w)
    decision = test_kernel[:, kept] @ coefs + svm.intercept_
    return len(kept), distance, np.mean((decision > 0) == y_test)


def selections(path):
    """Return the support vectors that each model of a path has."""
    return np.split(path.coefs.indices, path.coefs.indptr[1:-1])[1:]


lasso = lasso_path(Z, w, fit_intercept=False, eps=1e-4)
sampled = lasso_path(
    Z, w, fit_intercept=False, solver="sfw", sample_size=0.2, random_state=0
)
by_weight = np.argsort(-np.abs(weights), kind="stable")
at_random = np.random.default_rng(0).permutation(n_support)
sizes = np.unique(np.geomspace(5, n_support, 30).astype(int))
results = {
    "Lasso": [refit(kept) for kept in selections(lasso)],
    "sampled Frank-Wolfe": [refit(kept) for kept in selections(sampled)],
    "at random": [refit(at_random[:n]) for n in sizes],
    "largest weights": [refit(by_weight[:n]) for n in sizes],
}

# %%
# Nearly all of the support vectors are inside the margin, with the same weight C: the largest weights say little. From some
# 15 of them on, those of the Lasso come closest to the SVM in the space of the kernel. A quarter has nearly the same
# accuracy; so has a random quarter: the choice decides how far down one can go, here to some 25.
print("kept   distance  accuracy")
for wanted in (25, 50, 100, 150, 250, n_support):
    n, distance, accuracy = min(results["Lasso"], key=lambda row: abs(row[0] - wanted))
    print(f"{n:4d}   {distance:8.3f}  {accuracy:8.3f}")

fig, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", sharex=True)
for (name, rows), style in zip(results.items(), ("-", "--", "-.", ":"), strict=True):
    n_kept, distances, accuracies = np.array(sorted(rows)).T
    axes[0].plot(n_kept, distances, style, label=name)
    axes[1].plot(n_kept, accuracies, style, label=name)
axes[1].axhline(svm.score(X_test, y_test), color="0.7", linewidth=0.8, zorder=0)
axes[0].set(xlabel="support vectors kept", ylabel="relative distance", ylim=(0, 1))
axes[1].set(xlabel="support vectors kept", ylabel="accuracy on held-out digits")
axes[1].set_ylim(0.75, 0.95)
_ = axes[0].legend()
