"""Texts that a database cannot hold, NUL and lone surrogates, in every input of every operation:
refused as what they are, alike over both databases, and never a failure of the service."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from service.http_calls import JSON, delivery
from service.loopback import serving
from service.quote_calls import asked, quotes
from service.test_bounds import REQUIRED
from service.test_stream import heard
from service.venue import PlainVenue
from service.world import EVM
from swapdesk.clock import ManualClock
from swapdesk.service.handlers import ServiceParts
from swapdesk.wire.encoding.query import wire_names
from swapdesk.wire.operation import Operation
from swapdesk.wire.operations import OPERATIONS

HOSTILE = ("\x00", "a\x00b", "\ud800", "a\udfff")
REFUSED = {404, 422}


@pytest.fixture
def venue_list() -> list[PlainVenue]:
    return [PlainVenue("aa", "Alpha")]


@pytest.fixture
async def base(service: ServiceParts) -> AsyncIterator[str]:
    async with serving(service) as address:
        yield address


def names_of(model: Any) -> list[str]:
    fields = {} if model is None else model.model_fields
    return [wire_names(name, each)[0] for name, each in fields.items()]


def escaped(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def requests_with(
    operation: Operation, text: str, given: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """A path with the text in each place that a caller fills, and what goes with it."""
    parts = re.findall(r"{(\w+)}", operation.path)
    plain = re.sub(r"{(\w+)}", lambda part: str(given.get(part[1], "a")), operation.path)
    beside = {name: value for name, value in given.items() if name not in parts}
    for part in parts:
        at = operation.path.replace(f"{{{part}}}", escaped(text))
        yield re.sub(r"{\w+}", "a", at), {}
    for name in names_of(operation.query):
        others = [f"{other}={value}" for other, value in beside.items() if other != name]
        yield "&".join([f"{plain}?{name}={escaped(text)}", *others]), {}
    for name in names_of(operation.body):
        for value in (text, [text], {text: text}):
            body = json.dumps(beside | {name: value})
            yield plain, {"content": body.encode(), "headers": JSON}


async def test_no_input_of_any_operation_brings_one_to_the_store(api: httpx2.AsyncClient) -> None:
    row, *_ = [row for row in await quotes(api, asked()) if row.quote_id]
    create = {"quoteId": row.quote_id, "addressTo": EVM}
    answers = set()
    for operation in OPERATIONS:
        # A create that would go through but for the text under test.
        given = create if operation.name == "create_exchange" else REQUIRED.get(operation.name, {})
        for text in HOSTILE:
            for path, more in requests_with(operation, text, given):
                answer = await api.request(operation.method, path, **more)
                assert answer.status_code in REFUSED, (operation.name, path, more, answer.text)
                answers.add(operation.name)
    assert len(answers) > 20
    assert (await api.post("/exchanges", json=create)).status_code == 200


@pytest.mark.parametrize("text", HOSTILE)
async def test_an_event_that_names_one_wakes_nobody(
    api: httpx2.AsyncClient, clock: ManualClock, text: str
) -> None:
    now = int(clock.now().timestamp())
    for source, data in (("aa", {"orderId": f"{text}:in"}), ("bundler", {"userOpHash": text})):
        for number, more in enumerate(({}, {"id": text})):
            body = json.dumps({"data": data, **more}).encode()
            headers = delivery(body, now, source=source, event_id=f"evt_{number}")
            answer = await api.post(f"/webhooks/{source}", content=body, headers=headers)
            assert answer.status_code == (422 if more else 200)


async def test_a_stream_that_is_asked_for_one_goes_on(base: str) -> None:
    async with heard(base) as listener:
        for text in HOSTILE:
            refused = await listener.ask(type="subscribe", serviceIds=[text])
            assert (refused["type"], refused["code"]) == ("error", "INVALID_MESSAGE")
        assert await listener.silent()
