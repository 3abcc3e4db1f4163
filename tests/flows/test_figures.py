"""Figures of orders under way are written later: nothing is lost by that, not even by a kill."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from flows.orders import NOW, order
from patience import eventually
from swapdesk.clock import ManualClock
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.order_merge import FIGURES, PROGRESS, only_volatile_fields
from swapdesk.flows.journal.order_writes import (
    FIGURES_SECONDS,
    FLUSH_SECONDS,
    OrderWrites,
    Writing,
)
from swapdesk.wire.orders import DisplayStatus, Order

NAME = order().service_id


def under_way(minutes: float = 0, **changes: Any) -> Order:
    facts = {"status": 2, "display_status": "EXCHANGE_IN_PROGRESS", "in_status": 3}
    return order(modified=NOW + timedelta(minutes=minutes), **{**facts, **changes})


class Kept:
    """The writes of a desk, what it was told, and the clock they wait on."""

    def __init__(self, journal: Journal, clock: ManualClock) -> None:
        self.journal = journal
        self.clock = clock
        self.told: list[str] = []
        self.writes = OrderWrites(journal.order_writer(), clock, self._written)

    def _written(self, ids: Iterable[str]) -> None:
        self.told += ids

    @property
    def order(self) -> Order:
        entry = self.journal.orders.get(NAME)
        return entry.order

    async def wrote(self, amount: Decimal) -> None:
        """Let a commit come due until the journal has this output."""

        def look() -> bool:
            self.clock.advance(FLUSH_SECONDS)
            return self.order.out_amount == amount

        await eventually(look)


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[Kept]:
    clock = ManualClock(NOW)
    journal = Journal.open(tmp_path / "desk" / "journal.db", clock)
    one = Kept(journal, clock)
    one.writes.put(Writing(under_way(), "list", False))
    assert await one.writes.flush()
    one.told.clear()
    yield one
    await one.writes.finish()
    journal.close()


@pytest.mark.parametrize("name", sorted(Order.model_fields.keys() - {"service_id"}))
def test_only_what_the_service_states_again_is_a_figure(name: str) -> None:
    after = under_way().model_copy(update={name: "another"})
    figure = name in FIGURES and name != "display_status"
    assert only_volatile_fields(under_way(), after) == figure


@pytest.mark.parametrize("display", [*DisplayStatus, "A_NEW_WORD", None])
def test_figures_wait_only_while_an_order_is_under_way(display: str | None) -> None:
    known = under_way(display_status=display, status=None)
    seen = known.model_copy(update={"out_amount": Decimal(9)})
    assert only_volatile_fields(known, seen) == (
        display in PROGRESS and display != DisplayStatus.WAITING_FOR_DEPOSIT
    )


async def test_figures_are_told_at_once_and_written_together_later(kept: Kept) -> None:
    for at in range(1, 6):
        kept.writes.put_figures(
            Writing(under_way(at, out_amount=Decimal(at)), "stream", ended=False)
        )
        assert await kept.writes.flush()
    assert kept.told == [NAME] * 5
    assert kept.order.out_amount == under_way().out_amount
    kept.writes.schedule()
    await asyncio.sleep(0)
    kept.clock.advance(FIGURES_SECONDS)
    await asyncio.sleep(0)
    await kept.wrote(Decimal(5))
    assert len(kept.journal.orders.events(NAME)) == 2
    assert not kept.writes.waiting(NAME)


async def test_the_first_of_many_figures_decides_when_they_are_written(kept: Kept) -> None:
    kept.writes.put_figures(Writing(under_way(1, out_amount=Decimal(1)), "stream", False))
    kept.writes.schedule()
    await asyncio.sleep(0)
    kept.clock.advance(FIGURES_SECONDS - 1)
    kept.writes.put_figures(Writing(under_way(2, out_amount=Decimal(2)), "stream", False))
    await asyncio.sleep(0)
    assert not kept.writes.pending
    kept.clock.advance(1)
    await eventually(lambda: bool(kept.writes.pending))


async def test_another_state_takes_its_figures_along_at_once(kept: Kept) -> None:
    kept.writes.put_figures(Writing(under_way(1, out_amount=Decimal(1)), "stream", False))
    over = under_way(2, out_amount=Decimal(2), status=4, display_status="SWAP_COMPLETED")
    kept.writes.put(Writing(over, "read", True))
    # Its end is told once the journal has it, and its figures of before are told no more.
    kept.writes.schedule()
    assert kept.told == []
    assert await kept.writes.flush()
    assert kept.told == [NAME]
    assert kept.order == over
    kept.clock.advance(2 * FIGURES_SECONDS)
    assert await kept.writes.flush()
    assert kept.order == over


async def test_figures_of_a_state_that_waits_go_with_it(kept: Kept) -> None:
    moved = {"display_status": "SENDING_TO_RECEIVER"}
    kept.writes.put(Writing(under_way(1, **moved), "stream", False))
    kept.writes.put_figures(
        Writing(under_way(2, out_amount=Decimal(7), **moved), "stream", ended=False)
    )
    assert await kept.writes.flush()
    assert kept.order.out_amount == Decimal(7)
    assert not kept.writes.waiting(NAME)
