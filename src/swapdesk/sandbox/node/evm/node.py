"""The embedded EVM node: every chain of the sandbox in one process, opened when first needed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path

from swapdesk.clock import Clock
from swapdesk.paths import make_directories
from swapdesk.sandbox.node.evm.account import ChainAccount, mined_receipt
from swapdesk.sandbox.node.evm.beats import Beats
from swapdesk.sandbox.node.evm.chain import Chain
from swapdesk.sandbox.node.evm.faults import ChainFaults
from swapdesk.sandbox.node.evm.genesis import Genesis
from swapdesk.sandbox.node.evm.lanes import Lanes
from swapdesk.sandbox.node.evm.live_chain import LiveChain
from swapdesk.sandbox.node.evm.problem import Problem
from swapdesk.sandbox.node.evm.sandbox_keys import FAUCET, sandbox_key
from swapdesk.sandbox.node.evm.terms import ChainTerms
from swapdesk.sandbox.node.world_clock import WorldClock

logger = logging.getLogger(__name__)


class EvmNode:
    """The chains by short name, once ``open`` has returned."""

    def __init__(self, key: bytes, lanes: Lanes, chains: Mapping[str, LiveChain]) -> None:
        self._key = key
        self._lanes = lanes
        self.chains = chains
        self._accounts: dict[tuple[str, str], ChainAccount] = {}
        self._producing = [asyncio.create_task(chain.produce()) for chain in chains.values()]

    @classmethod
    async def open(
        cls,
        directory: Path,
        key: bytes,
        *,
        terms: Mapping[str, ChainTerms],
        genesis: Mapping[str, Genesis],
        world: WorldClock,
        clock: Clock,
        faults: ChainFaults,
    ) -> EvmNode:
        """Open or begin the chains below ``directory``. Raises OtherChain."""
        lanes = Lanes(terms)
        chains: dict[str, LiveChain] = {}
        try:
            for name, each in terms.items():
                beats = Beats(world, each.block_ms)
                chain = await lanes.writers[name].run(
                    Chain, chain_file(directory, name), each, genesis[name], beats.now(), clock
                )
                chains[name] = LiveChain(chain, beats, lanes, faults, clock)
        except BaseException:
            lanes.close()
            for opened in chains.values():
                opened.close()
            raise
        return cls(key, lanes, chains)

    async def close(self) -> None:
        """Finish the blocks that are being made and close the files."""
        for task in self._producing:
            task.cancel()
        await asyncio.gather(*self._producing, return_exceptions=True)
        await asyncio.to_thread(self._lanes.close)
        for chain in self.chains.values():
            chain.close()

    def account(self, chain: str, name: str) -> ChainAccount:
        """The sandbox's account ``name`` on a chain; always the same object, so that its
        transactions are sent one after the other. Raises KeyError for an unknown chain."""
        found = self._accounts.get((chain, name))
        if found is None:
            found = ChainAccount(self.chains[chain], sandbox_key(self._key, name))
            self._accounts[(chain, name)] = found
        return found

    async def fund(self, chain: str, address: bytes, wei: int) -> bytes:
        """Send coins from the faucet; returns the hash at once. Raises Problem, KeyError."""
        if wei <= 0:
            raise Problem("the amount must be above 0")
        return await self.account(chain, FAUCET).send(address, value=wei)

    async def confirmed(self, chain: str, transaction_hash: bytes) -> dict[str, object]:
        """The receipt, once it is in a published block. Raises Problem, KeyError."""
        return await mined_receipt(self.chains[chain], transaction_hash)


def chain_file(directory: Path, name: str) -> Path:
    """Where a chain is kept; the directory is made."""
    folder = directory / "chains"
    make_directories(folder)
    return folder / f"{name}.db"
