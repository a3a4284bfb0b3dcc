"""Numbers as people read them."""

import math
from collections.abc import Sequence


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with so many digits: thousands apart, very small and very large ones with an exponent.

    Examples
    --------
    >>> number(13030.2), number(0.2284), number(27.64), number(2.5e-7), number(None)
    ('13,030', '0.228', '27.6', '2.5e-7', '-')
    """
    if value is None or math.isnan(value):
        return "-"
    if value != 0.0 and not 1e-3 <= abs(value) < 1e7:
        return power(value, digits)
    places = max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{places}f}"


def power(value: float | None, digits: int = 3) -> str:
    """Return a number with an exponent.

    Examples
    --------
    >>> power(7.61e5), power(2e7), power(None)
    ('7.61e5', '2e7', '-')
    """
    if value is None or math.isnan(value):
        return "-"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def percent(value: float) -> str:
    """Return a difference in per cent, with its sign.

    Examples
    --------
    >>> percent(0.052), percent(-0.8)
    ('+5 %', '-80 %')
    """
    return f"{100.0 * value:+.0f} %"


def share(value: float) -> str:
    """Return a share in per cent.

    Examples
    --------
    >>> share(0.25), share(0.0038)
    ('25 %', '0.38 %')
    """
    return f"{100.0 * value:.2g} %" if value < 0.995 else f"{100.0 * value:,.0f} %"


def counted(n: int, what: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> counted(1, "run"), counted(10, "run")
    ('1 run', '10 runs')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def listed(items: Sequence[str]) -> str:
    """Return names with commas between, and an "and".

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join([part for part in (", ".join(items[:-1]), *items[-1:]) if part])
