"""A service that lies never obtains a signature: every fault, on every path where it can lie.

The service is on a real socket, the wallet agent is a process, and the trader says yes to
whatever is shown, phrases to type included.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path

import pytest
import pytest_asyncio
from msgspec import Struct
from msgspec.structs import replace

from flows.dex.standing import on_chain, signed
from flows.dex.swapping import Place, Swapper
from swapdesk.client.api import PartnerApi
from swapdesk.flows.journal.journal_records import IntentState
from swapdesk.sandbox.faults import ActiveFault
from swapdesk.sandbox.tampering import APPROVE, CHAIN, CREATE, SERVICE_FAULTS, SIGNING_FAULTS
from swapdesk.wallet.promise import Purpose

pytestmark = pytest.mark.asyncio(loop_scope="package")


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def lying(place: Place) -> AsyncIterator[PartnerApi]:
    """The service behind its faults, as a desk reaches it."""
    async with place.service.served() as url, place.service.new_api(url=url) as api:
        yield api


class Way(Struct, frozen=True):
    """A way to swap ``sell`` for ``buy``; ``before`` is what is honestly signed on it until the
    create, in this order."""

    venue: str
    sell: str
    buy: str
    amount: str
    before: tuple[str, ...] = ()


APPROVAL = Way("ba", "USDC", "WETH", "60", ("allow",))
PERMIT = Way("fa", "USDC", "WETH", "60", ("allow",))
STEPS = Way("is", "USDC", "WETH", "60", ("allow", "order"))
COIN = Way("ba", "ETH", "USDC", "0.01")
BRIDGE = Way("me", "USDC", "USDC", "60", ("allow",))


class Lie(Struct, frozen=True):
    """``honest`` is how many signatures are given before the lie is met."""

    way: Way
    operation: str
    fault: str
    rule: str
    honest: int = 0


LIES = (
    # The approval transaction
    Lie(APPROVAL, APPROVE, "tamper_spender", "SPENDER_UNKNOWN"),
    Lie(APPROVAL, APPROVE, "tamper_amount", "ALLOWANCE_ABOVE"),
    Lie(APPROVAL, APPROVE, "tamper_chain_id", "CHAIN_ID_DIFFERS"),
    Lie(APPROVAL, APPROVE, "tamper_recipient", "TOKEN_SOLD_DIFFERS"),
    Lie(APPROVAL, APPROVE, "tamper_calldata", "PURPOSE_DIFFERS"),
    # The order's transaction, after an honest approval
    *(
        Lie(way, CREATE, fault, rule, len(way.before))
        for way in (APPROVAL, PERMIT, COIN, BRIDGE)
        for fault, rule in (
            ("tamper_spender", "CONTRACT_UNKNOWN"),
            ("tamper_amount", "SOLD_ABOVE"),
            ("tamper_chain_id", "CHAIN_ID_DIFFERS"),
            ("tamper_recipient", "RECIPIENT_DIFFERS"),
            ("tamper_calldata", "METHOD_UNKNOWN"),
            ("tamper_extra_field", "TRANSACTION_KIND"),
            ("stale_calldata", "DEADLINE_PAST"),
        )
    ),
    # The permit, alone or as the first of two steps
    *(
        Lie(way, APPROVE, fault, rule)
        for way in (PERMIT, STEPS)
        for fault, rule in (
            ("tamper_spender", "SPENDER_UNKNOWN"),
            ("tamper_amount", "ALLOWANCE_ABOVE"),
            ("tamper_chain_id", "CHAIN_ID_DIFFERS"),
            ("tamper_extra_field", "DOCUMENT_EXTRA_FIELD"),
        )
    ),
    # The order, as the second of two steps
    Lie(STEPS, CHAIN, "tamper_spender", "CONTRACT_UNKNOWN", 1),
    Lie(STEPS, CHAIN, "tamper_amount", "SOLD_ABOVE", 1),
    Lie(STEPS, CHAIN, "tamper_chain_id", "CHAIN_ID_DIFFERS", 1),
    Lie(STEPS, CHAIN, "tamper_recipient", "RECIPIENT_DIFFERS", 1),
    Lie(STEPS, CHAIN, "tamper_extra_field", "DOCUMENT_EXTRA_FIELD", 1),
    Lie(STEPS, CHAIN, "chain_repeat_step", "SIGNATURE_CHAIN", 1),
    Lie(STEPS, CHAIN, "chain_endless", "SIGNATURE_CHAIN", 1),
    # A page for people: nothing was created by asking
    Lie(APPROVAL, APPROVE, "garbage", "ANSWER_NOT_JSON"),
    Lie(STEPS, CHAIN, "garbage", "ANSWER_NOT_JSON", 1),
)


@pytest.mark.parametrize(
    "lie", LIES, ids=lambda lie: f"{lie.way.venue}-{lie.way.sell}-{lie.operation}-{lie.fault}"
)
async def test_a_lie_obtains_no_signature(
    place: Place, lying: PartnerApi, first: Swapper, tmp_path: Path, lie: Lie
) -> None:
    floor, way = place.floor, lie.way
    sell, buy = floor.token("base", way.sell), floor.token("base", way.buy)
    if way.venue == "me":
        buy = floor.token("ethereum", way.buy)
    async with place.someone(tmp_path, first) as someone:
        await someone.fund(USDC="100")
        intent = await someone.intent(way.venue, sell, buy, way.amount)
        before = await on_chain(someone, sell, buy)
        floor.faults.add(
            ActiveFault(
                SERVICE_FAULTS[lie.fault], 9, 2.0, operation=lie.operation, quote_id=intent.quote_id
            )
        )
        try:
            outcome = await someone.flow(lying).swap(intent)
            met = [one.times for one in floor.faults.active]
        finally:
            floor.faults.clear()
        assert outcome.refused, outcome
        assert met != [9], "the service lied"
        # No signature left the agent but the honest ones before the lie.
        assert signed(someone, intent.id) == list(way.before[: lie.honest])
        # Nothing moved on the chain but an honest approval and its gas.
        after = await on_chain(someone, sell, buy)
        approved = await someone.agent.transactions(intent.id)
        assert {one.purpose for one in approved} <= {Purpose.APPROVE}
        allowances = dict(before.allowances)
        if approved:
            allowances[way.venue] = int(Decimal(way.amount) * 10**sell.decimals)
        assert after == replace(
            before,
            coins=after.coins if approved else before.coins,
            nonce=before.nonce + len(approved),
            allowances=allowances,
        )
        # The words: the rule, the money, who acts next.
        found = {outcome.code, *(one.code for one in outcome.findings)}
        assert lie.rule in found, outcome
        assert outcome.failure.cause
        assert outcome.failure.money.startswith("in your wallet; nothing was swapped")
        assert ("may still take" in outcome.failure.money) is bool(approved)
        assert ("a signature for" in outcome.failure.money) is (lie.honest > len(approved))
        assert outcome.failure.next == "you: ask for new quotes"
        # And it is over: no later start goes on with it.
        assert someone.journal.swaps.open_swaps() == []
        entry = someone.journal.intents.get(intent.id)
        assert entry is not None
        created = lie.operation == CREATE
        assert entry.state is (IntentState.CREATED if created else IntentState.REFUSED)


async def test_an_earlier_step_that_changed_is_signed_no_second_time(
    place: Place, lying: PartnerApi, first: Swapper, tmp_path: Path
) -> None:
    """The first document is signed and the second one never comes; when the swap is taken on the
    service hands out another first document."""
    floor = place.floor
    usdc, weth = floor.token("base", "USDC"), floor.token("base", "WETH")
    for fault in ("tamper_spender", "tamper_amount", "tamper_extra_field"):
        async with place.someone(tmp_path / fault, first) as someone:
            await someone.fund(USDC="100")
            intent = await someone.intent("is", usdc, weth, "60")
            before = await on_chain(someone, usdc, weth)
            floor.faults.add(ActiveFault(SERVICE_FAULTS["lost_response"], 3, 2.0, operation=CHAIN))
            cut = await someone.flow(lying).swap(intent)
            assert cut is None or cut.open, cut
            assert signed(someone, intent.id) == ["allow"]
            floor.faults.clear()
            floor.faults.add(
                ActiveFault(
                    SERVICE_FAULTS[fault], 9, 2.0, operation=APPROVE, quote_id=intent.quote_id
                )
            )
            (open_,) = someone.journal.swaps.open_swaps()
            outcome = await someone.flow(lying).take_on(open_)
            floor.faults.clear()
            assert outcome.refused, outcome
            assert outcome.code == "SIGNATURE_CHAIN"
            assert "another document than before" in outcome.failure.cause
            assert "a signature for 60 USDC was made" in outcome.failure.money
            assert signed(someone, intent.id) == ["allow"]
            assert await on_chain(someone, usdc, weth) == before


async def test_without_a_lie_the_same_service_is_paid(
    place: Place, lying: PartnerApi, first: Swapper, tmp_path: Path
) -> None:
    """What the tests above refuse is refused for the lie alone."""
    floor = place.floor
    for way in (APPROVAL, PERMIT, STEPS, COIN, BRIDGE):
        chain = "ethereum" if way.venue == "me" else "base"
        sell, buy = floor.token("base", way.sell), floor.token(chain, way.buy)
        async with place.someone(tmp_path / f"{way.venue}{way.sell}", first) as someone:
            await someone.fund(USDC="100")
            intent = await someone.intent(way.venue, sell, buy, way.amount)
            outcome = await someone.flow(lying).swap(intent)
            assert outcome.done, outcome
            assert signed(someone, intent.id)[: len(way.before)] == list(way.before)


async def test_every_signing_fault_is_told_here() -> None:
    told: dict[str, set[str]] = {}
    for lie in (one for one in LIES if one.fault in SIGNING_FAULTS):
        told.setdefault(lie.fault, set()).add(lie.operation)
    # What is signed for groups is told with the bundles.
    alone = {
        fault: {one for one in kind.operations or () if "multi" not in one}
        for fault, kind in SIGNING_FAULTS.items()
    }
    assert told == {fault: operations for fault, operations in alone.items() if operations}
