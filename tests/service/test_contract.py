"""schemathesis over the served document, in process, with every check it has by default."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from schemathesis.checks import CHECKS
from schemathesis.core.parameters import ParameterLocation
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

import swapdesk
from service.price_venue import PriceVenue
from service.world import AS_FIRST, BTC, CHAINS, ETH, INTERMEDIARIES, PARTNERS, TOKENS
from swapdesk.clock import SystemClock
from swapdesk.service.app import build_service
from swapdesk.service.assembly import assemble
from swapdesk.service.openapi import encoded_document
from swapdesk.service.openapi_schemas import LINE
from swapdesk.service.store.sqlite import SqliteStore

EXAMPLES = 12
FULL_EXAMPLES = 300

_printable = st.characters(min_codepoint=0x20, max_codepoint=0x7E)
schemathesis.openapi.format(
    LINE, st.text(_printable, min_size=1, max_size=16).map(str.strip).filter(bool)
)

# Rules that a schema cannot state: the amount against the token and the market, one side
# against the other, the quote against what was quoted.
BEYOND_A_SCHEMA = (
    "no blank at the beginning or the end",
    "must differ from",
    "must not be after",
    "decimals",
    "hasSelfPrivate",
    "is no provider code",
    "needs fixed=true",
    "needs rotatePayoutWallets=true",
    "is not supported with types=dex",
)


async def the_document(request: Request) -> Response:
    return Response(encoded_document(swapdesk.__version__), media_type="application/json")


OBJECT_ID = re.compile("[0-9a-fA-F]{24}")
# JSON numbers that a query does not take: with an exponent, or finer than 40 decimals.
NOTATION = re.compile(r"[0-9]+(\.[0-9]+)?e[+-]?[0-9]+|[0-9]+\.[0-9]{41,}…?")


class Late:
    """The application under test. Tests are collected before it exists: then it is the document."""

    def __init__(self) -> None:
        self.service: ASGIApp = Starlette(routes=[Route("/v2/openapi.json", the_document)])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.service(scope, receive, send)


LATE = Late()
schema = schemathesis.openapi.from_asgi("/v2/openapi.json", LATE)


@pytest.fixture(scope="module", autouse=True)
def _served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The application the document is tested against, which must serve that very document."""
    store = SqliteStore.open(tmp_path_factory.mktemp("contract") / "service.db")
    parts = assemble(
        SystemClock(),
        random.Random(3),
        store,
        CHAINS,
        TOKENS,
        [PriceVenue("aa"), PriceVenue("bb", fee=Decimal("0.02"))],
        PARTNERS,
        INTERMEDIARIES,
    )
    LATE.service = build_service(parts)
    served = asyncio.run(read_document(LATE))
    assert served == schema.raw_schema
    yield
    asyncio.run(store.close())


async def read_document(app: Any) -> Any:
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, headers=AS_FIRST) as client:
        return (await client.get("http://service/v2/openapi.json")).json()


@schema.hook
def map_query(context: Any, query: Any) -> Any:
    """Numbers in plain notation, and every other token one that exists."""
    if not query:
        return query
    written = dict(query)
    for name, value in query.items():
        if isinstance(value, float):
            written[name] = format(Decimal(repr(value)), "f")
    for name, known in (("from", BTC), ("to", ETH), ("tokenIdFrom", BTC), ("tokenIdTo", ETH)):
        value = written.get(name)
        if isinstance(value, str) and OBJECT_ID.fullmatch(value) and value[0] in "01234567":
            written[name] = known.id
    return written


def beyond_a_schema(answer: Any) -> bool:
    """Whether a well-formed request was refused for a rule of the market."""
    if answer.status_code != 422:
        return False
    body = answer.json()
    return body["code"] != "VALIDATION_ERROR" or any(
        any(reason in problem["message"] for reason in BEYOND_A_SCHEMA)
        or NOTATION.fullmatch(str(problem.get("value")))
        for problem in body["fields"].values()
    )


def spoiled_headers(case: Any) -> bool:
    """Whether the case is about wrong headers, which good credentials would repair."""
    headers = case.meta.components.get(ParameterLocation.HEADER) if case.meta else None
    return headers is not None and headers.mode.is_negative


def check(case: Any) -> None:
    # A copy: the test client adds its own headers to the mapping it is given.
    headers = None if spoiled_headers(case) else dict(AS_FIRST)
    answer = case.call(headers=headers)
    excluded = CHECKS.get_by_names(["positive_data_acceptance"]) if beyond_a_schema(answer) else []
    case.validate_response(answer, excluded_checks=excluded, headers=headers)


SMALL = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


@schema.parametrize()
@SMALL
def test_contract(case: Any) -> None:
    check(case)


@pytest.mark.long
@pytest.mark.timeout(1800)
@schema.parametrize()
@settings(SMALL, max_examples=FULL_EXAMPLES, derandomize=False)
def test_contract_at_full_size(case: Any) -> None:
    check(case)
