"""
Genotypes from a PLINK file
===========================

A cohort has hundreds of thousands of variants, of which a few matter for a trait. PLINK's ``.bed`` file packs four
genotypes into a byte. A path reads them as they are: 1/32 of the memory that float64 takes, and mapped from the disk.
"""

# %%
# A small cohort is made up and written as PLINK writes it. With a file of your own, go on with the next part.
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np

from fwlasso import LassoCV, lasso_path
from fwlasso.datasets import open_bed

rng = np.random.default_rng(0)
n_samples, n_variants = 400, 20_000
alleles = rng.binomial(2, rng.uniform(0.05, 0.5, n_variants), (n_samples, n_variants))
causal = rng.choice(n_variants, 6, replace=False)
effects = np.array([0.9, -0.9, 0.8, -0.8, 0.7, 0.7])
trait = alleles[:, causal] @ effects + rng.standard_normal(n_samples)
missing = rng.random(alleles.shape) < 0.01

codes = np.array([0b11, 0b10, 0b00], np.uint8)[
    alleles
]  # copies of the allele A1: none, one, two
codes[missing] = 0b01
packed = np.bitwise_or.reduce(
    codes.reshape(-1, 4, n_variants) << np.array([0, 2, 4, 6], np.uint8)[:, None],
    axis=1,
).T

scratch = TemporaryDirectory()
bed_file = Path(scratch.name, "cohort.bed")
bed_file.write_bytes(b"\x6c\x1b\x01" + packed.tobytes())
bim = "".join(f"1 rs{j} 0 {1000 + j} A C\n" for j in range(n_variants))
fam = "".join(f"f{i} s{i} 0 0 0 {value:.6f}\n" for i, value in enumerate(trait))
bed_file.with_suffix(".bim").write_text(bim)
_ = bed_file.with_suffix(".fam").write_text(fam)

# %%
# Open
# ----
# ``X`` stays in the file. The phenotype is that of the ``.fam`` file; one of another file is joined by the ids of the
# samples: ``open_bed(bed_file, "traits.txt", target="height")``. A missing call counts as the mean of the calls of its
# variant.
cohort = open_bed(bed_file)
print(cohort.X)
print(cohort.feature_names[:3], cohort.sample_ids[:3], cohort.phenotype[:3])

# %%
# The path
# --------
# Variants have different frequencies. ``standardize=True`` gives all of them the same chance. ``eps=0.1`` ends the path at
# a tenth of the largest penalty: beyond it most of what comes in is noise.
path = lasso_path(cohort.X, cohort.phenotype, standardize=True, eps=0.1)
print(f"{len(path)} models, {path.n_active[-1]} features in the last")
print(f"largest gap {path.gaps.max():.0e} in {path.counters.passes:.0f} passes")
path.plot(x="alpha", n_labels=6)

# %%
# Choose a model
# --------------
# The folds are masks over the same packed genotypes.
model = LassoCV(cv=5, rule="1se", standardize=True, eps=0.1).fit(
    cohort.X, cohort.phenotype
)
selected = np.flatnonzero(model.coef_)
n_causal = np.isin(causal, selected).sum()
print(f"{selected.size} of {n_variants:,} variants, {n_causal} of 6 causal ones")
strongest = selected[np.argsort(-np.abs(model.coef_[selected]))][:8]
for j in strongest:
    known = "causal" if j in causal else ""
    print(f"{model.coef_[j]:6.2f}  {cohort.feature_names[j]:8}  {known}")

# %%
# A polygenic score
# -----------------
# Predictions read the selected variants alone. They are found by identifier in another cohort, in any order and among
# others, and counted as here where A1 and A2 are exchanged. Where some are absent, ``LinearModel.from_estimator(model)``
# predicts with ``missing="mean"``: they stand at their means here.
score = model.predict(cohort.X)
fig, ax = plt.subplots(figsize=(5, 4), layout="constrained")
ax.plot(score, cohort.phenotype, ".", markersize=3)
_ = ax.set(
    xlabel="score",
    ylabel="trait",
    title=f"correlation {np.corrcoef(score, cohort.phenotype)[0, 1]:.2f}",
)

# %%
# On the command line that is ``fwlasso cv cohort.bed --standardize --rule 1se --out run``.
scratch.cleanup()
