"""The arguments of a request, read strictly. Each raises Refusal for what is no such thing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar

from swapdesk.agent.process.refusal import Refusal
from swapdesk.secret import SecretBytes
from swapdesk.wallet.encoding import from_json
from swapdesk.wallet.holdings import MAX_ASSETS
from swapdesk.wallet.promise import Asset
from swapdesk.wallet.protocol import Frame
from swapdesk.wallet.protocol import RefusalCode as Code

Answer = tuple[Any, Mapping[str, SecretBytes]]
"""What is answered: JSON values, and secrets that the pipe wipes once they are written."""

E = TypeVar("E", bound=StrEnum)

MAX_TEXT = 1024
_HASH = re.compile(r"0x[0-9a-f]{64}|[1-9A-HJ-NP-Za-km-z]{64,88}", re.ASCII)


def secret(frame: Frame, name: str) -> SecretBytes:
    found = frame.secrets.get(name)
    if found is None or not len(found):
        raise Refusal(Code.BAD_REQUEST, f"{name} is missing")
    return found


def text(frame: Frame, name: str, *, empty: bool = False) -> str:
    value = frame.head.get(name, "" if empty else None)
    if not isinstance(value, str) or len(value) > MAX_TEXT or not (value or empty):
        raise Refusal(Code.BAD_REQUEST, f"{name} is missing")
    return value


def optional_text(frame: Frame, name: str) -> str | None:
    """None where it is null or left out."""
    return None if frame.head.get(name) is None else text(frame, name)


def hash_of(frame: Frame, name: str) -> str:
    value = text(frame, name)
    if _HASH.fullmatch(value) is None:
        raise Refusal(Code.BAD_REQUEST, f"{name} is no hash of a transaction")
    return value


def optional_hash(frame: Frame, name: str) -> str | None:
    return None if frame.head.get(name) is None else hash_of(frame, name)


def whole(frame: Frame, name: str) -> int:
    """A number that is no less than 0."""
    value = frame.head.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Refusal(Code.BAD_REQUEST, f"{name} is no whole number")
    return value


def one_of(kind: type[E], frame: Frame, name: str) -> E:
    try:
        return kind(text(frame, name))
    except ValueError:
        raise Refusal(Code.BAD_REQUEST, f"{name} is none that is known here") from None


def texts(frame: Frame, name: str) -> list[str] | None:
    """None where it is null or left out."""
    value = frame.head.get(name)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise Refusal(Code.BAD_REQUEST, f"{name} must be a list of texts")
    return value


def assets(frame: Frame) -> list[Asset]:
    asked = frame.head.get("assets")
    if not isinstance(asked, list) or len(asked) > MAX_ASSETS:
        raise Refusal(Code.BAD_REQUEST, f"assets are a list of up to {MAX_ASSETS}")
    return [from_json(Asset, one) for one in asked]
