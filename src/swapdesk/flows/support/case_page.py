"""A support case as one web page, for a colleague without the desk.

It shows of a case file what the desk shows of it, in the same words: they are told as those of
whoever wrote the file, and its reply cannot be marked to be copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from swapdesk import __version__
from swapdesk.flows.notation import clock_time
from swapdesk.flows.orders.order_fields import short_id
from swapdesk.flows.orders.situations import HUES
from swapdesk.flows.support.case_file import (
    NOT_OUR_REPLY,
    NOT_OURS,
    WHOSE,
    CaseFile,
)
from swapdesk.flows.support.support_case import timeline
from swapdesk.web_page import web_page

PAGE = "case"
MOST_STAGES = 20
"""More are told in words alone."""
_SIDES = (
    ("What is sent", re.compile(r"(in|quotedIn|deposit|refund|intermediateRefund)(?![a-z])")),
    ("What is paid out", re.compile(r"(out|quotedOut|receiver)(?![a-z])")),
)
_REST = "The order"


def case_page(file: CaseFile) -> str:
    """The same file gives the same page."""
    return web_page(
        PAGE,
        title=f"Order {short_id(file.record.sheet.order_id)}, a support case",
        file=file,
        sheet=file.record.sheet,
        stages=range(file.record.sheet.stages if file.record.sheet.stages <= MOST_STAGES else 0),
        not_ours=NOT_OURS,
        not_our_reply=NOT_OUR_REPLY,
        whose=WHOSE,
        sides=list(_sides(file.order)),
        timeline=list(timeline(file.record)),
        clock_time=clock_time,
        hue=lambda sign: HUES.get(sign, HUES["unknown"]).removeprefix("status-"),
        version=__version__,
    )


def _sides(order: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Both sides of the exchange, and what belongs to neither, each field under its name in the
    API."""
    left = dict(order)
    for title, names in _SIDES:
        side = {name: left.pop(name) for name in order if names.match(name)}
        yield title, [(name, _told(value)) for name, value in side.items()]
    yield _REST, [(name, _told(value)) for name, value in left.items()]


def _told(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
