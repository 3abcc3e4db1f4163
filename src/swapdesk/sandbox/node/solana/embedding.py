"""How a process carries the chain: checked at its start, opened when first needed."""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swapdesk.sandbox.node.evm.chain_threads import MOST_WAITING, Lane
from swapdesk.sandbox.node.evm.faults import ChainFaults
from swapdesk.sandbox.node.evm.http_endpoint import Door
from swapdesk.sandbox.node.evm.json_rpc import Code, Problem
from swapdesk.sandbox.node.ledger import LedgerRefusal
from swapdesk.sandbox.node.solana.genesis import genesis_hash, shown_hash
from swapdesk.sandbox.node.solana.store import chain_path, require_same
from swapdesk.sandbox.node.solana.terms import CHAIN, PATH

if TYPE_CHECKING:
    from swapdesk.sandbox.node.solana.node import SolanaNode

logger = logging.getLogger(__name__)


class SolanaEmbedding:
    """The chain of one data directory; ``now_ms`` is sandbox time.

    Raises ChainFileMismatch when the directory holds another one.
    """

    def __init__(
        self, directory: Path, key: bytes, *, now_ms: Callable[[], int], faults: ChainFaults
    ) -> None:
        self.path = chain_path(directory)
        require_same(self.path, shown_hash(genesis_hash(key)))
        self._key = key
        self._now_ms = now_ms
        self._faults = faults
        self._lane = Lane("solana", MOST_WAITING)
        self._opening: asyncio.Task[SolanaNode] | None = None
        self._node: SolanaNode | None = None
        self.door = Door(self._call, faults, {PATH: CHAIN})

    async def node(self) -> SolanaNode:
        """The node, opened when this is called first. Raises OSError, sqlite3.Error."""
        self.wake()
        assert self._opening is not None
        return await asyncio.shield(self._opening)

    @property
    def live(self) -> SolanaNode | None:
        """The node, once it is open."""
        return self._node

    @property
    def touched(self) -> bool:
        """Whether the chain has begun, or is about to: nobody was paid on one that has not."""
        return self._opening is not None or self.path.exists()

    def wake(self) -> None:
        """Begin to open the chain, if nobody has. Needs a running loop."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())

    async def fund(self, address: str, units: int, mint: str | None = None) -> dict[str, object]:
        """Lamports from the faucet, or tokens of a mint; ``{"signature"}``. Raises
        LedgerRefusal."""
        node = await self.node()
        try:
            if mint is None:
                return {"signature": await node.fund(address, units)}
            return {"signature": await node.mint(address, mint, units)}
        except Problem as problem:
            raise LedgerRefusal(str(problem)) from None

    async def close(self) -> None:
        if self._opening is not None:
            (outcome,) = await asyncio.gather(self._opening, return_exceptions=True)
            self._node = None
            if not isinstance(outcome, BaseException):
                await outcome.close()
        await asyncio.to_thread(self._lane.close)

    async def _open(self) -> SolanaNode:
        await self._lane.run(importlib.import_module, "swapdesk.sandbox.node.solana.node")
        from swapdesk.sandbox.node.solana.node import SolanaNode

        self._node = await SolanaNode.open(
            self._lane, self.path, self._key, self._now_ms, self._faults
        )
        return self._node

    async def _call(self, chain: str, method: str, params: Any) -> Any:
        try:
            node = await self.node()
        except Exception as error:  # noqa: BLE001 (each kind means the same here)
            logger.error("the chain %s could not be opened: %s", chain, error)
            raise Problem("the chain could not be opened", Code.INTERNAL) from None
        return await node.call(method, params)
