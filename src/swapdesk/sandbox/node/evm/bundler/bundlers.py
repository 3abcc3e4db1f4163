"""The bundlers of all embedded chains: opened with the chains, ended before them."""

from __future__ import annotations

import asyncio
from pathlib import Path

from swapdesk.sandbox.evm_world.parties import BUNDLER
from swapdesk.sandbox.node.evm.bundler.methods import BundlerMethods, Table
from swapdesk.sandbox.node.evm.bundler.rows import OperationRows
from swapdesk.sandbox.node.evm.bundler.submission import Bundler
from swapdesk.sandbox.node.evm.node import EvmNode


class Bundlers:
    """One for each chain of the node, over one file below ``directory``."""

    def __init__(self, node: EvmNode, directory: Path) -> None:
        self._rows = OperationRows(directory / "chains" / "bundler.db")
        self._bundlers = {
            name: Bundler(chain, node.account(name, BUNDLER), self._rows)
            for name, chain in node.chains.items()
        }
        self._running = [asyncio.create_task(one.run()) for one in self._bundlers.values()]

    def methods(self, chain: str) -> Table:
        """The JSON-RPC of one chain's bundler."""
        return BundlerMethods(self._bundlers[chain]).table

    async def close(self) -> None:
        """What is written down is taken up at the next start."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        self._rows.close()
