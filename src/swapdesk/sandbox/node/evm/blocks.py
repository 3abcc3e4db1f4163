"""Blocks with their transactions and logs: in memory, in the chain's log on disk, and as Ethereum
JSON-RPC."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import rlp
from eth.constants import BLANK_ROOT_HASH, EMPTY_SHA256, EMPTY_UNCLE_HASH, POST_MERGE_NONCE
from eth.vm.forks.london.headers import calculate_expected_base_fee_per_gas
from eth.vm.forks.prague.transactions import PragueTransactionBuilder
from eth_bloom.bloom import BloomFilter
from eth_hash.auto import keccak
from eth_utils.address import to_checksum_address
from msgspec import Struct
from msgspec.structs import replace

from swapdesk.sandbox.node.evm.genesis import Genesis
from swapdesk.sandbox.node.evm.state import packed
from swapdesk.sandbox.tables import GAS_LIMIT, ChainTerms


class Log(Struct, frozen=True, gc=False, array_like=True):
    """A log that a contract emitted; ``topics`` are 32 bytes each."""

    address: bytes
    topics: tuple[bytes, ...]
    data: bytes


class MinedTransaction(Struct, frozen=True, array_like=True):
    """An executed transaction. ``created`` is the address of the contract that the transaction
    created; it is empty if there is none."""

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
        """The transaction as py-evm's object, decoded from its bytes."""
        return _decoded(self.raw)


_decoded = lru_cache(maxsize=1_024)(PragueTransactionBuilder.decode)


def kind_of(transaction: Any) -> int:
    return transaction.type_id or 0


def price_at(transaction: Any, base_fee: int) -> int:
    """Returns the wei per gas that the sender pays in a block with this base fee."""
    tip = transaction.max_priority_fee_per_gas
    return int(min(transaction.max_fee_per_gas, base_fee + tip))


