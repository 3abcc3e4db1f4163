"""Asking for quotes and limits, and reading what comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

import httpx2

import manual_time
from service.http_calls import declined
from service.world import BTC, ETH, FIRST
from swapdesk.clock import ManualClock
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.store.records import StoredQuote
from swapdesk.wire.encoding.codec import decode
from swapdesk.wire.quotes import PairLimits, Quote, QuoteList

Parameters = dict[str, Any]


def asked(amount: str = "0.5", from_: str = BTC.id, to: str = ETH.id, **more: Any) -> Parameters:
    return {"amount": amount, "from": from_, "to": to, **more}


async def quotes(api: httpx2.AsyncClient, parameters: Parameters) -> list[Quote]:
    answer = (await api.get("/quotes", params=parameters)).raise_for_status()
    found = decode(QuoteList, answer.content, side="client")
    assert found.total == len(found.quotes)
    return found.quotes


async def stored_quote(service: ServiceParts, quote_id: str | None) -> StoredQuote:
    """What the service keeps of a quote of the first partner."""
    return await service.store.quotes.get(FIRST.partner_id, quote_id)


async def with_stored(service: ServiceParts, rows: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Each row with what the service keeps of it, None of one without a price."""
    return [(row, await stored_quote(service, row.quote_id)) for row in rows]


async def refusal(
    api: httpx2.AsyncClient,
    path: str,
    parameters: Parameters,
    code: str = "VALIDATION_ERROR",
    field: str = "",
) -> dict[str, Any]:
    """As :func:`declined`, of a call with these parameters."""
    return await declined(api.get(path, params=parameters), code, field)


async def finish(clock: ManualClock, work: Coroutine[Any, Any, Any]) -> Any:
    """The result of ``work``, with the clock moved on whenever nothing else happens."""
    task = asyncio.ensure_future(work)
    await manual_time.until(clock, task.done)
    return task.result()


async def limits(api: httpx2.AsyncClient, from_: str, to: str) -> PairLimits:
    answer = (
        await api.get("/minMax", params={"tokenIdFrom": from_, "tokenIdTo": to})
    ).raise_for_status()
    assert answer.json().keys() == {"cex", "dex", "private"}
    return decode(PairLimits, answer.content, side="client")
