"""Groups of orders over HTTP, and the worker that sets them up."""

from __future__ import annotations

import json
from typing import Any

import httpx2

from service.world import BTC, BTC_ADDRESS, ETH
from swapdesk.clock import ManualClock
from swapdesk.service.handlers import ServiceParts
from swapdesk.wire.encoding.codec import decode
from swapdesk.wire.multi import MultiExchange


def row(amount: object = 0.5, **more: Any) -> dict[str, Any]:
    return {"from": ETH.id, "to": BTC.id, "amount": amount, "addressTo": BTC_ADDRESS, **more}


async def group(api: httpx2.AsyncClient, *rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A new group, with figures as texts."""
    answer = (
        await api.post("/exchanges/multi", json={"orders": list(rows), **more})
    ).raise_for_status()
    decode(MultiExchange, answer.content, side="client")
    return json.loads(answer.content, parse_float=str)


async def opened(service: ServiceParts, clock: ManualClock) -> None:
    """The worker sets up what is due."""
    await service.worker.step(clock.now())


async def set_up(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock, *rows: dict[str, Any]
) -> tuple[str, list[str]]:
    """A group whose orders await their deposits: its id and theirs."""
    told = await group(api, *rows)
    await opened(service, clock)
    return told["multiId"], [each["order"]["serviceId"] for each in told["orders"]]
