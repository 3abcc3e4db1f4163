"""Swaps from a quote to the end of their order, with real service, chains and wallet agent."""

from __future__ import annotations

import json

import httpx2
import pytest

from flows.dex.swapping import Place, Swapper
from flows.following import tracker_of
from swapdesk.acts import State
from swapdesk.chain.deployments import PERMIT2
from swapdesk.flows.creation.creates import acts_of, open_swaps, refuse_create
from swapdesk.flows.dex.swap_signing import SWAP, Swap
from swapdesk.flows.orders.order_listing import Group
from swapdesk.flows.orders.order_status import OrderStatus, order_status
from swapdesk.flows.quotes.recent import provider_records
from swapdesk.flows.signing.signing_session import SigningSession
from swapdesk.flows.tracking.open_business import recent_events
from swapdesk.flows.tracking.tracking import Tracker
from swapdesk.wallet.answers import Review
from swapdesk.wallet.promise import Purpose
from swapdesk.wire.tokens import Token

pytestmark = pytest.mark.asyncio(loop_scope="package")


def loaded(someone: Swapper) -> Tracker:
    return tracker_of(someone.journal, someone.place.floor.clock)


def listed(someone: Swapper) -> list[OrderStatus]:
    """What it tells of them."""
    return [order_status(one, someone.place.floor.clock.now()) for one in loaded(someone).known()]


async def test_who_says_no_has_paid_nothing(
    place: Place, someone: Swapper, usdc: Token, weth: Token
) -> None:
    someone.agrees = lambda review: False
    intent = await someone.intent("ba", usdc, weth, "60")
    outcome = await someone.flow().swap(intent)
    assert outcome.refused, outcome
    assert outcome.code == "NOT_CONFIRMED"
    assert "in your wallet" in outcome.failure.money
    found = someone.journal.ledger.get(intent.id)
    assert found.state is State.REFUSED
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
    assert open_swaps(someone.journal.ledger) == []
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
    (open_,) = open_swaps(someone.journal.ledger)
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
            assert refuse_create(someone.journal.ledger, intent.id, "NO")
        return response

    outcome = await someone.swapped(intent, over)
    assert outcome.refused, outcome
    assert outcome.order_id is not None
    assert someone.journal.orders.get(outcome.order_id) is not None
    purposes = [one.purpose for one in await someone.agent.transactions(intent.id)]
    assert purposes == [Purpose.APPROVE]
    assert await someone.holds(usdc) == 100 * 10**6


def elsewhere(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """Orders as programs of the public service read them: ``tx`` and ``offChain``, no metadata."""
    path = request.url.path
    if not path.endswith("/exchanges") and "/orders/" not in path:
        return response
    order = json.loads(response.content)
    sends = order.pop("metadata")
    sends = json.loads(sends) if isinstance(sends, str) else sends
    if sends.get("offChain"):
        order["offChain"] = True
    else:
        order["tx"] = {name: sends[name] for name in ("to", "data", "value", "gasLimit")}
        order["offChain"] = False
    return httpx2.Response(200, json=order)


@pytest.mark.parametrize(
    ("venue", "sold", "amount", "acts"),
    [
        ("fa", "USDC", "100", ["allow", "swap"]),
        ("is", "USDC", "100", ["allow", "order"]),
        # Permit2 is approved by a transaction; what is signed then is a transfer by it whose
        # witness the order is.
        ("is", "WETH", "0.03", ["allow", "order"]),
    ],
)
async def test_each_way_of_letting_the_venue_take_the_token(
    place: Place,
    someone: Swapper,
    usdc: Token,
    weth: Token,
    venue: str,
    sold: str,
    amount: str,
    acts: list[str],
) -> None:
    """Also as elsewhere, where what is to be sent stands beside the order."""
    await someone.fund(WETH="0.03")
    sell, buy = (weth, usdc) if sold == "WETH" else (usdc, weth)
    had, coins = await someone.holds(buy), await someone.holds(place.floor.token("base", "ETH"))
    intent = await someone.intent(venue, sell, buy, amount)
    shown = SigningSession(
        SWAP, intent.id, Swap(intent), intent.token_in, someone.journal, place.floor.clock,
        lambda: None,
    )  # fmt: skip
    lines: list[tuple[str, ...]] = []
    someone.agrees = lambda review: not lines.append(tuple(one.name for one in SWAP.steps(shown)))
    outcome = await someone.swapped(intent, elsewhere)
    assert outcome.done, outcome
    assert (await place.completed(outcome.order)).display_status == "SWAP_COMPLETED"
    assert await someone.holds(sell) == 0
    assert await someone.holds(buy) > had
    assert someone.acts(intent.id) == acts
    assert {(one.findings, one.phrase) for one in someone.reviews} == {((), None)}
    told = {
        act.body.get("name", act.kind): act.result
        for act in acts_of(someone.journal.ledger, intent.id)
    }
    spent = await someone.holds(place.floor.token("base", "ETH")) < coins
    if venue == "fa":
        assert (outcome.hash is None, spent) == (False, True)
        assert list(told) == ["create", "sign permit 0", "swap", "confirm"]
    elif sold == "WETH":
        assert (outcome.hash, spent) == (None, True)
        assert told["approve"]["spender"] == PERMIT2.lower()
        order = told["sign order 0"]
        assert (order["kind"], order["taken"]) == ("order", str(3 * 10**16))
    else:
        assert (outcome.hash, spent) == (None, False), "the venue settles it and pays the gas"
        assert set(lines) == {("allowance", "sign 1 permit", "sign 2 order", "settle", "confirm")}
        assert list(told) == ["create", "sign order 0", "sign order 1", "confirm"]


async def test_what_is_left_over_is_reset_first(someone: Swapper) -> None:
    """Of a token like USDT, which takes another allowance only once the one before is nothing.
    Whenever the trader says no, what may still be taken is what is said."""
    floor = someone.place.floor
    usdt, weth = floor.token("ethereum", "USDT"), floor.token("ethereum", "WETH")
    await someone.fund(chain="ethereum", USDT="500")

    async def refused_after(answers: int, amount: str) -> tuple[str, list[int]]:
        """Where the money is, and the units of each approval that was executed, after so many
        times yes."""
        someone.reviews.clear()
        someone.agrees = lambda review: len(someone.reviews) <= answers
        intent = await someone.intent("ba", usdt, weth, amount)
        ended = await someone.flow().swap(intent)
        assert ended.code == "NOT_CONFIRMED"
        assert len(someone.reviews) == answers + 1, "each of them was shown"
        client, signed = floor.readers["ethereum"].client, []
        for one in await someone.agent.transactions(intent.id):
            assert (one.purpose, one.word) == (Purpose.APPROVE, "succeeded")
            signed.append(int.from_bytes((await client.transaction(one.hash)).data[-32:], "big"))
        return ended.failure.money, signed

    # An approval that was given for a swap nobody went on with.
    await refused_after(1, "40")
    money, approved = await refused_after(2, "100")
    assert "may still take up to 100 USDT" in money
    assert approved == [0, 100 * 10**6]
    # No between the two: nothing may be taken.
    money, approved = await refused_after(1, "150")
    assert (money, approved) == ("in your wallet; nothing was swapped", [0])
    someone.agrees = lambda review: True
    outcome = await someone.flow().swap(await someone.intent("ba", usdt, weth, "100"))
    assert outcome.done, outcome
    assert (await someone.place.completed(outcome.order)).display_status == "SWAP_COMPLETED"
    assert await someone.holds(usdt) == 400 * 10**6
    assert await someone.holds(weth) > 0
