"""Paying from the faucet: once for an order, whatever the network, a restart or a twin does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Self

import httpx2
import pytest
from msgspec.structs import replace

from client.rude_server import Behaviour, RudeServer, answer, raw, reset
from flows.orders import NOW, order
from swapdesk.client.errors import OutcomeUnknown, Unreachable
from swapdesk.client.sandbox_control import SandboxControl
from swapdesk.clock import ManualClock
from swapdesk.flows.deposits.deposit_ways import DepositWays
from swapdesk.flows.deposits.funding import (
    MAY_BE_PAID,
    SENT_BEFORE,
    Funded,
    NotFunded,
    SandboxFaucet,
    settle_payments,
)
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.journal.outgoing_writes import PAYMENT, PaidBefore
from swapdesk.flows.orders.order_status import order_status
from swapdesk.flows.orders.tracked_order import TrackedOrder
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


class Controlled(RudeServer):
    """A rude sandbox with a control that speaks to it."""

    control: SandboxControl

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self.control = SandboxControl(f"http://127.0.0.1:{self.port}/sandbox", Secret("token"))
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.control.close()
        await super().__aexit__(*raised)


def over(answers: Callable[[httpx2.Request], Awaitable[httpx2.Response]]) -> SandboxControl:
    """A control over a network that answers so."""
    transport = httpx2.MockTransport(answers)
    return SandboxControl("http://127.0.0.1:1/sandbox", Secret("token"), transport=transport)


def refusing(error: type[httpx2.HTTPError]) -> SandboxControl:
    async def refuse(request: httpx2.Request) -> httpx2.Response:
        raise error("no", request=request)

    return over(refuse)


def state_of(journal: Journal) -> StepState | None:
    found = journal.calls.payment_of(WAITING.service_id)
    return found.state if found is not None else None


def ways(journal: Journal, clock: ManualClock) -> DepositWays:
    return DepositWays(lambda: (), lambda: None, clock, journal.calls, live=False)


async def test_an_order_is_paid_once(journal: Journal, clock: ManualClock) -> None:
    async with Controlled(PAID) as server:
        faucet = SandboxFaucet(server.control, clock, journal.calls)
        assert not ways(journal, clock).paid(WAITING)
        assert await faucet.pay(WAITING) == Funded("f" * 64)
        assert state_of(journal) is StepState.ACKED
        assert await faucet.pay(WAITING) == NotFunded(SENT_BEFORE, may_have_left=True)
        assert ways(journal, clock).paid(WAITING)
        assert faucet.refusal(WAITING) == SENT_BEFORE
        assert len(server.requests) == 1


async def test_a_refusal_that_comes_after_the_deposit_arrived_frees_nothing(
    journal: Journal, clock: ManualClock
) -> None:
    """The order has its deposit while the faucet still owes its answer, which is then a refusal."""
    there = replace(WAITING, order=order(display_status="DEPOSIT_DETECTED", status=1))
    asked = []

    async def refuse(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        settle_payments(journal.calls, lambda _: there)
        body = httpx2.ByteStream(b'{"code": "CONFLICT", "message": "no"}')
        return httpx2.Response(409, stream=body, request=request)

    faucet = SandboxFaucet(over(refuse), clock, journal.calls)
    assert await faucet.pay(WAITING) == NotFunded(SENT_BEFORE, may_have_left=True)
    assert state_of(journal) is StepState.ACKED
    assert await faucet.pay(WAITING) == NotFunded(SENT_BEFORE, may_have_left=True)
    assert len(asked) == 1


@pytest.mark.parametrize(
    "leg", [LegStatus.CONFIRMING, LegStatus.VERIFYING, LegStatus.FAILED, LegStatus.FALLBACK]
)
async def test_an_order_whose_leg_is_further_than_its_state_is_not_paid(
    leg: LegStatus, journal: Journal, clock: ManualClock
) -> None:
    """Somebody may have paid it from elsewhere, before the state of the order says so."""
    ahead = replace(WAITING, order=order(in_status=leg))
    assert not order_status(ahead, NOW).payable
    async with Controlled(PAID) as server:
        faucet = SandboxFaucet(server.control, clock, journal.calls)
        told = await faucet.pay(ahead)
        assert told == NotFunded("The order is not waiting for a deposit.")
        assert ways(journal, clock).refusal(ahead) == told.reason
        assert not server.requests


@pytest.mark.parametrize("name", LOST)
async def test_a_lost_answer_is_never_followed_by_a_second_payment(
    name: str, journal: Journal, clock: ManualClock, tmp_path: Path
) -> None:
    behaviour: Behaviour = LOST[name]
    async with Controlled(behaviour, PAID) as server:
        control = server.control
        paid = await SandboxFaucet(control, clock, journal.calls).pay(WAITING)
        assert "Nothing was sent" not in paid.reason
        assert MAY_BE_PAID in paid.reason
        assert paid.may_have_left
        assert state_of(journal) is StepState.UNKNOWN
        # A second process, or this one after a restart.
        other = Journal.open(tmp_path / "journal.db", clock)
        again = await SandboxFaucet(control, clock, other.calls).pay(WAITING)
        assert again == NotFunded(MAY_BE_PAID, may_have_left=True)
        other.close()
        assert len(server.requests) == 1


async def test_a_crash_between_sending_and_the_answer_forbids_a_second_payment(
    journal: Journal, clock: ManualClock
) -> None:
    journal.calls.add_payment(WAITING.service_id, b"{}")
    async with Controlled(PAID) as server:
        faucet = SandboxFaucet(server.control, clock, journal.calls)
        assert await faucet.pay(WAITING) == NotFunded(MAY_BE_PAID, may_have_left=True)
        assert server.requests == []
        assert not ways(journal, clock).paid(WAITING)


async def test_the_payment_is_in_the_journal_before_it_leaves(
    journal: Journal, clock: ManualClock
) -> None:
    seen: list[StepState | None] = []

    async def look(request: httpx2.Request) -> httpx2.Response:
        seen.append(state_of(journal))
        return httpx2.Response(200, json={"hash": "h"}, request=request)

    assert await SandboxFaucet(over(look), clock, journal.calls).pay(WAITING) == Funded("h")
    assert seen == [StepState.SENT]


@pytest.mark.parametrize("error", [httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout])
async def test_what_never_left_may_be_tried_again(
    error: type[httpx2.HTTPError], journal: Journal, clock: ManualClock
) -> None:
    paid = await SandboxFaucet(refusing(error), clock, journal.calls).pay(WAITING)
    assert paid.reason.startswith("Nothing was sent")
    assert not paid.may_have_left
    async with Controlled(PAID) as server:
        faucet = SandboxFaucet(server.control, clock, journal.calls)
        assert await faucet.pay(WAITING) == Funded("f" * 64)


@pytest.mark.parametrize("error", [httpx2.ReadTimeout, httpx2.WriteError, httpx2.ReadError])
async def test_only_a_connection_that_failed_means_not_sent(error: type[httpx2.HTTPError]) -> None:
    with pytest.raises(OutcomeUnknown):
        await refusing(error).deposit("a")


async def test_a_definite_refusal_frees_the_payment(journal: Journal, clock: ManualClock) -> None:
    refused = answer(422, {"code": "REFUSED", "message": "the faucet holds no such token"})
    async with Controlled(refused, PAID) as server:
        faucet = SandboxFaucet(server.control, clock, journal.calls)
        paid = await faucet.pay(WAITING)
        assert "the faucet holds no such token" in paid.reason
        assert faucet.refusal(WAITING) is None
        assert await faucet.pay(WAITING) == Funded("f" * 64)


async def test_without_a_journal_nothing_is_paid(journal: Journal, clock: ManualClock) -> None:
    journal.close()
    async with Controlled(PAID) as server:
        faucet = SandboxFaucet(server.control, clock, journal.calls)
        assert isinstance(await faucet.pay(WAITING), NotFunded)
        assert server.requests == []


async def test_a_closed_control_sent_nothing() -> None:
    control = refusing(httpx2.ConnectError)
    await control.close()
    with pytest.raises(Unreachable):
        await control.deposit("a")


def test_of_two_processes_one_pays(journal: Journal, clock: ManualClock, tmp_path: Path) -> None:
    other = Journal.open(tmp_path / "journal.db", clock)
    assert journal.calls.payment_of("a") is None
    assert other.calls.payment_of("a") is None
    journal.calls.add_payment("a", b"{}")
    with pytest.raises(PaidBefore):
        other.calls.add_payment("a", b"{}")
    other.calls.add_payment("b", b"{}")
    other.close()


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
    journal.calls.add_payment(WAITING.service_id, b"{}")
    now = replace(WAITING, order=order(**seen))
    settle_payments(journal.calls, {WAITING.service_id: now}.get)
    assert (not journal.calls.unresolved()) is settled
    # It is never paid again, either way.
    paid = journal.calls.payment_of(WAITING.service_id)
    assert paid.state is (StepState.ACKED if settled else StepState.SENT)


def test_the_call_that_created_an_order_is_no_payment_of_it(journal: Journal) -> None:
    created = order()
    call_id = journal.calls.add("POST", "/exchanges", b"{}")
    journal.calls.mark_created(call_id, created, status=200, request_id=None)
    assert journal.calls.payment_of(created.service_id) is None
    journal.calls.add_payment(created.service_id, b"{}")
    (open_call,) = journal.calls.unresolved()
    assert (open_call.path, open_call.pays, open_call.service_id) == (
        PAYMENT,
        True,
        created.service_id,
    )
