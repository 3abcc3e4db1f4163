"""Modules that are loaded after the first frame: one after the other, and between keys.

An import holds the interpreter, in a thread too: a key that comes meanwhile is answered late.
So nothing is imported while keys come, and never more than one module before the next look.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import Iterable

DESK = (
    "swapdesk.tui.screens.tokens",
    "pydantic_core.core_schema",
    "pydantic.fields",
    "pydantic",
    "swapdesk.wire.tokens",
    "swapdesk.wire.orders",
    "swapdesk.flows.journal.journal",
    "Crypto.Hash.keccak",
    "swapdesk.flows.payees.address_book",
    "swapdesk.flows.desk",
    "swapdesk.flows.quotes.intent_line",
    "swapdesk.flows.quotes.quote_request",
    "swapdesk.flows.quotes.recent",
)
"""The page that needs no more than the catalogue, then what a desk is opened with and what its
first page then reads its line with; each after what it needs itself."""
LINK = (
    "httpcore",
    "httpx",
    "anyio._backends._asyncio",
    "websockets.asyncio.client",
    "swapdesk.flows.connection",
    "swapdesk.wire.operations",
    "swapdesk.client.api",
    "swapdesk.flows.quotes.quoting",
    "swapdesk.flows.creation.exchange",
    "swapdesk.client.live",
    "swapdesk.flows.connected_desk",
    "swapdesk.flows.tracking.recent_activity",
    "swapdesk.tui.screens.orders",
)
"""What a desk is connected with, with what its libraries would import at the first request and the
first frame of the stream, and the page of its orders."""

REST_SECONDS = 0.15
"""Without a key for as long the next module may be loaded: a word is typed faster than that."""
PATIENCE_SECONDS = 1.5
"""For as long in all keys come first; whoever goes on typing then shares with what loads."""


class KeyRest:
    """Call :meth:`key` at every key; :meth:`wait` returns in a pause between keys.

    It counts the time of the event loop and not that of the desk's clock: what matters is how
    long this process has really been left alone.
    """

    def __init__(self, rest: float = REST_SECONDS, patience: float = PATIENCE_SECONDS) -> None:
        self._rest = rest
        self._patience = patience
        self._last = float("-inf")

    def key(self) -> None:
        self._last = asyncio.get_running_loop().time()

    async def wait(self) -> None:
        loop = asyncio.get_running_loop()
        left = self._left(loop.time())
        while left > 0:
            self._patience -= left
            await asyncio.sleep(left)
            left = self._left(loop.time())

    def _left(self, now: float) -> float:
        """Seconds that are still to be waited."""
        return min(self._last + self._rest - now, self._patience)


async def load(modules: Iterable[str], rest: KeyRest) -> None:
    """Import ``modules`` in a thread, each in a pause between keys. Raises ImportError.

    One that is not there is left to whoever needs it: libraries rename what is inside of them.
    """
    for name in modules:
        await rest.wait()
        with contextlib.suppress(ModuleNotFoundError):
            await asyncio.to_thread(importlib.import_module, name)
