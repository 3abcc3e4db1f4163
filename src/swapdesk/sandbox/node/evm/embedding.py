"""How a process carries the embedded chains: checked at its start, opened behind its back.

Importing py-evm and opening five chains takes about half a second, in which the process serves
everything else already.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swapdesk.clock import Clock
from swapdesk.sandbox.node.evm.door import Door
from swapdesk.sandbox.node.evm.faults import ChainFaults
from swapdesk.sandbox.node.evm.predeploys import first_state
from swapdesk.sandbox.node.evm.problem import Code, Problem
from swapdesk.sandbox.node.evm.schema import require_same
from swapdesk.sandbox.node.evm.terms import ChainIds, chain_terms
from swapdesk.sandbox.node.world_clock import WorldClock

if TYPE_CHECKING:
    from swapdesk.sandbox.node.evm.methods import Methods
    from swapdesk.sandbox.node.evm.node import EvmNode

logger = logging.getLogger(__name__)


class Embedding:
    """The chains of one data directory. Raises OtherChain when it holds other ones."""

    def __init__(
        self,
        directory: Path,
        key: bytes,
        *,
        ids: ChainIds,
        world: WorldClock,
        clock: Clock,
        faults: ChainFaults,
    ) -> None:
        self.terms = chain_terms(ids)
        self._directory = directory
        self._key = key
        self._genesis = {name: first_state(each, key) for name, each in self.terms.items()}
        for name, each in self.terms.items():
            path = directory / "chains" / f"{name}.db"
            require_same(path, each.chain_id, self._genesis[name].digest)
        self._world = world
        self._clock = clock
        self._faults = faults
        self._methods: dict[str, Methods] = {}
        self._opening: asyncio.Task[EvmNode] | None = None
        self.door = Door(self._call, faults)

    def begin(self) -> None:
        """Begin to open the chains; returns at once."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())

    async def node(self) -> EvmNode:
        """The node, once it is open. Raises OtherChain, OSError, sqlite3.Error."""
        self.begin()
        assert self._opening is not None
        return await asyncio.shield(self._opening)

    async def close(self) -> None:
        opening = self._opening
        if opening is None:
            return
        try:
            node = await opening
        except Exception:
            # Told when it was opened.
            logger.debug("the chains were not open", exc_info=True)
            return
        await node.close()

    async def _open(self) -> EvmNode:
        opener = await asyncio.to_thread(_imported)
        node: EvmNode = await opener(
            self._directory,
            self._key,
            terms=self.terms,
            genesis=self._genesis,
            world=self._world,
            clock=self._clock,
            faults=self._faults,
        )
        from swapdesk.sandbox.node.evm.methods import Methods

        self._methods = {name: Methods(chain) for name, chain in node.chains.items()}
        return node

    async def _call(self, chain: str, method: str, params: Any) -> Any:
        if not self._methods:
            try:
                await self.node()
            except Exception as error:  # noqa: BLE001 (each kind means the same here)
                logger.error("the chains could not be opened: %s", error)
                raise Problem("the chain could not be opened", Code.INTERNAL) from None
        return await self._methods[chain].call(method, params)


def _imported() -> Callable[..., Any]:
    from swapdesk.sandbox.node.evm.node import EvmNode

    return EvmNode.open
