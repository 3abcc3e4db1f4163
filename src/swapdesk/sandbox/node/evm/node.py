"""The embedded EVM node: every EVM chain of the sandbox in one process.

Blocks are executed in a writer's thread for each chain and become part of it once they are durable,
so that a killed node never takes back what a client has seen. Slow reads run in the reader's
thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from eth.vm.forks.prague.transactions import PragueTransactionBuilder
from eth_keys.datatypes import PrivateKey
from eth_typing import Address
from msgspec.structs import replace

from swapdesk.clock import Clock
from swapdesk.sandbox.faults import DROP_TRANSACTION, ActiveFaults
from swapdesk.sandbox.node.evm.blocks import (
    Block,
    Document,
    next_base_fee,
    receipt_document,
)
from swapdesk.sandbox.node.evm.calls import CallExecutor
from swapdesk.sandbox.node.evm.chain import (
    LONGEST_SLEEP,
    Beats,
    EvmChain,
    LogWords,
    Mined,
    usual_tip,
)
from swapdesk.sandbox.node.evm.genesis import FAUCET, Genesis, SandboxKey, sandbox_key
from swapdesk.sandbox.node.evm.json_rpc import CallRequest, Problem
from swapdesk.sandbox.node.evm.mempool import Candidate, Mempool, read_candidate
from swapdesk.sandbox.node.evm.state import AccountsAt
from swapdesk.sandbox.node.world_clock import WorldClock
from swapdesk.sandbox.tables import GAS_LIMIT, ChainTerms

logger = logging.getLogger(__name__)


RETRY_SECONDS = 1.0
"""Seconds after which a block that could not be stored is made again."""


T = TypeVar("T")


def _in(thread: Executor, work: Callable[..., T], *values: Any) -> Awaitable[T]:
    return asyncio.get_running_loop().run_in_executor(thread, work, *values)


class LiveChain:
    """A chain with its waiting transactions. Use it only on the event loop. Every new block sets
    the event ``changed`` and replaces it with a new event."""

    def __init__(
        self, chain: EvmChain, beats: Beats, reader: Executor, faults: ActiveFaults, clock: Clock
    ) -> None:
        self.terms = chain.terms
        self.chain = chain
        self.pool = Mempool()
        self.faults = faults
        self.changed = asyncio.Event()
        self._beats = beats
        self._reader = reader
        self._writer = ThreadPoolExecutor(1, f"evm-{chain.terms.short_name}")
        self._calls = CallExecutor(chain, clock)
        self._clock = clock
        self._wake = asyncio.Event()

    @property
    def head(self) -> Block:
        return self.chain.head

    @property
    def accounts(self) -> AccountsAt:
        """The accounts after the newest block."""
        return self.chain.states.at(self.head.number)

    def nonce_of(self, sender: bytes) -> int:
        return self.accounts.get_nonce(sender)

    @property
    def next_base_fee(self) -> int:
        """Base fee of the next block, in wei per gas."""
        return next_base_fee(self.terms, self.head)

    @property
    def rest_seconds(self) -> float:
        """Seconds until the next block may be made; 0.0 if it may be made now."""
        return self._beats.left(min(self.head.slot, self._beats.now().slot) + 1)

    def ready(self) -> list[Candidate]:
        return self.pool.ready(self.nonce_of, self.next_base_fee, GAS_LIMIT)

    def submit(self, raw: bytes, *, awaited: bool = True, faulty: bool = True) -> bytes:
        """Adds a signed transaction to the waiting ones and returns its hash. Raises Problem. If
        ``awaited`` is False, nobody waits for confirmations: no empty blocks follow, and no fault
        applies. If ``faulty`` is False, no fault applies."""
        candidate = read_candidate(raw, self.terms, awaited=awaited)
        if self.chain.find(candidate.hash) is not None:
            raise Problem("already known")
        if awaited and faulty and self.faults.meets(self.terms.short_name, DROP_TRANSACTION):
            return candidate.hash
        accounts, sender = self.accounts, candidate.sender
        self.pool.add(candidate, accounts.get_nonce(sender), accounts.get_balance(sender))
        self._wake.set()
        return candidate.hash

    def receipt(self, transaction_hash: bytes) -> Document | None:
        place = self.chain.find(transaction_hash)
        return None if place is None else receipt_document(*place)

    async def confirmed(self, transaction_hash: bytes) -> Document:
        """Waits until a transaction is in a block; returns its receipt. Raises Problem if it is
        neither in the chain nor in the pool."""
        while True:
            changed = self.changed
            receipt = self.receipt(transaction_hash)
            if receipt is not None:
                return receipt
            if self.pool.get(transaction_hash) is None:
                raise Problem(f"transaction 0x{transaction_hash.hex()} is gone from the pool")
            await changed.wait()

    async def logs(self, first: int, last: int, wanted: LogWords) -> list[Document]:
        """Returns the logs of the blocks ``first`` to ``last`` that match ``wanted``, in the order
        of the chain. Raises Problem."""
        return await _in(self._reader, self.chain.logs, first, last, wanted)

    async def call(self, block: Block, request: CallRequest, state: Any = None) -> bytes:
        """Returns the output of a call on the state after ``block``, changed by the overrides
        ``state``. Raises Problem."""
        outcome = await _in(self._reader, self._calls.call, self._now(block), request, state)
        return outcome.require()

    async def estimate(self, block: Block, request: CallRequest, state: Any = None) -> int:
        """Returns a gas limit with which the call succeeds on the state after ``block``, changed by
        the overrides ``state``. Raises Problem."""
        return await _in(self._reader, self._calls.estimate, self._now(block), request, state)

    async def simulate(self, block: Block, asked: Any) -> list[Document]:
        """Returns the result of ``eth_simulateV1`` on the state after ``block``. ``asked`` is the
        request's first parameter. Raises Problem."""
        now = self._beats.now().timestamp
        return await _in(self._reader, self._calls.simulate, block, now, asked)

    async def produce(self) -> None:
        """Makes blocks when transactions or confirmations call for them, until cancelled."""
        while True:
            seconds = await self._step()
            if seconds is None:
                await self._wake.wait()
                self._wake.clear()
            elif seconds > 0:
                await self._clock.sleep(seconds)

    async def close(self) -> None:
        """Finishes the current block and closes the chain. Call it after ``produce`` has ended."""
        await asyncio.to_thread(self._writer.shutdown)
        self.chain.close()

    def _now(self, block: Block) -> Block:
        if block is not self.head:
            return block
        return replace(block, timestamp=max(block.timestamp, self._beats.now().timestamp))

    async def _step(self) -> float | None:
        batch = self.ready()
        cools = not batch and self.pool.waits_for_fee(self.nonce_of, self.terms.lowest_base_fee)
        if not batch and not cools and not self.head.awaited:
            return None
        beat = self._beats.now()
        slot = min(self.head.slot, beat.slot)
        if beat.slot <= slot:
            return min(self._beats.left(slot + 1), LONGEST_SLEEP)
        try:
            if batch:
                await self._mine(batch)
            else:
                count = min(self.head.awaited or 1, beat.slot - slot)
                beats = [self._beats.at(beat.slot - count + 1 + number) for number in range(count)]
                self._publish(await _in(self._writer, self.chain.rest, beats))
        except Exception:
            # The boundary of a block: nothing of it was published, and it is tried again.
            logger.exception("%s made no block", self.terms.short_name)
            return RETRY_SECONDS
        return 0.0

    async def _mine(self, batch: Sequence[Candidate]) -> None:
        mined, refused = await _in(self._writer, self.chain.mine, batch, self._beats.now())
        for transaction_hash, reason in refused.items():
            logger.info(
                "%s dropped 0x%s: %s", self.terms.short_name, transaction_hash.hex(), reason
            )
        self.pool.remove(refused)
        self._publish(mined)
        # One that was replaced while its block was being made has left the other behind.
        self.pool.outdated({candidate.sender for candidate in batch}, self.nonce_of)

    def _publish(self, mined: Mined) -> None:
        self.chain.add(mined)
        self.pool.remove(
            transaction.hash for block, _ in mined for transaction in block.transactions
        )
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()


