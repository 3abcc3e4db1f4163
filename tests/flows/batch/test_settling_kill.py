"""kill -9 of the desk at every boundary of a group: it is gone on with, by one bundle, once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio

from flows.batch.killed_payer import BATCH
from flows.batch.killing import killed_at
from flows.batch.paying import Payer, PayingPlace, paying
from swapdesk.flows.batch.group_status import Until
from swapdesk.flows.journal.batch_records import RowState
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


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[PayingPlace]:
    async with paying(tmp_path_factory.mktemp("killed")) as made:
        yield made


@pytest.mark.parametrize(
    "boundary",
    [pytest.param(one, marks=() if one in SAMPLE else pytest.mark.long) for one in BOUNDARIES],
)
async def test_a_killed_group_is_gone_on_with_and_paid_once(
    place: PayingPlace, tmp_path: Path, boundary: str
) -> None:
    async with killed_at(place, tmp_path, boundary) as someone:
        await goes_on(someone, created=boundary != "batches.mark_sent.after.1")


async def goes_on(someone: Payer, *, created: bool) -> None:
    """What a desk that starts again does, until it is over."""
    assert someone.journal.batches.adopt(BATCH)
    await someone.creation().run(BATCH)
    if not created:
        # It may have left; the service shows no such group.
        assert {row.state for row in someone.group(BATCH).rows} == {RowState.FAILED}
        assert await someone.held(someone.account.address, "USDC") == 1000 * 10**6
        return
    arrives = timedelta(seconds=1)
    ending = await someone.settling(BATCH, arrives=arrives).advance(Until.SETTLED)
    if ending.code == "NOT_SUBMITTED":
        # It is known not to have arrived, and the same signatures leave again.
        ending = await someone.settling(BATCH, arrives=arrives).advance(Until.SETTLED)
    assert ending.failure is None, ending.failure
    standing = someone.standing(BATCH)
    assert standing.bundle is not None
    assert standing.bundle.number == 1
    assert await someone.paid_exactly(BATCH)
    # The smart account was filled once, and holds nothing that was not needed.
    assert await someone.held(someone.account.address, "USDC") == 940 * 10**6
    assert await someone.held(standing.bundle.built.sender, "USDC") == 0
    funded = [
        one
        for one in await someone.agent.transactions()
        if one.purpose is Purpose.FUND and one.state is TransactionState.SUCCEEDED
    ]
    assert len(funded) == 2
