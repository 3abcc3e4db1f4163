"""Every error code of every operation that documents it, raised over HTTP with its exact body."""

from __future__ import annotations

import random
import re
import uuid
from collections.abc import Awaitable, Callable
from datetime import datetime
from itertools import count
from typing import Any

import httpx2
import pytest
from eth_account import Account
from eth_account.messages import encode_defunct
from msgspec import Struct
from msgspec.structs import replace

from service.http_calls import signed_headers
from service.plain_bundler import PlainBundler
from service.price_venue import PriceVenue
from service.test_access import path_of
from service.world import (
    AS_FREE,
    AS_SUSPENDED,
    BTC,
    BTC_ADDRESS,
    BY_PARTNER_ID,
    DISABLED,
    ETH,
    EVM,
    FIRST,
    PARTNERS,
    UNKNOWN_TOKEN,
)
from swapdesk.chain.rpc.evm import EvmClient
from swapdesk.clock import ManualClock
from swapdesk.service.access import ApiKey, Partner, Tier, digest
from swapdesk.service.app import Onchain
from swapdesk.service.dex.desk import EvmSightings
from swapdesk.service.errors import ServiceError, invalid
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.orders.draft import draft
from swapdesk.service.rate_limits import STRANGER_READS
from swapdesk.service.store.database import StoreUnavailable
from swapdesk.service.store.records import (
    BundleState,
    StoredBatch,
    StoredBundle,
    StoredGroup,
    StoredQuote,
)
from swapdesk.service.venues.adapter import (
    CentralizedVenue,
    DepositAddressesInUse,
    DepositInstruction,
    LegOrder,
    VenueTraits,
)
from swapdesk.service.venues.onchain.reader import ChainPlace, OnchainReader
from swapdesk.wire.account import RateWindows
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.errors import STATUS_OF, ErrorCode
from swapdesk.wire.exchanges import ExchangeRequest
from swapdesk.wire.operation import Operation
from swapdesk.wire.operations import BODY_LIMIT, BY_NAME, OPERATIONS


class FullVenue(PriceVenue):
    """All its static deposit addresses are held."""

    async def open(self, leg: LegOrder) -> DepositInstruction:
        raise DepositAddressesInUse("no address is free")


@pytest.fixture
def clock() -> FalteringClock:
    return FalteringClock()


@pytest.fixture
def venue_list(
    aa: PriceVenue, bb: PriceVenue, cc: PriceVenue, clock: ManualClock
) -> list[CentralizedVenue]:
    fixed = VenueTraits(fixed=True)
    late = PriceVenue("late", traits=fixed, rates_until=clock.now())
    held = VenueTraits(fixed=True, static_deposits=True)
    return [aa, bb, cc, late, PriceVenue("kept", traits=fixed), FullVenue("full", traits=held)]


@pytest.fixture
def partner_list() -> list[Partner]:
    return [*PARTNERS, ONE_CALL]


@pytest.fixture
def onchain(clock: ManualClock) -> Onchain:
    return Onchain(sightings={"ethereum": nobody_asks(clock)}, bundler=PlainBundler())


def nobody_asks(clock: ManualClock) -> EvmSightings:
    """A chain of which no error here has to know anything but how its hashes are written."""
    place = ChainPlace("ethereum", 1, "http://127.0.0.1:1/", "", 1)
    return EvmSightings(OnchainReader(place, EvmClient(place.rpc), clock))


def test_every_code_has_a_way() -> None:
    assert set(ErrorCode) == set(WAYS)
    assert set(STATUS_OF) == set(ErrorCode)


@pytest.mark.proves("code INTERNAL_SERVER_ERROR")
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
async def test_error(
    api: httpx2.AsyncClient,
    anyone: httpx2.AsyncClient,
    service: ServiceParts,
    clock: FalteringClock,
    caplog: pytest.LogCaptureFixture,
    operation: Operation,
) -> None:
    asking = Asking(operation, api, anyone, service, clock)
    for code in sorted({*operation.errors, ErrorCode.METHOD_NOT_ALLOWED}, key=last_of_all):
        caplog.clear()
        check_body(await WAYS[code](asking), code, caplog)


