"""The writer's side of one chain: executes transactions into blocks and makes them durable.

Everything here runs in the writer thread. Nothing is published here: ``mine`` returns the new
head once it is on disk, and only then may the pool and the readers hear of it. Blocks are due in
slots of world time and have the seconds of sandbox time. State that the newest blocks cannot
reach is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import rlp
from eth.constants import BLANK_ROOT_HASH, EMPTY_SHA3, GENESIS_PARENT_HASH
from eth.db.atomic import AtomicDB
from eth.exceptions import VMError
from eth.rlp.accounts import Account
from eth.vm.forks.prague.blocks import PragueBlockHeader
from eth_typing import BlockNumber
from eth_utils.exceptions import ValidationError
from msgspec import Struct

from swapdesk.clock import Clock
from swapdesk.sandbox.chain_rows import ChainTerms
from swapdesk.sandbox.node.evm.genesis import Genesis
from swapdesk.sandbox.node.evm.machine import BlockHeader, EvmMachine, TooLong
from swapdesk.sandbox.node.evm.mempool import Candidate
from swapdesk.sandbox.node.evm.schema import open_chain_file, require_same
from swapdesk.sandbox.node.evm.serialize import (
    block_document,
    log_document,
    receipt_document,
    text,
    transaction_document,
)
from swapdesk.sandbox.node.evm.state_trie import root_in_order, state_root
from swapdesk.sandbox.node.evm.storage import (
    BlockRecord,
    ChainHead,
    ChainStore,
    LogRecord,
    StateKeys,
    TransactionRecord,
)
from swapdesk.sandbox.node.world_clock import Due, WorldClock


def reachable(state: StateKeys, roots: Iterable[bytes]) -> set[bytes]:
    """Keys of every trie node and code under ``roots``; roots that are missing are left out."""
    kept: set[bytes] = set()
    keys = state.kv_store
    leaves: list[bytes] = []
    for root in roots:
        leaves += _walk(keys, root, kept)
    for leaf in leaves:
        account = rlp.decode(leaf, Account)
        if account.code_hash != EMPTY_SHA3:
            kept.add(account.code_hash)
        _walk(keys, account.storage_root, kept)
    return kept


def _walk(keys: Mapping[bytes, bytes], root: bytes, kept: set[bytes]) -> list[bytes]:
    """Note every node under a root that is not noted yet; returns the values of their leaves."""
    if root == BLANK_ROOT_HASH or root in kept or root not in keys:
        return []
    kept.add(root)
    leaves: list[bytes] = []
    pending: list[Any] = [rlp.decode(keys[root])]
    while pending:
        node = pending.pop()
        if len(node) == 2:
            is_leaf = node[0][0] & 0x20
            if is_leaf:
                leaves.append(node[1])
                continue
            children = [node[1]]
        else:
            children = node[:16]
            if node[16]:
                leaves.append(node[16])
        for child in children:
            if isinstance(child, list):
                # Short nodes stand inside their parents.
                pending.append(child)
            elif len(child) == 32 and child not in kept and child in keys:
                kept.add(child)
                pending.append(rlp.decode(keys[child]))
    return leaves


class Execution(Struct, frozen=True):
    """One executed transaction; ``gas_used`` is its own, the receipt's is cumulative."""

    candidate: Candidate
    receipt: Any
    succeeded: bool
    gas_used: int
    created: bytes | None

    @classmethod
    def of(cls, candidate: Candidate, receipt: Any, computation: Any, before: int) -> Execution:
        message = computation.msg
        created = bytes(message.storage_address) if message.is_create else None
        return cls(
            candidate,
            receipt,
            computation.is_success,
            receipt.gas_used - before,
            created,
        )


def seal(
    header: BlockHeader, done: Sequence[Execution], chain_id: int, *, slot: int, awaited: int
) -> BlockRecord:
    """The block of ``header`` and ``done``; the roots are filled in here."""
    if done:
        header = header.copy(
            transaction_root=root_in_order([each.candidate.transaction.encode() for each in done]),
            receipt_root=root_in_order([each.receipt.encode() for each in done]),
        )
    records: list[TransactionRecord] = []
    logs: list[LogRecord] = []
    for position, each in enumerate(done):
        shown = []
        for log in each.receipt.logs:
            document = log_document(
                log.address,
                log.topics,
                log.data,
                len(logs),
                header=header,
                transaction_hash=each.candidate.hash,
                transaction_position=position,
            )
            shown.append(document)
            topics = b"".join(int(topic).to_bytes(32, "big") for topic in log.topics)
            logs.append(LogRecord(len(logs), bytes(log.address), topics, text(document)))
        receipt = receipt_document(
            each.candidate,
            header,
            position,
            succeeded=each.succeeded,
            gas_used=each.gas_used,
            cumulative_gas=each.receipt.gas_used,
            bloom=each.receipt.bloom,
            created=each.created,
            logs=shown,
        )
        document = transaction_document(each.candidate, chain_id, header=header, position=position)
        records.append(
            TransactionRecord(
                position,
                each.candidate.hash,
                each.candidate.sender,
                each.candidate.nonce,
                each.candidate.raw,
                text(document),
                text(receipt),
            )
        )
    return BlockRecord(
        header,
        slot,
        awaited,
        text(block_document(header, _size(header, done))),
        tuple(records),
        tuple(logs),
    )


