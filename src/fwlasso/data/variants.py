"""Coefficients of variants, carried over to another file: it may have other columns, and count other alleles."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from .._core.columns import Vector
from .._core.notices import warn_of_doubt
from .frames import first_of

if TYPE_CHECKING:
    from .genotypes import Genotypes, Variant

# What stands for an allele that no sample has, and for an identifier that is not there.
_UNKNOWN, _NAMELESS = ("0", "."), "."
# On the other strand they read as if they were exchanged.
_PALINDROMIC = ({"A", "T"}, {"C", "G"})
_REMEDY = (
    "impute them, fit again on the variants that both files have (open_bed(columns=), --extract), or let them stand at "
    "their means (missing='mean' of LinearModel.predict, --missing mean)"
)
_COVARIATES = "read the genotypes with them (open_bed(covariates=), --covariates)"
_STRAND = (
    "they may be of the other strand (plink --flip), or other variants: left out (open_bed(exclude=), --exclude), they "
    "can stand at their means (missing='mean' of LinearModel.predict, --missing mean)"
)


def carry_over(
    X: "Genotypes",
    coefs: sp.csc_array,
    names: Mapping[int, str] | Sequence[str],
    variants: Mapping[int, "Variant"],
    *,
    at_means: bool = False,
) -> tuple[sp.csc_array, Vector]:
    """Return coefficients for the columns of X, and what is to be added to every product with them.

    A variant is found by its identifier, in any order and among any others; one without (".") by chromosome and
    position, and one whose identifier the model has more than once by all three. Where A1 and A2 are exchanged, b x
    becomes b (2 - x), with a warning. A ValueError counts the variants that are missing in X, have other alleles there,
    or no call, and names the first of them; or, with `at_means`, b x becomes b times the mean of x in the data of the
    model where x is missing or has no call, with a warning. Without `variants` the alleles are not known.
    """
    used = np.unique(coefs.indices[coefs.data != 0.0]).tolist()
    covariates = [names[j] for j in used if j not in variants] if variants else []
    if covariates:
        raise ValueError(f"X lacks covariates of the model: {first_of(covariates)}; {_COVARIATES}")
    if used and bool(variants) != (X.variants is not None):
        which, remedy = ("X", "read it with open_bed") if variants else ("model", "fit it again")
        raise ValueError(f"the {which} does not record the alleles of its variants, and may count others: {remedy}")
    counts = Counter(names[j] for j in variants)
    by_place = {_NAMELESS, *(name for name, count in counts.items() if count > 1)}
    keys = {j: _key(names[j], variants.get(j), by_place) for j in used}
    there = _places(X, set(keys.values()), by_place)
    places: dict[int, tuple[int, int]] = {}
    missing, foreign, uncalled, absent = [], [], [], []
    for j in used:
        signs = {k: _sign(variants.get(j), _variant(X, k)) for k in there[keys[j]]}
        fitting = [k for k, sign in signs.items() if sign]
        if not signs:
            missing.append(_told(keys[j]))
            absent.append(j)
        elif not fitting:
            now, before = ("/".join(v.alleles) for v in (X.variants.at(next(iter(signs))), variants[j]))  # type: ignore[union-attr]
            foreign.append(f"{_told(keys[j])} has {now}, and had {before}")
        elif len(fitting) > 1 and j not in fitting:
            raise ValueError(f"X has more than one variant {_told(keys[j])!r} with the same alleles")
        else:
            place = j if j in fitting else fitting[0]  # of copies, the one where it was
            if _has_call(X, place):
                places[j] = place, signs[place]
            else:
                uncalled.append(_told(keys[j]))
                absent.append(j)
    _refuse(foreign, used, "have other alleles", _STRAND)
    constants = np.zeros(coefs.shape[0])  # c of b c, which stands for b x or is added to it
    if at_means and places:
        constants[absent] = _means(absent, variants, keys)
        _warn_of_absent(missing, uncalled, len(used))
    else:
        _refuse(missing, used, "are not there", _REMEDY)
        _refuse(uncalled, used, "have no call", _REMEDY)
    rows, signs_of = np.array(list(places.values()), dtype=np.int64).reshape(-1, 2).T
    turn = sp.csc_array((signs_of.astype(float), (rows, list(places))), shape=(X.shape[1], coefs.shape[0]))
    exchanged = [j for j, (_, sign) in places.items() if sign < 0]
    constants[exchanged] = 2.0
    if exchanged:
        n_unsure = sum({allele.upper() for allele in variants[j].alleles} in _PALINDROMIC for j in used)
        warn_of_doubt(
            f"{len(exchanged)} of the {len(used)} variants of the model are turned, since A1 and A2 are "
            f"exchanged; {n_unsure} are A/T or C/G, whose alleles cannot distinguish the strands"
        )
    return sp.csc_array(turn @ coefs), np.asarray(coefs.T @ constants)


def _key(name: str, variant: "Variant | None", by_place: set[str]) -> tuple[str, ...]:
    if name not in by_place or variant is None:
        return (name,)
    return name, variant.chromosome.removeprefix("chr"), str(variant.position)


def _told(key: tuple[str, ...]) -> str:
    return ":".join(key).removeprefix(f"{_NAMELESS}:")


def _variant(X: "Genotypes", k: int) -> "Variant | None":
    return None if X.variants is None else X.variants.at(k)


def _places(X: "Genotypes", wanted: Iterable[tuple[str, ...]], by_place: set[str]) -> dict[tuple[str, ...], list[int]]:
    """Return the columns of X that have a key, for every key that is wanted."""
    found: dict[tuple[str, ...], list[int]] = {key: [] for key in wanted}
    for k, name in enumerate(X.feature_names or ()):
        key = _key(name, _variant(X, k), by_place) if name in by_place else (name,)
        if key in found:
            found[key].append(k)
    return found


def _has_call(X: "Genotypes", k: int) -> bool:
    """Tell whether any sample has a call: another code than 01 (see `bed`)."""
    calls = X.packed[k] ^ 0b01_01_01_01
    calls[-1:] <<= 2 * (-X.shape[0] % 4)  # no bits of the samples that the last byte has too many
    return bool(calls.any())


def _sign(known: "Variant | None", found: "Variant | None") -> int:
    """Return 1 where both count the same allele, -1 where they are exchanged, 0 where they fit neither way."""
    if known is None or found is None:
        return 1
    as_is = _same(known.effect_allele, found.effect_allele) and _same(known.other_allele, found.other_allele)
    turned = _same(known.effect_allele, found.other_allele) and _same(known.other_allele, found.effect_allele)
    return as_is - turned


def _same(known: str, found: str) -> bool:
    return known.upper() == found.upper() or known in _UNKNOWN or found in _UNKNOWN


def _means(absent: list[int], variants: Mapping[int, "Variant"], keys: Mapping[int, tuple[str, ...]]) -> list[float]:
    """Return the means of variants in the data of the model."""
    means = {j: variants[j].mean if j in variants else None for j in absent}
    unknown = [_told(keys[j]) for j, mean in means.items() if mean is None]
    if unknown:
        what = "has no mean of its variants (it is of an earlier version, or of genotypes without alleles)"
        raise ValueError(f"missing: the model {what}: {first_of(unknown)}; fit it again")
    return [mean for mean in means.values() if mean is not None]


def _warn_of_absent(missing: list[str], uncalled: list[str], n_used: int) -> None:
    told = [f"{name} (not there)" for name in missing] + [f"{name} (no call)" for name in uncalled]
    if told:
        what = "variants of the model stand at their means in the data of the model"
        warn_of_doubt(f"{len(told)} of the {n_used} {what}: {first_of(told)}")


def _refuse(which: list[str], used: list[int], what: str, remedy: str) -> None:
    if which:
        raise ValueError(f"{len(which)} of the {len(used)} variants of the model {what}: {first_of(which)}; {remedy}")
