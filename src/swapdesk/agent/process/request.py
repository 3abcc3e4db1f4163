"""The arguments of a request, read strictly, and the refusal that goes to the desk with its reason.

Each reader raises Refused for what is no such thing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from msgspec import Struct

from swapdesk.secret import SecretBytes
from swapdesk.wallet.answers import MAX_ASSETS
from swapdesk.wallet.promise import Asset, Promise
from swapdesk.wallet.protocol import Frame, Refused, from_json
from swapdesk.wire.encoding.time_range import within_range

Answer = tuple[Any, Mapping[str, SecretBytes]]
"""What is answered: JSON values, and secrets that the pipe wipes once they are written."""

E = TypeVar("E", bound=StrEnum)

MAX_TEXT = 1024
MAX_OFFSET = 100 * 365 * 86_400.0
"""Seconds that a sandbox's time may be ahead of the wall."""
MAX_DECIMALS = 255
MAX_NUMBER = 1 << 256
"""What no amount, id or time of a chain reaches."""
_HASH = re.compile(r"0x[0-9a-f]{64}|[1-9A-HJ-NP-Za-km-z]{64,88}", re.ASCII)


def secret(frame: Frame, name: str) -> SecretBytes:
    found = frame.secrets.get(name)
    if found is None or not len(found):
        raise Refused("bad_request", f"{name} is missing")
    return found


def text(frame: Frame, name: str, *, empty: bool = False) -> str:
    value = frame.head.get(name, "" if empty else None)
    if not isinstance(value, str) or len(value) > MAX_TEXT or not (value or empty):
        raise Refused("bad_request", f"{name} is missing")
    return value


def hash_of(frame: Frame, name: str) -> str:
    value = text(frame, name)
    if _HASH.fullmatch(value) is None:
        raise Refused("bad_request", f"{name} is no hash of a transaction")
    return value


def whole(frame: Frame, name: str) -> int:
    """A number that is no less than 0 and no more than a chain can hold."""
    value = frame.head.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < MAX_NUMBER:
        raise Refused("bad_request", f"{name} is no whole number")
    return value


def one_of(kind: type[E], frame: Frame, name: str) -> E:
    try:
        return kind(text(frame, name))
    except ValueError:
        raise Refused("bad_request", f"{name} is none that is known here") from None


def texts(frame: Frame, name: str) -> list[str] | None:
    """None where it is null or left out."""
    value = frame.head.get(name)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise Refused("bad_request", f"{name} must be a list of texts")
    return value


def refuse_far_clock(offset: float) -> None:
    """An offset of the clock, in seconds, from which times can still be counted."""
    if abs(offset) > MAX_OFFSET:
        raise Refused("bad_request", "the clock would be more than a hundred years ahead")


def promised(frame: Frame) -> Promise:
    """What was confirmed, with numbers and times that can be counted with."""
    found = from_json(Promise, frame.head.get("promise"))
    _refuse_odd(found)
    return found


def _refuse_odd(value: object) -> None:
    """A struct with an amount beyond 256 bits or a time of no calendar."""
    if isinstance(value, datetime):
        if value.tzinfo is None or within_range(value) != value:
            raise Refused("bad_request", "a time is none that can be counted with")
    elif isinstance(value, int):
        if abs(value) >= MAX_NUMBER:
            raise Refused("bad_request", "a number is larger than any amount")
    elif isinstance(value, tuple):
        for one in value:
            _refuse_odd(one)
    elif isinstance(value, Struct):
        if isinstance(value, Asset) and not 0 <= value.decimals <= MAX_DECIMALS:
            raise Refused("bad_request", "a token has 0 to 255 decimals")
        for name in value.__struct_fields__:
            _refuse_odd(getattr(value, name))


def assets(frame: Frame) -> list[Asset]:
    asked = frame.head.get("assets")
    if not isinstance(asked, list) or len(asked) > MAX_ASSETS:
        raise Refused("bad_request", f"assets are a list of up to {MAX_ASSETS}")
    return [from_json(Asset, one) for one in asked]
