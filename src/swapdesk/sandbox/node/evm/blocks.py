"""Blocks with their transactions and logs, as they lie in memory and in the log of the chain."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import rlp
from eth.constants import BLANK_ROOT_HASH, EMPTY_SHA256, EMPTY_UNCLE_HASH, POST_MERGE_NONCE
from eth.vm.forks.london.headers import calculate_expected_base_fee_per_gas
from eth.vm.forks.prague.transactions import PragueTransactionBuilder
from eth_bloom.bloom import BloomFilter
from eth_hash.auto import keccak
from msgspec import Struct
from msgspec.structs import replace

from swapdesk.sandbox.chain_rows import GAS_LIMIT, ChainTerms
from swapdesk.sandbox.node.evm.genesis import Genesis
from swapdesk.sandbox.node.evm.state import packed


class Log(Struct, frozen=True, gc=False, array_like=True):
    """What a contract told. ``topics`` are 32 bytes each."""

    address: bytes
    topics: tuple[bytes, ...]
    data: bytes


class MinedTransaction(Struct, frozen=True, array_like=True):
    """An executed transaction. ``created`` is the contract that it made, if it made one."""

    raw: bytes
    hash: bytes
    sender: bytes
    succeeded: bool
    gas_used: int
    cumulative_gas: int
    created: bytes
    logs: tuple[Log, ...]

    @property
    def signed(self) -> Any:
        """As py-evm reads it."""
        return _decoded(self.raw)


_decoded = lru_cache(maxsize=1_024)(PragueTransactionBuilder.decode)


def kind_of(transaction: Any) -> int:
    """Its type (EIP-2718); 0 for the old form."""
    return transaction.type_id or 0


def price_at(transaction: Any, base_fee: int) -> int:
    """Wei per gas that its sender pays in a block with this base fee."""
    tip = transaction.max_priority_fee_per_gas
    return int(min(transaction.max_fee_per_gas, base_fee + tip))


class Block(Struct, frozen=True, array_like=True):
    """A header with what it is the header of. ``slot`` is the interval of world time that it was
    made in, ``awaited`` how many more blocks shall follow it even if nothing is sent."""

    number: int
    timestamp: int
    parent_hash: bytes
    state_root: bytes
    gas_limit: int
    base_fee_per_gas: int
    coinbase: bytes = bytes(20)
    mix_hash: bytes = bytes(32)
    extra_data: bytes = b""
    gas_used: int = 0
    bloom: bytes = bytes(256)
    transaction_root: bytes = BLANK_ROOT_HASH
    receipt_root: bytes = BLANK_ROOT_HASH
    hash: bytes = b""
    slot: int = 0
    awaited: int = 0
    transactions: tuple[MinedTransaction, ...] = ()

    def sealed(self) -> Block:
        """With its hash: that of the RLP of a header of Prague."""
        return replace(self, hash=keccak(rlp.encode(self._header)))

    @property
    def size(self) -> int:
        """Bytes of the block in RLP; it has no uncles and no withdrawals."""
        raws = [
            one.raw if kind_of(one.signed) else rlp.decode(one.raw) for one in self.transactions
        ]
        return len(rlp.encode([self._header, raws, [], []]))

    @property
    def _header(self) -> list[bytes]:
        return [
            self.parent_hash,
            EMPTY_UNCLE_HASH,
            self.coinbase,
            self.state_root,
            self.transaction_root,
            self.receipt_root,
            self.bloom,
            b"",
            packed(self.number),
            packed(self.gas_limit),
            packed(self.gas_used),
            packed(self.timestamp),
            self.extra_data,
            self.mix_hash,
            POST_MERGE_NONCE,
            packed(self.base_fee_per_gas),
            BLANK_ROOT_HASH,
            b"",
            b"",
            bytes(32),
            EMPTY_SHA256,
        ]


def first_block(terms: ChainTerms, genesis: Genesis, timestamp: int, slot: int) -> Block:
    """Block 0."""
    return Block(
        number=0,
        timestamp=timestamp,
        parent_hash=bytes(32),
        state_root=bytes.fromhex(genesis.digest),
        gas_limit=GAS_LIMIT,
        base_fee_per_gas=terms.lowest_base_fee,
        extra_data=genesis.mark,
        slot=slot,
    ).sealed()


def next_block(terms: ChainTerms, parent: Block, timestamp: int) -> Block:
    """The block after ``parent``, still empty and without a hash. It is never before its parent:
    blocks closer than a second share one."""
    return Block(
        number=parent.number + 1,
        timestamp=max(parent.timestamp, timestamp),
        parent_hash=parent.hash,
        state_root=parent.state_root,
        gas_limit=GAS_LIMIT,
        base_fee_per_gas=next_base_fee(terms, parent),
        coinbase=keccak(b"coinbase:" + terms.short_name.encode())[12:],
        mix_hash=keccak(b"randao" + parent.hash),
    )


def next_base_fee(terms: ChainTerms, parent: Block) -> int:
    """EIP-1559, but never below the chain's floor."""
    expected: int = calculate_expected_base_fee_per_gas(parent)  # type: ignore[arg-type]
    return max(terms.lowest_base_fee, expected)


def bloom_of(logs: tuple[Log, ...]) -> int:
    words = (word for log in logs for word in (log.address, *log.topics))
    return int(BloomFilter.from_iterable(words))
