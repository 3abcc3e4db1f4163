"""Runs the embedded EVM chains inside a process. Stored chains are opened at the start, new ones
begin when first needed, because importing py-evm takes long."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swapdesk.clock import Clock
from swapdesk.sandbox.evm_world.genesis import BUNDLER, world_contracts
from swapdesk.sandbox.faults import ActiveFaults
from swapdesk.sandbox.node.evm.genesis import (
    FAUCET,
    OPERATOR,
    Allocation,
    Genesis,
    genesis_mark,
    sandbox_key,
)
from swapdesk.sandbox.node.mined_log import chain_files
from swapdesk.sandbox.node.world_clock import WorldClock
from swapdesk.sandbox.tables import ChainIds, ChainTerms, chain_terms

if TYPE_CHECKING:
    from swapdesk.sandbox.evm_world.keeper import Keeper
    from swapdesk.sandbox.market import Market
    from swapdesk.sandbox.node.evm.bundler import ChainBundler
    from swapdesk.sandbox.node.evm.methods import Methods
    from swapdesk.sandbox.node.evm.node import EvmNode


FAUCET_WEI = 10**9 * 10**18
OPERATOR_WEI = 10**6 * 10**18


def first_state(terms: ChainTerms, key: bytes) -> Genesis:
    """Returns block 0 of a chain. ``key`` is the sandbox's secret (``sandbox.key``). A release that
    changes this block cannot use stored chains."""
    faucet, operator = sandbox_key(key, FAUCET), sandbox_key(key, OPERATOR)
    accounts = {
        faucet.address: Allocation(balance=FAUCET_WEI),
        operator.address: Allocation(balance=OPERATOR_WEI),
        **world_contracts(terms.short_name, key),
    }
    return Genesis(accounts, genesis_mark(key))


class Embedding:
    """The embedded EVM chains of one data directory; needs a running event loop. If ``market`` is
    given, the pool prices of chains in use follow it. Raises ChainFileMismatch if the directory
    holds other chains."""

    def __init__(
        self,
        directory: Path,
        key: bytes,
        *,
        ids: ChainIds,
        world: WorldClock,
        clock: Clock,
        faults: ActiveFaults,
        market: Market | None = None,
    ) -> None:
        self.terms = chain_terms(ids)
        self._directory = directory
        self._key = key
        self._world = world
        self._clock = clock
        self._faults = faults
        self._market = market
        self._keeper: Keeper | None = None
        self._bundlers: list[ChainBundler] = []
        self.on_inclusion: Callable[[str], None] = lambda operation_hash: None
        """Called with the hash of each UserOperation that came into a block."""
        self._methods: dict[str, Methods] = {}
        self._node: EvmNode | None = None
        if any(chain_files(directory, name) for name in self.terms):
            self.open()

    @property
    def is_open(self) -> bool:
        """True once the chains are open. While it is False, nobody can have been paid on them."""
        return self._node is not None

    def open(self) -> EvmNode:
        """Returns the node, which the first call opens. Raises ChainFileMismatch, LogDamaged,
        OSError, sqlite3.Error."""
        if self._node is not None:
            return self._node
        from swapdesk.sandbox.evm_world.keeper import Keeper
        from swapdesk.sandbox.node.evm.bundler import (
            ChainBundler,
            TakenOperations,
        )
        from swapdesk.sandbox.node.evm.methods import Methods
        from swapdesk.sandbox.node.evm.node import EvmNode

        # Kept at once: whatever fails below, nobody opens the same files a second time.
        self._node = node = EvmNode(
            self._directory,
            self._key,
            terms=self.terms,
            genesis={name: first_state(chain, self._key) for name, chain in self.terms.items()},
            world=self._world,
            clock=self._clock,
            faults=self._faults,
        )
        for name, chain in node.chains.items():
            bundler = ChainBundler(
                chain,
                node.account(name, BUNDLER),
                TakenOperations(self._directory, name),
                lambda operation_hash: self.on_inclusion(operation_hash),
            )
            self._bundlers.append(bundler)
            self._methods[name] = Methods(chain, bundler.methods)
        if self._market is not None:
            self._keeper = Keeper(node, self._market, self._clock)
        return node

    async def fund(
        self, chain: str, address: str, units: int, token: str | None = None
    ) -> dict[str, object]:
        """Sends units of a token from the treasury, or coins from the faucet if ``token`` is None.
        Returns the transaction's hash, as ``{"hash"}``, at once. Raises Problem."""
        node = self.open()
        from swapdesk.sandbox.evm_world.keeper import give

        if token is None:
            sent = await node.fund(chain, bytes.fromhex(address.removeprefix("0x")), units)
        else:
            sent = await give(node, chain, token, address, units)
        return {"hash": "0x" + sent.hex()}

    async def confirmed(self, chain: str, transaction_hash: str) -> None:
        """Waits until a transaction is in a block. Raises Problem if it is neither in the chain nor
        in the pool."""
        await self.open().confirmed(chain, bytes.fromhex(transaction_hash[2:]))

    async def close(self) -> None:
        if self._node is None:
            return
        if self._keeper is not None:
            self._keeper.close()
        for bundler in self._bundlers:
            await bundler.close()
        await self._node.close()

    async def call(self, chain: str, method: str, params: Any) -> Any:
        """Calls a JSON-RPC method of a chain; returns its result. Raises Problem."""
        self.open()
        if self._keeper is not None:
            await self._keeper.attend(chain)
        return await self._methods[chain].call(method, params)
