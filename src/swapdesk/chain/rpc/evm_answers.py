"""What an EVM node answers, read strictly: another shape is no answer.

Addresses are kept with their checksum, hashes as lower-case 0x-hex, amounts as whole wei.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.rpc.evm_errors import EvmUncertain

_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}")
_DATA = re.compile(r"0x(?:[0-9a-fA-F]{2})*")
_HASH = re.compile(r"0x[0-9a-fA-F]{64}")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")


@dataclass(frozen=True)
class Identity:
    """Which chain a node serves."""

    chain_id: int
    genesis: str


@dataclass(frozen=True)
class Head:
    """A block. ``base_fee`` is wei per gas, ``timestamp`` seconds since 1970."""

    number: int
    hash: str
    timestamp: int
    base_fee: int


@dataclass(frozen=True)
class Fees:
    """Wei per gas: what the newest block asked for, and what is usually added for haste."""

    base_fee: int
    priority: int

    @property
    def most(self) -> int:
        """A bound that still holds when the base fee doubles."""
        return 2 * self.base_fee + self.priority


@dataclass(frozen=True)
class Log:
    """An event of a contract. ``position`` counts within its block."""

    address: str
    topics: tuple[str, ...]
    data: bytes
    block: int | None
    transaction: str | None
    position: int | None


@dataclass(frozen=True)
class Receipt:
    """A transaction that is in a block. ``succeeded`` is its status."""

    hash: str
    block: int
    block_hash: str
    sender: str
    to: str | None
    succeeded: bool
    gas_used: int
    gas_price: int
    logs: tuple[Log, ...]


@dataclass(frozen=True)
class Transaction:
    """A transaction that a node knows; ``block`` is None while it waits in the pool."""

    hash: str
    sender: str
    to: str | None
    data: bytes
    value: int
    nonce: int
    block: int | None


@dataclass(frozen=True)
class SimulatedCall:
    """Outcome of a pretended call. ``logs`` is None where the node cannot tell them; transfers
    of the native coin show there as ERC-20 transfers of the address 0xee..ee."""

    succeeded: bool
    output: bytes
    gas_used: int | None
    logs: tuple[Log, ...] | None
    words: str = ""


def quantity(value: object) -> int:
    if not isinstance(value, str) or _QUANTITY.fullmatch(value) is None:
        raise EvmUncertain("the node answered no number")
    return int(value, 16)


def octets(value: object) -> bytes:
    if not isinstance(value, str) or _DATA.fullmatch(value) is None:
        raise EvmUncertain("the node answered no data")
    return bytes.fromhex(value[2:])


def digest(value: object) -> str:
    """A hash of 32 bytes."""
    if not isinstance(value, str) or _HASH.fullmatch(value) is None:
        raise EvmUncertain("the node answered no hash")
    return value.lower()


def address(value: object) -> str:
    if not isinstance(value, str) or _ADDRESS.fullmatch(value) is None:
        raise EvmUncertain("the node answered no address")
    return checksummed(value)


def fields(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise EvmUncertain("the node answered no object")
    return value


def items(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise EvmUncertain("the node answered no list")
    return value


def read_head(value: object) -> Head:
    block = fields(value)
    return Head(
        quantity(block.get("number")),
        digest(block.get("hash")),
        quantity(block.get("timestamp")),
        quantity(block.get("baseFeePerGas", "0x0")),
    )


def read_log(value: object) -> Log:
    log = fields(value)
    block, transaction, position = (
        log.get("blockNumber"),
        log.get("transactionHash"),
        log.get("logIndex"),
    )
    return Log(
        address=address(log.get("address")),
        topics=tuple(digest(each) for each in items(log.get("topics"))),
        data=octets(log.get("data")),
        block=None if block is None else quantity(block),
        transaction=None if transaction is None else digest(transaction),
        position=None if position is None else quantity(position),
    )


def read_receipt(value: object, wanted: str) -> Receipt:
    """The receipt of ``wanted``; another one is no answer."""
    receipt = fields(value)
    found = digest(receipt.get("transactionHash"))
    status = quantity(receipt.get("status"))
    if found != wanted.lower() or status > 1:
        raise EvmUncertain("the node answered another receipt")
    return Receipt(
        hash=found,
        block=quantity(receipt.get("blockNumber")),
        block_hash=digest(receipt.get("blockHash")),
        sender=address(receipt.get("from")),
        to=None if receipt.get("to") is None else address(receipt.get("to")),
        succeeded=status == 1,
        gas_used=quantity(receipt.get("gasUsed")),
        gas_price=quantity(receipt.get("effectiveGasPrice", "0x0")),
        logs=tuple(read_log(each) for each in items(receipt.get("logs"))),
    )


def read_transaction(value: object, wanted: str) -> Transaction:
    """The transaction ``wanted``; another one is no answer."""
    sent = fields(value)
    found = digest(sent.get("hash"))
    if found != wanted.lower():
        raise EvmUncertain("the node answered another transaction")
    block = sent.get("blockNumber")
    return Transaction(
        hash=found,
        sender=address(sent.get("from")),
        to=None if sent.get("to") is None else address(sent.get("to")),
        data=octets(sent.get("input", sent.get("data"))),
        value=quantity(sent.get("value")),
        nonce=quantity(sent.get("nonce")),
        block=None if block is None else quantity(block),
    )