class Block(Struct, frozen=True, array_like=True):
    """A block. ``slot`` is the number of its interval of world time. ``awaited`` is how many more
    blocks must follow to confirm its transactions."""

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
        """Returns the block with its hash: the hash of the RLP-encoded header, which has the fields
        of the Prague fork."""
        return replace(self, hash=keccak(rlp.encode(self._header)))

    @property
    def size(self) -> int:
        """The size of the block in bytes, encoded in RLP with empty lists of uncles and
        withdrawals."""
        raws = [
            transaction.raw if kind_of(transaction.signed) else rlp.decode(transaction.raw)
            for transaction in self.transactions
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
    """Returns an empty block after ``parent``, without a hash. Its timestamp is never before the
    parent's."""
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
    """Returns the base fee of the next block by EIP-1559, but never below the chain's floor."""
    expected: int = calculate_expected_base_fee_per_gas(parent)  # type: ignore[arg-type]
    return max(terms.lowest_base_fee, expected)


def bloom_of(logs: tuple[Log, ...]) -> int:
    words = (word for log in logs for word in (log.address, *log.topics))
    return int(BloomFilter.from_iterable(words))


Document = dict[str, Any]


quantity = hex


def data(octets: bytes) -> str:
    return "0x" + octets.hex()


@lru_cache(maxsize=4_096)
def address(octets: bytes) -> str | None:
    """Returns 20 bytes as a checksummed address; None if ``octets`` is empty."""
    return to_checksum_address(octets) if octets else None


def block_document(block: Block, chain_id: int, *, whole: bool = False) -> Document:
    """Returns a block as JSON-RPC, with the hashes of its transactions or, if ``whole``, with all
    transactions."""
    transactions = [
        transaction_document(
            transaction.signed, transaction.hash, transaction.sender, chain_id, block, place
        )
        if whole
        else data(transaction.hash)
        for place, transaction in enumerate(block.transactions)
    ]
    return {
        "number": quantity(block.number),
        "hash": data(block.hash),
        "parentHash": data(block.parent_hash),
        "nonce": data(POST_MERGE_NONCE),
        "mixHash": data(block.mix_hash),
        "sha3Uncles": data(EMPTY_UNCLE_HASH),
        "logsBloom": data(block.bloom),
        "transactionsRoot": data(block.transaction_root),
        "stateRoot": data(block.state_root),
        "receiptsRoot": data(block.receipt_root),
        "miner": address(block.coinbase),
        "difficulty": "0x0",
        "extraData": data(block.extra_data),
        "size": quantity(block.size),
        "gasLimit": quantity(block.gas_limit),
        "gasUsed": quantity(block.gas_used),
        "timestamp": quantity(block.timestamp),
        "baseFeePerGas": quantity(block.base_fee_per_gas),
        "withdrawalsRoot": data(BLANK_ROOT_HASH),
        "withdrawals": [],
        "blobGasUsed": "0x0",
        "excessBlobGas": "0x0",
        "parentBeaconBlockRoot": data(bytes(32)),
        "requestsHash": data(EMPTY_SHA256),
        "uncles": [],
        "transactions": transactions,
    }


def transaction_document(
    signed: Any,
    transaction_hash: bytes,
    sender: bytes,
    chain_id: int,
    block: Block | None = None,
    position: int = 0,
) -> Document:
    """Returns a transaction as JSON-RPC; without a ``block`` it is shown as pending."""
    kind = kind_of(signed)
    price = price_at(signed, block.base_fee_per_gas) if block else signed.max_fee_per_gas
    document: Document = {
        "type": quantity(kind),
        "chainId": quantity(chain_id),
        "hash": data(transaction_hash),
        "nonce": quantity(signed.nonce),
        "blockHash": data(block.hash) if block else None,
        "blockNumber": quantity(block.number) if block else None,
        "transactionIndex": quantity(position) if block else None,
        "from": address(sender),
        "to": address(signed.to),
        "value": quantity(signed.value),
        "gas": quantity(signed.gas),
        "gasPrice": quantity(price),
        "input": data(signed.data),
        "v": quantity(signed.v if kind == 0 else signed.y_parity),
        "r": quantity(signed.r),
        "s": quantity(signed.s),
    }
    if kind >= 1:
        document["yParity"] = quantity(signed.y_parity)
        document["accessList"] = [
            {
                "address": address(account),
                "storageKeys": [data(int(slot).to_bytes(32, "big")) for slot in slots],
            }
            for account, slots in signed.access_list
        ]
    if kind >= 2:
        document["maxFeePerGas"] = quantity(signed.max_fee_per_gas)
        document["maxPriorityFeePerGas"] = quantity(signed.max_priority_fee_per_gas)
    if kind == 4:
        document["authorizationList"] = [
            {
                "chainId": quantity(authorization.chain_id),
                "address": address(authorization.address),
                "nonce": quantity(authorization.nonce),
                "yParity": quantity(authorization.y_parity),
                "r": quantity(authorization.r),
                "s": quantity(authorization.s),
            }
            for authorization in signed.authorization_list
        ]
    return document


def receipt_document(block: Block, position: int) -> Document:
    transaction = block.transactions[position]
    signed = transaction.signed
    before = sum(len(earlier.logs) for earlier in block.transactions[:position])
    return {
        "type": quantity(kind_of(signed)),
        "status": quantity(int(transaction.succeeded)),
        "transactionHash": data(transaction.hash),
        "transactionIndex": quantity(position),
        "blockHash": data(block.hash),
        "blockNumber": quantity(block.number),
        "from": address(transaction.sender),
        "to": address(signed.to),
        "gasUsed": quantity(transaction.gas_used),
        "cumulativeGasUsed": quantity(transaction.cumulative_gas),
        "effectiveGasPrice": quantity(price_at(signed, block.base_fee_per_gas)),
        "contractAddress": address(transaction.created),
        "logsBloom": data(bloom_of(transaction.logs).to_bytes(256, "big")),
        "logs": [
            log_document(log, block, transaction.hash, position, before + place)
            for place, log in enumerate(transaction.logs)
        ],
    }


def log_document(
    log: Log, block: Block, transaction_hash: bytes, transaction_position: int, place: int
) -> Document:
    """Returns a log as JSON-RPC; ``place`` is its index in the block, not in the transaction."""
    return {
        "address": address(log.address),
        "topics": [data(topic) for topic in log.topics],
        "data": data(log.data),
        "blockHash": data(block.hash),
        "blockNumber": quantity(block.number),
        "blockTimestamp": quantity(block.timestamp),
        "transactionHash": data(transaction_hash),
        "transactionIndex": quantity(transaction_position),
        "logIndex": quantity(place),
        "removed": False,
    }