def _size(header: BlockHeader, done: Sequence[Execution]) -> int:
    """Bytes of the block in RLP: header, transactions, no uncles, no withdrawals."""
    inside = 0
    for each in done:
        raw = len(each.candidate.raw)
        # A typed transaction is a string in the list, one of the old form is a list itself.
        inside += raw if each.candidate.kind == 0 else raw + _prefix(raw)
    body = len(rlp.encode(header)) + inside + _prefix(inside) + 2
    return body + _prefix(body)


def _prefix(length: int) -> int:
    """Bytes before an RLP payload of this length."""
    return 1 if length <= 55 else 1 + (length.bit_length() + 7) // 8


PRUNE_EVERY = 500
BLOCK_SECONDS = 5.0
"""After this long a block is closed; a transaction that takes longer is not executed."""
KEPT_ROOTS = 128
"""Blocks whose state can still be read; a reorganisation goes no deeper."""


class Beat(Struct, frozen=True):
    """When a block is made: sandbox time in whole seconds, and the slot of world time."""

    timestamp: int
    slot: int


class MinedBatch(Struct, frozen=True):
    """What came of a batch. ``refused`` could not be executed and is dropped, with the reason;
    what is in neither list did not fit and stays in the pool."""

    head: ChainHead
    included: tuple[bytes, ...]
    refused: tuple[tuple[bytes, str], ...]


