"""A real wallet agent over real pipes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from sandbox.evm.evm_world import World, embedded
from swapdesk.wallet.accounts import WalletPlace
from swapdesk.wallet.client import WalletClient
from wallet.agents import CHEAP, Start
from wallet.signing import Trader, trader


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return tmp_path / "profiles" / "sandbox" / "keys"


@pytest.fixture
async def start(keys: Path) -> AsyncIterator[Start]:
    """Starts agents on one directory of keys; all of them end with the test."""
    clients: list[WalletClient] = []

    async def begin(
        *, directory: Path = keys, profile: str = "sandbox", on_locked: Any = None, **more: Any
    ) -> WalletClient:
        place = WalletPlace(str(directory), profile, **more)
        client = await WalletClient.start(
            place, program=CHEAP, on_locked=on_locked or (lambda: None)
        )
        clients.append(client)
        return client

    yield begin
    for client in clients:
        await client.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with embedded(tmp_path_factory.mktemp("chains")) as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def someone(world: World, tmp_path_factory: pytest.TempPathFactory) -> Trader:
    return await trader(world, tmp_path_factory.mktemp("wallet") / "keys")
