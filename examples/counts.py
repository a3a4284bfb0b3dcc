"""
Rates from counts
=================

Claims of a policy, accidents on a road, visits of a patient: counts that grow with the time or the distance that was
looked at. A Poisson Lasso chooses what changes the rate; the exposure is an offset.
"""

# %%
# Policies, made up: most were insured for less than a year, and have no claim. A few of many properties matter.
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fwlasso import PoissonLasso, PoissonLassoCV, lasso_cv

rng = np.random.default_rng(0)
n = 3_000
policies = pd.DataFrame(
    {
        "age": rng.integers(18, 80, n),
        "power": rng.integers(40, 200, n),
        "region": rng.choice([f"R{k:02d}" for k in range(40)], n),
        "brand": rng.choice([f"B{k:02d}" for k in range(25)], n),
    }
)
years = rng.uniform(0.1, 1.0, n)
log_rate = (
    -0.5
    - 0.02 * (policies["age"] - 45)
    + 0.006 * (policies["power"] - 100)
    + 0.8 * (policies["region"] == "R07")
    - 0.8 * (policies["brand"] == "B03")
)
claims = rng.poisson(years * np.exp(log_rate))
print(f"{claims.sum()} claims in {years.sum():.0f} years")

# %%
# Columns as a model takes them: a column for every region and brand, numbers in units of their spread.
columns = make_column_transformer(
    (StandardScaler(), ["age", "power"]),
    (OneHotEncoder(sparse_output=False), ["region", "brand"]),
    verbose_feature_names_out=False,
).set_output(transform="pandas")
X = columns.fit_transform(policies)

# %%
# The offset is the logarithm of the exposure: twice the time has twice the claims. Folds are scored by the mean
# deviance, and know their exposures.
model = PoissonLassoCV(rule="1se").fit(X, claims, offset=np.log(years))
print(f"{np.count_nonzero(model.coef_)} of {X.shape[1]} columns")
print(f"largest gap {model.path_.gaps.max():.0e}")

# %%
# The exponential of a coefficient is a rate ratio: by what the rate is multiplied for a unit of the column.
print(model.to_frame().head(8).to_string(index=False))

# %%
# What is expected of new policies, in a year: the offset of these rows is zero.
new = columns.transform(policies.head(3).assign(region=["R07", "R01", "R02"]))
print(model.predict(new, offset=np.zeros(3)).round(2))

# %%
# Are the rates right? Held-out policies in ten groups by their prediction: the mean number of claims against it.
found = lasso_cv(X, claims, loss="poisson", offset=np.log(years), rule="1se", eps=1e-3)
(picture,) = found.choice.pictures

import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(5, 4), layout="constrained")
for line in picture.lines:
    ax.plot(line.x, line.y, "o" if line.kind == "dots" else "-", color="tab:blue")
ax.axline((0, 0), slope=1, color="black", linestyle="--", linewidth=0.8)
ax.set(title=picture.title, xlabel=picture.x_label, ylabel=picture.y_label)

# %%
# Without an offset, rates times weights are the same fit: claims per year, weighted by the years.
by_weights = PoissonLasso(alpha=model.alpha_ * n / years.sum(), tol=1e-8)
by_weights.fit(X, claims / years, sample_weight=years)
by_offset = PoissonLasso(alpha=model.alpha_, tol=1e-8)
by_offset.fit(X, claims, offset=np.log(years))
print(f"largest difference {np.abs(by_weights.coef_ - by_offset.coef_).max():.0e}")
