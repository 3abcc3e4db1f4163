"""A desk in a process of its own that kills itself, and the keys that it leaves behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from swapdesk.wallet.accounts import WalletPlace
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.encoding import to_json
from wallet.agents import CHEAP, PASSPHRASE
from world import World

TESTS = Path(__file__).parents[1]


def sampled(boundaries: Sequence[Any], sample: Collection[Any]) -> list[Any]:
    """Parameters: those of the sample are killed always, the others with ``--full``."""
    rows = [(one, one if isinstance(one, tuple) else (one,)) for one in boundaries]
    long = pytest.mark.long
    return [pytest.param(*row, marks=() if one in sample else long) for one, row in rows]


async def killed(script: str, *arguments: str) -> None:
    """Run a script of the tests, by its path below them, until it has killed itself."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        str(TESTS / script),
        *arguments,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )
    assert await child.wait() == -signal.SIGKILL


async def reopened(place: WalletPlace) -> WalletClient:
    """The keys, once the agent of the killed desk has let go of them."""
    while True:
        agent = await WalletClient.start(place, program=CHEAP)
        if not agent.accounts.read_only:
            await agent.unlock(PASSPHRASE)
            return agent
        await agent.close()
        await asyncio.sleep(0.05)  # between two looks


@asynccontextmanager
async def killed_at(
    world: World, keys: WalletPlace, what: object, boundary: str, *, works: bool = False
) -> AsyncIterator[WalletClient]:
    """The wallet, opened again, of a desk that died at a boundary of a swap (its intent) or of a
    group (its chain and who pays it); its journal lies beside its keys."""
    journal = Path(keys.directory).parent / "journal.db"
    async with world.served(works=works) as url:
        words = (json.dumps(to_json(keys)), str(journal), json.dumps(what))
        await killed("flows/killed_desk.py", url, *words, boundary)
        agent = await reopened(keys)
        try:
            yield agent
        finally:
            await agent.close()