def last_of_all(code: ErrorCode) -> bool:
    """Who was refused for a limit is refused for nothing else."""
    return code is ErrorCode.RATE_LIMIT_EXCEEDED


def check_body(answer: httpx2.Response, code: ErrorCode, caplog: pytest.LogCaptureFixture) -> None:
    body = answer.json()
    assert (answer.status_code, body["code"]) == (STATUS_OF[code], code)
    assert answer.headers["content-type"] == "application/json"
    wanted = {"message", "code", "requestId"} | ({"fields"} if answer.status_code == 422 else set())
    assert body.keys() == wanted
    assert re.fullmatch(r"[A-Z].*\.|Validation Failed", body["message"])
    assert uuid.UUID(body["requestId"]).version == 4
    assert body["requestId"] == answer.headers["x-request-id"]
    assert ("retry-after" in answer.headers) == (answer.status_code in (429, 503))
    assert "detail" not in answer.text
    logged = [body["requestId"] in each.getMessage() for each in caplog.records if each.exc_info]
    assert logged == ([True] if answer.status_code == 500 else []), "whole, and for us alone"
    for problem in body.get("fields", {}).values():
        assert problem.keys() <= {"message", "value"}
        assert problem["message"]


async def test_documented_codes_are_those_raised() -> None:
    """Beyond the one that belongs to no row, every code stands in the table."""
    rowless = {ErrorCode.METHOD_NOT_ALLOWED}
    documented = {code for operation in OPERATIONS for code in operation.errors}
    assert documented == set(ErrorCode) - rowless


def test_a_422_always_has_fields() -> None:
    error = ServiceError(ErrorCode.INVALID_SWAP, "The quote is not known.")
    assert encode_json(error.body("an-id")) == (
        b'{"message":"The quote is not known.","code":"INVALID_SWAP","requestId":"an-id",'
        b'"fields":{}}'
    )


def test_a_field_has_a_value_only_when_one_was_sent() -> None:
    with_value = invalid("amount", "must be a number", "x").body("an-id")
    without = invalid("amount", "is required").body("an-id")
    assert b'"fields":{"amount":{"message":"must be a number","value":"x"}}' in encode_json(
        with_value
    )
    assert b'"fields":{"amount":{"message":"is required"}}' in encode_json(without)


# How every error of every operation that documents it comes about, over HTTP


RECEIVERS = {"create_exchange": EVM, "create_private_send": BTC_ADDRESS}
QUOTES_FOR = {
    "create_exchange": "get_quotes",
    "create_private_send": "get_private_send_quotes",
}
JSON = {"content-type": "application/json"}

ONE = RateWindows(per_minute=1, per_hour=1, per_day=1)
ONE_CALL = Partner(
    "partner-one", "One", Tier.PRO, (ApiKey("one-key", digest(b"one-secret")),), ONE, ONE, ONE
)
AS_ONE_CALL = {"Authorization": "one-key:one-secret"}


class FalteringClock(ManualClock):
    """A clock whose next look fails in the way a test asks for, and no other."""

    failure: Exception | None = None

    def now(self) -> datetime:
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure
        return super().now()


_numbers = count()


