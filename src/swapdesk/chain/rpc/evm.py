"""Client of an EVM node: reads, simulated calls and signed transactions, as JSON-RPC.

Every request goes out once, within a deadline. The caller gives every field of a call; nothing
is filled in or signed here, and no chain library is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from swapdesk.chain.addresses.evm import keccak
from swapdesk.chain.node_http import NodeHttp
from swapdesk.chain.rpc.evm_answers import (
    NO_METHOD,
    EvmRefused,
    EvmUncertain,
    EvmUnreachable,
    Fees,
    Log,
    SimulatedCall,
    Transaction,
    TransactionReceipt,
    digest,
    fields,
    items,
    octets,
    quantity,
    read_head,
    read_log,
    read_receipt,
    read_transaction,
)

BATCH_LIMIT = 100
"""Reads that go out in one request."""


class Request(Struct, frozen=True):
    """One read of a batch, as JSON-RPC names it."""

    method: str
    params: tuple[Any, ...] = ()


_ALREADY_KNOWN = ("already known", "known transaction", "already imported")
_MISSING_METHOD_WORDS = ("does not exist", "not supported", "not available", "unsupported method")


class Call(Struct, frozen=True):
    """A call that is pretended. ``value`` in wei; ``gas`` None is what the node allows."""

    to: str
    data: bytes = b""
    sender: str | None = None
    value: int = 0
    gas: int | None = None

    def as_json(self) -> dict[str, str]:
        told = {"to": self.to, "data": "0x" + self.data.hex(), "value": hex(self.value)}
        if self.sender is not None:
            told["from"] = self.sender
        if self.gas is not None:
            told["gas"] = hex(self.gas)
        return told


def balance_of(address: str, block: str = "latest") -> Request:
    """The balance in wei, as a quantity."""
    return Request("eth_getBalance", (address, block))


def nonce_of(address: str, block: str = "latest") -> Request:
    return Request("eth_getTransactionCount", (address, block))


def code_at(address: str, block: str = "latest") -> Request:
    return Request("eth_getCode", (address, block))


def calling(call: Call, block: str = "latest") -> Request:
    return Request("eth_call", (call.as_json(), block))


class EvmClient(NodeHttp):
    """The node at ``url``. ``deadline`` bounds every call, in seconds.

    Every method raises EvmUnreachable, EvmUncertain or EvmRefused, and asks once.
    """

    unreachable = EvmUnreachable
    uncertain = EvmUncertain

    async def batch(self, requests: Sequence[Request]) -> list[Any]:
        """Results in the order of the requests; a refused one is the EvmRefused in its place."""
        results: list[Any] = []
        for start in range(0, len(requests), BATCH_LIMIT):
            asked = requests[start : start + BATCH_LIMIT]
            results += await self._ask_all([(each.method, each.params) for each in asked])
        return results

    def _refusal(self, error: Any) -> EvmRefused | EvmUncertain:
        told = error if isinstance(error, dict) else {}
        code, data = told.get("code"), told.get("data")
        if not isinstance(code, int) or isinstance(code, bool):
            return EvmUncertain("the node answered an error without a code")
        try:
            raw = octets(data) if isinstance(data, str) else b""
        except EvmUncertain:
            raw = b""
        return EvmRefused(code, str(told.get("message", "")), raw)

    # Reads

    async def height(self) -> int:
        """Number of the newest block."""
        return quantity(await self.ask("eth_blockNumber"))

    async def balance(self, address: str) -> int:
        """In wei."""
        return quantity(await self.ask("eth_getBalance", address, "latest"))

    async def nonce(self, address: str, *, pending: bool = True) -> int:
        """The next nonce; ``pending`` counts what waits in the node's pool."""
        block = "pending" if pending else "latest"
        return quantity(await self.ask("eth_getTransactionCount", address, block))

    async def call(self, call: Call) -> bytes:
        """What the call would return now. EvmRefused with ``words`` when it reverts."""
        return octets(await self.ask("eth_call", call.as_json(), "latest"))

    async def estimate(self, call: Call) -> int:
        """Gas the call needs. EvmRefused with ``words`` when it reverts."""
        return quantity(await self.ask("eth_estimateGas", call.as_json()))

    async def simulate(self, calls: Sequence[Call]) -> list[SimulatedCall]:
        """The outcomes of calls that follow each other, with the logs of each.

        A node without ``eth_simulateV1`` executes each by itself on the newest block and tells
        no logs; several calls are then refused, because none sees what the one before it did.
        """
        block = {"calls": [call.as_json() for call in calls]}
        options = {"blockStateCalls": [block], "traceTransfers": True, "validation": False}
        try:
            answer = items(await self.ask("eth_simulateV1", options, "latest"))
        except EvmRefused as refused:
            if not _lacks_method(refused) or len(calls) != 1:
                raise
            return [await self._simply(calls[0])]
        if len(answer) != 1:
            raise EvmUncertain("the node answered another number of blocks")
        outcomes = items(fields(answer[0]).get("calls"))
        if len(outcomes) != len(calls):
            raise EvmUncertain("the node answered another number of calls")
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
        """The receipt once the transaction is in a block; None before, and for unknown ones."""
        found = await self.ask("eth_getTransactionReceipt", transaction_hash)
        return None if found is None else read_receipt(found, transaction_hash)

    async def transaction(self, transaction_hash: str) -> Transaction | None:
        found = await self.ask("eth_getTransactionByHash", transaction_hash)
        return None if found is None else read_transaction(found, transaction_hash)

    async def logs(self, address: str, topics: Sequence[str | None]) -> list[Log]:
        """Events of a contract, oldest first; a topic of None matches everything."""
        wanted = {
            "address": address,
            "topics": list(topics),
            "fromBlock": "0x0",
            "toBlock": "latest",
        }
        return [read_log(log) for log in items(await self.ask("eth_getLogs", wanted))]

    # Sending

    async def send_raw(self, raw: bytes) -> str:
        """Hand in a signed transaction; its hash. One that the node knows already is a success.

        EvmUncertain: it may have been taken; the same bytes may be sent again.
        """
        own = "0x" + keccak(raw).hex()
        try:
            told = digest(await self.ask("eth_sendRawTransaction", "0x" + raw.hex()))
        except EvmRefused as refused:
            if any(words in refused.words.lower() for words in _ALREADY_KNOWN):
                return own
            raise
        if told != own:
            raise EvmUncertain("the node answered another hash")
        return own


def _whole(result: Any) -> Any:
    """A result of a batch; raises the refusal that stands in its place."""
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
    told = fields(outcome.get("error") or {})
    raw = told.get("data")
    data = octets(raw) if isinstance(raw, str) else output
    code = told.get("code")
    words = EvmRefused(code if isinstance(code, int) else 0, str(told.get("message", "")), data)
    return SimulatedCall(False, output, gas_used, (), words.words)
