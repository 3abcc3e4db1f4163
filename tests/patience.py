"""How long a test waits for what must come.

Only a defect takes so long, so how quick the machine is decides nothing. It is below the timeout
of a test, whose error says less.
"""

import asyncio
import os
from collections.abc import Callable
from typing import Final

PATIENCE: Final = min(240.0, float(os.environ.get("SWAPDESK_PATIENCE", "inf")))
"""Seconds. ``SWAPDESK_PATIENCE`` shortens it while somebody develops and waits for what is wrong;
a run that shall prove something is started without it."""


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait for a condition of sockets or threads, whose other side says nothing."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - of the other side
            await asyncio.sleep(0.002)
