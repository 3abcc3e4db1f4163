"""Client of an EVM node: reads, simulated calls and signed transactions, each sent once, within a
deadline.

Nothing is filled in or signed here. Addresses have their checksum, hashes are lower-case 0x-hex,
amounts are wei; an answer of another form raises NodeUncertain.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.calldata.method import text_in
from swapdesk.chain.node_http import NodeHttp, NodeRefused, NodeUncertain, plain_words

_REASON: Final = bytes.fromhex("08c379a0")
_PANIC: Final = bytes.fromhex("4e487b71")
_PANICS = {
    0x01: "an assertion failed",
    0x11: "a number left its range",
    0x12: "a division by zero",
    0x21: "a value outside its enumeration",
    0x31: "an empty array was shortened",
    0x32: "an index beyond its array",
    0x41: "too much memory was asked for",
    0x51: "an unset function was called",
}


def revert_words(data: bytes) -> str:
    """Returns the reason of a revert as text. ``data`` is what the call returned. Empty if the call
    gave no reason."""
    if not data:
        return ""
    head, rest = data[:4], data[4:]
    if head == _PANIC and len(rest) == 32:
        number = int.from_bytes(rest, "big")
        return _PANICS.get(number, f"panic {number:#x}" if number < 256 else "panic")
    if head == _REASON:
        text = (text_in(rest) or b"").decode("utf-8", "replace")
        return plain_words(text).strip() or "reverted without a readable reason"
    return f"error 0x{head.hex()} of the contract"


REVERTED = 3
"""Error code for a call that was executed and reverted."""

NO_METHOD = -32601


class EvmRefused(NodeRefused):
    """Raised if the node answered with an error. ``words`` is the reason of a revert or the node's
    message."""

    def __init__(self, code: int, message: str, data: bytes = b"") -> None:
        super().__init__(code, revert_words(data) or message)
        self.data = data

    def __str__(self) -> str:
        return f"{self.words} ({self.code})"

    @property
    def reverted(self) -> bool:
        """True if the call was executed and reverted. False if the node refused to execute it."""
        return self.code == REVERTED or bool(self.data)


_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}")
_DATA = re.compile(r"0x(?:[0-9a-fA-F]{2})*")
_HASH = re.compile(r"0x[0-9a-fA-F]{64}")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")


class Head(Struct, frozen=True):
    """The head of a block. ``base_fee`` is in wei per gas, ``timestamp`` in seconds since 1970."""

    number: int
    hash: str
    timestamp: int
    base_fee: int


class Fees(Struct, frozen=True):
    """The base fee of the newest block and the usual priority fee, both in wei per gas."""

    base_fee: int
    priority: int

    @property
    def most(self) -> int:
        """The maximum fee per gas to offer, in wei. It suffices even if the base fee doubles."""
        return 2 * self.base_fee + self.priority


class Log(Struct, frozen=True):
    """An event that a contract emitted. ``transaction`` is the hash of its transaction, None if the
    node does not state it."""

    address: str
    topics: tuple[str, ...]
    data: bytes
    transaction: str | None


class TransactionReceipt(Struct, frozen=True):
    """The receipt of a transaction in a block. ``succeeded`` is True if the transaction was
    executed without reverting."""

    hash: str
    block: int
    block_hash: str
    sender: str
    to: str | None
    succeeded: bool
    gas_used: int
    logs: tuple[Log, ...]


class Transaction(Struct, frozen=True):
    """A transaction that a node knows. ``value`` is in wei. ``block`` is the number of its block,
    None while the transaction waits in the pool."""

    hash: str
    sender: str
    to: str | None
    data: bytes
    value: int
    nonce: int
    block: int | None


class SimulatedCall(Struct, frozen=True):
    """The outcome of a simulated call. ``logs`` is None if the node reports no events; coin
    transfers appear as ERC-20 transfers of the contract 0xee..ee."""

    succeeded: bool
    output: bytes
    gas_used: int | None
    logs: tuple[Log, ...] | None
    words: str = ""


def _text_of(form: re.Pattern[str], value: object, what: str) -> str:
    if not isinstance(value, str) or form.fullmatch(value) is None:
        raise NodeUncertain(f"the node answered no {what}")
    return value


def quantity(value: object) -> int:
    return int(_text_of(_QUANTITY, value, "number"), 16)


def octets(value: object) -> bytes:
    return bytes.fromhex(_text_of(_DATA, value, "data")[2:])


def digest(value: object) -> str:
    """Returns ``value``, a hash in a node's answer, in lower case. Raises NodeUncertain if it is
    not 32 bytes in hexadecimal."""
    return _text_of(_HASH, value, "hash").lower()


def address(value: object) -> str:
    return checksummed(_text_of(_ADDRESS, value, "address"))


def fields(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise NodeUncertain("the node answered no object")
    return value


def items(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise NodeUncertain("the node answered no list")
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
    transaction = log.get("transactionHash")
    return Log(
        address=address(log.get("address")),
        topics=tuple(digest(topic) for topic in items(log.get("topics"))),
        data=octets(log.get("data")),
        transaction=None if transaction is None else digest(transaction),
    )


def read_receipt(value: object, wanted: str) -> TransactionReceipt:
    """Returns the receipt in a node's answer. Raises NodeUncertain if the answer is not a receipt
    of the transaction with the hash ``wanted``."""
    receipt = fields(value)
    own_hash = digest(receipt.get("transactionHash"))
    status = quantity(receipt.get("status"))
    if own_hash != wanted.lower() or status > 1:
        raise NodeUncertain("the node answered another receipt")
    return TransactionReceipt(
        hash=own_hash,
        block=quantity(receipt.get("blockNumber")),
        block_hash=digest(receipt.get("blockHash")),
        sender=address(receipt.get("from")),
        to=None if receipt.get("to") is None else address(receipt.get("to")),
        succeeded=status == 1,
        gas_used=quantity(receipt.get("gasUsed")),
        logs=tuple(read_log(log) for log in items(receipt.get("logs"))),
    )


def read_transaction(value: object, wanted: str) -> Transaction:
    """Returns the transaction in a node's answer. Raises NodeUncertain if the answer is not the
    transaction with the hash ``wanted``."""
    sent = fields(value)
    own_hash = digest(sent.get("hash"))
    if own_hash != wanted.lower():
        raise NodeUncertain("the node answered another transaction")
    block = sent.get("blockNumber")
    return Transaction(
        hash=own_hash,
        sender=address(sent.get("from")),
        to=None if sent.get("to") is None else address(sent.get("to")),
        data=octets(sent.get("input", sent.get("data"))),
        value=quantity(sent.get("value")),
        nonce=quantity(sent.get("nonce")),
        block=None if block is None else quantity(block),
    )


BATCH_LIMIT = 100
"""Largest number of reads that are sent in one request."""


class Request(Struct, frozen=True):
    """One read of a batch: a JSON-RPC method and its parameters."""

    method: str
    params: tuple[Any, ...] = ()


_ALREADY_KNOWN = ("already known", "known transaction", "already imported")
_MISSING_METHOD_WORDS = ("does not exist", "not supported", "not available", "unsupported method")


class Call(Struct, frozen=True):
    """A call to simulate. ``value`` is in wei. If ``gas`` is None, the node's own limit applies."""

    to: str
    data: bytes = b""
    sender: str | None = None
    value: int = 0
    gas: int | None = None

    def as_json(self) -> dict[str, str]:
        fields_of_call = {"to": self.to, "data": "0x" + self.data.hex(), "value": hex(self.value)}
        if self.sender is not None:
            fields_of_call["from"] = self.sender
        if self.gas is not None:
            fields_of_call["gas"] = hex(self.gas)
        return fields_of_call


