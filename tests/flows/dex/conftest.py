"""Chains, service, wallet agent and journal of the swaps of this folder, all of them real.

Each test has a key and a journal of its own, and takes back the faults it asked for.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from flows.dex.swapping import Place, SolanaPlace, Swapper, swapping, swapping_on_solana
from swapdesk.wire.tokens import Token


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    async with swapping(tmp_path_factory.mktemp("swap")) as made:
        yield made


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def solana(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SolanaPlace]:
    async with swapping_on_solana(tmp_path_factory.mktemp("solana")) as made:
        yield made


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def first(place: Place, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Swapper]:
    """Whose wallet agent others may use, each with a key of their own: starting one takes longer
    than most tests."""
    async with place.someone(tmp_path_factory.mktemp("first")) as someone:
        yield someone


@pytest_asyncio.fixture(loop_scope="package")
async def someone(place: Place, first: Swapper, tmp_path: Path) -> AsyncIterator[Swapper]:
    """A new account with 100 dollars and a coin, and no faults and no lies after it."""
    async with place.someone(tmp_path, first) as made:
        await made.fund(USDC="100")
        yield made
    place.floor.world.faults.active.clear()
    place.network.after = None


@pytest.fixture(scope="package")
def usdc(place: Place) -> Token:
    return place.floor.token("base", "USDC")


@pytest.fixture(scope="package")
def weth(place: Place) -> Token:
    return place.floor.token("base", "WETH")
