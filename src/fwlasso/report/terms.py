"""What a path has beside the Lasso, in words."""

from ..data.frames import listed
from ..result import LassoPath


def terms_in_words(path: LassoPath) -> list[str]:
    """Return what was asked for beside the Lasso, a few words each: of samples, of columns, of the penalty."""
    known = path.terms
    names = path.feature_names
    free = [j if names is None else names[j] for j in known.get("unpenalized_columns", ())]
    words = {
        "is_weighted": "sample weights",
        "has_offset": "an offset",
        "l1_ratio": "an elastic net penalty (l1_ratio {:g})",
        "ridge": "a ridge penalty of {:g}",
        "factors": "penalty factors from {}",
        "unpenalized_columns": f"no penalty on {listed(free)}",
        "excluded": "excluded columns ({})",
        "n_bounded": "nonnegative coefficients" if known.get("positive") else "bounds on {:,} coefficients",
    }
    return [text.format(known[name]) for name, text in words.items() if name in known]


def null_in_words(path: LassoPath) -> tuple[str, str]:
    """Return what gaps and R2 are relative to, as one reads it and as a formula, or in few words."""
    if path.loss != "squared":
        return ("half the null deviance",) * 2
    if "unpenalized_columns" in path.terms:
        left = "the variation of the response that the columns without a penalty leave"
        return f"{left}, and R² is the share of that", left
    return "the variation of the response", "½ ‖y‖²"
