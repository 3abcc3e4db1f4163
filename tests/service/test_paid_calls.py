"""Calls without credentials that are paid one by one: what is asked, taken, freed and withheld.

Who looks at the chain is scripted here; ``sandbox/test_paid_calls.py`` has the real one.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest

import manual_time
from rows import each_row
from service.blade import Cut
from service.http_calls import calling, raw_call
from service.new_store import announced, found, open_new
from service.orders_fixtures import venues_at
from service.test_orders_api import BTC_ADDRESS
from service.venue import PlainVenue
from service.world import (
    AS_FIRST,
    BTC,
    BY_PARTNER_ID,
    ETH,
    UNKNOWN,
)
from swapdesk.clock import ManualClock
from swapdesk.service.app import Onchain, build_service
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.orders.route_opening import CARRY_SECONDS
from swapdesk.service.payments import (
    FOLLOW_SECONDS,
    PAYMENTS_KEPT,
    SETTLING_SECONDS,
    CallPayment,
    CallPayments,
    CallTerms,
    Note,
    Reason,
    Settled,
)
from swapdesk.service.store.store import Store
from swapdesk.wire.operation import Access
from swapdesk.wire.operations import OPERATIONS
from swapdesk.wire.orders import LegStatus, OrderStatusCode
from swapdesk.wire.price_tiers import PriceTier

TERMS = CallTerms(
    chain_id=8453,
    asset="0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    name="USD Coin",
    version="2",
    pay_to="0x" + "1A" * 20,
)
ANN = "0x" + "2b" * 20
QUOTE = {"amount": "0.5", "from": ETH.id, "to": BTC.id}


SENT = "0x" + "cc" * 32
FAILED = Settled(reason="invalid_exact_evm_transaction_failed")
OPEN = Settled(reason="chain_unavailable", open=True)


class ScriptedFacilitator:
    """Takes what it is told to take; ``settled`` are nonces in their sequence, ``first`` is what
    comes of the first ones, and ``later`` what a look finds."""

    def __init__(self) -> None:
        self.reason: Reason | None = None
        self.result = Settled("0x" + "aa" * 32)
        self.first: list[Settled] = []
        self.later = OPEN
        self.killed: Literal["before", "after"] | None = None
        self.settled: list[str] = []

    async def objection(self, payment: CallPayment) -> Reason | None:
        return self.reason

    async def settle(self, payment: CallPayment, note: Note) -> Settled:
        self.settled.append(payment.nonce)
        if self.killed == "before":
            raise Cut
        await note(SENT)
        if self.killed == "after":
            raise Cut
        return self.first.pop(0) if self.first else self.result

    async def outcome(self, transaction: str) -> Settled:
        assert transaction == SENT
        return self.later


@pytest.fixture
def venue_list() -> list[PlainVenue]:
    return venues_at()


@pytest.fixture
def facilitator() -> ScriptedFacilitator:
    return ScriptedFacilitator()


@pytest.fixture
def onchain(facilitator: ScriptedFacilitator) -> Onchain:
    return Onchain(payments=(TERMS, facilitator))


class Pays(httpx2.Auth):
    """Pays every call out of one account, whatever it costs; ``change`` spoils a payment."""

    requires_response_body = True

    def __init__(self, payer: str, clock: ManualClock) -> None:
        self._payer = payer
        self._clock = clock
        self._number = 0
        self.change: Callable[[dict[str, Any]], object] = lambda payment: None
        self.last = ""

    def payment(self, entry: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        ends = self._clock.now() + timedelta(seconds=60)
        nonce = f"0x{self._payer[2:4]}{self._number:062x}"
        return {
            "x402Version": 2,
            "accepted": entry,
            "payload": {
                "signature": "0x" + "4d" * 64 + "1b",
                "authorization": {
                    "from": self._payer,
                    "to": entry["payTo"],
                    "value": entry["amount"],
                    "validAfter": "0",
                    "validBefore": str(int(ends.timestamp())),
                    "nonce": nonce,
                },
            },
        }

    def auth_flow(self, request: httpx2.Request):  # type: ignore[no-untyped-def]
        answer = yield request
        if answer.status_code == 402:
            payment = self.payment(required(answer)["accepts"][0])
            self.change(payment)
            self.last = request.headers["payment-signature"] = encoded(payment)
            yield request


def encoded(payment: object) -> str:
    return base64.b64encode(json.dumps(payment).encode()).decode()


def required(answer: httpx2.Response) -> dict[str, Any]:
    return json.loads(base64.b64decode(answer.headers["payment-required"]))


def told(answer: httpx2.Response) -> dict[str, Any]:
    return json.loads(base64.b64decode(answer.headers["payment-response"]))


class Caller:
    """An address on the network, and perhaps an account that pays."""

    def __init__(self, service: ServiceParts, address: str, payer: str | None = None) -> None:
        self.pays = None if payer is None else Pays(payer, service.clock)  # type: ignore[arg-type]
        self.http = calling(build_service(service), address=address, auth=self.pays)


@pytest.fixture
async def ann(service: ServiceParts) -> AsyncIterator[Caller]:
    caller = Caller(service, "10.0.0.1", ANN)
    async with caller.http:
        yield caller


async def test_what_is_priced_asks_for_its_price_and_credentials_skip_it(
    anyone: httpx2.AsyncClient,
) -> None:
    for operation in OPERATIONS:
        if operation.access is Access.OPEN:
            continue
        path = operation.path.replace("{", "").replace("}", "")
        body = {} if operation.method == "POST" else None
        answer = await anyone.request(operation.method, path, json=body)
        if operation.price_tier is PriceTier.FREE:
            assert answer.status_code == 401, path
            continue
        assert (answer.status_code, answer.content) == (402, b"{}"), path
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-request-id"]
        asked = required(answer)
        assert asked["x402Version"] == 2
        assert asked["resource"]["url"] == f"http://service/v2{path}"
        assert asked["accepts"] == [
            {
                "scheme": "exact",
                "network": "eip155:8453",
                "amount": str(TERMS.prices[operation.price_tier]),
                "asset": TERMS.asset,
                "payTo": TERMS.pay_to,
                "maxTimeoutSeconds": 60,
                "extra": {"name": "USD Coin", "version": "2"},
            }
        ]
    for headers in (AS_FIRST, BY_PARTNER_ID, {"authorization": "a:b"}, {"partner-id": "nobody"}):
        assert (await anyone.get("/orders", headers=headers)).status_code != 402
    assert (await anyone.get("/orders?apiKey=x")).status_code == 401


async def test_a_browser_gets_a_page_without_scripts(anyone: httpx2.AsyncClient) -> None:
    browser = {"accept": "text/html,*/*;q=0.8", "user-agent": "Mozilla/5.0 (X11)"}
    page = await anyone.get("/tokens", headers={**browser, "host": "<script>alert(1)</script>"})
    assert page.status_code == 402
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert required(page)["accepts"]
    assert "<script" not in page.text
    assert "://" not in page.text
    for one in ({"accept": "text/html"}, {"user-agent": "Mozilla/5.0"}):
        assert (await anyone.get("/tokens", headers=one)).content == b"{}"


async def test_a_payment_serves_one_call_and_is_settled_after_it(
    ann: Caller, facilitator: ScriptedFacilitator
) -> None:
    answer = await ann.http.get("/quotes", params=QUOTE)
    assert answer.status_code == 200
    paid = told(answer)
    assert paid.pop("payer").lower() == ANN
    assert paid == {
        "success": True,
        "transaction": "0x" + "aa" * 32,
        "network": "eip155:8453",
    }
    assert len(facilitator.settled) == 1
    again = await ann.http.get(
        "/quotes", params=QUOTE, headers={"payment-signature": ann.pays.last}, auth=None
    )
    assert (again.status_code, required(again)["error"]) == (
        402,
        "invalid_exact_evm_nonce_already_used",
    )
    assert len(facilitator.settled) == 1


async def test_what_is_refused_costs_nothing_and_frees_the_payment(
    ann: Caller, facilitator: ScriptedFacilitator
) -> None:
    refused = await ann.http.get("/quotes", params={**QUOTE, "amount": "x"})
    assert refused.status_code == 422
    assert "payment-response" not in refused.headers
    assert facilitator.settled == []
    served = await ann.http.get(
        "/quotes", params=QUOTE, headers={"payment-signature": ann.pays.last}, auth=None
    )
    assert served.status_code == 200
    assert len(facilitator.settled) == 1


@pytest.mark.parametrize("open_", [False, True])
async def test_without_a_settlement_the_answer_is_withheld(
    ann: Caller, facilitator: ScriptedFacilitator, store: Store, open_: bool
) -> None:
    reason = "chain_unavailable" if open_ else "invalid_exact_evm_transaction_failed"
    facilitator.result = Settled(reason=reason, open=open_)
    quote = await ann.http.get("/quotes", params=QUOTE)
    assert (quote.status_code, quote.content) == (402, b"{}")
    assert told(quote)["success"] is False
    assert (told(quote)["errorReason"], required(quote)["error"]) == (reason, reason)
    # What may still be executed never serves again; what failed may.
    facilitator.result = Settled("0x" + "bb" * 32)
    again = await ann.http.get(
        "/quotes", params=QUOTE, headers={"payment-signature": ann.pays.last}, auth=None
    )
    assert again.status_code == (402 if open_ else 200)


class Told:
    """A connection of a payer that watches every order."""

    key = ""

    def __init__(self, payer: str) -> None:
        self.partner_id = f"x402:{payer}"
        self.heard: list[str] = []

    def watches(self, service_id: str) -> bool:
        return True

    def offer(self, service_id: str) -> None:
        self.heard.append(service_id)

    def end(self, code: object = None) -> None:
        """The service ends."""


class Watched:
    """What one payer is told of orders, by every way that there is."""

    def __init__(self, service: ServiceParts, caller: Caller) -> None:
        self._service = service
        self._http = caller.http
        self.stream = Told(ANN)
        service.hub.join(self.stream)

    async def told(self, names: Sequence[str]) -> set[str]:
        """Which of the orders, or of the groups: each is told in full or not at all."""
        page = (await self._http.get("/orders")).json()
        listed = {each["serviceId"] for each in page["orders"]}
        assert page["total"] == len(listed)
        for name in names:
            statuses = {
                (await self._http.get(f"/orders/{name}")).status_code,
                (await self._http.post("/dex/confirmTx", json={"id": name})).status_code,
            }
            assert statuses == ({200, 422} if name in listed else {404})
            seen = await self._service.hub.find(self.stream.partner_id, name)
            assert (seen is not None) is (name in listed)
        self.stream.heard.clear()
        await announced(self._service.store)
        await self._service.hub.deliver(0)
        assert set(self.stream.heard) == listed
        return listed

    async def finished(self) -> int:
        """Of how many orders the books tell."""
        return (await self._http.get("/stats/volume")).json()["count"]


@pytest.fixture
def watched(service: ServiceParts, ann: Caller) -> Watched:
    return Watched(service, ann)


async def begun(ann: Caller, quote_id: str | None = None) -> tuple[dict[str, Any], httpx2.Response]:
    """A create, and its answer."""
    if quote_id is None:
        quote_id = (await ann.http.get("/quotes", params=QUOTE)).json()["quotes"][0]["quoteId"]
    body = {"quoteId": quote_id, "addressTo": BTC_ADDRESS}
    return body, await ann.http.post("/exchanges", json=body)


async def rows(store: Store) -> list[str]:
    """Every order that there is, in the sequence of their creation."""
    return [name for (name,) in await found(store, "SELECT service_id FROM orders ORDER BY number")]


async def test_of_eight_creates_at_once_with_money_for_one_one_is_told(
    ann: Caller, facilitator: ScriptedFacilitator, store: Store, watched: Watched
) -> None:
    quotes = (await ann.http.get("/quotes", params=QUOTE)).json()["quotes"]
    facilitator.first = [facilitator.result, *[FAILED] * 7]
    creates = [begun(ann, each["quoteId"]) for each in quotes[:8]]
    answers = [answer for _, answer in await asyncio.gather(*creates)]
    assert sorted(one.status_code for one in answers) == [200] + [402] * 7
    assert {one.content for one in answers if one.status_code == 402} == {b"{}"}
    [paid] = [one.json()["serviceId"] for one in answers if one.status_code == 200]
    names = await rows(store)
    assert len(names) == 8
    assert await watched.told(names) == {paid}


async def test_an_order_whose_payment_failed_is_carried_out_unheard_until_it_is_paid(
    ann: Caller,
    facilitator: ScriptedFacilitator,
    service: ServiceParts,
    store: Store,
    clock: ManualClock,
    venue_list: list[PlainVenue],
    watched: Watched,
) -> None:
    facilitator.first = [facilitator.result, FAILED]
    body, answer = await begun(ann)
    assert (answer.status_code, answer.content) == (402, b"{}")
    [name] = await rows(store)
    assert await watched.told([name]) == set()
    # Money that comes to an address that nobody was told goes where the order says.
    order = await store.orders.current(name)
    venue = next(each for each in venue_list if each.provider.short_name == order.legs[0])
    venue.move(f"{name}:in", LegStatus.FINISHED)
    clock.advance(60)
    await service.worker.step(clock.now())
    order = await store.orders.current(name)
    assert order.status == OrderStatusCode.FINISHED
    assert await watched.told([name]) == set()
    assert (await watched.finished(), (await store.books.recount()).agrees) == (0, True)
    # Whoever asks again, and pays, gets the order that there is, as with every repeated create.
    paid = await ann.http.post("/exchanges", json=body)
    assert (paid.status_code, paid.json()["serviceId"]) == (200, name)
    assert paid.json()["x402PayerAddress"].lower() == ANN
    assert await watched.told([name]) == {name}
    assert (await watched.finished(), (await store.books.recount()).agrees) == (1, True)


@pytest.mark.parametrize("settles", [True, False])
async def test_a_payment_that_settles_after_its_answer_was_withheld_tells_its_order(
    ann: Caller,
    facilitator: ScriptedFacilitator,
    service: ServiceParts,
    store: Store,
    clock: ManualClock,
    watched: Watched,
    settles: bool,
) -> None:
    facilitator.first = [facilitator.result, OPEN]
    _, answer = await begun(ann)
    withheld = {"payment-signature": ann.pays.last}
    assert answer.status_code == 402
    [name] = await rows(store)
    app = build_service(service)
    async with app.router.lifespan_context(app):
        await manual_time.pass_seconds(clock, FOLLOW_SECONDS + 1)
        assert await watched.told([name]) == set()
        facilitator.later = Settled(SENT) if settles else FAILED
        await manual_time.pass_seconds(clock, FOLLOW_SECONDS + 1)
    service.hub.join(watched.stream)
    assert await watched.told([name]) == ({name} if settles else set())
    # A payment that the chain refused was none, and may serve another call of its price.
    again = await ann.http.post("/dex/confirmTx", json={"id": name}, headers=withheld, auth=None)
    assert again.status_code == (402 if settles else 404)


@pytest.mark.parametrize("killed", ["before", "after"])
async def test_an_order_of_a_service_that_is_killed_before_its_settlement_is_told_by_that_alone(
    ann: Caller,
    facilitator: ScriptedFacilitator,
    service: ServiceParts,
    store: Store,
    tmp_path: Path,
    killed: Literal["before", "after"],
) -> None:
    quote = (await ann.http.get("/quotes", params=QUOTE)).json()["quotes"][0]["quoteId"]
    facilitator.killed = killed
    with pytest.raises(Cut):
        await begun(ann, quote)
    [name] = await rows(store)
    another = open_new(tmp_path / "service.db")
    try:
        assert await another.orders.get(f"x402:{ANN}", name) is None
        assert await found(another, "SELECT * FROM outbox") == []
        facilitator.later = Settled(SENT)
        await CallPayments(TERMS, facilitator, another, service.clock).follow()
        told = await another.orders.get(f"x402:{ANN}", name)
        assert (told is not None) is (killed == "after")
        assert len(await found(another, "SELECT * FROM outbox")) == (1 if told else 0)
    finally:
        await another.close()


async def test_a_create_that_failed_is_paid_by_the_same_payment_when_it_is_repeated(
    ann: Caller,
    facilitator: ScriptedFacilitator,
    service: ServiceParts,
    store: Store,
    clock: ManualClock,
    venue_list: list[PlainVenue],
    watched: Watched,
) -> None:
    """The venue opened, and its answer was lost: nobody knows, so nobody pays, yet."""
    quote = (await ann.http.get("/quotes", params=QUOTE)).json()["quotes"][0]["quoteId"]
    for venue in venue_list:
        venue.trouble.answers_lost = 1
    body, answer = await begun(ann, quote)
    unpaid = {"payment-signature": ann.pays.last}
    assert (answer.status_code, len(facilitator.settled)) == (503, 1)
    [name] = await rows(store)
    clock.advance(20)
    await service.worker.step(clock.now())
    assert await watched.told([name]) == set()
    paid = await ann.http.post("/exchanges", json=body, headers=unpaid, auth=None)
    assert (paid.status_code, paid.json()["serviceId"]) == (200, name)
    assert await watched.told([name]) == {name}


@pytest.mark.parametrize("settles", [True, False])
async def test_a_group_is_told_with_its_orders_once_it_is_paid(
    ann: Caller,
    facilitator: ScriptedFacilitator,
    store: Store,
    watched: Watched,
    settles: bool,
) -> None:
    order = {"from": ETH.id, "to": BTC.id, "amount": 0.5, "addressTo": BTC_ADDRESS}
    facilitator.first = [facilitator.result if settles else FAILED]
    answer = await ann.http.post("/exchanges/multi", json={"orders": [order, order]})
    assert answer.status_code == (200 if settles else 402)
    names = await rows(store)
    assert len(names) == 2
    assert await watched.told(names) == (set(names) if settles else set())
    row = await store.orders.current(names[0])
    group = f"/exchanges/multi/{row.multi_id}"
    status = await ann.http.get(group)
    assert status.status_code == (200 if settles else 404)
    if not settles:
        sender = {"sender": ANN}
        assert (await ann.http.get(f"{group}/tx", params=sender)).status_code == 404
        assert (await ann.http.post(f"{group}/tx/build", json=sender)).status_code == 404


async def test_a_create_is_refused_whose_payment_could_end_while_a_venue_opens(
    ann: Caller, clock: ManualClock, store: Store
) -> None:
    quote = (await ann.http.get("/quotes", params=QUOTE)).json()["quotes"][0]["quoteId"]
    now = int(clock.now().timestamp())
    needed = int(CARRY_SECONDS) + SETTLING_SECONDS
    ann.pays.change = _authorized({"validBefore": str(now + needed - 1)})
    _, answer = await begun(ann, quote)
    assert (answer.status_code, required(answer)["error"]) == (
        402,
        "invalid_exact_evm_payload_authorization_valid_before",
    )
    assert await rows(store) == []
    ann.pays.change = _authorized({"validBefore": str(now + needed + 1)})
    _, answer = await begun(ann, quote)
    assert answer.status_code == 200


SPOILED: dict[str, tuple[Callable[[dict[str, Any]], object], Reason]] = {
    "no version": (lambda one: one.pop("x402Version"), "invalid_x402_version"),
    "version 1": (lambda one: one.update(x402Version=1), "invalid_x402_version"),
    "no payload": (lambda one: one.pop("payload"), "invalid_payload"),
    "payload is a list": (lambda one: one.update(payload=[]), "invalid_payload"),
    "nothing accepted": (lambda one: one.pop("accepted"), "invalid_payload"),
    "another scheme": (lambda one: one["accepted"].update(scheme="upto"), "unsupported_scheme"),
    "another chain": (lambda one: one["accepted"].update(network="eip155:1"), "network_mismatch"),
    "another asset": (
        lambda one: one["accepted"].update(asset=ANN),
        "invalid_exact_evm_asset_mismatch",
    ),
    "asset is a number": (
        lambda one: one["accepted"].update(asset=5),
        "invalid_exact_evm_asset_mismatch",
    ),
    "less accepted": (
        lambda one: one["accepted"].update(amount="1"),
        "invalid_exact_evm_payload_authorization_value_mismatch",
    ),
    "another payee accepted": (
        lambda one: one["accepted"].update(payTo=ANN),
        "invalid_exact_evm_payload_recipient_mismatch",
    ),
    "no signature": (lambda one: one["payload"].pop("signature"), "invalid_payload"),
    "short signature": (lambda one: one["payload"].update(signature="0x4d"), "invalid_payload"),
    "signature is a number": (lambda one: one["payload"].update(signature=7), "invalid_payload"),
}
AUTHORIZED: dict[str, tuple[dict[str, Any], Reason]] = {
    "less": ({"value": "999"}, "invalid_exact_evm_payload_authorization_value_mismatch"),
    "more": ({"value": "1001"}, "invalid_exact_evm_payload_authorization_value_mismatch"),
    "a number": ({"value": 1000}, "invalid_payload"),
    "a leading zero": ({"value": "01000"}, "invalid_payload"),
    "unicode digits": ({"value": "\u0661000"}, "invalid_payload"),
    "hexadecimal": ({"value": "0x3e8"}, "invalid_payload"),
    "negative": ({"value": "-1000"}, "invalid_payload"),
    "to somebody": ({"to": ANN}, "invalid_exact_evm_payload_recipient_mismatch"),
    "from nobody": ({"from": "ann"}, "invalid_payload"),
    "short nonce": ({"nonce": "0x01"}, "invalid_payload"),
    "nonce null": ({"nonce": None}, "invalid_payload"),
    "time beyond a word of the chain": ({"validBefore": str(2**256)}, "invalid_payload"),
    "one more field": ({"memo": "x"}, "invalid_payload"),
    "not yet": (
        {"validAfter": "99999999999"},
        "invalid_exact_evm_payload_authorization_valid_after",
    ),
    "over": ({"validBefore": "1"}, "invalid_exact_evm_payload_authorization_valid_before"),
}


def _authorized(changed: dict[str, Any]) -> Callable[[dict[str, Any]], object]:
    return lambda one: one["payload"]["authorization"].update(changed)


@each_row(
    ("name", "change", "reason"),
    [
        *((name, *case) for name, case in SPOILED.items()),
        *((name, _authorized(changed), reason) for name, (changed, reason) in AUTHORIZED.items()),
    ],
)
async def test_a_spoiled_payment_is_told_why(
    ann: Caller,
    facilitator: ScriptedFacilitator,
    clock: ManualClock,
    name: str,
    change: Callable[..., object],
    reason: Reason,
) -> None:
    clock.advance(60)  # an address asks so often a minute
    ann.pays.change = change
    answer = await ann.http.get("/quotes", params=QUOTE)
    assert (answer.status_code, answer.content) == (402, b"{}")
    assert required(answer)["error"] == reason
    assert facilitator.settled == []


@each_row(
    "header",
    ["", "%%%", "e30=", encoded([]), encoded("x"), base64.b64encode(b"[" * 3_000).decode(),
     base64.b64encode(b'{"x402Version":2,"x402Version":2}').decode(), "A" * 8_196],
)  # fmt: skip
async def test_a_header_that_is_no_payment_is_no_failure(
    anyone: httpx2.AsyncClient, header: str
) -> None:
    answer = await anyone.get("/tokens", headers={"payment-signature": header})
    assert (answer.status_code, answer.content) == (402, b"{}")


async def test_a_payment_must_outlive_its_settlement(ann: Caller, clock: ManualClock) -> None:
    now = int(clock.now().timestamp())
    for left, status in ((SETTLING_SECONDS - 1, 402), (SETTLING_SECONDS + 1, 200)):
        ann.pays.change = _authorized({"validBefore": str(now + left)})
        assert (await ann.http.get("/quotes", params=QUOTE)).status_code == status


@pytest.mark.parametrize("ends", [253_402_300_800, 10**12, 2**256 - 1])
async def test_a_payment_that_never_ends_is_taken_once(ann: Caller, ends: int) -> None:
    """As the chain takes it, whatever year of whatever calendar it names."""
    ann.pays.change = _authorized({"validBefore": str(ends)})
    assert (await ann.http.get("/tokens")).status_code == 200
    again = {"payment-signature": ann.pays.last}
    assert (await ann.http.get("/tokens", headers=again, auth=None)).status_code == 402


async def test_calls_are_counted_by_address_before_and_by_payer_after(
    service: ServiceParts, anyone: httpx2.AsyncClient, ann: Caller
) -> None:
    unpaid = [(await anyone.get("/tokens")).status_code for _ in range(61)]
    assert unpaid == [402] * 60 + [429]
    # Each call of a payer without a payment at hand is two for its address.
    paid = [(await ann.http.get("/tokens")).status_code for _ in range(31)]
    assert paid == [200] * 30 + [429]
    others = [Caller(service, f"10.1.0.{number}", ANN) for number in range(4)]
    for place, other in enumerate(others):
        async with other.http:
            other.pays._number = 1_000 * (place + 1)
            found = [(await other.http.get("/tokens")).status_code for _ in range(10)]
        # 60 of the payer in all, from wherever they come.
        assert found == ([200] * 10 if place < 3 else [429] * 10)


async def test_a_payment_is_free_again_until_it_is_settled(
    store: Store, tmp_path: Path, clock: ManualClock
) -> None:
    """Whatever process asks: what serves a call is in the store alone."""
    ends = clock.now()
    assert [await store.payments.reserve(name, ends) for name in "aab"] == [True, False, True]
    await store.payments.settle("b", "0x1")
    for name in "abc":
        await store.payments.free(name)
    await store.payments.drop(ends - PAYMENTS_KEPT)
    another = open_new(tmp_path / "service.db")
    assert [await another.payments.reserve(name, ends) for name in "ab"] == [True, False]
    await another.close()


async def test_a_payment_is_freed_by_the_call_that_it_served_alone(
    store: Store, clock: ManualClock
) -> None:
    """Two processes see that a transaction came to nothing: the later one must not free what
    serves another call by then, or that call's order would never be told."""
    ends, payments = clock.now(), store.payments
    assert await payments.reserve("a", ends)
    await payments.note_sent("a", "0x1")
    await payments.free("a", "0x1")
    assert await payments.reserve("a", ends)
    await payments.free("a", "0x1")
    assert not await payments.reserve("a", ends)
    await payments.note_sent("a", "0x2")
    await payments.free("a", "0x1")
    await payments.free("a")
    assert not await payments.reserve("a", ends)


async def test_a_handshake_is_denied_while_payments_cannot_be_written_down(
    service: ServiceParts, store: Store, anyone: httpx2.AsyncClient, ann: Caller
) -> None:
    entry = required(await anyone.get(f"/orders/{UNKNOWN}"))["accepts"][0]
    header = b"payment-signature", encoded(ann.pays.payment(entry)).encode()  # type: ignore[union-attr]
    await store.close()

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    beginning, body = await raw_call(
        service,
        receive,
        [header, (b"host", b"service"), (b"upgrade", b"websocket")],
        type="websocket",
        path="/v2/ws",
        extensions={"websocket.http.response": {}},
        client=("10.0.0.1", 1),
    )
    assert beginning["status"] == 503
    assert dict(beginning["headers"])[b"retry-after"] == b"1"
    assert json.loads(body["body"])["code"] == "SERVICE_UNAVAILABLE"
