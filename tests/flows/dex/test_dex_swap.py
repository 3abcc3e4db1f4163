"""Swaps from a quote to the end of their order, with real service, chains and wallet agent.

A service that lies obtains no signature: one lie for each place on each way where it can lie,
and one for each rule that only the desk has. What the gate refuses is proved in ``tests/agent``.

The wallet agent is a process, and the trader says yes to whatever is shown, phrases to type
included.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from msgspec import Struct

from flows.dex.swapping import Place, Swapper
from flows.faulty_network import DishonestService, lose_answer
from flows.following import tracker_of
from swapdesk.acts import State
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.calldata import erc20
from swapdesk.chain.deployments import PERMIT2, SANDBOX_VENUES
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


ATTACKER = checksummed("0x" + "bad0" * 10)
"""Nobody has the key of this address."""
SPENDERS = {
    **{one.provider: one.address for one in SANDBOX_VENUES},
    "attacker": ATTACKER,
    "Permit2": PERMIT2,
}
APPROVE, CHAIN, CREATE = "/dex/approve", "/dex/chainSignatures", "/exchanges"


class Way(Struct, frozen=True):
    """A way to swap ``sell`` for ``buy``; ``before`` is what is honestly signed on it until the
    create, in this order."""

    venue: str
    sell: str
    buy: str
    amount: str
    before: tuple[str, ...] = ()
    spender: str = ""
    """Who is approved, where it is not the venue itself."""
    takes: str = "may still take"
    """What is said of an approval that stands."""


APPROVAL = Way("ba", "USDC", "WETH", "60", ("allow",))
PERMIT = Way("fa", "USDC", "WETH", "60", ("allow",))
STEPS = Way("is", "USDC", "WETH", "60", ("allow", "order"))
COIN = Way("ba", "ETH", "USDC", "0.01")
THROUGH = Way("is", "WETH", "USDC", "0.02", ("allow", "order"), "Permit2",
    "; Permit2 may pass on up to 0.02 WETH by a signature of yours, until you revoke that"
)  # fmt: skip
BRIDGE = Way("me", "USDC", "USDC", "60", ("allow",))


def instead(value: Any) -> Callable[[Any], Any]:
    return lambda _: value


PAGE = instead("")


def besides(**changes: Any) -> Callable[[Any], Any]:
    """The first of a list, with other members."""
    return lambda answer: [answer[0] | changes]


def sends(**changes: Any) -> Callable[[Any], Any]:
    return lambda order: {**order, "metadata": order["metadata"] | changes}


def twice(units: str) -> str:
    return str(2 * int(units))


class Lie(Struct, frozen=True):
    """``honest`` is how many signatures are given before the lie is met."""

    way: Way
    path: str
    where: str
    change: Callable[[Any], Any]
    rule: str
    honest: int = 0

    def __str__(self) -> str:
        return f"{self.way.venue}-{self.where or self.path}-{self.rule}"


LIES = (
    # The approval transaction
    Lie(
        APPROVAL,
        APPROVE,
        "approvals.0.data",
        instead("0x" + erc20.APPROVE.call(ATTACKER, 60 * 10**6).hex()),
        "SPENDER_UNKNOWN",
    ),
    Lie(APPROVAL, APPROVE, "approvals.0.to", instead(ATTACKER), "TOKEN_SOLD_DIFFERS"),
    Lie(APPROVAL, APPROVE, "approvals.0.fromChain.chainId", instead(8453), "CHAIN_ID_DIFFERS"),
    # The order's transaction, after an honest approval
    Lie(APPROVAL, CREATE, "metadata.to", instead(ATTACKER), "CONTRACT_UNKNOWN", 1),
    Lie(PERMIT, CREATE, "metadata.data", lambda data: "0xdeadbeef" + data[10:],
        "METHOD_UNKNOWN", 1),
    Lie(COIN, CREATE, "metadata.value", twice, "SOLD_ABOVE"),
    Lie(COIN, CREATE, "metadata.chainId", instead(8453), "CHAIN_ID_DIFFERS"),
    Lie(BRIDGE, CREATE, "metadata.authorizationList",
        instead([{"address": ATTACKER, "chainId": "0x0", "nonce": "0x0"}]), "TRANSACTION_KIND", 1),
    # The permit, alone or as the first of two steps
    Lie(PERMIT, APPROVE, "signatures.0.data.message.spender", instead(ATTACKER),
        "SPENDER_UNKNOWN"),
    Lie(PERMIT, APPROVE, "signatures.0.data.message.note", instead("also signed"),
        "DOCUMENT_EXTRA_FIELD"),
    Lie(STEPS, APPROVE, "signatures.0.data.message.value", twice, "ALLOWANCE_ABOVE"),
    # The order, as the second of two steps
    Lie(STEPS, CHAIN, "0.data.message.receiver", instead(ATTACKER), "RECIPIENT_DIFFERS", 1),
    Lie(STEPS, CHAIN, "0.data.domain.chainId", instead(8453), "CHAIN_ID_DIFFERS", 1),
    # The order that goes with an approval of Permit2
    Lie(THROUGH, APPROVE, "signatures.0.data.message.spender", instead(ATTACKER),
        "SPENDER_UNKNOWN", 1),
    # A chain of signatures goes forward and ends
    Lie(STEPS, APPROVE, "signatures.0.step", instead(1), "SIGNATURE_CHAIN"),
    Lie(STEPS, APPROVE, "signatures.0.totalSteps", instead(9), "SIGNATURE_CHAIN"),
    Lie(STEPS, APPROVE, "signatures.0.isComplete", instead(True), "SIGNATURE_CHAIN"),
    Lie(STEPS, APPROVE, "signatures.0.type", instead("single"), "SIGNATURE_CHAIN"),
    Lie(STEPS, APPROVE, "signatures.0.type", instead("hovering"), "UNKNOWN_SIGNATURE"),
    Lie(STEPS, CHAIN, "", instead([]), "SIGNATURE_CHAIN", 1),
    Lie(STEPS, CHAIN, "", lambda answer: answer * 2, "SIGNATURE_CHAIN", 1),
    Lie(STEPS, CHAIN, "", besides(step=0, isComplete=False), "SIGNATURE_CHAIN", 1),
    Lie(STEPS, CHAIN, "", besides(totalSteps=3), "SIGNATURE_CHAIN", 1),
    Lie(STEPS, CHAIN, "", besides(key="another"), "SIGNATURE_CHAIN", 1),
    Lie(STEPS, CHAIN, "", besides(isComplete=False), "SIGNATURE_CHAIN", 1),
    # A page for people in place of an answer
    Lie(APPROVAL, APPROVE, "", PAGE, "ANSWER_NOT_JSON"),
    Lie(STEPS, CHAIN, "", PAGE, "ANSWER_NOT_JSON", 1),
    # The create says one thing and the order, read again, another
    Lie(COIN, CREATE, "", sends(to=ATTACKER), "ORDER_DIFFERS"),
    Lie(COIN, CREATE, "", sends(value="1"), "ORDER_DIFFERS"),
)  # fmt: skip


async def on_chain(someone: Swapper, sell: Token, buy: Token) -> dict[str, int]:
    """What an account has and lets others take, read over JSON-RPC. ``nonce`` counts what was
    executed for it, ``waiting`` what is not yet."""
    reader = someone.place.floor.readers[sell.chain_data.short_name]
    nonce = await reader.client.nonce(someone.address, pending=False)
    told = {
        "coins": await reader.client.balance(someone.address),
        "sold": await someone.holds(sell),
        "bought": await someone.holds(buy),
        "nonce": nonce,
        "waiting": await reader.client.nonce(someone.address) - nonce,
    }
    if sell.address is not None:
        asked = [
            (sell.address, erc20.ALLOWANCE, (someone.address, spender))
            for spender in SPENDERS.values()
        ]
        told |= zip(SPENDERS, await reader.numbers(asked), strict=True)
    return told


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def unsigned(
    place: Place, first: Swapper, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Swapper]:
    """Who signs nothing, and stays as they are whatever they are told."""
    async with victim(place, first, tmp_path_factory.mktemp("unsigned")) as someone:
        yield someone


@asynccontextmanager
async def victim(place: Place, first: Swapper, directory: Path) -> AsyncIterator[Swapper]:
    async with place.someone(directory, first) as someone:
        await someone.fund(USDC="100", WETH="0.02")
        yield someone


def page(path: str, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """One for people in place of an answer."""
    return httpx2.Response(200, html="<h1>It works!</h1>") if _asks(request, path) else response


@pytest.mark.parametrize("lie", LIES, ids=str)
async def test_a_lie_obtains_no_signature(
    place: Place, first: Swapper, unsigned: Swapper, tmp_path: Path, lie: Lie
) -> None:
    """No signature leaves the agent but the honest ones before the lie, and nothing moves on the
    chain but an honest approval and its gas."""
    floor, way = place.floor, lie.way
    service = DishonestService(lie.path, lie.where, lie.change)
    after = partial(page, lie.path) if lie.change is PAGE else service
    sell = floor.token("base", way.sell)
    buy = floor.token("ethereum" if way.venue == "me" else "base", way.buy)
    async with victim(place, first, tmp_path) if lie.honest else nullcontext(unsigned) as someone:
        intent = await someone.intent(way.venue, sell, buy, way.amount)
        before = await on_chain(someone, sell, buy)
        outcome = await someone.swapped(intent, after)
        assert outcome.refused, outcome
        assert someone.acts(intent.id) == list(way.before[: lie.honest])
        after_it = await on_chain(someone, sell, buy)
        approved = await someone.agent.transactions(intent.id)
        assert {one.purpose for one in approved} <= {Purpose.APPROVE}
        moved = before | {"nonce": before["nonce"] + len(approved)}
        if approved:
            moved["coins"] = after_it["coins"]
            moved[way.spender or way.venue] = int(Decimal(way.amount) * 10**sell.decimals)
        assert after_it == moved
        # The words: the rule, the money, who acts next.
        assert lie.rule in {outcome.code, *(one.code for one in outcome.findings)}, outcome
        assert outcome.failure.cause
        assert outcome.failure.money.startswith("in your wallet; nothing was swapped")
        assert (way.takes in outcome.failure.money) is bool(approved)
        assert ("a signature for" in outcome.failure.money) is (lie.honest > len(approved))
        assert outcome.failure.next == "you: ask for new quotes"
        # And it is over: no later start goes on with it.
        assert open_swaps(someone.journal.ledger) == []
        create = someone.journal.ledger.get(intent.id)
        assert create is not None
        assert create.state is (State.DONE if lie.path == CREATE else State.REFUSED)
    assert (lie.change is PAGE) is not bool(service.lies)


def _asks(request: httpx2.Request, path: str) -> bool:
    return request.url.path.endswith(path)


async def test_an_earlier_step_that_changed_is_signed_no_second_time(
    place: Place, someone: Swapper, usdc: Token, weth: Token
) -> None:
    """The first document is signed and the second one never comes; when the swap is taken on the
    service hands out another first document."""

    def lost(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        return lose_answer(request, response) if _asks(request, CHAIN) else response

    intent = await someone.intent("is", usdc, weth, "60")
    before = await on_chain(someone, usdc, weth)
    place.network.after = lost
    cut = await someone.flow().swap(intent)
    assert cut is None or cut.open, cut
    assert someone.acts(intent.id) == ["allow"]
    (open_,) = open_swaps(someone.journal.ledger)
    where = "signatures.0.data.message.spender"
    place.network.after = DishonestService(APPROVE, where, instead(ATTACKER))
    outcome = await someone.flow().take_on(open_)
    place.network.after = None
    assert outcome.refused, outcome
    assert outcome.code == "SIGNATURE_CHAIN"
    assert "another document than before" in outcome.failure.cause
    assert "a signature for 60 USDC was made" in outcome.failure.money
    assert someone.acts(intent.id) == ["allow"]
    assert await on_chain(someone, usdc, weth) == before