class EvmChain:
    """One chain over its file. Raises ChainFileMismatch when the file holds another one."""

    def __init__(
        self, path: Path, terms: ChainTerms, genesis: Genesis, beat: Beat, clock: Clock
    ) -> None:
        self._monotonic = clock.monotonic
        self.terms = terms
        self.path = path
        require_same(path, terms.chain_id, genesis.digest)
        self._store = ChainStore(open_chain_file(path))
        self.state: StateKeys = self._store.state
        self._machine = EvmMachine(terms, AtomicDB(self.state), self._store.header_by_hash)
        self._machine.era = self._store.era
        self.head = self._store.head() or self._begin(genesis, beat)

    def close(self) -> None:
        self._store.close()

    def mine(self, batch: Sequence[Candidate], beat: Beat) -> MinedBatch:
        """One block with what of ``batch`` can be executed, in that order. A batch of which
        nothing can be executed makes no block."""
        header = self._machine.next_header(self.head.header, self._timestamp(beat))
        vm: Any = self._machine.vm(header)
        done: list[Execution] = []
        refused: list[tuple[bytes, str]] = []
        began = self._monotonic()
        for candidate in batch:
            late = done and self._monotonic() > began + BLOCK_SECONDS
            if late or header.gas_used + candidate.gas > header.gas_limit:
                break
            vm.state.limit(self._monotonic, BLOCK_SECONDS)
            # Locking begins a transaction anew; a snapshot from before it cannot be gone back to.
            vm.state.lock_changes()
            snapshot = vm.state.snapshot()
            try:
                computation = vm.state.apply_transaction(candidate.transaction)
            except TooLong:
                vm.state.revert(snapshot)
                refused.append((candidate.hash, "it runs too long"))
                continue
            except (ValidationError, VMError) as error:
                vm.state.revert(snapshot)
                refused.append((candidate.hash, str(error)))
                continue
            vm.state.commit(snapshot)
            before = header.gas_used
            receipt = vm.make_receipt(header, candidate.transaction, computation, vm.state)
            header = vm.add_receipt_to_header(header, receipt)
            done.append(Execution.of(candidate, receipt, computation, before))
        if not done:
            return MinedBatch(self.head, (), tuple(refused))
        vm.state.persist()
        awaited = self.head.awaited - 1
        if any(each.candidate.awaited for each in done):
            awaited = self.terms.confirmations - 1
        header = header.copy(state_root=vm.state.state_root)
        block = seal(header, done, self.terms.chain_id, slot=beat.slot, awaited=max(0, awaited))
        self._append([block])
        included = tuple(each.candidate.hash for each in done)
        return MinedBatch(self.head, included, tuple(refused))

    def rest(self, beats: Sequence[Beat]) -> ChainHead:
        """Empty blocks, one for each beat, so that what was sent before is confirmed."""
        blocks: list[BlockRecord] = []
        parent, awaited = self.head.header, self.head.awaited
        for beat in beats:
            awaited = max(0, awaited - 1)
            header = self._machine.next_header(parent, _timestamp(parent, beat))
            block = seal(header, (), self.terms.chain_id, slot=beat.slot, awaited=awaited)
            blocks.append(block)
            parent = block.header
        self._append(blocks)
        return self.head

    def unwind(self, depth: int) -> tuple[ChainHead, list[bytes]]:
        """Forget the newest ``depth`` blocks; returns the head before them and the raw
        transactions which were in them, oldest first. Raises ValueError when the chain is
        shorter or the state is no longer kept."""
        number = self.head.number - depth
        if depth < 1 or depth >= KEPT_ROOTS or number < 0:
            raise ValueError(f"a reorganisation takes 1 to {min(KEPT_ROOTS - 1, self.head.number)}")
        header = self._store.header_at(number)
        if header is None or not self._has_state(header):
            raise ValueError("the state before these blocks is no longer kept")
        raw = self._store.unwind(number)
        self._machine.era = self._store.era
        # The slot of the newest block stays: what replaces it comes later in time.
        self.head = ChainHead(header, self.head.slot, depth)
        return self.head, raw

    def prune(self) -> int:
        """Drop state that only blocks before the newest ``KEPT_ROOTS`` can reach."""
        kept = reachable(self.state, self._store.roots(KEPT_ROOTS))
        return self._store.drop_state(kept)

    def _append(self, blocks: Sequence[BlockRecord]) -> None:
        self._store.append(blocks)
        last = blocks[-1]
        crossed = last.number // PRUNE_EVERY > self.head.number // PRUNE_EVERY
        self.head = ChainHead(last.header, last.slot, last.awaited)
        if crossed:
            self.prune()

    def _timestamp(self, beat: Beat) -> int:
        return _timestamp(self.head.header, beat)

    def _has_state(self, header: BlockHeader) -> bool:
        return header.state_root == BLANK_ROOT_HASH or header.state_root in self.state

    def _begin(self, genesis: Genesis, beat: Beat) -> ChainHead:
        empty: BlockHeader = PragueBlockHeader(
            difficulty=0,
            block_number=BlockNumber(0),
            gas_limit=self.terms.gas_limit,
            timestamp=beat.timestamp,
            parent_hash=GENESIS_PARENT_HASH,
            base_fee_per_gas=self.terms.lowest_base_fee,
            extra_data=genesis.mark,
        )
        header = empty.copy(state_root=state_root(genesis.accounts, self.state))
        # Block 0 is of the slot before, so that the first block need not wait for the next one.
        block = seal(header, (), self.terms.chain_id, slot=beat.slot - 1, awaited=0)
        self._store.begin(block, {"chain_id": str(self.terms.chain_id), "genesis": genesis.digest})
        return ChainHead(block.header, block.slot, block.awaited)


def _timestamp(parent: BlockHeader, beat: Beat) -> int:
    """Now, and never before the parent: blocks closer than a second share one. A block from the
    future would be told as having happened before it has."""
    return int(max(parent.timestamp, beat.timestamp))


LONGEST_SLEEP = 0.1
"""Seconds; the clock may be moved meanwhile."""


class Beats:
    """The beat of one chain over the node's clock."""

    def __init__(self, clock: WorldClock, block_ms: int) -> None:
        self._clock = clock
        self._block_ms = block_ms

    def now(self) -> Beat:
        moment = self._clock.moment()
        return Beat(moment.now // 1000, moment.world // self._block_ms)

    def at(self, slot: int) -> Beat:
        """The beat of a slot that has begun."""
        moment = self._clock.at(Due(world=slot * self._block_ms))
        return Beat(moment.now // 1000, slot)

    def seconds_to(self, slot: int) -> float:
        """Until a slot begins, but never longer than the clock may be left unasked."""
        return min(self.left(slot), LONGEST_SLEEP)

    def left(self, slot: int) -> float:
        """Seconds until a slot begins as the clock goes now."""
        missing = slot * self._block_ms - self._clock.moment().world
        return max(0.0, missing / 1000 / float(self._clock.speed))
