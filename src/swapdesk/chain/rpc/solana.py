"""Client of a Solana node: JSON-RPC over HTTP, every call once and with a deadline.

Nothing is retried here: repeating a transaction belongs to whoever wrote it down first. Addresses,
hashes and signatures are base58 texts, amounts integers of base units, transactions bytes. Needs
no chain library.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Sequence
from typing import Any, Literal

import httpx

from swapdesk.chain.addresses import base58
from swapdesk.chain.rpc.node_http import ANSWER_LIMIT, NodeHttp
from swapdesk.chain.rpc.solana_answers import (
    Blockhash,
    Executed,
    Simulation,
    SolanaError,
    SolanaRefused,
    SolanaUncertain,
    SolanaUnreachable,
    Status,
    TokenHolding,
    read_blockhash,
    read_executed,
    read_holdings,
    read_refusal,
    read_signatures,
    read_simulation,
    read_status,
    require_int,
    require_value,
)
from swapdesk.wire.encoding.codec import refuse_deep

__all__ = [
    "SolanaClient",
    "SolanaError",
    "SolanaRefused",
    "SolanaUncertain",
    "SolanaUnreachable",
    "first_signature",
]

Commitment = Literal["processed", "confirmed", "finalized"]
_SIGNATURE_BYTES = 64


class SolanaClient(NodeHttp):
    """Calls a node at ``url``. ``deadline`` bounds a whole call, in seconds."""

    def __init__(
        self,
        url: str,
        *,
        deadline: float = 5.0,
        commitment: Commitment = "confirmed",
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(url, deadline=deadline, headers={}, transport=transport)
        self._options = {"commitment": commitment}

    async def genesis_hash(self) -> str:
        """What the chain is: compared with the one an account is bound to."""
        return str(await self.call("getGenesisHash"))

    async def latest_blockhash(self) -> Blockhash:
        return read_blockhash(await self._call("getLatestBlockhash", self._options))

    async def is_blockhash_good(self, blockhash: str) -> bool:
        found = await self._call("isBlockhashValid", blockhash, self._options)
        return require_value(found) is True

    async def block_height(self) -> int:
        return require_int(await self._call("getBlockHeight", self._options))

    async def balance(self, address: str) -> int:
        """Lamports; 0 when there is no such account."""
        return require_int(require_value(await self._call("getBalance", address, self._options)))

    async def holdings(self, owner: str, mint: str) -> list[TokenHolding]:
        """The owner's token accounts of a mint; none when it never held any."""
        options = {**self._options, "encoding": "jsonParsed"}
        found = await self._call("getTokenAccountsByOwner", owner, {"mint": mint}, options)
        return read_holdings(require_value(found))

    async def rent_exemption(self, size: int) -> int:
        """Lamports that an account of so many bytes must hold."""
        return require_int(await self._call("getMinimumBalanceForRentExemption", size))

    async def fee(self, message: bytes) -> int | None:
        """Lamports for executing a message, None when its blockhash is no longer good."""
        text = base64.b64encode(message).decode()
        found = require_value(await self._call("getFeeForMessage", text, self._options))
        return None if found is None else require_int(found)

    async def simulate(self, transaction: bytes, keys: Sequence[str]) -> Simulation:
        """What a transaction would do, signed or not; ``keys`` are the accounts of its message
        in their order."""
        options = {**self._options, "encoding": "base64", "sigVerify": False}
        text = base64.b64encode(transaction).decode()
        found = await self._call("simulateTransaction", text, options)
        return read_simulation(require_value(found), keys)

    async def send(self, transaction: bytes) -> str:
        """Send a signed transaction; its signature, which says nothing of its execution.

        One that was executed already counts as sent. Raises SolanaRefused when nothing was sent,
        SolanaUncertain when that is not known.
        """
        signature = first_signature(transaction)
        options = {
            "encoding": "base64",
            "preflightCommitment": self._options["commitment"],
            "maxRetries": 0,
        }
        text = base64.b64encode(transaction).decode()
        try:
            answered = await self._call("sendTransaction", text, options)
        except SolanaRefused as refused:
            if refused.reason == "AlreadyProcessed":
                return signature
            raise
        if answered != signature:
            raise SolanaUncertain("the node names another signature than the transaction has")
        return signature

    async def status(self, signature: str) -> Status | None:
        """How far a transaction has come, None when this node has not executed it. Whether it
        still may be is a matter of its blockhash."""
        options = {"searchTransactionHistory": True}
        found = require_value(await self._call("getSignatureStatuses", [signature], options))
        return read_status(found)

    async def executed(self, signature: str) -> Executed | None:
        """A confirmed transaction with what it moved, None when there is none yet."""
        asked = self._options["commitment"]
        options = {
            # Nodes tell of none below.
            "commitment": "confirmed" if asked == "processed" else asked,
            "encoding": "json",
            "maxSupportedTransactionVersion": 0,
        }
        found = await self._call("getTransaction", signature, options)
        return None if found is None else read_executed(found)

    async def signatures(self, address: str, most: int = 1_000) -> list[str]:
        """Of the newest transactions that name an address, newest first; also of those that
        failed."""
        asked = self._options["commitment"]
        options = {
            "commitment": "confirmed" if asked == "processed" else asked,
            "limit": most,
        }
        return read_signatures(await self._call("getSignaturesForAddress", address, options))

    async def call(self, method: str, *params: Any) -> Any:
        """The result of any method as plain JSON values. Raises SolanaError."""
        return await self._call(method, *params)

    async def _call(self, method: str, *params: Any) -> Any:
        number = next(self._ids)
        body = {"jsonrpc": "2.0", "id": number, "method": method, "params": list(params)}
        try:
            async with asyncio.timeout(self._deadline):
                status, content = await self._post(json.dumps(body).encode())
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise SolanaUnreachable(f"the node cannot be reached: {error!r}") from error
        except (httpx.HTTPError, TimeoutError) as error:
            raise SolanaUncertain(f"no answer to {method}: {error!r}") from error
        if status != 200:
            raise SolanaUncertain(f"{method} was answered with status {status}")
        return self._result(method, number, content)

    async def _post(self, body: bytes) -> tuple[int, bytes]:
        async with self._http.stream("POST", self._url, content=body) as answer:
            content = bytearray()
            async for chunk in answer.aiter_raw():
                content += chunk
                if len(content) > ANSWER_LIMIT:
                    raise SolanaUncertain(f"the answer has more than {ANSWER_LIMIT} bytes")
            return answer.status_code, bytes(content)

    def _result(self, method: str, number: int, content: bytes) -> Any:
        try:
            refuse_deep(content)
            document = json.loads(content)
        except ValueError as error:
            raise SolanaUncertain(f"{method} was answered with no JSON") from error
        if not isinstance(document, dict) or document.get("id") != number:
            raise SolanaUncertain(f"{method} was answered with another shape")
        if "error" in document:
            raise read_refusal(document["error"])
        if "result" not in document:
            raise SolanaUncertain(f"{method} was answered without a result")
        return document["result"]


def first_signature(transaction: bytes) -> str:
    """The signature that names a serialized transaction. Raises ValueError."""
    # One to 127 signatures take one byte of length, and a packet holds fewer.
    if len(transaction) <= _SIGNATURE_BYTES or not 0 < transaction[0] < 128:
        raise ValueError("these bytes are no transaction")
    return base58.encode(transaction[1 : 1 + _SIGNATURE_BYTES])
