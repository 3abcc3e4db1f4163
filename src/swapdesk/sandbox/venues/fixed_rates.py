"""Fixed rates of the simulated exchanges: a promise that every process can check by itself.

The name of a rate carries the moment it was given and a digest of what was promised, so
nothing about it has to be kept anywhere (contract 6.28).
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from swapdesk.service.venues.adapter import Terms
from swapdesk.wire.encoding.numbers import short

FIXED_VALID = timedelta(seconds=600)
"""How long a fixed rate may be taken; a refund address has to be typed meanwhile."""

_FORM = re.compile(r"[a-z]{1,8}-([0-9a-f]{1,14})-[0-9a-f]{20}")
_MILLISECOND = timedelta(milliseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def whole_milliseconds(at: datetime) -> datetime:
    return _EPOCH + (at - _EPOCH) // _MILLISECOND * _MILLISECOND


def rate_name(
    seed: int,
    venue: str,
    pair: tuple[str, str],
    amounts: tuple[Decimal, Decimal],
    terms: Terms,
    at: datetime,
) -> str:
    """The name of the promise to swap ``amounts`` (in, out) of ``pair``, given at ``at``."""
    moment = (at - _EPOCH) // _MILLISECOND
    figures = (*(format(short(each), "f") for each in (*amounts, terms.markup)),)
    told = (seed, venue, *pair, *figures, terms.receive, moment)
    digest = hashlib.sha256("\0".join(map(str, told)).encode()).hexdigest()[:20]
    return f"{venue}-{moment:x}-{digest}"


def given_at(rate: str) -> datetime | None:
    """When a rate was given; None for a text that names none."""
    form = _FORM.fullmatch(rate)
    return None if form is None else _EPOCH + int(form[1], 16) * _MILLISECOND
