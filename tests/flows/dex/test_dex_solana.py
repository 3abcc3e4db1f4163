"""Swaps on Solana from the confirmation to the end: what is signed, sent, and made of lies."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace

from flows.dex.swapping import SolanaPlace, Swapper
from flows.dishonest_solana import other_blockhash, other_payee
from flows.faulty_network import DishonestService
from swapdesk.flows.creation.creates import acts_of
from swapdesk.flows.dex.dex_plan import promise_of
from swapdesk.flows.dex.dex_swap import half_of
from swapdesk.flows.orders.told_transaction import told_by
from swapdesk.wallet.answers import Match

pytestmark = pytest.mark.asyncio(loop_scope="package")

FEE = 10_100


@pytest.fixture(scope="module")
def place(solana: SolanaPlace) -> SolanaPlace:
    return solana


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def first(
    place: SolanaPlace, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Swapper]:
    """Whose wallet agent everybody uses: each test has a key of its own in it."""
    async with place.someone(tmp_path_factory.mktemp("first")) as someone:
        yield someone


async def test_tokens_for_coins(place: SolanaPlace, someone: Swapper) -> None:
    """What a node forgot is sent again, and executed once."""
    usdc, sol = place.floor.coins()
    place.floor.world.faults.set("drop_transaction", "chain", "solana", times=2)
    intent = await someone.intent("at", usdc, sol, "60")
    outcome = await someone.flow().swap(intent)
    assert outcome.done, outcome
    (review,) = someone.reviews
    assert (review.findings, review.phrase) == ((), None)
    assert all(one.match is not Match.DIFFERS for one in review.lines)
    ended = await place.completed(outcome.order)
    assert ended.display_status == "SWAP_COMPLETED"
    assert await someone.holds(usdc) == 40 * 10**6
    least = promise_of(intent).least_units
    assert await someone.holds(sol) >= 10**9 + least - FEE
    kinds = [act.kind for act in acts_of(someone.journal.ledger, intent.id)]
    assert kinds == ["create", "swap", "confirm"]
    (signed,) = await someone.agent.transactions(intent.id)
    assert (signed.hash, signed.word) == (outcome.hash, "succeeded")
    assert signed.last_valid_height is not None
    # A half is in hexadecimal as the service writes it, or in base64.
    told = told_by(outcome.order)
    half = half_of(told, promise_of(intent))
    assert half_of({**told, "data": half.transaction}, promise_of(intent)) == half
    assert half_of({**told, "data": "0x" + told["data"]}, promise_of(intent)) == half


async def test_coins_for_tokens_to_somebody_else(
    place: SolanaPlace, first: Swapper, tmp_path: Path
) -> None:
    usdc, sol = place.floor.coins()
    async with (
        place.someone(tmp_path / "one", first) as someone,
        place.someone(tmp_path / "other", first) as other,
    ):
        await someone.fund("3")
        intent = await someone.intent("at", sol, usdc, "2")
        intent = replace(intent, recipient=other.address)
        outcome = await someone.flow().swap(intent)
        assert outcome.done, outcome
        await place.completed(outcome.order)
        assert await other.holds(usdc) >= promise_of(intent).least_units
        assert await someone.holds(usdc) == 0
        assert await someone.holds(sol) < 10**9 - FEE


async def test_who_reads_too_long_signs_nothing(place: SolanaPlace, someone: Swapper) -> None:
    """The half gets old while somebody looks at it: what was shown is judged once more."""
    usdc, sol = place.floor.coins()
    intent = await someone.intent("at", usdc, sol, "60")

    def slow(_: object) -> bool:
        place.floor.world.time.pass_blocks(140)
        return True

    someone.agrees = slow
    outcome = await someone.flow().swap(intent)
    assert outcome.refused, outcome
    assert outcome.code == "BLOCKHASH_OLD"
    assert await someone.agent.transactions(intent.id) == ()
    assert await someone.holds(usdc) == 100 * 10**6


def in_hex(change: Callable[[bytes], bytes]) -> Callable[[str], str]:
    return lambda half: change(bytes.fromhex(half)).hex()


@pytest.mark.parametrize(
    ("where", "change", "rules"),
    [
        ("metadata.chainId", lambda _: 1, {"CHAIN_ID_DIFFERS"}),
        ("metadata.data", in_hex(other_payee), {"COUNTERPARTY_UNKNOWN", "COSIGNER_UNKNOWN"}),
        ("metadata.data", in_hex(other_blockhash), {"BLOCKHASH_OLD", "COSIGNER_UNKNOWN"}),
    ],
)
async def test_a_lie_obtains_no_signature(
    place: SolanaPlace,
    someone: Swapper,
    where: str,
    change: Callable[[Any], Any],
    rules: set[str],
) -> None:
    """One for each place; what the gate refuses is proved in ``tests/agent``."""
    usdc, sol = place.floor.coins()
    intent = await someone.intent("at", usdc, sol, "60")
    outcome = await someone.swapped(intent, DishonestService("/exchanges", where, change))
    assert outcome.refused, outcome
    found = {one.code for one in outcome.findings} or {outcome.code}
    assert found >= rules, found
    assert "in your wallet" in outcome.failure.money
    assert await someone.agent.transactions(intent.id) == ()
    assert await someone.holds(usdc) == 100 * 10**6
    assert await someone.holds(sol) == 10**9
