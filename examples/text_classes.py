"""
Words that tell two classes apart
=================================

Spam or not, this author or that one: with two classes of texts, a logistic Lasso chooses some words of many and says by
how much each changes the odds. This page goes from real texts to a certified classifier, and looks at how good it is.
"""

# %%
# Texts that every installation has: the documentation of two libraries, of which the first words for every function and
# class are taken. Which of the two are they from? Whatever names a library is taken out.
import importlib
import inspect
import re

import numpy as np
import scipy
import sklearn
from sklearn.feature_extraction.text import CountVectorizer

import fwlasso
from fwlasso import LogisticLassoCV


def texts_of(package, *parts):
    """Return the first words for every name in some modules, without those of libraries."""
    found = set()
    for part in parts:
        module = importlib.import_module(f"{package.__name__}.{part}")
        for name in dir(module):
            text = inspect.getdoc(getattr(module, name)) or ""
            if not name.startswith("_") and len(text) > 200:
                found.add(
                    re.sub(r"(?i)scipy|sklearn|scikit\S*|numpy|np", " ", text)[:300]
                )
    return sorted(found)


scientific = texts_of(scipy, "stats", "optimize", "signal", "linalg", "ndimage")
learning = texts_of(
    sklearn,
    *("linear_model", "metrics", "preprocessing", "ensemble", "model_selection"),
    *("cluster", "datasets", "decomposition", "feature_selection", "svm"),
)
texts = [*scientific, *learning]
labels = np.array(["scipy"] * len(scientific) + ["sklearn"] * len(learning))
print(f"{len(scientific)} texts of scipy, {len(learning)} of scikit-learn")

# %%
# Words become columns: one if the word is in the text. The matrix is sparse, and stays so.
vectorizer = CountVectorizer(binary=True, min_df=2, token_pattern=r"[a-z]{3,}")
X = vectorizer.fit_transform(texts).tocsc().astype(np.float64)
words = vectorizer.get_feature_names_out()
print(f"{X.shape[0]:,} texts, {X.shape[1]:,} words")

# %%
# A quarter of the texts is kept for the end. The penalty is chosen by five folds, which have both classes in equal shares.
# Scores are deviances; ``scoring="roc_auc"`` would compare ranks alone. The rule takes the sparsest model within a
# standard error of the best.
from sklearn.model_selection import train_test_split

X_train, X_test, y_train, y_test = train_test_split(
    X, labels, stratify=labels, random_state=0
)
model = LogisticLassoCV(rule="1se").fit(X_train.tocsc(), y_train)
path = model.path_
print(f"{np.count_nonzero(model.coef_)} words, C = {model.C_:.2g}")
print(f"largest gap {path.gaps.max():.0e} in {path.counters.passes:.0f} passes")

# %%
# Every model on the path is certified: no coefficients have an objective that is better by more than this share of half
# the null deviance, over all words. Coefficients are for ``classes_[1]``; their exponentials are odds ratios.
ranked = np.argsort(model.coef_[0])
print(f"positive: {model.classes_[1]}")
for j in (*ranked[:5], *ranked[-5:]):
    coefficient = model.coef_[0, j]
    print(f"{words[j]:>14} {coefficient:+.2f}  odds x {np.exp(coefficient):.2f}")

# %%
# How good is it on texts that it has not seen? ``predict`` gives labels, ``predict_proba`` probabilities.
from sklearn.metrics import classification_report, roc_auc_score

chances = model.predict_proba(X_test)[:, 1]
print(f"AUC {roc_auc_score(y_test == model.classes_[1], chances):.3f}")
print(classification_report(y_test, model.predict(X_test)))

# %%
# Predictions of the held-out folds show the same without a test set: a ROC curve, and whether texts with a probability
# of 0.8 are of that class in eight of ten cases. The report has both pictures; here they are drawn from its numbers.
import matplotlib.pyplot as plt

fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, picture in zip(axes, model.choice_.pictures, strict=True):
    for line in picture.lines:
        style = {"dots": "o", "bar": "-", "fold": "-", "line": "-"}[line.kind]
        colour = "silver" if line.kind in ("fold", "bar") else "tab:blue"
        ax.plot(line.x, line.y, style, color=colour)
    ax.axline((0, 0), slope=1, color="black", linestyle="--", linewidth=0.8)
    ax.set(title=picture.title, xlabel=picture.x_label, ylabel=picture.y_label)
print(model.choice_.pictures[0].note)

# %%
# In a pipeline all of it is one object, for texts as they are. ``fwlasso.report.write_report(model, "report.html")``
# writes the page. On the command line the same is ``fwlasso cv texts.svm --loss logistic --rule 1se --out run``.
from sklearn.pipeline import make_pipeline

classifier = make_pipeline(vectorizer, fwlasso.LogisticLasso(C=model.C_))
classifier.fit(texts, labels)
for text in (
    "Fit the estimator to training samples",
    "Solve the equation by a quadrature",
):
    print(f"{classifier.predict([text])[0]:>8}: {text}")