class Asking(Struct):
    """One operation of one service, and how to ask it."""

    operation: Operation
    api: httpx2.AsyncClient
    anyone: httpx2.AsyncClient
    service: ServiceParts
    clock: FalteringClock

    async def send(
        self,
        query: dict[str, str] | None = None,
        *,
        anonymous: bool = False,
        method: str | None = None,
        group: str = "abc",
        **more: Any,
    ) -> httpx2.Response:
        """Ask with these parameters; wrong ones where none are given."""
        client = self.anyone if anonymous else self.api
        method = method or self.operation.method
        path = path_of(self.operation).replace("abc", group)
        if self.operation.signed and not anonymous:
            # Past the clock's next look, which may fail.
            request = client.build_request(method, path, **more)
            at = int(ManualClock.now(self.clock).timestamp())
            signed = signed_headers(request.read(), at)
            more = {**more, "headers": {**(more.get("headers") or {}), **signed}}
        return await client.request(method, path, params=query, **more)

    async def quote(self, amount: str = "0.5", token: str = BTC.id, **more: Any) -> httpx2.Response:
        """Ask for quotes, or for limits."""
        query = {"amount": amount, "from": token, "to": ETH.id, **more}
        if self.operation.name == "get_pair_limits":
            query = {"tokenIdFrom": token, "tokenIdTo": ETH.id}
        if self.operation.name == "get_private_send_quotes":
            del query["to"]
        headers = query.pop("headers", None)
        return await self.send(query, headers=headers)

    async def quoted(self, **query: str) -> StoredQuote:
        """The first usable quote of the kind the create takes."""
        asking = replace(self, operation=BY_NAME[QUOTES_FOR[self.operation.name]])
        answer = await asking.quote(**query)
        first = next(row for row in answer.json()["quotes"] if "error" not in row)
        return await self.service.store.quotes.get(FIRST.partner_id, first["quoteId"])

    async def create(
        self, quote: StoredQuote | None, headers: dict[str, str] | None = None
    ) -> httpx2.Response:
        """Create from a quote; from one that nobody knows when it is None."""
        body = {
            "quoteId": "0" * 24 if quote is None else quote.quote_id,
            "addressTo": RECEIVERS[self.operation.name],
            "refundAddress": BTC_ADDRESS,
        }
        return await self.send(json=body, headers=headers)

    async def altered(self, **changes: Any) -> StoredQuote:
        """A usable quote that was stored otherwise."""
        quote = replace(await self.quoted(), quote_id=f"1{next(_numbers):023}", **changes)
        await self.service.store.quotes.save([quote])
        return quote


Way = Callable[[Asking], Awaitable[httpx2.Response]]


async def by_nobody(asking: Asking) -> httpx2.Response:
    if asking.operation.signed:
        return await asking.send(anonymous=True, json={})
    return await asking.send(headers={"Authorization": "nobody:nothing"})


async def twice(asking: Asking) -> httpx2.Response:
    if asking.operation.signed:
        for _ in range(STRANGER_READS):
            await asking.send(anonymous=True)
        return await asking.send(anonymous=True)
    await asking.send(headers=AS_ONE_CALL)
    return await asking.send(headers=AS_ONE_CALL)


def failing(failure: Exception) -> Way:
    async def ask(asking: Asking) -> httpx2.Response:
        asking.clock.failure = failure
        return await asking.send()

    return ask


async def as_a_group(
    asking: Asking, headers: dict[str, str] | None = None, **changes: Any
) -> httpx2.Response:
    order = {"from": BTC.id, "to": ETH.id, "amount": 1, "addressTo": EVM, **changes}
    return await asking.send(json={"orders": [order]}, headers=headers)


async def for_a_disabled_token(asking: Asking) -> httpx2.Response:
    """Its path, quotes and limits refuse it; a create, when it was disabled after it was quoted."""
    if asking.operation.name == "create_multi_exchange":
        return await as_a_group(asking, to=DISABLED.id)
    if asking.operation.writes:
        return await asking.create(await asking.altered(token_in_id=DISABLED.id))
    if asking.operation.name == "get_token":
        return await asking.api.get(f"/tokens/{DISABLED.id}")
    return await asking.quote(token=DISABLED.id)


