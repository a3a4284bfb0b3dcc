"""
Words that predict a rating
===========================

Text as a bag of words is wide and nearly empty: tens of thousands of columns, a few dozen entries in a row. This page
goes from texts to words with coefficients. The matrix is never made dense.
"""

# %%
# Reviews, made up from a vocabulary: most words say nothing about the rating, some do.
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from fwlasso import LassoCV, lasso_path

rng = np.random.default_rng(0)
good = ["excellent", "delicious", "friendly", "charming", "perfect"]
bad = ["cold", "slow", "noisy", "overpriced", "stale"]
beginnings = ["bra", "ko", "lu", "mi", "ta", "se", "po", "ri", "vu", "dan"]
endings = ["lor", "met", "kin", "sal", "pur"]
filler = [a + b + c for a in beginnings for b in beginnings for c in endings]
# Words have frequencies as in real texts, roughly 1/rank.
often = 1.0 / np.arange(1, len(filler) + 1)
often /= often.sum()


def review(rating):
    """Return some words; the good ones are more likely where the rating is high."""
    words = rng.choice(filler, size=rng.integers(20, 60), p=often).tolist()
    words += rng.choice(good, size=rng.binomial(5, rating / 10)).tolist()
    words += rng.choice(bad, size=rng.binomial(5, 1 - rating / 10)).tolist()
    rng.shuffle(words)
    return " ".join(words)


ratings = rng.uniform(0, 10, size=1_500)
texts = [review(rating) for rating in ratings]
print(f"rated {ratings[0]:.1f}: {texts[0][:60]} ...")

# %%
# Words and pairs of words become columns. scikit-learn gives rows (CSR); columns (CSC) are what a path reads, so it is
# converted once, here, and used where it lies from then on.
vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
X = vectorizer.fit_transform(texts).tocsc()
words = vectorizer.get_feature_names_out()
stored = X.nnz / np.prod(X.shape)
print(f"{X.shape[0]:,} texts, {X.shape[1]:,} columns, {100 * stored:.2f} % stored")

# %%
# A path of a hundred models. ``fit_intercept`` centres every column, and still nothing becomes dense.
path = lasso_path(X, ratings)
print(f"{len(path)} models, {path.n_active[-1]} features in the last")
print(f"largest gap {path.gaps.max():.0e} in {path.counters.passes:.0f} passes")

# %%
# Choose by folds the sparsest model that predicts as well as the best one, within a standard error.
model = LassoCV(rule="1se").fit(X, ratings)
order = np.argsort(model.coef_)
held_out = 1 - model.choice_.scores[model.choice_.point] / ratings.var()
n_chosen = np.count_nonzero(model.coef_)
print(
    f"{n_chosen} of {X.shape[1]:,} columns explain {100 * held_out:.0f} % of the ratings"
)
print("down:", ", ".join(words[order[:5]]))
print("up:  ", ", ".join(words[order[::-1][:5]]))

# %%
# The paths of the words, from the sparsest model on. A path knows the names of the columns of a frame; those of a
# matrix are given by hand.
from dataclasses import replace

named = replace(model.path_, feature_names=tuple(words))
ax = named.plot(x="alpha")
ax.axvline(model.alpha_, color="black", linewidth=0.8, linestyle="--")

# %%
# New texts go through the same vectorizer. In a scikit-learn pipeline that is one object:
from sklearn.pipeline import make_pipeline

pipeline = make_pipeline(
    TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), LassoCV(rule="1se")
)
pipeline.fit(texts, ratings)
for text in (
    "delicious friendly charming perfect bralor",
    "cold slow noisy stale bralor",
):
    print(f"{pipeline.predict([text])[0]:5.1f}  {text}")
