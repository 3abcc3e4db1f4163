"""Reads from a node of a chain what a transaction paid, and which transfers the blocks of an EVM
chain contain. Uses plain JSON-RPC, so that the desk loads no chain library; each request is sent
once, without retries.

Amounts are in base units of the token, or of the coin if ``contract`` is None. A transfer by an
internal call is seen only if it emits a transfer event. The results are for display and comparison,
never for a decision about money: the wallet agent reads what it signs with its own client.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import httpx2
from msgspec import Struct
from msgspec.structs import replace

from swapdesk.chain.node_http import NodeError, NodeHttp, NodeUncertain
from swapdesk.wire.encoding.text import identity_text

DEADLINE = 5.0
MOST_PAYMENTS = 200
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
"""Topic of ``Transfer(address,address,uint256)`` (ERC-20)."""

MOST_TOKENS = 8
"""The most tokens of one transaction whose decimals are read. More are typically airdrops of
worthless tokens."""
MOST_DECIMALS = 77
"""The most decimals that are accepted: 10 to a higher power exceeds 256 bits."""
_DECIMALS = "0x313ce567"
"""Selector of ``decimals()``."""

_AUTHORIZATION_STATE = "0xe94a0102"
"""Selector of ``authorizationState(address,bytes32)`` (EIP-3009)."""
_TRUTHS = {f"0x{value:064x}": bool(value) for value in (0, 1)}

BLOCKS_DEADLINE = 25.0
"""Deadline in seconds for reading blocks. A sandbox may first have to start the chain."""
BLOCKS_AT_ONCE = 50
_HEX = re.compile(r"0x[0-9a-fA-F]{1,64}")


class Payment(Struct, frozen=True):
    """One receiver of a transaction and the amount that it received, in base units."""

    to: str
    units: int
    contract: str | None = None
    """Contract or mint of the token; None for the coin."""
    memo: str | None = None
    token_id: str | None = None
    """The token's id in the catalogue; None if it is not known."""
    decimals: int | None = None
    """The token's decimals as its contract states them; None for the coin, or if unstated."""


class ChainTransaction(Struct, frozen=True):
    """A transaction on a chain. ``confirmations`` is None before it is in a block. ``failed`` means
    that it moved nothing."""

    chain: str
    hash: str
    payments: tuple[Payment, ...]
    confirmations: int | None
    at: datetime | None = None
    failed: bool = False
    underpriced: bool = False
    """True if the transaction waits and offers less for gas than the base fee."""


