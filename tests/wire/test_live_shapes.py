"""Answers of the live service, as they were recorded, are read (contract 1.14, 6.2, 6.7)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from corpus import Case, load
from swapdesk.wire.encoding.codec import decode
from swapdesk.wire.orders import Order
from swapdesk.wire.quotes import PairLimits, PrivateSendQuoteList, QuoteList
from swapdesk.wire.tokens import Token

KINDS: dict[str, type[BaseModel]] = {
    kind.__name__: kind for kind in (Order, PairLimits, PrivateSendQuoteList, QuoteList, Token)
}


def member(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = value[int(name)] if name.isdecimal() else getattr(value, name)
    return value if value is None else str(value)


@pytest.mark.parametrize("case", load("answer", name="live_shapes"), ids=lambda case: case.id)
def test_a_recorded_answer_is_read(case: Case) -> None:
    answer = json.dumps(case.input["answer"]).encode()
    read = decode(KINDS[case.input["kind"]], answer, side="client")
    assert {path: member(read, path) for path in case.expect} == case.expect
