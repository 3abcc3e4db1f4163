"""One chain: its blocks and accounts in memory, and the log of both on disk.

``mine`` and ``rest`` run in the writer's thread and make their result durable; ``add`` then
publishes it on the event loop. Blocks are made in slots (intervals of world time); their timestamps
are sandbox time.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from eth.db.trie import make_trie_root_and_nodes
from eth.exceptions import VMError
from eth.vm.execution_context import ExecutionContext
from eth.vm.forks.prague import PragueVM
from eth_bloom.bloom import BloomFilter
from eth_typing import Address, BlockNumber, Hash32
from eth_utils.exceptions import ValidationError
from msgspec import Struct
from msgspec.structs import replace

from swapdesk.chain.rpc.ledger import RpcCode
from swapdesk.clock import Clock
from swapdesk.sandbox.node.evm.blocks import (
    Block,
    Document,
    Log,
    MinedTransaction,
    bloom_of,
    first_block,
    log_document,
    next_base_fee,
    next_block,
    price_at,
    quantity,
)
from swapdesk.sandbox.node.evm.genesis import Genesis
from swapdesk.sandbox.node.evm.json_rpc import Problem
from swapdesk.sandbox.node.evm.mempool import Candidate
from swapdesk.sandbox.node.evm.state import (
    Changes,
    SandboxState,
    StateHistory,
    TooLong,
    first_changes,
    next_root,
)
from swapdesk.sandbox.node.mined_log import ChainFileMismatch, MinedLog, chains_in
from swapdesk.sandbox.node.world_clock import WorldClock
from swapdesk.sandbox.tables import ChainTerms


class Beginning(Struct, frozen=True):
    """How a chain began: the digest of block 0's content, and that block's time."""

    chain_id: int
    genesis: str
    timestamp: int
    slot: int
    format: Literal[1] = 1


def read_beginning(directory: Path, terms: ChainTerms, genesis: str) -> Beginning | None:
    """Returns the beginning of the stored chain; None if no chain has begun. Raises
    ChainFileMismatch and LogDamaged."""
    place = chains_in(directory) / terms.short_name
    if place.with_suffix(".db").exists():
        raise _mismatch(place, "was made by another release")
    snapshot = MinedLog(chains_in(directory), terms.short_name).snapshot()
    if snapshot is None:
        return None
    try:
        beginning = msgspec.msgpack.decode(snapshot, type=Beginning)
    except msgspec.MsgspecError:
        raise _mismatch(place, "was made by another release") from None
    if beginning.chain_id != terms.chain_id:
        raise _mismatch(place, f"holds chain id {beginning.chain_id}, not {terms.chain_id}")
    if beginning.genesis != genesis:
        raise _mismatch(place, "was begun with other contracts or keys")
    return beginning


def _mismatch(place: Path, problem: str) -> ChainFileMismatch:
    remedy = "choose another data directory, or remove it to begin a new world"
    return ChainFileMismatch(f"{place} {problem}; {remedy}")


BLOCK_SECONDS = 5.0
"""Longest time in seconds that a block may take. A longer transaction is not executed."""
MOST_LOGS = 10_000
MOST_ANCESTORS = 256
"""Number of preceding blocks whose hashes a contract can read."""

Mined = list[tuple[Block, Changes]]
"""New blocks, each with its changes of the state. Together they are one entry of the log."""
LogWords = Sequence[frozenset[bytes] | None]
"""A filter of logs: the allowed addresses, then the allowed topics by position. None allows any
value."""
_MINED = msgspec.msgpack.Decoder(Mined)

S = TypeVar("S", bound=SandboxState)


class Beat(Struct, frozen=True):
    """The time of a block: sandbox time in whole seconds since 1970, and the number of its interval
    (slot) of world time."""

    timestamp: int
    slot: int


class EvmChain:
    """The chain stored in ``directory``; if there is none, a new chain with ``genesis`` at the time
    ``beat``. Raises LogDamaged, and ChainFileMismatch if the stored chain began differently."""

    def __init__(
        self, directory: Path, terms: ChainTerms, genesis: Genesis, beat: Beat, clock: Clock
    ) -> None:
        self.terms = terms
        self._monotonic = clock.monotonic
        self._log = MinedLog(chains_in(directory), terms.short_name)
        self.states = StateHistory()
        self.blocks: list[Block] = []
        self._by_hash: dict[bytes, Block] = {}
        self._transactions: dict[bytes, tuple[int, int]] = {}
        digest = genesis.digest
        beginning = read_beginning(directory, terms, digest)
        _, entries = self._log.read()
        if beginning is None:
            # Of the slot before, so that the first block need not wait for the next one.
            beginning = Beginning(terms.chain_id, digest, beat.timestamp, beat.slot - 1)
            self._log.replace(msgspec.msgpack.encode(beginning))
        first = first_block(terms, genesis, beginning.timestamp, beginning.slot)
        self.add([(first, first_changes(genesis.accounts))])
        for entry in entries:
            self.add(_MINED.decode(entry))

    def close(self) -> None:
        self._log.close()

    @property
    def head(self) -> Block:
        return self.blocks[-1]

    def mine(self, batch: Sequence[Candidate], beat: Beat) -> tuple[Mined, dict[bytes, str]]:
        """Executes transactions of ``batch`` until the block is full. Returns a list with the new
        block and its changes (empty if nothing was executed), and error messages by hash for the
        transactions that cannot be executed."""
        block = next_block(self.terms, self.head, beat.timestamp)
        state = self.state(SandboxState, block, self.head)
        done: list[MinedTransaction] = []
        receipts: list[Any] = []
        candidates: list[Candidate] = []
        refused: dict[bytes, str] = {}
        began = self._monotonic()
        for candidate in batch:
            late = done and self._monotonic() > began + BLOCK_SECONDS
            if late or block.gas_used + candidate.gas > block.gas_limit:
                break
            state.limit(self._monotonic, BLOCK_SECONDS)
            # Locking begins a transaction anew; a snapshot from before it cannot be gone back to.
            state.lock_changes()
            snapshot = state.snapshot()
            try:
                computation = state.apply_transaction(candidate.transaction)
            except (TooLong, ValidationError, VMError) as error:
                state.revert(snapshot)
                refused[candidate.hash] = str(error)
                continue
            receipt = PragueVM.make_receipt(block, candidate.transaction, computation, state)  # type: ignore[arg-type]
            done.append(_mined(candidate, computation, receipt, block.gas_used))
            block = replace(block, gas_used=receipt.gas_used)
            receipts.append(receipt)
            candidates.append(candidate)
        if not done:
            return [], refused
        awaited = any(candidate.awaited for candidate in candidates)
        changes = state.accounts.net_changes()
        logs = tuple(log for transaction in done for log in transaction.logs)
        sealed = replace(
            block,
            state_root=next_root(block.state_root, changes),
            transaction_root=make_trie_root_and_nodes(
                [candidate.transaction for candidate in candidates]
            )[0],
            receipt_root=make_trie_root_and_nodes(receipts)[0],
            bloom=bloom_of(logs).to_bytes(256, "big"),
            slot=beat.slot,
            awaited=self.terms.confirmations - 1 if awaited else max(0, self.head.awaited - 1),
            transactions=tuple(done),
        ).sealed()
        return self._kept([(sealed, changes)]), refused

    def rest(self, beats: Sequence[Beat]) -> Mined:
        """Makes one empty block for each of the times ``beats``, so that earlier transactions get
        their confirmations."""
        blocks, parent = [], self.head
        for beat in beats:
            block = next_block(self.terms, parent, beat.timestamp)
            awaited = max(0, parent.awaited - 1)
            parent = replace(block, slot=beat.slot, awaited=awaited).sealed()
            blocks.append((parent, Changes()))
        return self._kept(blocks)

    def add(self, mined: Mined) -> None:
        for block, changes in mined:
            self.states.add(block.number, changes)
            for position, transaction in enumerate(block.transactions):
                self._transactions[transaction.hash] = block.number, position
            self._by_hash[block.hash] = block
            self.blocks.append(block)

    def state(self, kind: type[S], block: Block, before: Block) -> S:
        """Returns a state of class ``kind`` for executing the transactions of ``block``, with the
        accounts after ``before``."""
        return kind(self.states.at(before.number), self.context(block), before.state_root)  # type: ignore[arg-type]

    def context(self, block: Block) -> ExecutionContext:
        """Returns what contracts can read about the block in which they are executed."""
        first = max(0, block.number - MOST_ANCESTORS)
        ancestors = self.blocks[first : max(0, block.number - 1)]
        return ExecutionContext(
            Address(block.coinbase),
            block.timestamp,
            BlockNumber(block.number),
            0,
            Hash32(block.mix_hash),
            block.gas_limit,
            [
                Hash32(block.parent_hash),
                *(Hash32(ancestor.hash) for ancestor in reversed(ancestors)),
            ],
            self.terms.chain_id,
            block.base_fee_per_gas,
            0,
        )

    def block_of(self, block_hash: bytes) -> Block | None:
        return self._by_hash.get(block_hash)

    def find(self, transaction_hash: bytes) -> tuple[Block, int] | None:
        """Returns the block of a transaction and the transaction's position in it; None if it is in
        no block."""
        place = self._transactions.get(transaction_hash)
        return None if place is None else (self.blocks[place[0]], place[1])

    def logs(self, first: int, last: int, wanted: LogWords) -> list[Document]:
        """Returns the logs of the blocks ``first`` to ``last`` that match ``wanted``, in the order
        of the chain. Raises Problem if there are too many."""
        logs: list[Document] = []
        bits = [[_bits(word) for word in words] for words in wanted if words is not None]
        for block in self.blocks[first : last + 1]:
            bloom = int.from_bytes(block.bloom, "big")
            if not all(any(bloom & bit == bit for bit in place) for place in bits):
                continue
            place = 0
            for position, transaction in enumerate(block.transactions):
                for log in transaction.logs:
                    if _matches(log, wanted):
                        logs.append(log_document(log, block, transaction.hash, position, place))
                    place += 1
            if len(logs) > MOST_LOGS:
                raise Problem(f"query returned more than {MOST_LOGS} results", RpcCode.LIMIT)
        return logs

    def _kept(self, mined: Mined) -> Mined:
        self._log.append(msgspec.msgpack.encode(mined))
        return mined


def _mined(
    candidate: Candidate, computation: Any, receipt: Any, gas_before: int
) -> MinedTransaction:
    message = computation.msg
    logs = (
        Log(log.address, tuple(topic.to_bytes(32, "big") for topic in log.topics), log.data)
        for log in receipt.logs
    )
    return MinedTransaction(
        candidate.raw,
        candidate.hash,
        candidate.sender,
        computation.is_success,
        receipt.gas_used - gas_before,
        receipt.gas_used,
        bytes(message.storage_address) if message.is_create else b"",
        tuple(logs),
    )


@lru_cache(maxsize=1_024)
def _bits(word: bytes) -> int:
    return int(BloomFilter.from_iterable([word]))


def _matches(log: Log, wanted: LogWords) -> bool:
    words = (log.address, *log.topics)
    return len(words) >= len(wanted) and all(
        values is None or word in values for word, values in zip(words, wanted, strict=False)
    )


LONGEST_SLEEP = 0.1
"""Longest sleep in seconds before the clock is read again, since the clock may be moved
meanwhile."""


class Beats:
    def __init__(self, clock: WorldClock, block_ms: int) -> None:
        self._clock = clock
        self._block_ms = block_ms

    def now(self) -> Beat:
        moment = self._clock.moment()
        return Beat(moment.now // 1000, moment.world // self._block_ms)

    def at(self, slot: int) -> Beat:
        """Returns the time at which a slot (an interval of world time for one block) began. The
        slot must have begun."""
        moment = self._clock.at(slot * self._block_ms)
        return Beat(moment.now // 1000, slot)

    def left(self, slot: int) -> float:
        """Returns the seconds until a slot begins, at the current speed; 0.0 if it has begun."""
        missing = slot * self._block_ms - self._clock.moment().world
        return max(0.0, missing / 1000 / float(self._clock.speed))


MOST_BLOCKS = 1_024
LEAST_TIP = 1
_LOOKED_AT = 20
_USUAL = 60
_LOWEST_TIP_PART = 20


def usual_tip(chain: EvmChain) -> int:
    """Returns the priority fee to offer, in wei per gas. It is the 60th percentile of recent
    priority fees, but at least a twentieth of the chain's lowest base fee."""
    least = max(LEAST_TIP, chain.terms.lowest_base_fee // _LOWEST_TIP_PART)
    tips = sorted(tip for block in chain.blocks[-_LOOKED_AT:] for tip, _ in _tips(block))
    return max(least, tips[(len(tips) - 1) * _USUAL // 100]) if tips else least


def fee_history(
    chain: EvmChain, count: int, newest: Block, percentiles: Sequence[float]
) -> dict[str, Any]:
    """Returns the answer of ``eth_feeHistory`` for ``count`` blocks up to ``newest``. Raises
    Problem."""
    if any(not 0 <= percentile <= 100 for percentile in percentiles):
        raise Problem("invalid reward percentile")
    if any(high <= low for low, high in pairwise(percentiles)):
        raise Problem("invalid reward percentile: they must rise")
    first = max(0, newest.number - min(count, MOST_BLOCKS) + 1)
    blocks = chain.blocks[first : newest.number + 1]
    fees = [block.base_fee_per_gas for block in blocks]
    answer: dict[str, Any] = {
        "oldestBlock": quantity(first),
        "baseFeePerGas": [quantity(fee) for fee in (*fees, next_base_fee(chain.terms, newest))],
        "gasUsedRatio": [block.gas_used / block.gas_limit for block in blocks],
        "baseFeePerBlobGas": ["0x1"] * (len(blocks) + 1),
        "blobGasUsedRatio": [0] * len(blocks),
    }
    if percentiles:
        answer["reward"] = [
            [quantity(tip) for tip in _rewards(block, percentiles)] for block in blocks
        ]
    return answer


def _rewards(block: Block, percentiles: Sequence[float]) -> list[int]:
    paid = sorted(_tips(block))
    if not paid:
        return [0] * len(percentiles)
    sums: list[int] = []
    for _, gas in paid:
        sums.append(gas + (sums[-1] if sums else 0))
    places = (bisect.bisect_left(sums, sums[-1] * percentile / 100) for percentile in percentiles)
    return [paid[min(place, len(paid) - 1)][0] for place in places]


def _tips(block: Block) -> list[tuple[int, int]]:
    base_fee = block.base_fee_per_gas
    return [
        (price_at(transaction.signed, base_fee) - base_fee, transaction.gas_used)
        for transaction in block.transactions
    ]
