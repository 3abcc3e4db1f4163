"""Modules that are loaded after the first frame: one after the other, and between keys.

An import holds the interpreter, in a thread too: a key that comes meanwhile is answered late.
So nothing is imported while keys come, and never more than one module before the next look.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Iterable

DESK = (
    "pydantic_core.core_schema",
    "pydantic.fields",
    "pydantic",
    "swapdesk.wire.tokens",
    "swapdesk.wire.orders",
    "swapdesk.flows.journal",
    "swapdesk.flows.address_book",
    "swapdesk.flows.desk",
)
"""What a desk is opened with, each after what it needs."""
LINK = (
    "httpx",
    "swapdesk.flows.connection",
    "swapdesk.wire.operations",
    "swapdesk.client.api",
    "swapdesk.flows.quoting",
    "swapdesk.flows.exchange",
    "swapdesk.client.live",
    "swapdesk.flows.link",
)
"""What a desk is connected with."""

REST_SECONDS = 0.05
"""Without a key for as long, the next module may be loaded."""
MOST_RESTS = 5
"""A module waits for no more keys than this, however fast they come."""


class KeyRest:
    """Call :meth:`key` at every key; :meth:`wait` returns in a pause between keys.

    It counts the time of the event loop and not that of the desk's clock: what matters is how
    long this process has really been left alone.
    """

    def __init__(self) -> None:
        self._last = float("-inf")

    def key(self) -> None:
        self._last = asyncio.get_running_loop().time()

    async def wait(self) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(MOST_RESTS):
            left = self._last + REST_SECONDS - loop.time()
            if left <= 0:
                return
            await asyncio.sleep(left)


async def load(modules: Iterable[str], rest: KeyRest) -> None:
    """Import ``modules`` in a thread, each in a pause between keys. Raises ImportError."""
    for name in modules:
        await rest.wait()
        await asyncio.to_thread(importlib.import_module, name)
