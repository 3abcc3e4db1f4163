"""What is asked of an EVM node: its state, calls that are pretended, what became of transactions.

No field is filled in, nothing is signed and nothing is sent twice: what a call needs is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from swapdesk.chain.addresses.evm import keccak
from swapdesk.chain.rpc.evm_answers import (
    Fees,
    Head,
    Identity,
    Log,
    Receipt,
    SimulatedCall,
    Transaction,
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
from swapdesk.chain.rpc.evm_errors import NO_METHOD, EvmRefused, EvmUncertain
from swapdesk.chain.rpc.evm_wire import EvmWire, Request

_ALREADY_KNOWN = ("already known", "known transaction", "already imported")
_MISSING_METHOD_WORDS = ("does not exist", "not supported", "not available", "unsupported method")


@dataclass(frozen=True)
class Call:
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


@dataclass(frozen=True)
class Override:
    """What an account is pretended to be. ``slots`` are storage words by slot."""

    balance: int | None = None
    nonce: int | None = None
    code: bytes | None = None
    slots: Mapping[int, int] | None = None

    def as_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {}
        if self.balance is not None:
            told["balance"] = hex(self.balance)
        if self.nonce is not None:
            told["nonce"] = hex(self.nonce)
        if self.code is not None:
            told["code"] = "0x" + self.code.hex()
        if self.slots is not None:
            told["stateDiff"] = {_word(slot): _word(word) for slot, word in self.slots.items()}
        return told


Overrides = Mapping[str, Override]
"""Pretended accounts by address."""


def balance_of(address: str, block: str = "latest") -> Request:
    """The balance in wei, as a quantity."""
    return Request("eth_getBalance", (address, block))


def nonce_of(address: str, block: str = "latest") -> Request:
    return Request("eth_getTransactionCount", (address, block))


def code_at(address: str, block: str = "latest") -> Request:
    return Request("eth_getCode", (address, block))


def calling(call: Call, block: str = "latest") -> Request:
    return Request("eth_call", (call.as_json(), block))


class EvmClient(EvmWire):
    """Every method raises EvmUnreachable, EvmUncertain or EvmRefused, and asks once."""

    # Reads

    async def identity(self) -> Identity:
        """Chain id and hash of block 0, which together name a chain for good."""
        chain_id, genesis = await self.batch(
            [Request("eth_chainId"), Request("eth_getBlockByNumber", ("0x0", False))]
        )
        return Identity(quantity(_whole(chain_id)), digest(fields(_whole(genesis)).get("hash")))

    async def head(self) -> Head:
        return read_head(await self.ask("eth_getBlockByNumber", "latest", False))

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

    async def code(self, address: str) -> bytes:
        return octets(await self.ask("eth_getCode", address, "latest"))

    async def call(self, call: Call, overrides: Overrides | None = None) -> bytes:
        """What the call would return now. EvmRefused with ``words`` when it reverts."""
        pretended = [] if not overrides else [_pretended(overrides)]
        return octets(await self.ask("eth_call", call.as_json(), "latest", *pretended))

    async def estimate(self, call: Call, overrides: Overrides | None = None) -> int:
        """Gas the call needs. EvmRefused with ``words`` when it reverts."""
        pretended = [] if not overrides else ["latest", _pretended(overrides)]
        return quantity(await self.ask("eth_estimateGas", call.as_json(), *pretended))

    async def simulate(
        self, calls: Sequence[Call], overrides: Overrides | None = None
    ) -> list[SimulatedCall]:
        """The outcomes of calls that follow each other, with the logs of each.

        A node without ``eth_simulateV1`` executes each by itself on the newest block and tells
        no logs; several calls are then refused, because none sees what the one before it did.
        """
        block: dict[str, Any] = {"calls": [each.as_json() for each in calls]}
        if overrides:
            block["stateOverrides"] = _pretended(overrides)
        options = {"blockStateCalls": [block], "traceTransfers": True, "validation": False}
        try:
            answer = items(await self.ask("eth_simulateV1", options, "latest"))
        except EvmRefused as refused:
            if not _lacks_method(refused) or len(calls) != 1:
                raise
            return [await self._simply(calls[0], overrides)]
        if len(answer) != 1:
            raise EvmUncertain("the node answered another number of blocks")
        outcomes = items(fields(answer[0]).get("calls"))
        if len(outcomes) != len(calls):
            raise EvmUncertain("the node answered another number of calls")
        return [_simulated(each) for each in outcomes]

    async def _simply(self, call: Call, overrides: Overrides | None) -> SimulatedCall:
        try:
            output = await self.call(call, overrides)
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

    async def receipt(self, transaction_hash: str) -> Receipt | None:
        """The receipt once the transaction is in a block; None before, and for unknown ones."""
        found = await self.ask("eth_getTransactionReceipt", transaction_hash)
        return None if found is None else read_receipt(found, transaction_hash)

    async def transaction(self, transaction_hash: str) -> Transaction | None:
        found = await self.ask("eth_getTransactionByHash", transaction_hash)
        return None if found is None else read_transaction(found, transaction_hash)

    async def logs(
        self,
        address: str,
        topics: Sequence[str | None],
        first: int = 0,
        last: int | None = None,
    ) -> list[Log]:
        """Events of a contract, oldest first; a topic of None matches everything."""
        wanted = {
            "address": address,
            "topics": list(topics),
            "fromBlock": hex(first),
            "toBlock": "latest" if last is None else hex(last),
        }
        return [read_log(each) for each in items(await self.ask("eth_getLogs", wanted))]

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


def _pretended(overrides: Overrides) -> dict[str, Any]:
    return {address: override.as_json() for address, override in overrides.items()}


def _simulated(value: object) -> SimulatedCall:
    outcome = fields(value)
    succeeded = quantity(outcome.get("status")) == 1
    output = octets(outcome.get("returnData", "0x"))
    logs = tuple(read_log(each) for each in items(outcome.get("logs", [])))
    gas_used = quantity(outcome.get("gasUsed"))
    if succeeded:
        return SimulatedCall(True, output, gas_used, logs)
    told = fields(outcome.get("error") or {})
    raw = told.get("data")
    data = octets(raw) if isinstance(raw, str) else output
    code = told.get("code")
    words = EvmRefused(code if isinstance(code, int) else 0, str(told.get("message", "")), data)
    return SimulatedCall(False, output, gas_used, (), words.words)


def _word(number: int) -> str:
    return "0x" + number.to_bytes(32, "big").hex()