def signed_transaction(
    chain: LiveChain, key: SandboxKey, nonce: int, to: bytes, **fields: Any
) -> bytes:
    """Returns a signed transaction. A caller that must not pay twice stores the bytes before
    ``submit`` and submits the same bytes after a crash."""
    unsigned = PragueTransactionBuilder.new_unsigned_dynamic_fee_transaction(
        chain_id=chain.terms.chain_id, nonce=nonce, to=Address(to), access_list=(), **fields
    )
    return unsigned.as_signed_transaction(PrivateKey(key.secret)).encode()


class ChainAccount:
    """Signs and sends the transactions of one account on one chain, one at a time, in the sequence
    of nonces."""

    def __init__(self, chain: LiveChain, key: SandboxKey) -> None:
        self._chain = chain
        self._key = key
        self._turn = asyncio.Lock()

    @property
    def address(self) -> bytes:
        return self._key.address

    async def sign(
        self,
        to: bytes,
        *,
        value: int = 0,
        payload: bytes = b"",
        gas: int | None = None,
    ) -> bytes:
        """Signs a transaction with the account's next nonce. The gas limit is estimated if ``gas``
        is None. Raises Problem, for example if the transaction would revert."""
        chain = self._chain
        if gas is None:
            request = CallRequest(sender=self.address, to=to, value=value, data=payload)
            gas = await chain.estimate(chain.head, request)
        tip = usual_tip(chain.chain)
        return signed_transaction(
            chain,
            self._key,
            self.next_nonce(),
            to,
            max_priority_fee_per_gas=tip,
            # Twice the fee bears six full blocks in a row.
            max_fee_per_gas=2 * chain.next_base_fee + tip,
            gas=gas,
            value=value,
            data=payload,
        )

    def next_nonce(self) -> int:
        """Returns the account's first nonce that is not used by any transaction, waiting or in a
        block."""
        used = self._chain.nonce_of(self.address)
        return self._chain.pool.next_nonce(self.address, used)

    async def send(
        self,
        to: bytes,
        *,
        value: int = 0,
        payload: bytes = b"",
        gas: int | None = None,
        awaited: bool = True,
    ) -> bytes:
        """Signs and submits a transaction and returns its hash at once. A Problem means that
        nothing was sent. For ``awaited``, see ``LiveChain.submit``."""
        async with self._turn:
            raw = await self.sign(to, value=value, payload=payload, gas=gas)
            return self._chain.submit(raw, awaited=awaited)


