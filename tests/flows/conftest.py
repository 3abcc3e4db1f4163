"""The desk's create flow against the real service in process, on clocks that are moved."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from flows.marketplace import (
    api,
    bob,
    book,
    catalog,
    clock,
    listed,
    own_catalog,
    rita,
    venues,
    world,
)
from service.venue import PlainVenue
from swapdesk.clock import ManualClock
from swapdesk.flows.journal.journal import Journal
from world import World, open_world

__all__ = [
    "api",
    "bob",
    "book",
    "catalog",
    "clock",
    "listed",
    "own_catalog",
    "rita",
    "trade",
    "venues",
    "world",
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Of the journal."""
    return tmp_path / "journal.db"


@pytest.fixture
def journal(path: Path, clock: ManualClock) -> Iterator[Journal]:
    opened = Journal.open(path, clock)
    yield opened
    opened.close()


@pytest.fixture
async def trade(tmp_path: Path) -> AsyncIterator[World]:
    """One venue, and the desk of the first partner."""
    async with open_world(tmp_path, ManualClock(), [PlainVenue("aa", "Alder")]) as opened:
        yield opened
