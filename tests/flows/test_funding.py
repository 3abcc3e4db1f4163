"""Paying from the faucet: once for an order, whatever the network, a restart or a twin does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from msgspec.structs import replace

from client.rude_server import Behaviour, RudeServer, answer, raw, reset
from flows.orders import NOW, order
from swapdesk.client.errors import Unreachable
from swapdesk.client.sandbox_control import SandboxControl
from swapdesk.clock import ManualClock
from swapdesk.flows.deposits.funding import (
    MAY_BE_PAID,
    SENT_BEFORE,
    DepositWays,
    SandboxFaucet,
    not_paid,
    payment_open,
    settle_payments,
)
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import State
from swapdesk.flows.orders.order_status import order_status
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payments import begin_payment, payment_of, unanswered
from swapdesk.flows.transactions import Outcome
from swapdesk.secret import Secret
from swapdesk.wire.orders import LegStatus

PAID = answer(200, {"hash": "f" * 64})
WAITING = TrackedOrder(
    order=order(), intent=None, withheld=None, ended=False, seen_at=NOW, source="create"
)
LOST = {
    "reset": reset,
    "closed without a word": raw(b""),
    "cut": raw(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"),
    "503": answer(503, {"code": "NODE_UNAVAILABLE", "message": "no answer to faucet_pay"}),
    "no JSON": answer(200, b"paid"),
    "without a hash": answer(200, {}),
    "redirect": answer(307, b""),
}


def over(answers: Callable[[httpx2.Request], Awaitable[httpx2.Response]]) -> SandboxControl:
    """A control over a network that answers so."""
    transport = httpx2.MockTransport(answers)
    return SandboxControl("http://127.0.0.1:1/sandbox", Secret("token"), transport=transport)


def refusing(error: type[httpx2.HTTPError]) -> SandboxControl:
    async def refuse(request: httpx2.Request) -> httpx2.Response:
        raise error("no", request=request)

    return over(refuse)


def state_of(journal: Journal) -> State | None:
    found = payment_of(journal.ledger, WAITING.service_id)
    return found.state if found is not None else None


@asynccontextmanager
async def faucet_of(
    journal: Journal, clock: ManualClock, *behaviours: Behaviour
) -> AsyncIterator[tuple[SandboxFaucet, RudeServer]]:
    """A faucet over a sandbox that behaves so, one request after the other."""
    async with RudeServer(*behaviours) as server:
        control = SandboxControl(f"http://127.0.0.1:{server.port}/sandbox", Secret("token"))
        yield SandboxFaucet(control, clock, journal.ledger), server
        await control.close()


def ways(journal: Journal, clock: ManualClock) -> DepositWays:
    return DepositWays(lambda: (), lambda: None, clock, journal.ledger, live=False)


async def test_an_order_is_paid_once(journal: Journal, clock: ManualClock) -> None:
    async with faucet_of(journal, clock, PAID) as (faucet, server):
        assert payment_of(journal.ledger, WAITING.service_id) is None
        assert await faucet.pay(WAITING) == Outcome(hash="f" * 64)
        assert state_of(journal) is State.DONE
        assert await faucet.pay(WAITING) == payment_open("NOT_FUNDED", SENT_BEFORE)
        assert payment_of(journal.ledger, WAITING.service_id).state is State.DONE
        assert faucet.refusal(WAITING) == SENT_BEFORE
        assert len(server.requests) == 1


async def test_a_refusal_that_comes_after_the_deposit_arrived_frees_nothing(
    journal: Journal, clock: ManualClock
) -> None:
    """The order has its deposit while the faucet still owes its answer, which is then a refusal."""
    there = replace(WAITING, order=order(display_status="DEPOSIT_DETECTED", status=1))
    asked = []

    async def refuse(request: httpx2.Request) -> httpx2.Response:
        asked.append(state_of(journal))
        settle_payments(journal.ledger, lambda _: there)
        body = httpx2.ByteStream(b'{"code": "CONFLICT", "message": "no"}')
        return httpx2.Response(409, stream=body, request=request)

    faucet = SandboxFaucet(over(refuse), clock, journal.ledger)
    assert await faucet.pay(WAITING) == payment_open("NOT_FUNDED", SENT_BEFORE)
    assert state_of(journal) is State.DONE
    assert await faucet.pay(WAITING) == payment_open("NOT_FUNDED", SENT_BEFORE)
    assert asked == [State.SENT], "in the journal before it leaves"


@pytest.mark.parametrize(
    "leg", [LegStatus.CONFIRMING, LegStatus.VERIFYING, LegStatus.FAILED, LegStatus.FALLBACK]
)
async def test_an_order_whose_leg_is_further_than_its_state_is_not_paid(
    leg: LegStatus, journal: Journal, clock: ManualClock
) -> None:
    """Somebody may have paid it from elsewhere, before the state of the order says so."""
    ahead = replace(WAITING, order=order(in_status=leg))
    assert not order_status(ahead, NOW).payable
    async with faucet_of(journal, clock, PAID) as (faucet, server):
        told = await faucet.pay(ahead)
        assert told == not_paid("NOT_FUNDED", "The order is not waiting for a deposit.")
        assert ways(journal, clock).refusal(ahead) == told.cause
        assert not server.requests


@pytest.mark.parametrize("name", LOST)
async def test_a_lost_answer_is_never_followed_by_a_second_payment(
    name: str, journal: Journal, clock: ManualClock, tmp_path: Path
) -> None:
    async with faucet_of(journal, clock, LOST[name], PAID) as (faucet, server):
        paid = await faucet.pay(WAITING)
        assert "Nothing was sent" not in paid.cause
        assert MAY_BE_PAID in paid.cause
        assert paid.open
        assert state_of(journal) is State.UNKNOWN
        # A second process, or this one after a restart.
        other = Journal.open(tmp_path / "journal.db", clock)
        again = await SandboxFaucet(faucet._control, clock, other.ledger).pay(WAITING)
        assert again == payment_open("NOT_FUNDED", MAY_BE_PAID)
        other.close()
        assert len(server.requests) == 1


async def test_a_crash_between_sending_and_the_answer_forbids_a_second_payment(
    journal: Journal, clock: ManualClock
) -> None:
    begin_payment(journal.ledger, WAITING.service_id, "faucet", b"{}")
    async with faucet_of(journal, clock, PAID) as (faucet, server):
        assert await faucet.pay(WAITING) == payment_open("NOT_FUNDED", MAY_BE_PAID)
        assert server.requests == []
        assert payment_of(journal.ledger, WAITING.service_id).left


@pytest.mark.parametrize(
    ("error", "left"),
    [
        (httpx2.ConnectError, False),
        (httpx2.ConnectTimeout, False),
        (httpx2.PoolTimeout, False),
        (httpx2.ReadTimeout, True),
        (httpx2.WriteError, True),
        (httpx2.ReadError, True),
    ],
)
async def test_only_what_found_no_connection_may_be_tried_again(
    error: type[httpx2.HTTPError], left: bool, journal: Journal, clock: ManualClock
) -> None:
    paid = await SandboxFaucet(refusing(error), clock, journal.ledger).pay(WAITING)
    assert paid.open is left
    assert paid.cause.startswith("Nothing was sent") is not left
    async with faucet_of(journal, clock, PAID) as (faucet, _):
        again = payment_open("NOT_FUNDED", MAY_BE_PAID) if left else Outcome(hash="f" * 64)
        assert await faucet.pay(WAITING) == again


async def test_a_definite_refusal_frees_the_payment(journal: Journal, clock: ManualClock) -> None:
    refused = answer(422, {"code": "REFUSED", "message": "the faucet holds no such token"})
    async with faucet_of(journal, clock, refused, PAID) as (faucet, _):
        paid = await faucet.pay(WAITING)
        assert "the faucet holds no such token" in paid.cause
        assert faucet.refusal(WAITING) is None
        assert await faucet.pay(WAITING) == Outcome(hash="f" * 64)


async def test_without_a_journal_nothing_is_paid(journal: Journal, clock: ManualClock) -> None:
    journal.close()
    async with faucet_of(journal, clock, PAID) as (faucet, server):
        assert (await faucet.pay(WAITING)).refused
        assert server.requests == []


async def test_a_closed_control_sent_nothing() -> None:
    control = refusing(httpx2.ConnectError)
    await control.close()
    with pytest.raises(Unreachable):
        await control.deposit("a")


@pytest.mark.parametrize(
    ("seen", "settled"),
    [
        ({}, False),
        ({"status": 5, "display_status": "EXPIRED"}, False),
        ({"in_status": 2}, True),
        ({"status": 1, "display_status": "DEPOSIT_DETECTED"}, True),
        ({"status": 4, "display_status": "SWAP_COMPLETED"}, True),
    ],
)
def test_a_payment_that_was_killed_is_settled_by_the_order_that_has_it(
    journal: Journal, clock: ManualClock, seen: dict[str, object], settled: bool
) -> None:
    begin_payment(journal.ledger, WAITING.service_id, "faucet", b"{}")
    now = replace(WAITING, order=order(**seen))
    settle_payments(journal.ledger, {WAITING.service_id: now}.get)
    assert (not unanswered(journal.ledger)) is settled
    # It is never paid again, either way.
    paid = payment_of(journal.ledger, WAITING.service_id)
    assert paid.state is (State.DONE if settled else State.SENT)


def test_the_call_that_created_an_order_is_no_payment_of_it(journal: Journal) -> None:
    created = order()
    call = journal.ledger.begin("call", {"path": "/exchanges"}, state=State.SENT)
    journal.call_created(call.id, created, status=200)
    assert payment_of(journal.ledger, created.service_id) is None
    begin_payment(journal.ledger, created.service_id, "faucet", b"{}")
    (left,) = unanswered(journal.ledger)
    assert (left.kind, left.body["by"], left.subject) == ("deposit", "faucet", created.service_id)