async def for_an_unknown_token(asking: Asking) -> httpx2.Response:
    if asking.operation.name == "create_multi_exchange":
        return await as_a_group(asking, to=UNKNOWN_TOKEN)
    if asking.operation.name == "get_token":
        return await asking.api.get(f"/tokens/{UNKNOWN_TOKEN}")
    return await asking.quote(token=UNKNOWN_TOKEN)


async def without_fixed_rates(asking: Asking) -> httpx2.Response:
    """An account that may not ask, and one that may not any more."""
    if asking.operation.name == "create_multi_exchange":
        return await as_a_group(asking, AS_FREE, fixed=True)
    if asking.operation.writes:
        quote = await asking.altered(fixed=True, partner_id="partner-free")
        return await asking.create(quote, AS_FREE)
    return await asking.quote(fixed="true", headers=AS_FREE)


def from_a_fixed_quote(code: str) -> Way:
    """A create from a fixed quote whose last venue is this one."""

    async def create(asking: Asking) -> httpx2.Response:
        choice = {"swaps": code}
        if asking.operation.name == "create_private_send":
            choice = {"outLegIncludedSwaps": code, "inLegIncludedSwaps": "kept"}
        return await asking.create(await asking.quoted(fixed="true", **choice))

    return create


async def no_venue_opens(asking: Asking) -> httpx2.Response:
    """The venues of this world price and refuse to open."""
    return await asking.create(await asking.quoted())


A_HASH = "0x" + "ab" * 32


async def of_nothing(asking: Asking) -> httpx2.Response:
    """An order, a quote or a source of webhooks that nobody knows."""
    if asking.operation.name == "dex_confirm_transaction":
        return await asking.send(json={"id": "nothing", "txHash": A_HASH})
    if asking.operation.signed:
        return await asking.anyone.post("/webhooks/nobody")
    if asking.operation.name == "get_multi_transactions":
        return await asking.send({"sender": "a"})
    body = BUNDLE_BODIES.get(asking.operation.name)
    return await asking.send(json=body)


BUNDLE_BODIES: dict[str, dict[str, Any]] = {
    "build_multi_transactions": {"sender": EVM},
    "submit_multi_transactions": {"signatures": ["0xab"]},
}


async def a_bundle(asking: Asking, state: BundleState) -> httpx2.Response:
    """Build for a group, or submit, when there is a bundle in this state for its only order; a
    pending one has expired."""
    now, store, owner = asking.clock.now(), asking.service.store, Account.from_key("0x" + "11" * 32)
    creating = replace(asking, operation=BY_NAME["create_exchange"])
    request = ExchangeRequest(quote_id="0" * 24, address_to=EVM)
    drafted = draft(await creating.quoted(), request, "digest", now, random.Random(1))
    order = replace(drafted, status=0, deposit_address=EVM, multi_id=state)
    await store.groups.begin(StoredGroup(state, FIRST.partner_id, now, "ethereum"), [order])
    hashed = "0x" + "ab" * 32
    batch = StoredBatch((order.service_id,), {}, hashed, EVM, "0.7")
    expires = now if state == "pending" else order.expires
    about = (0, state, FIRST.partner_id, "ethereum", now, now, expires, state, owner.address)
    await store.groups.save_bundle(StoredBundle(*about, (batch,)))
    signed = owner.sign_message(encode_defunct(hexstr=hashed)).signature.hex()
    bodies = {
        "build_multi_transactions": {"sender": owner.address},
        "submit_multi_transactions": {"signatures": ["0x" + signed.removeprefix("0x")]},
    }
    return await asking.send(group=state, json=bodies[asking.operation.name])


async def an_order(asking: Asking, **changes: Any) -> str:
    """A DEX order in the store; its id."""
    creating = replace(asking, operation=BY_NAME["create_exchange"])
    quote = await creating.altered(route="dex", legs=("zz",))
    request = ExchangeRequest(quote_id=quote.quote_id, address_to=EVM)
    drafted = draft(quote, request, "digest", asking.clock.now(), random.Random(quote.quote_id))
    order = replace(drafted, **changes)
    await asking.service.store.orders.begin(order)
    return order.service_id


