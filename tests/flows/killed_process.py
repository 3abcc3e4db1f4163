"""A desk in a process of its own that kills itself, and the keys that it leaves behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from swapdesk.wallet.accounts import WalletPlace
from swapdesk.wallet.client import WalletClient
from wallet.agents import CHEAP, PASSPHRASE

TESTS = Path(__file__).parents[1]


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
