"""Whoever pays groups at the ``place`` of a module."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from flows.batch.paying import Payer, PayingPlace


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def first(
    place: PayingPlace, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Payer]:
    """Whose wallet agent the others use."""
    async with place.payer(tmp_path_factory.mktemp("first")) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def someone(place: PayingPlace, first: Payer, tmp_path: Path) -> AsyncIterator[Payer]:
    """A new account, and no faults and no lost answers after it."""
    async with place.payer(tmp_path / "someone", first) as made:
        yield made
    place.faults.active.clear()
    place.network.before = place.network.after = None