async def that_was_done(asking: Asking) -> httpx2.Response:
    """A bundle that was submitted, or an order whose transaction is known."""
    if asking.operation.name in BUNDLE_BODIES:
        return await a_bundle(asking, "submitted")
    known = {"confirmedHash": "0x" + "cd" * 32, "sourceChain": "ethereum"}
    service_id = await an_order(asking, status=1, detail=known)
    return await asking.send(json={"id": service_id, "txHash": A_HASH})


async def with_what_cannot_be_used(asking: Asking) -> httpx2.Response:
    """A quote that nobody knows, an order that has ended, or a bundle of such orders."""
    if asking.operation.name == "submit_multi_transactions":
        return await a_bundle(asking, "pending")
    body: dict[str, Any] = {"quoteId": "0" * 24, "addressFrom": EVM}
    if asking.operation.name == "dex_confirm_transaction":
        ended = await an_order(asking, status=6, detail={"sourceChain": "ethereum"})
        body = {"id": ended, "txHash": A_HASH}
    elif asking.operation.name == "dex_chain_signatures":
        given = {"signature": "0x00", "key": "order"}
        body |= {"previousSignature": given, "signatureKey": "order", "signatureStep": 0}
    elif not asking.operation.name.startswith("dex_"):
        return await asking.create(None)
    return await asking.send(json=body)


WAYS: dict[ErrorCode, Way] = {
    ErrorCode.BAD_REQUEST: lambda asking: asking.send(content=b"[]", headers=JSON),
    ErrorCode.INVALID_API_CREDENTIALS: by_nobody,
    ErrorCode.PARTNER_ID_NOT_SUPPORTED: lambda asking: asking.send(
        anonymous=True, headers=BY_PARTNER_ID
    ),
    ErrorCode.ACCESS_DENIED: lambda asking: asking.send(headers=AS_SUSPENDED),
    ErrorCode.FIXED_RATE_NOT_ALLOWED: without_fixed_rates,
    ErrorCode.NOT_FOUND: of_nothing,
    ErrorCode.ALREADY_SUBMITTED: that_was_done,
    ErrorCode.TOKEN_NOT_FOUND: for_an_unknown_token,
    ErrorCode.TOKEN_DISABLED: for_a_disabled_token,
    ErrorCode.METHOD_NOT_ALLOWED: lambda asking: asking.send(method="DELETE"),
    ErrorCode.STATIC_DEPOSIT_IN_USE: from_a_fixed_quote("full"),
    ErrorCode.PAYLOAD_TOO_LARGE: lambda asking: asking.send(
        content=b" " * (BODY_LIMIT + 1), headers=JSON
    ),
    ErrorCode.UNSUPPORTED_MEDIA_TYPE: lambda asking: asking.send(content=b"{}"),
    ErrorCode.VALIDATION_ERROR: lambda asking: asking.send(
        {"dateFrom": "2026-01-01"}, json={} if asking.operation.writes else None
    ),
    ErrorCode.AMOUNT_TOO_LOW: lambda asking: asking.quote("0.00000001"),
    ErrorCode.QUOTE_OVER_LIMIT: lambda asking: asking.quote("1000"),
    ErrorCode.INVALID_SWAP: with_what_cannot_be_used,
    ErrorCode.FIXED_RATE_QUOTE_EXPIRED: from_a_fixed_quote("late"),
    ErrorCode.RATE_LIMIT_EXCEEDED: twice,
    ErrorCode.INTERNAL_SERVER_ERROR: failing(KeyError("detail")),
    ErrorCode.PROVIDER_EXCHANGE_FAILED: no_venue_opens,
    ErrorCode.SERVICE_UNAVAILABLE: failing(StoreUnavailable("detail")),
}
"""How each code comes about; a way serves every operation that documents the code."""
