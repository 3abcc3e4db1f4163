"""How a process carries the embedded chains: checked at its start, opened when first needed.

Importing py-evm and opening five chains takes about half a second, in which the process goes on
to serve everything else.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swapdesk.clock import Clock
from swapdesk.sandbox.chain_rows import ChainIds, ChainTerms, chain_terms
from swapdesk.sandbox.evm_world.genesis import world_contracts
from swapdesk.sandbox.node.evm.beginning import chain_files, read_beginning
from swapdesk.sandbox.node.evm.faults import ChainFaults
from swapdesk.sandbox.node.evm.genesis import (
    FAUCET,
    OPERATOR,
    Allocation,
    Genesis,
    genesis_mark,
    sandbox_key,
)
from swapdesk.sandbox.node.evm.http_endpoint import Door
from swapdesk.sandbox.node.evm.json_rpc import Code, Problem
from swapdesk.sandbox.node.ledger import LedgerRefusal
from swapdesk.sandbox.node.world_clock import WorldClock

if TYPE_CHECKING:
    from swapdesk.sandbox.evm_world.keeper import Keeper
    from swapdesk.sandbox.market import Market
    from swapdesk.sandbox.node.evm.bundler.methods import Bundlers
    from swapdesk.sandbox.node.evm.live_chain import LiveChain
    from swapdesk.sandbox.node.evm.methods import Methods
    from swapdesk.sandbox.node.evm.node import EvmNode


FAUCET_WEI = 10**9 * 10**18
OPERATOR_WEI = 10**6 * 10**18


def first_state(terms: ChainTerms, key: bytes) -> Genesis:
    """Block 0 of a chain in the sandbox with this ``sandbox.key``.

    Whoever changes what it returns makes another world, which refuses the data of the one before.
    """
    faucet, operator = sandbox_key(key, FAUCET), sandbox_key(key, OPERATOR)
    accounts = {
        faucet.address: Allocation(balance=FAUCET_WEI),
        operator.address: Allocation(balance=OPERATOR_WEI),
        **world_contracts(terms.short_name, key),
    }
    return Genesis(accounts, genesis_mark(key))


logger = logging.getLogger(__name__)

Background = Callable[[Callable[[], None]], Awaitable[None]]


class Embedding:
    """The chains of one data directory. Raises ChainFileMismatch when it holds other ones.

    With a ``market`` the pools follow it, as long as somebody asks the chain something. What
    takes long at the opening runs in the ``background``, in a thread where nothing else is said.
    """

    def __init__(
        self,
        directory: Path,
        key: bytes,
        *,
        ids: ChainIds,
        world: WorldClock,
        clock: Clock,
        faults: ChainFaults,
        market: Market | None = None,
        background: Background | None = None,
    ) -> None:
        self.terms = chain_terms(ids)
        self._directory = directory
        self._key = key
        self._genesis: dict[str, Genesis] = {}
        for name, each in self.terms.items():
            # What a chain begins with takes a while to compute, and a new home has none to compare.
            if chain_files(directory, name):
                self._genesis[name] = first_state(each, key)
                read_beginning(directory, each, self._genesis[name].digest)
        self._stored = frozenset(self._genesis)
        self._world = world
        self._clock = clock
        self._faults = faults
        self._market = market
        self._in_background = background or asyncio.to_thread
        self._keeper: Keeper | None = None
        self._bundlers: Bundlers | None = None
        self.on_inclusion: Callable[[str], None] = lambda operation_hash: None
        """Hears the hash of each operation that came into a block."""
        self._methods: dict[str, Methods] = {}
        self._opening: asyncio.Task[EvmNode] | None = None
        self._node: EvmNode | None = None
        self.door = Door(self._call, faults)

    async def node(self) -> EvmNode:
        """The node, opened when this is called first. Raises ChainFileMismatch, LogDamaged,
        OSError, sqlite3.Error."""
        self.wake()
        assert self._opening is not None
        return await asyncio.shield(self._opening)

    def live(self, chain: str) -> LiveChain | None:
        """The chain, once it is open."""
        return None if self._node is None else self._node.chains[chain]

    def touched(self, chain: str) -> bool:
        """Whether the chain has blocks, or is about to: nobody was paid on one that has not."""
        return self._opening is not None or chain in self._stored

    def wake(self) -> None:
        """Begin to open the chains, if nobody has. Needs a running loop."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())

    async def fund(
        self, chain: str, address: str, units: int, token: str | None = None
    ) -> dict[str, object]:
        """Pay coins from the faucet, or the token with this contract from the treasury;
        ``{"hash"}``. Raises LedgerRefusal."""
        node = await self.node()
        from swapdesk.sandbox.evm_world.keeper import give

        if token is None:
            return await _sent(node.fund(chain, bytes.fromhex(address.removeprefix("0x")), units))
        return await _sent(give(node, chain, token, address, units))

    async def confirmed(self, chain: str, transaction_hash: str) -> None:
        """Wait until a transaction is in a block. Raises LedgerRefusal."""
        node = await self.node()
        try:
            await node.confirmed(chain, bytes.fromhex(transaction_hash[2:]))
        except Problem as problem:
            raise LedgerRefusal(str(problem)) from None

    async def close(self) -> None:
        if self._opening is None:
            return
        (outcome,) = await asyncio.gather(self._opening, return_exceptions=True)
        if isinstance(outcome, BaseException):
            return
        if self._keeper is not None:
            self._keeper.close()
        if self._bundlers is not None:
            await self._bundlers.close()
        await outcome.close()

    async def _open(self) -> EvmNode:
        await self._in_background(self._prepare)
        from swapdesk.sandbox.node.evm.bundler.methods import Bundlers
        from swapdesk.sandbox.node.evm.methods import Methods
        from swapdesk.sandbox.node.evm.node import EvmNode

        node = await EvmNode.open(
            self._directory,
            self._key,
            terms=self.terms,
            genesis=self._genesis,
            world=self._world,
            clock=self._clock,
            faults=self._faults,
        )
        self._bundlers = bundlers = Bundlers(
            node, self._directory, lambda operation_hash: self.on_inclusion(operation_hash)
        )
        self._methods = {
            name: Methods(chain, bundlers.methods(name)) for name, chain in node.chains.items()
        }
        if self._market is not None:
            from swapdesk.sandbox.evm_world.keeper import Keeper

            self._keeper = Keeper(node, self._market, self._clock)
        self._node = node
        return node

    def _prepare(self) -> None:
        _import()
        for name, each in self.terms.items():
            if name not in self._genesis:
                self._genesis[name] = first_state(each, self._key)

    async def _call(self, chain: str, method: str, params: Any) -> Any:
        if not self._methods:
            try:
                await self.node()
            except Exception as error:  # noqa: BLE001 (each kind means the same here)
                logger.error("the chains could not be opened: %s", error)
                raise Problem("the chain could not be opened", Code.INTERNAL) from None
        if self._keeper is not None:
            await self._keeper.attend(chain)
        return await self._methods[chain].call(method, params)


async def _sent(sending: Awaitable[bytes]) -> dict[str, object]:
    try:
        return {"hash": "0x" + (await sending).hex()}
    except Problem as problem:
        raise LedgerRefusal(str(problem)) from None


def _import() -> None:
    """Load py-evm and what stands on it."""
    importlib.import_module("swapdesk.sandbox.node.evm.bundler.methods")
    importlib.import_module("swapdesk.sandbox.node.evm.methods")
    importlib.import_module("swapdesk.sandbox.node.evm.node")
    importlib.import_module("swapdesk.sandbox.evm_world.keeper")
