"""Message sizes, as programs and people write them."""

from __future__ import annotations

import re
from typing import Union

Size = Union[int, str]

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_size(size: Size) -> int:
    """Bytes of ``1048576``, ``"1M"`` or ``"1.5 MiB"``.

    >>> parse_size("1.5K")
    1536
    """
    if isinstance(size, int):
        if size < 0:
            raise ValueError(f"{size} is no message size: expected bytes, such as 1048576 or '1M'")
        return size
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", size, re.IGNORECASE)
    if not match:
        raise ValueError(f"{size!r} is no message size: expected bytes, such as 1048576 or '1M'")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def size_text(size: int) -> str:
    """``8 MiB`` of 8388608."""
    unit = 0
    while unit < 4 and size >= 1024 and size % 1024 == 0:
        size //= 1024
        unit += 1
    return f"{size} {['B', 'KiB', 'MiB', 'GiB', 'TiB'][unit]}"
