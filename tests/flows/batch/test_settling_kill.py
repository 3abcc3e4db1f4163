"""kill -9 of the desk at every boundary of a group: it is gone on with, by one bundle, once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio

from flows.batch.paying import Payer, PayingPlace, paying
from flows.batch.paying_on_solana import paying_on_solana
from flows.killed_desk import BATCH, ROWS
from flows.killed_process import killed_at, sampled
from swapdesk.flows.batch.group_status import Until
from swapdesk.flows.journal.batch_records import Built, RowState
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.transactions import TransactionState

pytestmark = pytest.mark.asyncio(loop_scope="module")

CREATING = ("batches.mark_sent.after.1", "api.create_multi_exchange.after.1")
CREATED = ("batches.mark_created.after.1", "api.build_multi_transactions.after.1")
FUNDING = (
    "bundles.add.after.1",
    "payments.begin.after.1",
    "wallet.sign.after.1",
    "payments.set.after.1",
    "wallet.broadcast.after.1",
    "payments.begin.after.2",
    "wallet.sign.after.2",
)
SIGNING = ("wallet.review.after.3", "wallet.sign.after.3", "bundles.signed.after.1")
SUBMITTING = (
    "bundles.sent.after.1",
    "api.submit_multi_transactions.after.1",
    "bundles.submitted.after.1",
    "bundles.ended.before.1",
    "bundles.ended.after.1",
)
BOUNDARIES = CREATING + CREATED + FUNDING + SIGNING + SUBMITTING
SAMPLE = frozenset(
    {
        "api.create_multi_exchange.after.1",
        "wallet.sign.after.1",
        "bundles.sent.after.1",
        "api.submit_multi_transactions.after.1",
    }
)
"""Killed always, at each kind of boundary once; the others with ``--full``."""


ON_SOLANA = (
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
SAMPLE_ON_SOLANA = frozenset({"wallet.sign.after.1", "wallet.broadcast.after.2"})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[PayingPlace]:
    async with paying(tmp_path_factory.mktemp("killed")) as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def solana(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[PayingPlace]:
    async with paying_on_solana(tmp_path_factory.mktemp("killed")) as made:
        yield made


@asynccontextmanager
async def gone_on_with(place: PayingPlace, directory: Path, boundary: str) -> AsyncIterator[Payer]:
    """Whoever starts the desk again on the journal and the keys of the killed one."""
    async with place.payer(directory) as someone:
        await someone.agent.close()
        keys, what = place.wallet(directory / "keys"), [place.CHAIN, someone.account.address]
        async with killed_at(place.service, keys, what, boundary) as someone.agent:
            assert someone.journal.batches.adopt(BATCH)
            await someone.creation().run(BATCH)
            yield someone


async def paid_once(someone: Payer, purpose: Purpose, arrives: timedelta | None = None) -> Built:
    """What was paid by one bundle, by as many transactions of a purpose as were needed."""
    ending = await someone.settling(BATCH, arrives=arrives).advance(Until.SETTLED)
    if ending.code == "NOT_SUBMITTED":
        # It is known not to have arrived, and the same signatures leave again.
        ending = await someone.settling(BATCH, arrives=arrives).advance(Until.SETTLED)
    assert ending.failure is None, ending.failure
    bundle = someone.bundle(BATCH)
    assert bundle.number == 1
    assert await someone.paid_exactly(BATCH)
    left = await someone.held(someone.account.address, "USDC")
    assert left == 1000 * 10**6 - sum(one.units for one in bundle.built.deposits)
    assert len(bundle.built.deposits) == len(ROWS[someone.place.CHAIN])
    signed = await someone.agent.transactions()
    states = [one.state for one in signed if one.purpose is purpose]
    assert states.count(TransactionState.SUCCEEDED) == 2
    return bundle.built


@pytest.mark.parametrize("boundary", sampled(BOUNDARIES, SAMPLE))
async def test_a_killed_group_is_gone_on_with_and_paid_once(
    place: PayingPlace, tmp_path: Path, boundary: str
) -> None:
    async with gone_on_with(place, tmp_path, boundary) as someone:
        if boundary == "batches.mark_sent.after.1":
            # It may have left; the service shows no such group.
            assert {row.state for row in someone.group(BATCH).rows} == {RowState.FAILED}
            assert await someone.held(someone.account.address, "USDC") == 1000 * 10**6
            return
        # The smart account was filled once, and holds nothing that was not needed.
        built = await paid_once(someone, Purpose.FUND, timedelta(seconds=1))
        assert await someone.held(built.sender, "USDC") == 0


@pytest.mark.parametrize("boundary", sampled(ON_SOLANA, SAMPLE_ON_SOLANA))
async def test_a_killed_group_on_solana_is_gone_on_with_and_paid_once(
    solana: PayingPlace, tmp_path: Path, boundary: str
) -> None:
    async with gone_on_with(solana, tmp_path, boundary) as someone:
        built = await paid_once(someone, Purpose.BUNDLE)
        assert len(built.items) == 2
