"""Shapes of the Ethereum JSON-RPC: quantities, data, blocks, transactions, receipts, logs."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from eth.constants import BLANK_ROOT_HASH, EMPTY_SHA256, EMPTY_UNCLE_HASH, POST_MERGE_NONCE
from eth_utils.address import to_checksum_address

from swapdesk.sandbox.node.evm.blocks import Block, Log, bloom_of, kind_of, price_at

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


def block_document(block: Block, chain_id: int, *, whole: bool = False) -> Document:
    """With its transactions' hashes, or with all of them (``whole``)."""
    transactions = [
        transaction_document(one.signed, one.hash, one.sender, chain_id, block, place)
        if whole
        else data(one.hash)
        for place, one in enumerate(block.transactions)
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
    """A transaction, mined when it has a block."""
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
                "chainId": quantity(each.chain_id),
                "address": address(each.address),
                "nonce": quantity(each.nonce),
                "yParity": quantity(each.y_parity),
                "r": quantity(each.r),
                "s": quantity(each.s),
            }
            for each in signed.authorization_list
        ]
    return document


def receipt_document(block: Block, position: int) -> Document:
    one = block.transactions[position]
    signed = one.signed
    before = sum(len(each.logs) for each in block.transactions[:position])
    return {
        "type": quantity(kind_of(signed)),
        "status": quantity(int(one.succeeded)),
        "transactionHash": data(one.hash),
        "transactionIndex": quantity(position),
        "blockHash": data(block.hash),
        "blockNumber": quantity(block.number),
        "from": address(one.sender),
        "to": address(signed.to),
        "gasUsed": quantity(one.gas_used),
        "cumulativeGasUsed": quantity(one.cumulative_gas),
        "effectiveGasPrice": quantity(price_at(signed, block.base_fee_per_gas)),
        "contractAddress": address(one.created),
        "logsBloom": data(bloom_of(one.logs).to_bytes(256, "big")),
        "logs": [
            log_document(log, block, one.hash, position, before + place)
            for place, log in enumerate(one.logs)
        ],
    }


def log_document(
    log: Log, block: Block, transaction_hash: bytes, transaction_position: int, place: int
) -> Document:
    """``place`` counts in the block, not in the transaction."""
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
