"""Groups on Solana: each transaction reviewed, signed and sent by itself, and no deposit twice."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from flows.batch.paying import Payer, SolanaPayingPlace, paying_on_solana
from flows.faulty_network import DishonestService
from flows.killed_desk import gone_on_with, paid_once, sampled
from swapdesk.flows.batch.bundles import signed_under
from swapdesk.flows.batch.progress import Until
from swapdesk.flows.journal.ledger import State
from swapdesk.wallet.promise import Purpose

pytestmark = pytest.mark.asyncio(loop_scope="module")

TWELVE = tuple(("USDC", str(20 + number)) for number in range(12))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SolanaPayingPlace]:
    async with paying_on_solana(tmp_path_factory.mktemp("solana")) as made:
        yield made


async def test_a_group_is_paid_by_as_many_transactions_as_it_takes(someone: Payer) -> None:
    await someone.created("c1000", *TWELVE, ("SOL", "0.3"))
    await someone.settles("c1000", Until.BUILT)
    standing = someone.standing("c1000")
    assert standing.plan == "3 transactions of 13 transfers in all"
    assert (standing.word, standing.next) == ("built", Until.SIGNED)
    assert someone.reviews == []
    await someone.settles("c1000", Until.SIGNED)
    assert await someone.paid_exactly("c1000")
    assert len(someone.reviews) == 3
    payments = someone.standing("c1000").payments
    assert [(act.kind, act.state) for act in payments] == [("part", State.DONE)] * 3
    again = await someone.settling("c1000").advance(Until.SETTLED)
    assert again.failure is None
    assert len(someone.reviews) == 3


async def test_no_in_between_leaves_what_was_paid_paid(someone: Payer) -> None:
    await someone.created("c1001", *TWELVE)
    someone.agrees = lambda review: len(someone.reviews) < 2
    stopped = await someone.stops("c1001")
    assert (stopped.code, stopped.open) == ("NOT_CONFIRMED", True)
    assert stopped.failure.money == "1 of 2 transactions paid; the rest is in your wallet"
    standing = someone.standing("c1001")
    assert (standing.word, standing.begun, standing.next) == ("being sent", True, Until.SIGNED)
    assert len(standing.paid) == 9
    # Built again, what is paid is no part of it any more.
    someone.agrees = lambda review: True
    await someone.settles("c1001", Until.BUILT)
    assert len(someone.deposits("c1001")) == 3
    await someone.settles("c1001")
    assert await someone.paid_exactly("c1001")
    spent = 1000 * 10**6 - await someone.held(someone.account.address, "USDC")
    assert spent == sum(20 + number for number in range(12)) * 10**6


async def test_what_was_not_executed_in_time_is_signed_anew_and_not_before(
    place: SolanaPayingPlace, someone: Payer
) -> None:
    """A node that takes transactions and forgets them: nothing is signed beside the first one
    until its last block has passed."""
    await someone.created("c1002", ("USDC", "20"))
    place.floor.world.faults.set("drop_transaction", "chain", "solana", times=1_000)
    stopped = await someone.settling("c1002").advance(Until.SETTLED)
    place.floor.world.faults.active.clear()
    assert stopped.failure is not None
    assert (stopped.code, stopped.open) == ("LOST", True)
    assert stopped.failure.money == "in your wallet; no deposit was paid"
    assert len(someone.reviews) == 1
    assert await someone.held(someone.account.address, "USDC") == 1000 * 10**6
    await someone.settles("c1002")
    assert await someone.paid_exactly("c1002")
    (payment,) = [one for one in someone.standing("c1002").payments if one.code is None]
    states = [one.word for one in await someone.agent.transactions(signed_under(payment))]
    assert states == ["lost", "succeeded"]


def twice(told: str) -> str:
    """The first deposit of 20 dollars is one of 40."""
    old, new = ((units * 10**6).to_bytes(8, "little") for units in (20, 40))
    return b64encode(b64decode(told).replace(old, new)).decode()


async def test_a_tampered_transaction_is_never_signed(
    place: SolanaPayingPlace, someone: Payer
) -> None:
    """What the gate refuses is proved in ``tests/agent``."""
    await someone.created("c2000", ("USDC", "20"), ("USDC", "30"))
    await someone.settles("c2000", Until.BUILT)
    service = DishonestService("/tx/build", "transactions.0.txData.data", twice)
    place.network.after = service
    refused = await someone.settling("c2000").advance(Until.SETTLED)
    place.network.after = None
    assert service.lies
    assert "Your wallet refuses to sign this" in refused.failure.cause
    assert "BUNDLE_AMOUNT_DIFFERS" in refused.failure.cause
    assert someone.reviews == []
    assert await someone.held(someone.account.address, "USDC") == 1000 * 10**6
    await someone.settles("c2000")
    assert await someone.paid_exactly("c2000")


# kill -9 of the desk

ON_SOLANA = (
    "ledger.bundle_prepared.after.1",
    "api.build_multi_transactions.after.2",
    "ledger.part_prepared.after.1",
    "wallet.sign.after.1",
    "ledger.part_sent.after.1",
    "wallet.broadcast.before.1",
    "wallet.broadcast.after.1",
    "ledger.part_prepared.after.2",
    "wallet.sign.after.2",
    "wallet.broadcast.after.2",
    "ledger.bundle_done.before.1",
    "ledger.bundle_done.after.1",
)
SAMPLE_ON_SOLANA = frozenset({"wallet.sign.after.1", "wallet.broadcast.after.2"})


@pytest.mark.parametrize("boundary", sampled(ON_SOLANA, SAMPLE_ON_SOLANA))
async def test_a_killed_group_on_solana_is_gone_on_with_and_paid_once(
    place: SolanaPayingPlace, tmp_path: Path, boundary: str
) -> None:
    async with gone_on_with(place, tmp_path, boundary) as someone:
        built = await paid_once(someone, Purpose.BUNDLE)
        assert len(built.items) == 2