def balance_of(address: str, block: str = "latest") -> Request:
    return Request("eth_getBalance", (address, block))


def nonce_of(address: str, block: str = "latest") -> Request:
    return Request("eth_getTransactionCount", (address, block))


def code_at(address: str, block: str = "latest") -> Request:
    return Request("eth_getCode", (address, block))


def calling(call: Call, block: str = "latest") -> Request:
    return Request("eth_call", (call.as_json(), block))


class EvmClient(NodeHttp):
    """A client of an EVM node. ``deadline`` limits every call, in seconds. Methods may raise
    NodeUnreachable, NodeUncertain or EvmRefused, and never repeat a request."""

    async def batch(self, requests: Sequence[Request]) -> list[Any]:
        """Sends several reads, up to :data:`BATCH_LIMIT` per request, and returns the results in
        order. For a refused read, the list has an EvmRefused in place of a result."""
        results: list[Any] = []
        for start in range(0, len(requests), BATCH_LIMIT):
            asked = requests[start : start + BATCH_LIMIT]
            results += await self._ask_all([(request.method, request.params) for request in asked])
        return results

    def _refusal(self, error: Any) -> EvmRefused | NodeUncertain:
        answered = error if isinstance(error, dict) else {}
        code, data = answered.get("code"), answered.get("data")
        if not isinstance(code, int) or isinstance(code, bool):
            return NodeUncertain("the node answered an error without a code")
        try:
            raw = octets(data) if isinstance(data, str) else b""
        except NodeUncertain:
            raw = b""
        return EvmRefused(code, str(answered.get("message", "")), raw)

    # Reads

    async def height(self) -> int:
        return quantity(await self.ask("eth_blockNumber"))

    async def head(self) -> Head:
        return read_head(await self.ask("eth_getBlockByNumber", "latest", False))

    async def balance(self, address: str) -> int:
        """Returns the balance of an address, in wei."""
        return quantity(await self.ask("eth_getBalance", address, "latest"))

    async def nonce(self, address: str, *, pending: bool = True) -> int:
        """Returns the nonce for the account's next transaction. With ``pending``, transactions
        waiting in the node's pool count as executed."""
        block = "pending" if pending else "latest"
        return quantity(await self.ask("eth_getTransactionCount", address, block))

    async def call(self, call: Call) -> bytes:
        """Returns the data that a call would return now. Raises EvmRefused if the call reverts;
        ``words`` of the exception say why."""
        return octets(await self.ask("eth_call", call.as_json(), "latest"))

    async def estimate(self, call: Call) -> int:
        """Returns the gas that a call needs. Raises EvmRefused if the call reverts; ``words`` of
        the exception say why."""
        return quantity(await self.ask("eth_estimateGas", call.as_json()))

    async def simulate(self, calls: Sequence[Call]) -> list[SimulatedCall]:
        """Simulates calls in sequence without changing the chain. A node without ``eth_simulateV1``
        can simulate only a single call, without events; with such a node, several calls raise
        EvmRefused."""
        block = {"calls": [call.as_json() for call in calls]}
        options = {"blockStateCalls": [block], "traceTransfers": True, "validation": False}
        try:
            answer = items(await self.ask("eth_simulateV1", options, "latest"))
        except EvmRefused as refused:
            if not _lacks_method(refused) or len(calls) != 1:
                raise
            return [await self._simply(calls[0])]
        if len(answer) != 1:
            raise NodeUncertain("the node answered another number of blocks")
        outcomes = items(fields(answer[0]).get("calls"))
        if len(outcomes) != len(calls):
            raise NodeUncertain("the node answered another number of calls")
        return [_simulated(outcome) for outcome in outcomes]

    async def _simply(self, call: Call) -> SimulatedCall:
        try:
            output = await self.call(call)
        except EvmRefused as refused:
            if not refused.reverted:
                raise
            return SimulatedCall(False, refused.data, None, None, refused.words)
        return SimulatedCall(True, output, None, None)

    async def fees(self) -> Fees:
        head, tip = await self.batch(
            [
                Request("eth_getBlockByNumber", ("latest", False)),
                Request("eth_maxPriorityFeePerGas"),
            ]
        )
        return Fees(read_head(_whole(head)).base_fee, quantity(_whole(tip)))

    async def receipt(self, transaction_hash: str) -> TransactionReceipt | None:
        """Returns the receipt of a transaction. None if the transaction is in no block or the node
        does not know it."""
        answer = await self.ask("eth_getTransactionReceipt", transaction_hash)
        return None if answer is None else read_receipt(answer, transaction_hash)

    async def transaction(self, transaction_hash: str) -> Transaction | None:
        answer = await self.ask("eth_getTransactionByHash", transaction_hash)
        return None if answer is None else read_transaction(answer, transaction_hash)

    async def logs(self, address: str, topics: Sequence[str | None]) -> list[Log]:
        """Returns the events of a contract, oldest first. ``topics`` filter them by position; None
        matches every value."""
        wanted = {
            "address": address,
            "topics": list(topics),
            "fromBlock": "0x0",
            "toBlock": "latest",
        }
        return [read_log(log) for log in items(await self.ask("eth_getLogs", wanted))]

    # Sending

    async def send_raw(self, raw: bytes) -> str:
        """Sends a signed transaction and returns its hash, also if the node already had the
        transaction. After NodeUncertain, the node may have accepted the transaction; sending the
        same bytes again is safe."""
        own = "0x" + keccak(raw).hex()
        try:
            answered = digest(await self.ask("eth_sendRawTransaction", "0x" + raw.hex()))
        except EvmRefused as refused:
            if any(words in refused.words.lower() for words in _ALREADY_KNOWN):
                return own
            raise
        if answered != own:
            raise NodeUncertain("the node answered another hash")
        return own


def _whole(result: Any) -> Any:
    if isinstance(result, EvmRefused):
        raise result
    return result


def _lacks_method(refused: EvmRefused) -> bool:
    return refused.code == NO_METHOD or (
        not refused.reverted
        and any(words in refused.words.lower() for words in _MISSING_METHOD_WORDS)
    )


def _simulated(value: object) -> SimulatedCall:
    outcome = fields(value)
    succeeded = quantity(outcome.get("status")) == 1
    output = octets(outcome.get("returnData", "0x"))
    logs = tuple(read_log(log) for log in items(outcome.get("logs", [])))
    gas_used = quantity(outcome.get("gasUsed"))
    if succeeded:
        return SimulatedCall(True, output, gas_used, logs)
    failure = fields(outcome.get("error") or {})
    raw = failure.get("data")
    data = octets(raw) if isinstance(raw, str) else output
    code = failure.get("code")
    words = EvmRefused(code if isinstance(code, int) else 0, str(failure.get("message", "")), data)
    return SimulatedCall(False, output, gas_used, (), words.words)