class EvmNode:
    """The EVM chains in a directory, by short name. Chains that are missing there are created.
    Needs a running event loop. Raises ChainFileMismatch, LogDamaged, OSError."""

    def __init__(
        self,
        directory: Path,
        key: bytes,
        *,
        terms: Mapping[str, ChainTerms],
        genesis: Mapping[str, Genesis],
        world: WorldClock,
        clock: Clock,
        faults: ActiveFaults,
    ) -> None:
        beats = {name: Beats(world, chain.block_ms) for name, chain in terms.items()}
        stored: dict[str, EvmChain] = {}
        try:
            for name, chain_terms in terms.items():
                stored[name] = EvmChain(
                    directory, chain_terms, genesis[name], beats[name].now(), clock
                )
        except BaseException:
            for chain in stored.values():
                chain.close()
            raise
        self._key = key
        self._reader = ThreadPoolExecutor(1, "evm-reader")
        self.chains = {
            name: LiveChain(chain, beats[name], self._reader, faults, clock)
            for name, chain in stored.items()
        }
        self._accounts: dict[tuple[str, str], ChainAccount] = {}
        self._producing = [asyncio.create_task(chain.produce()) for chain in self.chains.values()]

    async def close(self) -> None:
        for task in self._producing:
            task.cancel()
        await asyncio.gather(*self._producing, return_exceptions=True)
        await asyncio.to_thread(self._reader.shutdown, cancel_futures=True)
        await asyncio.gather(*(chain.close() for chain in self.chains.values()))

    def account(self, chain: str, name: str) -> ChainAccount:
        """Returns the sandbox's account ``name`` on a chain. It is always the same object, so that
        the account's transactions keep their sequence. Raises KeyError for an unknown chain."""
        account = self._accounts.get((chain, name))
        if account is None:
            account = ChainAccount(self.chains[chain], sandbox_key(self._key, name))
            self._accounts[(chain, name)] = account
        return account

    async def fund(self, chain: str, address: bytes, wei: int) -> bytes:
        """Sends coins from the faucet; returns the transaction's hash at once. Raises Problem, and
        KeyError for an unknown chain."""
        if wei <= 0:
            raise Problem("the amount must be above 0")
        return await self.account(chain, FAUCET).send(address, value=wei)

    async def confirmed(self, chain: str, transaction_hash: bytes) -> Document:
        """Waits until a transaction is in a block; returns its receipt. Raises Problem, and
        KeyError for an unknown chain."""
        return await self.chains[chain].confirmed(transaction_hash)
