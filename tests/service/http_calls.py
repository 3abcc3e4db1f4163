"""Reading answers, and requests that a careful client would not send."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Awaitable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from starlette.types import ASGIApp, Receive

from service.world import AS_FIRST, CHAINS, INTERMEDIARIES, PARTNERS, TOKENS, WEBHOOK_SECRETS
from swapdesk.clock import Clock
from swapdesk.service.access import Partner
from swapdesk.service.app import assemble, build_service
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.store.store import Store
from swapdesk.service.venues.adapter import CentralizedVenue
from swapdesk.wire.errors import STATUS_OF, ErrorCode
from swapdesk.wire.webhook_signature import signature

BASE = "http://service/v2"
JSON = {"content-type": "application/json"}


def small_service(
    clock: Clock,
    store: Store,
    partners: Sequence[Partner] = PARTNERS,
    venues: Iterable[CentralizedVenue] = (),
    **more: Any,
) -> ServiceParts:
    """Over the tiny world, without a venue unless some are given; ``more`` is what is not its."""
    tiny = {"chains": CHAINS, "tokens": TOKENS, "intermediaries": INTERMEDIARIES}
    given = tiny | {"venues": venues, "partners": partners} | more
    return assemble(clock, random.Random(7), store, **given)


def calling(
    app: ASGIApp,
    headers: dict[str, str] | None = None,
    address: str = "127.0.0.1",
    **more: Any,
) -> httpx2.AsyncClient:
    """A client of a service in this process."""
    transport = httpx2.ASGITransport(app=app, client=(address, 1))
    return httpx2.AsyncClient(transport=transport, base_url=BASE, headers=headers, **more)


@asynccontextmanager
async def running(
    service: ServiceParts, headers: dict[str, str] | None = None
) -> AsyncIterator[httpx2.AsyncClient]:
    """The service with what works in its background."""
    app = build_service(service)
    async with app.router.lifespan_context(app), calling(app, headers) as client:
        yield client


def code(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def fields(answer: httpx2.Response) -> dict[str, Any]:
    assert code(answer) == (422, "VALIDATION_ERROR")
    assert answer.json().keys() == {"message", "code", "requestId", "fields"}
    return answer.json()["fields"]


async def declined(
    call: Awaitable[httpx2.Response], wanted: str = "VALIDATION_ERROR", field: str = ""
) -> dict[str, Any]:
    """The body of a refusal with this code and its status, for this field alone where there is
    one."""
    answer = await call
    assert code(answer) == (STATUS_OF[ErrorCode(wanted)], wanted)
    assert not field or answer.json()["fields"].keys() == {field}
    return answer.json()


async def raw_call(
    service: ServiceParts, receive: Receive, headers: Iterable[tuple[bytes, bytes]], **scope: Any
) -> list[Any]:
    """What the application sends for a scope that no client would make."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    usual = {"type": "http", "method": "POST", "root_path": "", "query_string": b""}
    scope = {**usual, "raw_path": scope["path"].encode(), "headers": [*headers], **scope}
    await build_service(service)(scope, receive, send)
    return sent


AUTHORIZED = (b"authorization", AS_FIRST["Authorization"].encode())


async def raw_get(service: ServiceParts, path: str, query: bytes) -> tuple[int, Any]:
    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    sent = await raw_call(
        service, receive, [AUTHORIZED], method="GET", path=path, query_string=query
    )
    return sent[0]["status"], json.loads(sent[1]["body"])


# Events as their sources sign them


def signed_headers(
    body: bytes, at: int, *, source: str = "aa", event_id: str = "evt_1"
) -> dict[str, str]:
    """The headers of a source's delivery, signed at this second; without the kind of the body."""
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(at),
        "webhook-signature": signature(WEBHOOK_SECRETS[source], event_id, at, body),
    }


def delivery(body: bytes, at: int, **more: str) -> dict[str, str]:
    """All headers of one."""
    return {**JSON, **signed_headers(body, at, **more)}
