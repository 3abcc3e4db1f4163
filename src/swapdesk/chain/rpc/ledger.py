"""The protocol and client of the sandbox's ledger node, for chains without a virtual machine.

JSON-RPC 2.0 in HTTP POSTs; the header ``sandbox-token`` carries the key. Amounts are base units as
decimal texts, times are RFC 3339 texts.
"""

from __future__ import annotations

from enum import IntEnum
from itertools import count
from typing import Any, Literal

import httpx2

from swapdesk.chain.node_http import ANSWER_LIMIT, NodeHttp, NodeRefused, NodeUnreachable
from swapdesk.wire.encoding.codec import decode_json, encode_json
from swapdesk.wire.encoding.numbers import WireNumber

TOKEN_HEADER = "sandbox-token"


LedgerMethod = Literal[
    # () -> {seed, offset, speed, now}: the world's seed, seconds ahead of the wall, speed.
    "clock_get",
    # (advance?, speed?) -> as ``clock_get``.
    "clock_set",
    # () -> {chain: height}.
    "chain_heights",
    # (hash) -> {hash, chain, token, from, to, tag, units, height, confirmations} or null.
    "transfer_get",
    # (key, token, address, tag, units, payer?) -> transfer; the same key pays once.
    "faucet_pay",
    # (leg) -> instruction; the same venue and key always give the same one.
    "venue_open",
    # (venue, key) -> instruction or null.
    "venue_find",
    # (venue, key) -> report or null.
    "venue_report",
    # (venue, key, address, tag?) -> transfer: what arrived for a failed leg goes there, once.
    "venue_send_on",
    # (legs: [{venue, key}]) -> of each that is open instruction and report together, as all of
    # them are at one moment.
    "venue_legs",
    # (chain) -> [address]: the wallets that the exchanges pay from on a chain.
    "venue_wallets",
    # (fault, serviceId | venue | chain, leg?, times?, depth?) -> null.
    "fault_add",
    "fault_list",
    "fault_clear",
    # (chain, address, units, token?) -> {hash}, on Solana {signature}: coins of an embedded chain,
    # or the token with that contract or mint, by a transaction of the faucet; the chain tells when
    # it is mined. Not to be repeated: it pays again.
    "fund",
]


class RpcCode(IntEnum):
    """Error codes with which a sandbox's nodes refuse a request. A refused request had no
    effect."""

    BAD_JSON = -32700
    BAD_REQUEST = -32600
    NO_METHOD = -32601
    BAD_PARAMS = -32602
    INTERNAL = -32603
    REFUSED = -32000
    """The request was not carried out, for example for lack of money or because its idempotency key
    belongs to another leg."""
    NO_ADDRESS = -32001
    """The exchange has no free deposit address on this chain: open orders occupy all of its fixed
    addresses."""
    DOWN = -32002
    """The node of a chain that the call needs gives no answer."""
    LIMIT = -32005
    """The request or its result is larger than one call allows."""
    REVERTED = 3
    """The contract reverted. ``data`` in the error is what it returned."""


OPENING_SECONDS = 20.0
"""Deadline in seconds for calls that send a transaction, during which the sandbox may have to start
the chain."""
_OPENS = frozenset({"faucet_pay", "fund"})


class LedgerClient(NodeHttp):
    """A client of the sandbox's ledger node at ``url``, which requires ``token``. ``deadline``
    limits every call, in seconds."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        deadline: float = 5.0,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(url, deadline=deadline, headers={TOKEN_HEADER: token}, transport=transport)
        self._ids = (WireNumber(str(number)) for number in count(1))

    async def call(self, method: LedgerMethod, **params: object) -> Any:
        """Calls the ledger node and returns JSON values with numbers as WireNumber. Raises
        NodeError. NodeUnreachable means that nothing happened."""
        opening = OPENING_SECONDS if method in _OPENS else 0.0
        return await self._ask(method, params, max(self._deadline, opening))

    def _read(self, text: str) -> Any:
        return decode_json(text.encode(), max_bytes=ANSWER_LIMIT)

    def _encoded(self, body: object) -> bytes:
        return encode_json(body)

    def _refusal(self, error: Any) -> Exception:
        code, message = int(error["code"]), str(error["message"])
        if code == RpcCode.DOWN:
            return NodeUnreachable(message)
        return NodeRefused(code, message)
