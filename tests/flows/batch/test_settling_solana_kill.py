"""kill -9 of the desk between the transactions of a group on Solana: each deposit is paid once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from flows.batch.killed_payer import BATCH, ROWS
from flows.batch.killing import killed_at
from flows.batch.paying_on_solana import CHAIN, SolanaPayingPlace, paying_on_solana
from swapdesk.flows.batch.group_status import Until
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.transactions import TransactionState

pytestmark = pytest.mark.asyncio(loop_scope="module")

SAMPLE = frozenset({"wallet.sign.after.1", "wallet.broadcast.after.2"})
"""Killed always; the others with ``--full``."""
BOUNDARIES = (
    "bundles.add.after.1",
    "api.build_multi_transactions.after.2",
    "payments.begin.after.1",
    "wallet.sign.after.1",
    "payments.set.after.1",
    "wallet.broadcast.before.1",
    "wallet.broadcast.after.1",
    "payments.begin.after.2",
    "wallet.sign.after.2",
    "wallet.broadcast.after.2",
    "bundles.ended.before.1",
    "bundles.ended.after.1",
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SolanaPayingPlace]:
    async with paying_on_solana(tmp_path_factory.mktemp("killed")) as made:
        yield made


@pytest.mark.parametrize(
    "boundary",
    [pytest.param(one, marks=() if one in SAMPLE else pytest.mark.long) for one in BOUNDARIES],
)
async def test_a_killed_group_is_gone_on_with_and_paid_once(
    place: SolanaPayingPlace, tmp_path: Path, boundary: str
) -> None:
    async with killed_at(place, tmp_path, boundary) as someone:
        assert someone.journal.batches.adopt(BATCH)
        ending = await someone.settling(BATCH).advance(Until.SETTLED)
        assert ending.failure is None, ending.failure
        bundle = someone.standing(BATCH).bundle
        assert bundle is not None
        assert bundle.number == 1
        assert await someone.paid_exactly(BATCH)
        left = await someone.held(someone.account.address, "USDC")
        assert left == 1000 * 10**6 - sum(one.units for one in bundle.built.deposits)
        assert len(bundle.built.deposits) == len(ROWS[CHAIN])
        paid = [
            one
            for one in await someone.agent.transactions()
            if one.purpose is Purpose.BUNDLE and one.state is TransactionState.SUCCEEDED
        ]
        assert len(paid) == len(bundle.built.items) == 2
