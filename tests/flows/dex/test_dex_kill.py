"""kill -9 of the desk at every boundary of a swap: taken on, it is paid once and completed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flows.dex.swapping import Place
from flows.killed_process import killed, reopened
from swapdesk.flows.creation.reconciliation import find_order
from swapdesk.wallet.encoding import to_json
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.transactions import TransactionState

pytestmark = pytest.mark.asyncio(loop_scope="package")

APPROVING = ("steps.begin.after.1", "wallet.sign.after.1", "wallet.broadcast.after.1")
ORDERING = ("steps.sent.after.2", "api.create_exchange.after.1", "intents.mark_created.after.1")
PAYING = (
    "wallet.sign.after.2",
    "steps.sent.after.3",
    "steps.acked.after.2",
    "api.dex_confirm_transaction.after.1",
)
SIGNING = (
    "api.dex_chain_signatures.after.1",
    "wallet.sign.after.2",
    "api.dex_confirm_transaction.before.1",
)
SAMPLE = {
    ("ba", "wallet.broadcast.after.1"),
    ("ba", "steps.sent.after.2"),
    ("ba", "api.create_exchange.after.1"),
    ("ba", "steps.sent.after.3"),
    ("is", "wallet.sign.after.2"),
}
"""Killed always, at each kind of boundary once; the others with ``--full``."""
BOUNDARIES = [
    *(("ba", one) for one in APPROVING + ORDERING + PAYING),
    *(("is", one) for one in SIGNING),
]


@pytest.mark.parametrize(
    ("venue", "boundary"),
    [pytest.param(*one, marks=() if one in SAMPLE else pytest.mark.long) for one in BOUNDARIES],
)
async def test_a_killed_swap_is_taken_on_and_paid_once(
    place: Place, tmp_path: Path, venue: str, boundary: str
) -> None:
    usdc, weth = place.floor.token("base", "USDC"), place.floor.token("base", "WETH")
    async with place.someone(tmp_path) as someone, place.service.served(works=True) as url:
        await someone.fund(USDC="100")
        intent = await someone.intent(venue, usdc, weth, "60")
        await someone.agent.close()
        keys = place.wallet(tmp_path / "keys")
        await killed(
            "flows/dex/killed_desk.py",
            url,
            json.dumps(to_json(keys)),
            str(tmp_path / "journal.db"),
            json.dumps(intent.as_json()),
            boundary,
        )
        agent = await reopened(keys)
        try:
            (open_,) = someone.journal.swaps.open_swaps()
            assert open_.id == intent.id
            outcome = await someone.flow(agent=agent).take_on(open_)
            if boundary == "steps.sent.after.2":
                # It may have left; the service shows no order, so nothing was created.
                assert outcome is not None
                assert not (outcome is not None and outcome.done)
                assert "in your wallet" in outcome.failure.money
                assert await someone.holds(usdc) == 100 * 10**6
            else:
                assert outcome.done, outcome
                ended = await place.completed(outcome.order)
                assert ended.display_status == "SWAP_COMPLETED"
                assert await someone.holds(usdc) == 40 * 10**6
                assert someone.journal.orders.index.ids() == {outcome.order.service_id}
            assert someone.journal.swaps.open_swaps() == []
            paid = [
                one
                for one in await agent.transactions(intent.id)
                if one.purpose is Purpose.SWAP and one.state is TransactionState.SUCCEEDED
            ]
            assert len(paid) == (
                1 if venue == "ba" and (outcome is not None and outcome.done) else 0
            )
            found = await find_order(
                place.api,
                place.floor.clock,
                intent,
                sent_at=intent.frozen_at,
                known=(),
                looks=(0.0,),
            )
            assert len(found.same) == (1 if (outcome is not None and outcome.done) else 0)
        finally:
            await agent.close()