class NodeReader:
    """A JSON-RPC client of the node at ``url``, for the chain with the short name ``chain``."""

    def __init__(
        self, chain: str, url: str, *, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        self.chain = chain
        self._url = url
        self._transport = transport

    async def transaction(self, text: str, *, solana: bool = False) -> ChainTransaction | None:
        """Returns the transaction with this hash (EVM) or signature (Solana); None if the node does
        not know it. Raises NodeError."""
        try:
            return await (self._solana(text) if solana else self._evm(text))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError):
            raise NodeUncertain("the node's answer has another shape") from None

    async def chain_id(self) -> int:
        """Returns the chain id of an EVM chain. Raises NodeError."""
        return await self._number("eth_chainId", 16)

    async def authorization_used(self, chain_id: int, asset: str, payer: str, nonce: str) -> bool:
        """Returns True if the payer's authorization with this nonce was executed or cancelled
        (EIP-3009). Raises NodeError, also if the node serves another chain."""
        if await self.chain_id() != chain_id:
            raise NodeUncertain("the node is of another chain")
        data = f"{_AUTHORIZATION_STATE}{payer[2:].lower():0>64}{nonce[2:]}"
        async with self._client() as node:
            answer = await node.ask("eth_call", {"to": asset, "data": data}, "latest")
        if not isinstance(answer, str) or answer not in _TRUTHS:
            raise NodeUncertain("the node's answer has another shape")
        return _TRUTHS[answer]

    async def slot(self) -> int:
        """Returns the newest slot of a Solana chain. Raises NodeError."""
        return await self._number("getSlot", 10)

    async def _number(self, method: str, base: int) -> int:
        async with self._client() as node:
            answer = await node.ask(method)
        try:
            return int(str(answer), base)
        except ValueError:
            raise NodeUncertain("the node's answer has another shape") from None

    async def _evm(self, transaction_hash: str) -> ChainTransaction | None:
        async with self._client() as node:
            sent = await node.ask("eth_getTransactionByHash", transaction_hash)
            if sent is None:
                return None
            receipt = await node.ask("eth_getTransactionReceipt", transaction_hash)
            payments = _coin(sent)
            if receipt is None:
                head = await node.ask("eth_getBlockByNumber", "latest", False)
                offered = int(sent.get("maxFeePerGas") or sent["gasPrice"], 16)
                below = offered < int(head.get("baseFeePerGas") or "0x0", 16)
                return ChainTransaction(
                    self.chain, transaction_hash, payments, None, underpriced=below
                )
            height = await node.ask("eth_blockNumber")
            block = await node.ask("eth_getBlockByNumber", receipt["blockNumber"], False)
            failed = int(receipt["status"], 16) == 0
            logs = receipt.get("logs") or []
            moved = (*payments, *(_token(log) for log in logs if _moves(log)))
            stated = () if failed else await _with_decimals(node, moved[:MOST_PAYMENTS])
        return ChainTransaction(
            self.chain,
            transaction_hash,
            stated,
            int(height, 16) - int(receipt["blockNumber"], 16) + 1,
            _time(int(block["timestamp"], 16)),
            failed,
        )

    async def _solana(self, signature: str) -> ChainTransaction | None:
        options = {
            "encoding": "json",
            "commitment": "confirmed",
            "maxSupportedTransactionVersion": 0,
        }
        async with self._client() as node:
            executed = await node.ask("getTransaction", signature, options)
            if executed is None:
                return None
            slot = await node.ask("getSlot")
        meta, message = executed["meta"], executed["transaction"]["message"]
        failed = meta["err"] is not None
        loaded = meta.get("loadedAddresses") or {}
        keys = [
            *message["accountKeys"], *loaded.get("writable", ()), *loaded.get("readonly", ()),
        ]  # fmt: skip
        seconds = executed.get("blockTime")
        return ChainTransaction(
            self.chain,
            signature,
            () if failed else (*_lamports(keys, meta), *_tokens(meta))[:MOST_PAYMENTS],
            _whole(slot) - _whole(executed["slot"]) + 1,
            None if seconds is None else _time(_whole(seconds)),
            failed,
        )

    def _client(self) -> NodeHttp:
        return NodeHttp(self._url, deadline=DEADLINE, transport=self._transport)


def _coin(transaction: Mapping[str, Any]) -> tuple[Payment, ...]:
    value, to = int(transaction["value"], 16), transaction.get("to")
    return (Payment(_name(to), value),) if value and to else ()


def _moves(log: Mapping[str, Any]) -> bool:
    topics = log.get("topics") or []
    return len(topics) == 3 and topics[0] == TRANSFER and len(str(log.get("data"))) == 66


def _token(log: Mapping[str, Any]) -> Payment:
    to = _name(f"0x{log['topics'][2][-40:]}")
    return Payment(to, int(log["data"], 16), _name(log["address"]))


async def _with_decimals(node: NodeHttp, payments: tuple[Payment, ...]) -> tuple[Payment, ...]:
    contracts = dict.fromkeys(
        payment.contract for payment in payments if payment.contract is not None
    )
    stated: dict[str | None, int] = {}
    for contract in tuple(contracts)[:MOST_TOKENS]:
        try:
            answer = await node.ask("eth_call", {"to": contract, "data": _DECIMALS}, "latest")
            decimals = int(str(answer), 16)
        except (NodeError, ValueError):
            continue
        if decimals <= MOST_DECIMALS:
            stated[contract] = decimals
    return tuple(replace(payment, decimals=stated.get(payment.contract)) for payment in payments)


def _lamports(keys: list[Any], meta: Mapping[str, Any]) -> list[Payment]:
    gains = [
        _whole(after) - _whole(before)
        for before, after in zip(meta["preBalances"], meta["postBalances"], strict=True)
    ]
    return [Payment(_name(key), gain) for key, gain in zip(keys, gains, strict=False) if gain > 0]


def _whole(number: object) -> int:
    return int(str(number))


def _tokens(meta: Mapping[str, Any]) -> list[Payment]:
    before = {
        balance["accountIndex"]: _whole(balance["uiTokenAmount"]["amount"])
        for balance in meta.get("preTokenBalances") or []
    }
    payments = []
    for balance in meta.get("postTokenBalances") or []:
        gained = _whole(balance["uiTokenAmount"]["amount"]) - before.get(balance["accountIndex"], 0)
        if gained > 0:
            places = balance["uiTokenAmount"].get("decimals")
            decimals = None if places is None else _whole(places)
            mint = _name(balance["mint"])
            payments.append(Payment(_name(balance["owner"]), gained, mint, decimals=decimals))
    return payments


