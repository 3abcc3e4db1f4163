"""Shapes of the Ethereum JSON-RPC: quantities, data, blocks, transactions, receipts, logs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from eth_utils.address import to_checksum_address

from swapdesk.sandbox.node.evm.machine import BlockHeader
from swapdesk.sandbox.node.evm.mempool import Candidate

Document = dict[str, Any]


def quantity(number: int) -> str:
    """``0x`` and the shortest hex digits."""
    return hex(number)


def data(octets: bytes) -> str:
    return "0x" + octets.hex()


@lru_cache(maxsize=4_096)
def address(octets: bytes) -> str | None:
    """An address in mixed case, or None for no address."""
    return to_checksum_address(octets) if octets else None


def text(document: Any) -> str:
    return json.dumps(document, separators=(",", ":"))


def block_document(header: BlockHeader, size: int) -> Document:
    """A block without its transactions, whose hashes or objects are added when it is asked for."""
    return {
        "number": quantity(header.block_number),
        "hash": data(header.hash),
        "parentHash": data(header.parent_hash),
        "nonce": data(header.nonce),
        "mixHash": data(header.mix_hash),
        "sha3Uncles": data(header.uncles_hash),
        "logsBloom": data(int(header.bloom).to_bytes(256, "big")),
        "transactionsRoot": data(header.transaction_root),
        "stateRoot": data(header.state_root),
        "receiptsRoot": data(header.receipt_root),
        "miner": address(header.coinbase),
        "difficulty": "0x0",
        "extraData": data(header.extra_data),
        "size": quantity(size),
        "gasLimit": quantity(header.gas_limit),
        "gasUsed": quantity(header.gas_used),
        "timestamp": quantity(header.timestamp),
        "baseFeePerGas": quantity(header.base_fee_per_gas),
        "withdrawalsRoot": data(header.withdrawals_root),
        "withdrawals": [],
        "blobGasUsed": quantity(header.blob_gas_used),
        "excessBlobGas": quantity(header.excess_blob_gas),
        "parentBeaconBlockRoot": data(header.parent_beacon_block_root),
        "requestsHash": data(header.requests_hash),
        "uncles": [],
    }


def transaction_document(
    candidate: Candidate,
    chain_id: int,
    *,
    header: BlockHeader | None = None,
    position: int | None = None,
) -> Document:
    """A transaction, mined when it has a header and a position."""
    tx = candidate.transaction
    kind = candidate.kind
    price = candidate.price_at(header.base_fee_per_gas) if header else candidate.max_fee
    document: Document = {
        "type": quantity(kind),
        "chainId": quantity(chain_id),
        "hash": data(candidate.hash),
        "nonce": quantity(candidate.nonce),
        "blockHash": data(header.hash) if header else None,
        "blockNumber": quantity(header.block_number) if header else None,
        "transactionIndex": quantity(position) if position is not None else None,
        "from": address(candidate.sender),
        "to": address(tx.to),
        "value": quantity(tx.value),
        "gas": quantity(tx.gas),
        "gasPrice": quantity(price),
        "input": data(tx.data),
        "v": quantity(tx.v if kind == 0 else tx.y_parity),
        "r": quantity(tx.r),
        "s": quantity(tx.s),
    }
    if kind >= 1:
        document["yParity"] = quantity(tx.y_parity)
        document["accessList"] = [
            {
                "address": address(account),
                "storageKeys": [data(int(slot).to_bytes(32, "big")) for slot in slots],
            }
            for account, slots in tx.access_list
        ]
    if kind >= 2:
        document["maxFeePerGas"] = quantity(candidate.max_fee)
        document["maxPriorityFeePerGas"] = quantity(candidate.max_tip)
    if kind == 4:
        document["authorizationList"] = [
            {
                "chainId": quantity(each.chain_id),
                "address": address(each.address),
                "nonce": quantity(each.nonce),
                "yParity": quantity(each.y_parity),
                "r": quantity(each.r),
                "s": quantity(each.s),
            }
            for each in tx.authorization_list
        ]
    return document


def receipt_document(
    candidate: Candidate,
    header: BlockHeader,
    position: int,
    *,
    succeeded: bool,
    gas_used: int,
    cumulative_gas: int,
    bloom: int,
    created: bytes | None,
    logs: Sequence[Document],
) -> Document:
    return {
        "type": quantity(candidate.kind),
        "status": quantity(int(succeeded)),
        "transactionHash": data(candidate.hash),
        "transactionIndex": quantity(position),
        "blockHash": data(header.hash),
        "blockNumber": quantity(header.block_number),
        "from": address(candidate.sender),
        "to": address(candidate.transaction.to),
        "gasUsed": quantity(gas_used),
        "cumulativeGasUsed": quantity(cumulative_gas),
        "effectiveGasPrice": quantity(candidate.price_at(header.base_fee_per_gas)),
        "contractAddress": address(created) if created else None,
        "logsBloom": data(bloom.to_bytes(256, "big")),
        "logs": list(logs),
    }


def log_document(
    emitter: bytes,
    topics: Sequence[int],
    payload: bytes,
    position: int,
    *,
    header: BlockHeader,
    transaction_hash: bytes,
    transaction_position: int,
) -> Document:
    """``position`` counts in the block, not in the transaction."""
    return {
        "address": address(emitter),
        "topics": [data(int(topic).to_bytes(32, "big")) for topic in topics],
        "data": data(payload),
        "blockHash": data(header.hash),
        "blockNumber": quantity(header.block_number),
        "blockTimestamp": quantity(header.timestamp),
        "transactionHash": data(transaction_hash),
        "transactionIndex": quantity(transaction_position),
        "logIndex": quantity(position),
        "removed": False,
    }
