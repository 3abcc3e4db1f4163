"""Permits and chains of signatures, and services that contradict themselves in one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from flows.dex.standing import ATTACKER, signed
from flows.dex.swapping import Place, Swapper
from flows.faulty_network import DishonestService
from swapdesk.chain.deployments import PERMIT2
from swapdesk.flows.dex.swap_signing import SwapSigning
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.review import Review
from swapdesk.wire.tokens import Token

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def test_a_permit_and_the_swap_that_uses_it(
    place: Place, someone: Swapper, usdc: Token, weth: Token
) -> None:
    intent = await someone.intent("fa", usdc, weth, "100")
    outcome = await someone.flow().swap(intent)
    assert outcome.done, outcome
    assert (await place.completed(outcome.order)).display_status == "SWAP_COMPLETED"
    assert await someone.holds(usdc) == 0
    assert await someone.holds(weth) > 0
    signed = await someone.agent.transactions(intent.id)
    assert [one.purpose for one in signed] == [Purpose.SWAP]
    assert "sign permit 0" in {one.name for one in someone.journal.swaps.steps(intent.id)}


async def test_a_chain_of_two_signatures(
    place: Place, someone: Swapper, usdc: Token, weth: Token
) -> None:
    coins = await someone.holds(place.floor.token("base", "ETH"))
    intent = await someone.intent("is", usdc, weth, "100")
    taken_on = SwapSigning(intent, someone.journal, place.floor.clock, lambda: None, fresh=False)
    lines: list[list[str]] = []

    def agrees(review: Review) -> bool:
        lines.append([one.name for one in taken_on.steps])
        return True

    someone.agrees = agrees
    outcome = await someone.flow().swap(intent)
    assert outcome.done, outcome
    assert lines == [["allowance", "sign 1 permit", "sign 2 order", "settle", "confirm"]] * 2
    assert outcome.hash is None
    assert (await place.completed(outcome.order)).display_status == "SWAP_COMPLETED"
    assert await someone.holds(usdc) == 0
    assert await someone.holds(weth) > 0
    assert await someone.holds(place.floor.token("base", "ETH")) == coins, "it costs no gas"
    assert [one.name for one in someone.journal.swaps.steps(intent.id)] == [
        "permission",
        "sign order 0",
        "sign order 1",
        "create",
        "confirm",
    ]


def _first(**changes: Any) -> Callable[[Any], Any]:
    def change(answer: Any) -> Any:
        answer["signatures"][0] |= changes
        return answer

    return change


def _next(**changes: Any) -> Callable[[Any], Any]:
    return lambda answer: [answer[0] | changes]


@pytest.mark.parametrize(
    ("path", "change", "made"),
    [
        ("/dex/approve", _first(step=1), 0),
        ("/dex/approve", _first(totalSteps=9), 0),
        ("/dex/approve", _first(isComplete=True), 1),
        ("/dex/approve", _first(type="single"), 1),
        ("/dex/approve", _first(type="hovering"), 0),
        ("/dex/chainSignatures", lambda answer: [], 1),
        ("/dex/chainSignatures", lambda answer: answer * 2, 1),
        ("/dex/chainSignatures", _next(step=0, isComplete=False), 1),
        ("/dex/chainSignatures", _next(totalSteps=3), 1),
        ("/dex/chainSignatures", _next(key="another"), 1),
        ("/dex/chainSignatures", _next(isComplete=False), 2),
    ],
)
async def test_a_chain_goes_forward_and_ends(
    someone: Swapper, path: str, change: Callable[[Any], Any], made: int, usdc: Token, weth: Token
) -> None:
    intent = await someone.intent("is", usdc, weth, "100")
    outcome = await someone.swapped(intent, DishonestService(path, "", change))
    assert outcome.refused, outcome
    assert outcome.code in {"SIGNATURE_CHAIN", "STEP_TOTAL_CHANGED", "UNKNOWN_SIGNATURE"}
    assert len(someone.reviews) <= made
    assert "in your wallet" in outcome.failure.money
    assert ("a signature for 100 USDC was made" in outcome.failure.money) is bool(someone.reviews)
    assert someone.journal.orders.index.ids() == set()
    assert await someone.holds(usdc) == 100 * 10**6


def _sends(**changes: Any) -> Callable[[Any], Any]:
    def change(order: Any) -> Any:
        order["metadata"] = order["metadata"] | changes
        return order

    return change


@pytest.mark.parametrize(
    "change",
    [
        _sends(to="0x" + "ab" * 20),
        _sends(data="0xdeadbeef"),
        _sends(value="1"),
        _sends(chainId=8453),
        _sends(authorizationList=[{"address": "0x" + "ab" * 20}]),
        _sends(offChain=True),
    ],
)
async def test_an_order_that_repeats_another_transaction_is_not_paid(
    place: Place, first: Swapper, tmp_path: Path, change: Callable[[Any], Any]
) -> None:
    """The create says one thing and the order, read again, another: neither is signed."""
    eth, usdc = place.floor.token("base", "ETH"), place.floor.token("base", "USDC")
    async with place.someone(tmp_path, first) as someone:
        await someone.fund()
        coins = await someone.holds(eth)
        intent = await someone.intent("ba", eth, usdc, "0.01")
        outcome = await someone.swapped(intent, DishonestService("/exchanges", "", change))
        assert outcome.refused, outcome
        assert outcome.code == "ORDER_DIFFERS"
        assert "the service repeats another transaction to send" in outcome.failure.cause
        assert outcome.failure.money == "in your wallet; nothing was swapped"
        assert outcome.failure.next == "you: ask for new quotes"
        assert someone.reviews == []
        assert await someone.agent.transactions(intent.id) == ()
        assert await someone.holds(eth) == coins
        assert someone.journal.swaps.open_swaps() == []


def _elsewhere(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
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


@pytest.mark.parametrize(("venue", "sends"), [("ba", True), ("is", False)])
async def test_what_to_send_is_read_beside_the_order_as_elsewhere(
    place: Place, someone: Swapper, venue: str, sends: bool, usdc: Token, weth: Token
) -> None:
    intent = await someone.intent(venue, usdc, weth, "100")
    place.network.after = _elsewhere
    try:
        outcome = await someone.flow().swap(intent)
        assert outcome.done, outcome
    finally:
        place.network.after = None
    assert (await place.completed(outcome.order)).display_status == "SWAP_COMPLETED"
    assert await someone.holds(weth) > 0
    signed = await someone.agent.transactions(intent.id)
    assert (Purpose.SWAP in [one.purpose for one in signed]) is sends


async def test_a_token_without_permits_is_sold_through_permit2(
    place: Place, someone: Swapper, usdc: Token, weth: Token
) -> None:
    """Permit2 is approved by a transaction; what is signed then is a transfer by it whose witness
    the order is."""
    await someone.fund(WETH="0.03")
    before = await someone.holds(usdc)
    intent = await someone.intent("is", weth, usdc, "0.03")
    outcome = await someone.flow().swap(intent)
    assert outcome.done, outcome
    assert outcome.hash is None, "the venue settles it"
    assert (await place.completed(outcome.order)).display_status == "SWAP_COMPLETED"
    assert await someone.holds(usdc) > before
    assert await someone.holds(weth) == 0
    assert [(one.title, one.findings, one.phrase) for one in someone.reviews] == [
        ("An approval: a contract may take a token", (), None),
        ("An order paid through Permit2: sell a token for another", (), None),
    ]
    assert signed(someone, intent.id) == ["allow", "order"]
    approve, order = (
        one
        for one in someone.journal.swaps.steps(intent.id)
        if one.name in ("approve", "sign order 0")
    )
    assert approve.told["spender"] == PERMIT2.lower()
    assert (order.told["kind"], order.told["taken"]) == ("order", str(3 * 10**16))


async def test_a_changed_document_of_permit2_is_not_signed(
    someone: Swapper, usdc: Token, weth: Token
) -> None:
    """What the gate refuses is proved in ``tests/agent``."""
    await someone.fund(WETH="0.02")
    intent = await someone.intent("is", weth, usdc, "0.02")
    where = "signatures.0.data.message.spender"
    outcome = await someone.swapped(
        intent, DishonestService("/dex/approve", where, lambda _: ATTACKER)
    )
    assert outcome.refused, outcome
    assert "SPENDER_UNKNOWN" in {one.code for one in outcome.findings}
    assert signed(someone, intent.id) == ["allow"]
    assert outcome.failure.money == (
        "in your wallet; nothing was swapped; Permit2 may pass on up to 0.02 WETH by a"
        " signature of yours, until you revoke that"
    )
