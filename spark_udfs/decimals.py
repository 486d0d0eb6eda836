"""Decimals of any precision as plain text, for columns that keep more digits than Spark's DECIMAL(38)."""

from __future__ import annotations

import base64
import binascii
from decimal import Decimal, localcontext

NAME = "decimal_text"
# PostgreSQL's numeric: up to 131072 digits before the point and 16383 after it.
MAX_SCALE = 20_000
MAX_BYTES = 65_536


def decimal_text(unscaled: str | None, scale: int | None) -> str | None:
    """The plain notation of a Connect Decimal or VariableScaleDecimal, without an exponent.

    Args:
        unscaled: the unscaled value as big-endian two's complement bytes in base64.
        scale: digits after the point; negative for trailing zeros before it.

    Returns:
        for example ``-0.10``; None where an argument is None, is not base64, is empty or larger than PostgreSQL's
        own limits: the caller counts that as a misfit.
    """
    if unscaled is None or scale is None or abs(scale) > MAX_SCALE:
        return None
    try:
        digits = base64.b64decode(unscaled, validate=True)
    except (binascii.Error, ValueError):
        return None
    if not 0 < len(digits) <= MAX_BYTES:
        return None
    value = int.from_bytes(digits, "big", signed=True)
    with localcontext() as context:
        context.prec = len(digits) * 3 + abs(scale) + 3
        context.Emin, context.Emax = -10 * MAX_SCALE - MAX_BYTES, 10 * MAX_SCALE + MAX_BYTES * 3
        return format(Decimal(value).scaleb(-scale), "f")