def _name(text: object) -> str:
    return identity_text(str(text), 100)


def _time(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


class ChainTransfer(Struct, frozen=True):
    """A transfer of coins or tokens. Addresses are in lower case. ``position`` is the index of a
    token's event. For coins, ``token`` is None and ``position`` is -1."""

    chain: str
    height: int
    at: datetime
    hash: str
    position: int
    sender: str
    receiver: str
    token: str | None
    units: int


class EvmBlocks(NodeHttp):
    """A client that reads the transfers of an EVM chain block by block, each block once."""

    def __init__(
        self, chain: str, url: str, *, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        super().__init__(url, deadline=BLOCKS_DEADLINE, transport=transport)
        self.chain = chain
        self.first = 0
        self.height = 0
        """Number of the newest block that was read. All blocks from ``first`` to ``height`` have
        been read."""

    async def begin(self) -> None:
        """Starts the reading after the present newest block. Raises NodeError."""
        (head,) = await self._ask_all([("eth_blockNumber", [])])
        self.height = _number(head)
        self.first = self.height + 1

    async def read_on(self) -> list[ChainTransfer]:
        """Returns the transfers in the blocks since the last reading, in order. Raises
        NodeError."""
        (head,) = await self._ask_all([("eth_blockNumber", [])])
        transfers: list[ChainTransfer] = []
        for first in range(self.height + 1, _number(head) + 1, BLOCKS_AT_ONCE):
            last = min(_number(head), first + BLOCKS_AT_ONCE - 1)
            transfers += await self._transfers(first, last)
            self.height = last
        return transfers

    async def fee(self, transaction_hash: str) -> int | None:
        """Returns a transaction's fee in wei; None before it is in a block. Raises NodeError."""
        (receipt,) = await self._ask_all([("eth_getTransactionReceipt", [transaction_hash])])
        if not isinstance(receipt, dict):
            return None
        return _number(receipt.get("gasUsed")) * _number(receipt.get("effectiveGasPrice"))

    async def _transfers(self, first: int, last: int) -> list[ChainTransfer]:
        logs: dict[str, Any] = {
            "fromBlock": hex(first),
            "toBlock": hex(last),
            "topics": [TRANSFER],
        }
        wanted = range(first, last + 1)
        *blocks, logs_found = await self._ask_all(
            [("eth_getBlockByNumber", [hex(at), True]) for at in wanted] + [("eth_getLogs", [logs])]
        )
        times: dict[int, datetime] = {}
        transfers: list[ChainTransfer] = []
        try:
            for block in blocks:
                height = _number(block["number"])
                times[height] = datetime.fromtimestamp(_number(block["timestamp"]), UTC)
                transfers += self._coins(block, height, times[height])
            transfers += self._tokens(logs_found, times)
        except (KeyError, TypeError, IndexError) as error:
            raise NodeUncertain(f"the node of {self.chain} answered another shape") from error
        return sorted(
            transfers, key=lambda transfer: (transfer.height, transfer.hash, transfer.position)
        )

    def _coins(self, block: Any, height: int, at: datetime) -> Iterator[ChainTransfer]:
        for sent in block["transactions"]:
            units = _number(sent["value"])
            if units and sent["to"] is not None:
                yield ChainTransfer(
                    self.chain,
                    height,
                    at,
                    _word(sent["hash"], 64),
                    -1,
                    _word(sent["from"], 40),
                    _word(sent["to"], 40),
                    None,
                    units,
                )

    def _tokens(self, logs: Any, times: dict[int, datetime]) -> Iterator[ChainTransfer]:
        for log in logs:
            topics = log["topics"]
            if len(topics) == 3 and len(log["data"]) == 66:
                height = _number(log["blockNumber"])
                yield ChainTransfer(
                    self.chain,
                    height,
                    times[height],
                    _word(log["transactionHash"], 64),
                    _number(log["logIndex"]),
                    "0x" + _word(topics[1], 64)[-40:],
                    "0x" + _word(topics[2], 64)[-40:],
                    _word(log["address"], 40),
                    _number(log["data"]),
                )


def _number(text: Any) -> int:
    if not isinstance(text, str) or _HEX.fullmatch(text) is None:
        raise NodeUncertain("the node answered something that is no number")
    return int(text, 16)


def _word(text: Any, digits: int) -> str:
    if not isinstance(text, str) or _HEX.fullmatch(text) is None or len(text) != digits + 2:
        raise NodeUncertain("the node answered something that is no address and no hash")
    return text.lower()
