"""One chain as clients meet it: its pool, its published head, and the beat that makes blocks.

Lives on the event loop. Blocks are executed in the writer's thread; a head is published when it
is durable, so that a killed node never takes back what a client has seen.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from eth.rlp.accounts import Account

from swapdesk.clock import Clock
from swapdesk.sandbox.node.evm.chain import Beats, EvmChain
from swapdesk.sandbox.node.evm.chain_threads import Lanes
from swapdesk.sandbox.node.evm.faults import ChainFaults
from swapdesk.sandbox.node.evm.json_rpc import Problem
from swapdesk.sandbox.node.evm.machine import next_base_fee
from swapdesk.sandbox.node.evm.mempool import Candidate, Mempool, read_candidate
from swapdesk.sandbox.node.evm.reading import EvmReader
from swapdesk.sandbox.node.evm.serialize import data, quantity
from swapdesk.sandbox.node.evm.state_trie import read_account
from swapdesk.sandbox.node.evm.storage import ChainHead, Index, StateKeys

RETRY_SECONDS = 1.0
"""Until a block is tried again that could not be stored."""

logger = logging.getLogger(__name__)


class LiveChain:
    """``head`` is what clients may know. ``changed`` is set, and replaced, at every new one."""

    def __init__(
        self, chain: EvmChain, beats: Beats, lanes: Lanes, faults: ChainFaults, clock: Clock
    ) -> None:
        self.terms = chain.terms
        self.head: ChainHead = chain.head
        self.pool = Mempool()
        self.index = Index(chain.path)
        self.reading = EvmReader(chain, lanes.reader, beats, clock)
        self.faults = faults
        self.changed = asyncio.Event()
        self._chain = chain
        self._beats = beats
        self._writer = lanes.writers[chain.terms.short_name]
        self._clock = clock
        self._wake = asyncio.Event()
        self._making = asyncio.Lock()
        self._accounts: dict[bytes, Account] = {}

    def account(self, address: bytes) -> Account:
        """At the published head."""
        found = self._accounts.get(address)
        if found is None:
            found = read_account(self._chain.state, bytes(self.head.header.state_root), address)
            self._accounts[address] = found
        return found

    def nonce_of(self, sender: bytes) -> int:
        """At the published head."""
        return int(self.account(sender).nonce)

    @property
    def next_base_fee(self) -> int:
        """Wei per gas in the block that comes next."""
        return next_base_fee(self.terms, self.head.header)

    @property
    def rest_seconds(self) -> float:
        """Until the next block may be made; 0.0 where it is due or is being made."""
        return self._beats.left(min(self.head.slot, self._beats.now().slot) + 1)

    @property
    def state(self) -> StateKeys:
        """By key, for reading."""
        return self._chain.state

    def ready(self) -> list[Candidate]:
        """What the next block would take."""
        return self.pool.ready(self.nonce_of, self.next_base_fee, self.terms.gas_limit)

    def pending_block(self) -> dict[str, Any]:
        """The block that comes next, without what is known only when it is made."""
        header = self.head.header
        return {
            "number": quantity(self.head.number + 1),
            "hash": None,
            "parentHash": data(header.hash),
            "nonce": None,
            "miner": None,
            "logsBloom": None,
            "timestamp": quantity(max(header.timestamp, self._beats.now().timestamp)),
            "gasLimit": quantity(self.terms.gas_limit),
            "gasUsed": "0x0",
            "baseFeePerGas": quantity(self.next_base_fee),
            "difficulty": "0x0",
            "extraData": "0x",
            "size": "0x0",
            "stateRoot": data(header.state_root),
            "uncles": [],
            "withdrawals": [],
        }

    def submit(self, raw: bytes, *, awaited: bool = True, faulty: bool = True) -> bytes:
        """Take a signed transaction into the pool; returns its hash. Raises Problem.

        ``awaited`` False is for what the world does on its own: nobody waits for its
        confirmations, so that no empty blocks follow it, and no fault asked for meets it.
        ``faulty`` False is for what is waited for and yet no fault shall meet.
        """
        candidate = read_candidate(raw, self.terms, awaited=awaited)
        if self.mined(candidate.hash):
            raise Problem("already known")
        account = self.account(candidate.sender)
        if awaited and faulty and self.faults.takes_transaction(self.terms.short_name):
            return candidate.hash
        self.pool.add(candidate, int(account.nonce), int(account.balance))
        self._wake.set()
        return candidate.hash

    def mined(self, transaction_hash: bytes) -> bool:
        """Whether it is in a published block."""
        found = self.index.receipt(transaction_hash)
        return found is not None and found[0] <= self.head.number

    async def reorganise(self, depth: int) -> ChainHead:
        """Unwind the newest ``depth`` blocks; their transactions wait in the pool again, and
        other blocks follow at the beat. Raises Problem."""
        async with self._making:
            try:
                head, unwound = await self._writer.run(self._chain.unwind, depth)
            except ValueError as error:
                raise Problem(str(error)) from None
            self.index.forget()
            self.reading.forget()
            for raw in unwound:
                self.pool.restore(read_candidate(raw, self.terms))
            self._publish(head)
        self._wake.set()
        return head

    async def produce(self) -> None:
        """Make blocks when they are due and there is something to make them for, for ever."""
        while True:
            seconds = await self._step()
            if seconds is None:
                await self._wake.wait()
                self._wake.clear()
            elif seconds > 0:
                await self._clock.sleep(seconds)

    async def _step(self) -> float | None:
        """Make one block, if one is due. Returns seconds until the next look, None for when
        something is sent."""
        async with self._making:
            batch = self.ready()
            cools = not batch and self.pool.waits_for_fee(self.nonce_of, self.terms.lowest_base_fee)
            if not batch and not cools and not self.head.awaited:
                return None
            beat = self._beats.now()
            slot = min(self.head.slot, beat.slot)
            if beat.slot <= slot:
                return self._beats.seconds_to(slot + 1)
            try:
                if batch:
                    await self._mine(batch)
                else:
                    await self._rest(min(self.head.awaited or 1, beat.slot - slot), beat.slot)
            except Exception:
                # The boundary of a block: nothing of it was published, and it is tried again.
                logger.exception("%s made no block", self.terms.short_name)
                return RETRY_SECONDS
        return 0.0

    async def _mine(self, batch: Sequence[Candidate]) -> None:
        mined = await self._writer.run(self._chain.mine, batch, self._beats.now())
        for transaction_hash, reason in mined.refused:
            logger.info(
                "%s dropped 0x%s: %s", self.terms.short_name, transaction_hash.hex(), reason
            )
        self.pool.remove(mined.included)
        self.pool.remove(each for each, _ in mined.refused)
        self._publish(mined.head)
        # One that was replaced while its block was being made has left the other behind.
        self.pool.outdated({each.sender for each in batch}, self.nonce_of)

    async def _rest(self, count: int, slot: int) -> None:
        beats = [self._beats.at(slot - count + 1 + number) for number in range(count)]
        self._publish(await self._writer.run(self._chain.rest, beats))

    def _publish(self, head: ChainHead) -> None:
        self.head = head
        self._accounts.clear()
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    def close(self) -> None:
        """After the lanes are closed."""
        self.index.close()
        self.reading.close()
        self._chain.close()
