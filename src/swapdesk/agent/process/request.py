"""The arguments of a request, read strictly. Each reader raises Refused for a value of the wrong
form, and the desk receives that refusal with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct, ValidationError, convert

from swapdesk.secret import SecretBytes
from swapdesk.wallet.accounts import MAX_DECIMALS
from swapdesk.wallet.answers import MAX_ASSETS
from swapdesk.wallet.promise import Asset, Promise
from swapdesk.wallet.protocol import Frame, Refused, from_json
from swapdesk.wire.encoding.time_range import within_range

Answer = tuple[Any, Mapping[str, SecretBytes]]
"""The answer to a request: JSON values, and secrets that the pipe wipes after writing them."""

MAX_OFFSET = 100 * 365 * 86_400.0
"""The most seconds that the sandbox's time may be ahead of the wall clock."""
MAX_NUMBER = 1 << 256
"""A number that no amount, id or time of a chain reaches."""

AnyText = Annotated[str, Meta(max_length=1024)]
Text = Annotated[str, Meta(min_length=1, max_length=1024)]
TransactionHash = Annotated[str, Meta(pattern=r"^(0x[0-9a-f]{64}|[1-9A-HJ-NP-Za-km-z]{64,88})\Z")]
Whole = Annotated[int, Meta(ge=0)]
Assets = Annotated[list[Asset], Meta(max_length=MAX_ASSETS)]
"""The types of some arguments, with their limits."""


def secret(frame: Frame, name: str) -> SecretBytes:
    given = frame.secrets.get(name)
    if given is None or not len(given):
        raise Refused("bad_request", f"{name} is missing")
    return given


def argument(frame: Frame, name: str, form: Any) -> Any:
    """Returns the request's argument ``name``, converted to the type ``form``. A missing argument
    counts as None. Raises Refused if the value does not have this type."""
    try:
        value = convert(frame.head.get(name), form)
    except (ValidationError, ValueError):
        raise Refused("bad_request", f"{name} cannot be read") from None
    if isinstance(value, int) and value >= MAX_NUMBER:
        raise Refused("bad_request", f"{name} is larger than any number of a chain")
    return value


def refuse_far_clock(offset: float) -> None:
    """Raises Refused for a clock offset (seconds) of more than a hundred years: such times could
    not be written as dates."""
    if abs(offset) > MAX_OFFSET:
        raise Refused("bad_request", "the clock would be more than a hundred years ahead")


def promised(frame: Frame) -> Promise:
    """Returns what the user confirmed, from a request. Raises Refused if a number or time in it is
    out of range."""
    promise = from_json(Promise, frame.head.get("promise"))
    _refuse_odd(promise)
    return promise


def _refuse_odd(value: object) -> None:
    if isinstance(value, datetime):
        if value.tzinfo is None or within_range(value) != value:
            raise Refused("bad_request", "a time is none that can be counted with")
    elif isinstance(value, int):
        if abs(value) >= MAX_NUMBER:
            raise Refused("bad_request", "a number is larger than any amount")
    elif isinstance(value, tuple):
        for item in value:
            _refuse_odd(item)
    elif isinstance(value, Struct):
        if isinstance(value, Asset) and not 0 <= value.decimals <= MAX_DECIMALS:
            raise Refused("bad_request", "a token has 0 to 255 decimals")
        for name in value.__struct_fields__:
            _refuse_odd(getattr(value, name))
