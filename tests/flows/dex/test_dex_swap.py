"""Swaps from a quote to the end of their order, with real service, chains and wallet agent."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from flows.dex.swapping import Place, Swapper
from flows.following import tracker_of
from swapdesk.flows.journal.journal_records import IntentState, StepState
from swapdesk.flows.orders.order_listing import Group
from swapdesk.flows.orders.order_status import OrderStatus, order_status
from swapdesk.flows.quotes.provider_record import provider_records
from swapdesk.flows.tracking.recent_activity import recent_events
from swapdesk.flows.tracking.tracking import Tracker
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import TransactionState
from swapdesk.wire.orders import Order
from swapdesk.wire.tokens import Token

pytestmark = pytest.mark.asyncio(loop_scope="package")


def steps(someone: Swapper, intent_id: str) -> list[tuple[str, StepState]]:
    return [(one.name, one.state) for one in someone.journal.swaps.steps(intent_id)]


def loaded(someone: Swapper) -> Tracker:
    return tracker_of(someone.journal, someone.place.floor.clock)


def listed(someone: Swapper) -> list[OrderStatus]:
    """What it tells of them."""
    return [order_status(one, someone.place.floor.clock.now()) for one in loaded(someone).known()]


async def test_an_approval_a_swap_and_its_order(
    place: Place, someone: Swapper, usdc: Token, weth: Token
) -> None:
    intent = await someone.intent("ba", usdc, weth, "60")
    outcome = await someone.flow().swap(intent)
    assert outcome.done, outcome
    ended = await place.completed(outcome.order)
    assert ended.display_status == "SWAP_COMPLETED"
    assert await someone.holds(usdc) == 40 * 10**6
    got = await someone.holds(weth)
    assert got >= int(intent.amount_out * 10**18 * 995 // 1000)
    assert [one.title for one in someone.reviews]
    assert steps(someone, intent.id) == [
        ("permission", StepState.PREPARED),
        ("approve", StepState.ACKED),
        ("create", StepState.ACKED),
        ("swap", StepState.ACKED),
        ("confirm", StepState.ACKED),
    ]
    signed = await someone.agent.transactions(intent.id)
    assert [(one.purpose, one.state) for one in signed] == [
        (Purpose.APPROVE, TransactionState.SUCCEEDED),
        (Purpose.SWAP, TransactionState.SUCCEEDED),
    ]
    assert signed[-1].hash == outcome.hash
    assert someone.journal.swaps.open_swaps() == []
    # The confirmation is used up, whoever asks again.
    again = await someone.flow().swap(intent)
    assert again.refused
    assert again.code == "ALREADY_ASKED"
    assert len(await someone.agent.transactions(intent.id)) == 2


async def test_who_says_no_has_paid_nothing(
    place: Place, someone: Swapper, usdc: Token, weth: Token
) -> None:
    someone.agrees = lambda review: False
    intent = await someone.intent("ba", usdc, weth, "60")
    outcome = await someone.flow().swap(intent)
    assert outcome.refused, outcome
    assert outcome.code == "NOT_CONFIRMED"
    assert "in your wallet" in outcome.failure.money
    found = someone.journal.intents.get(intent.id)
    assert found.state is IntentState.REFUSED
    assert await someone.agent.transactions(intent.id) == ()
    # After the approval the venue may take what was approved, and that is said.
    under_review: list[OrderStatus] = []

    def approves(review: Review) -> bool:
        under_review.extend(listed(someone))
        return "pprov" in review.title or "llow" in review.title

    someone.agrees = approves
    intent = await someone.intent("ba", usdc, weth, "60")
    outcome = await someone.flow().swap(intent)
    assert outcome.refused, outcome
    assert "may still take up to 60 USDC" in outcome.failure.money
    assert outcome.order_id is not None
    assert someone.journal.swaps.open_swaps() == []
    assert await someone.holds(usdc) == 100 * 10**6
    # The order waits for 29 minutes still; nobody is told to wait for the chain.
    (said,) = under_review
    assert (said.word, said.actor) == ("To be signed", "you")
    (said,) = listed(someone)
    assert (said.word, said.actor, said.act) == ("Not signed", "you", "ask for new quotes")
    assert said.money == f"{outcome.failure.money}."
    assert said.place == "in your wallet."
    # It holds nobody at the desk, and is no failure once the service gives it up.
    known = loaded(someone)
    assert (known.open_count, known.counts()[Group.NOT_SIGNED]) == (0, 1)
    (tracked,) = known.known()
    failed = tracked.order.model_copy(update={"display_status": "FAILED", "status": 6})
    someone.journal.orders.record([(failed, "list", True)])
    (said,) = listed(someone)
    assert (said.word, said.level) == ("Not signed", "expired")
    known = loaded(someone)
    assert known.counts()[Group.FINISHED] == 1
    assert [one.word for one in recent_events(someone.journal, 2, known.get)] == [
        "Not signed", "Waiting for the chain",
    ]  # fmt: skip
    assert provider_records(known.known()) == {}


async def test_what_echoes_the_sender_is_no_deposit_address(place: Place, tmp_path: Path) -> None:
    told = {"serviceId": "xLAR4Vivifmyf6BCgG3omA", "depositAddress": "0x" + "ab" * 20}
    assert Order.model_validate({**told, "isDex": True}).deposit_address is None
    assert Order.model_validate({**told, "isDex": False}).deposit_address is not None


async def test_confirmed_before_is_confirmed(someone: Swapper, usdc: Token, weth: Token) -> None:

    def lost(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        if request.url.path.endswith("/dex/confirmTx"):
            raise httpx2.RemoteProtocolError("server disconnected", request=request)
        return response

    intent = await someone.intent("ba", usdc, weth, "60")
    outcome = await someone.swapped(intent, lost)
    assert outcome.open, outcome
    assert outcome.hash is not None
    assert outcome.hash in outcome.failure.money
    (open_,) = someone.journal.swaps.open_swaps()
    again = await someone.flow().take_on(open_)
    assert again.done, again
    assert again.hash == outcome.hash
    assert len(await someone.agent.transactions(intent.id)) == 2
    assert await someone.holds(usdc) == 40 * 10**6


async def test_an_order_of_a_swap_that_is_over_is_not_paid(
    someone: Swapper, usdc: Token, weth: Token
) -> None:
    """The create is answered after the swap was refused: its order is told and nothing signed."""
    intent = await someone.intent("ba", usdc, weth, "60")

    def over(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        if request.method == "POST" and request.url.path.endswith("/exchanges"):
            assert someone.journal.intents.mark_refused(intent.id, code="NO")
        return response

    outcome = await someone.swapped(intent, over)
    assert outcome.refused, outcome
    assert outcome.order_id is not None
    assert someone.journal.orders.get(outcome.order_id) is not None
    purposes = [one.purpose for one in await someone.agent.transactions(intent.id)]
    assert purposes == [Purpose.APPROVE]
    assert await someone.holds(usdc) == 100 * 10**6
