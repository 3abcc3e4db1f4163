"""Payments in the blocks of an EVM chain, read from its node by plain JSON-RPC.

For showing and comparing what is on a chain, never for a decision about money: what is signed
is read by the wallet agent, with a client of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx2
from msgspec import Struct

from swapdesk.chain.node_http import NodeHttp
from swapdesk.client.chain_lookup import TRANSFER, LookupFailed

DEADLINE = 25.0
"""Longer than a chain takes that is opened first."""
BLOCKS_AT_ONCE = 50

_HEX = re.compile(r"0x[0-9a-fA-F]{1,64}")


class ChainTransfer(Struct, frozen=True):
    """Coins or tokens that moved. Addresses and ``token`` (a contract, None for the coin) are in
    lower case; ``position`` tells payments of one transaction apart, the coin's is -1."""

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
    """Reads a chain block by block: every block once."""

    unreachable = uncertain = LookupFailed

    def __init__(
        self, chain: str, url: str, *, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        super().__init__(url, deadline=DEADLINE, transport=transport)
        self.chain = chain
        self.first = 0
        self.height = 0
        """Everything from ``first`` to ``height`` has been read."""

    async def begin(self) -> None:
        """Read from the next block on. Raises LookupFailed."""
        (head,) = await self._ask_all([("eth_blockNumber", [])])
        self.height = _number(head)
        self.first = self.height + 1

    async def read_on(self) -> list[ChainTransfer]:
        """What moved in the blocks since the last call, oldest first. Raises LookupFailed."""
        (head,) = await self._ask_all([("eth_blockNumber", [])])
        found: list[ChainTransfer] = []
        for first in range(self.height + 1, _number(head) + 1, BLOCKS_AT_ONCE):
            last = min(_number(head), first + BLOCKS_AT_ONCE - 1)
            found += await self._transfers(first, last)
            self.height = last
        return found

    async def fee(self, transaction_hash: str) -> int | None:
        """What a transaction cost in wei; None while it is in no block. Raises LookupFailed."""
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
        *blocks, found = await self._ask_all(
            [("eth_getBlockByNumber", [hex(at), True]) for at in wanted] + [("eth_getLogs", [logs])]
        )
        times: dict[int, datetime] = {}
        transfers: list[ChainTransfer] = []
        try:
            for block in blocks:
                height = _number(block["number"])
                times[height] = datetime.fromtimestamp(_number(block["timestamp"]), UTC)
                transfers += self._coins(block, height, times[height])
            transfers += self._tokens(found, times)
        except (KeyError, TypeError, IndexError) as error:
            raise LookupFailed(f"the node of {self.chain} answered another shape") from error
        return sorted(transfers, key=lambda each: (each.height, each.hash, each.position))

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
        raise LookupFailed("the node answered something that is no number")
    return int(text, 16)


def _word(text: Any, digits: int) -> str:
    """Hexadecimal of that length, in lower case."""
    if not isinstance(text, str) or _HEX.fullmatch(text) is None or len(text) != digits + 2:
        raise LookupFailed("the node answered something that is no address and no hash")
    return text.lower()
