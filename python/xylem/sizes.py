"""Message sizes, as programs and people write them."""

from __future__ import annotations

import operator
import re
from decimal import Decimal
from typing import Union

Size = Union[int, str]

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_MOST = 1 << 40  # as the commands


def parse_size(size: Size) -> int:
    """Bytes of ``1048576``, ``"1M"`` or ``"1.5 MiB"``, at most ``"1024G"``. Raises ValueError for anything else.

    >>> parse_size("1.5K")
    1536
    """
    try:
        count = operator.index(size) if not isinstance(size, str) else _bytes_of(size)
    except TypeError:
        count = -1
    if not 0 <= count <= _MOST:
        raise ValueError(f"{size!r:.60} is no message size: expected bytes, such as 1048576 or '1M', at most 1024G")
    return count


def _bytes_of(text: str) -> int:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", text, re.ASCII | re.IGNORECASE)
    return int(Decimal(match[1]) * _UNITS[match[2].upper()]) if match else -1


def size_text(size: int) -> str:
    """``8 MiB`` of 8388608."""
    unit = 0
    while unit < 4 and size >= 1024 and size % 1024 == 0:
        size //= 1024
        unit += 1
    return f"{size} {['B', 'KiB', 'MiB', 'GiB', 'TiB'][unit]}"
