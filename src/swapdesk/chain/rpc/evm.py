"""Client of an EVM node: reads, simulated calls and signed transactions, over web3's provider.

Every request goes out once, within a deadline: web3's retries are off. The caller gives every
field of a call; nothing is filled in or signed here. web3 is imported in a thread, with the
first request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from msgspec import Struct

from swapdesk.chain.addresses.evm import keccak
from swapdesk.chain.rpc.evm_answers import (
    NO_METHOD,
    EvmRefused,
    EvmUncertain,
    EvmUnreachable,
    Fees,
    Head,
    Log,
    NodeIdentity,
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

if TYPE_CHECKING:
    from web3 import AsyncHTTPProvider


BATCH_LIMIT = 100
"""Reads that go out in one request."""


class Request(Struct, frozen=True):
    """One read of a batch, as JSON-RPC names it."""

    method: str
    params: tuple[Any, ...] = ()


Connect = Callable[[str, float], "AsyncHTTPProvider"]
"""(url, deadline) -> what carries requests to the node."""


class EvmWire:
    """The node at ``url``. ``deadline`` bounds every call, in seconds; ``connect`` makes what
    carries them, web3's HTTP where nothing else is said.

    Every method raises EvmUnreachable, EvmUncertain or EvmRefused, and asks once.
    """

    def __init__(self, url: str, *, deadline: float = 5.0, connect: Connect | None = None) -> None:
        self.url = url
        self._deadline = deadline
        self._connect = connect or _provider
        self._provider: AsyncHTTPProvider | None = None
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        provider, self._provider = self._provider, None
        if provider is not None:
            await provider.disconnect()

    async def ask(self, method: str, *params: Any) -> Any:
        """The result of one method as plain JSON values."""
        provider = await self._opened()
        # Only now: web3 comes in a thread, and an import beside it finds it half there.
        from web3.types import RPCEndpoint

        answer = await self._within(provider.make_request(RPCEndpoint(method), list(params)))
        return _result(answer)

    async def batch(self, requests: Sequence[Request]) -> list[Any]:
        """Results in the order of the requests; a refused one is the EvmRefused in its place."""
        results: list[Any] = []
        for start in range(0, len(requests), BATCH_LIMIT):
            results += await self._batch(requests[start : start + BATCH_LIMIT])
        return results

    async def _batch(self, requests: Sequence[Request]) -> list[Any]:
        provider = await self._opened()
        pairs: Any = [(request.method, list(request.params)) for request in requests]
        answers = await self._within(provider.make_batch_request(pairs))
        if isinstance(answers, Mapping):
            _result(answers)
        if not isinstance(answers, list) or len(answers) != len(requests):
            raise EvmUncertain("the node answered another number of reads")
        results: list[Any] = []
        for answer in answers:
            try:
                results.append(_result(answer))
            except EvmRefused as refused:
                results.append(refused)
        return results

    async def _within(self, call: Any) -> Any:
        from aiohttp import ClientConnectorError, ClientError, ConnectionTimeoutError
        from web3.exceptions import Web3Exception

        try:
            async with asyncio.timeout(self._deadline):
                return await call
        except (ClientConnectorError, ConnectionTimeoutError) as error:
            raise EvmUnreachable(f"the node cannot be reached: {type(error).__name__}") from error
        except (ClientError, OSError, TimeoutError) as error:
            raise EvmUncertain(f"the node gave no answer: {type(error).__name__}") from error
        except (Web3Exception, ValueError, KeyError, TypeError) as error:
            raise EvmUncertain(f"the node answered no JSON-RPC: {type(error).__name__}") from error

    async def _opened(self) -> AsyncHTTPProvider:
        async with self._opening:
            if self._provider is None:
                self._provider = await asyncio.to_thread(self._connect, self.url, self._deadline)
            return self._provider


def _provider(url: str, deadline: float) -> AsyncHTTPProvider:
    from aiohttp import ClientTimeout
    from web3 import AsyncHTTPProvider

    timeout = ClientTimeout(total=deadline)
    return AsyncHTTPProvider(
        url,
        request_kwargs={"timeout": timeout, "allow_redirects": False},
        # By default web3 sends a transaction up to five times.
        exception_retry_configuration=None,
    )


def _result(answer: object) -> Any:
    document = fields(answer)
    refusal = document.get("error")
    if refusal is not None:
        told = fields(refusal)
        code, data = told.get("code"), told.get("data")
        if not isinstance(code, int) or isinstance(code, bool):
            raise EvmUncertain("the node answered an error without a code")
        try:
            raw = octets(data) if isinstance(data, str) else b""
        except EvmUncertain:
            raw = b""
        raise EvmRefused(code, str(told.get("message", "")), raw)
    if "result" not in document:
        raise EvmUncertain("the node answered without a result")
    return document["result"]


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


class Override(Struct, frozen=True):
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

    async def identity(self) -> NodeIdentity:
        """Chain id and hash of block 0, which together name a chain for good."""
        chain_id, genesis = await self.batch(
            [Request("eth_chainId"), Request("eth_getBlockByNumber", ("0x0", False))]
        )
        return NodeIdentity(quantity(_whole(chain_id)), digest(fields(_whole(genesis)).get("hash")))

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
        block: dict[str, Any] = {"calls": [call.as_json() for call in calls]}
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
        return [_simulated(outcome) for outcome in outcomes]

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

    async def receipt(self, transaction_hash: str) -> TransactionReceipt | None:
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


def _pretended(overrides: Overrides) -> dict[str, Any]:
    return {address: override.as_json() for address, override in overrides.items()}


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


def _word(number: int) -> str:
    return "0x" + number.to_bytes(32, "big").hex()
