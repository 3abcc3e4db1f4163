"""Client of a Solana node: JSON-RPC over HTTP, every call sent once and with a deadline.

Only code that recorded a transaction before sending it may send it again. Addresses, hashes and
signatures are base58 texts, amounts base units. An answer of unexpected form raises NodeUncertain.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeVar

import httpx2
from msgspec import Struct

from swapdesk.chain.addresses import base58
from swapdesk.chain.node_http import NodeError, NodeHttp, NodeRefused, NodeUncertain

T = TypeVar("T")


Level = Literal["processed", "confirmed", "finalized"]
_LEVELS: tuple[Level, ...] = ("processed", "confirmed", "finalized")


class Blockhash(Struct, frozen=True):
    """A recent blockhash. A transaction with this blockhash can be executed up to the block height
    ``last_height``."""

    blockhash: str
    last_height: int


class TokenHolding(Struct, frozen=True):
    """The balance of one token account, in base units of the token ``mint``."""

    account: str
    mint: str
    units: int
    decimals: int


class Delegation(TokenHolding, frozen=True):
    """A delegation of a token account: ``delegate`` may take ``units`` (base units) out of the
    account."""

    delegate: str


class TokenMove(Struct, frozen=True):
    """The balance of a token account before and after a transaction, in base units."""

    account: str
    owner: str
    mint: str
    before: int
    after: int


class BalanceChanges(Struct, frozen=True):
    """The balances that a transaction changes. ``lamports`` has the values before and after, by
    account. Unchanged balances are left out."""

    lamports: dict[str, tuple[int, int]]
    tokens: tuple[TokenMove, ...]


class SimulationResult(Struct, frozen=True):
    """The result of a simulated transaction. ``error`` is Solana's JSON, None for success.
    ``moves`` has the changed balances, None if the node did not report them."""

    error: Any
    units: int | None
    moves: BalanceChanges | None


class Status(Struct, frozen=True):
    """The state of an executed transaction. ``error`` is Solana's JSON, None for success. A failed
    transaction cost its fee and moved nothing else."""

    slot: int
    level: Level
    error: Any


def read_holdings(value: Any) -> list[TokenHolding]:
    return [
        TokenHolding(address, _of(str, info.get("mint")), *_counted(info.get("tokenAmount")))
        for address, info in _token_accounts(value)
    ]


def read_delegations(value: Any) -> list[Delegation]:
    """Returns the delegations in a node's list of token accounts: permissions for others to take
    the owner's tokens."""
    return [
        Delegation(
            address,
            _of(str, info.get("mint")),
            *_counted(info.get("delegatedAmount")),
            _of(str, info.get("delegate")),
        )
        for address, info in _token_accounts(value)
        if info.get("delegate") is not None
    ]


def _token_accounts(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for account in _of(list, value):
        data = _of(dict, _of(dict, _of(dict, account).get("account")).get("data"))
        yield _of(str, account.get("pubkey")), _of(dict, _of(dict, data.get("parsed")).get("info"))


def _counted(value: Any) -> tuple[int, int]:
    amount = _of(dict, value)
    return _units(amount.get("amount")), require_int(amount.get("decimals"))


def require_value(given: Any) -> Any:
    """Returns the value in a node's answer, which consists of a slot and a value. Raises
    NodeUncertain if the answer has another form."""
    answer = _of(dict, given)
    if "value" not in answer:
        raise NodeUncertain("the node answered without a value")
    return answer["value"]


def require_int(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 64:
        raise NodeUncertain("the node answered with something else than an amount")
    return value


def _moves(meta: dict[str, Any], keys: Sequence[str]) -> BalanceChanges:
    before = [require_int(lamports) for lamports in _of(list, meta.get("preBalances"))]
    after = [require_int(lamports) for lamports in _of(list, meta.get("postBalances"))]
    if not len(before) == len(after) == len(keys):
        raise NodeUncertain("the node answered with balances of other accounts")
    lamports = {
        key: (old, new) for key, old, new in zip(keys, before, after, strict=True) if old != new
    }
    old_tokens = _tokens(meta.get("preTokenBalances"), keys)
    new_tokens = _tokens(meta.get("postTokenBalances"), keys)
    moved = []
    for place in sorted({*old_tokens, *new_tokens}):
        units = (old_tokens.get(place, 0), new_tokens.get(place, 0))
        if units[0] != units[1]:
            moved.append(TokenMove(*place, *units))
    return BalanceChanges(lamports, tuple(moved))


def _tokens(value: Any, keys: Sequence[str]) -> dict[tuple[str, str, str], int]:
    units = {}
    for item in _of(list, value if value is not None else []):
        entry = _of(dict, item)
        index = require_int(entry.get("accountIndex"))
        if index >= len(keys):
            raise NodeUncertain("the node answered with balances of other accounts")
        place = (keys[index], _of(str, entry.get("owner")), _of(str, entry.get("mint")))
        units[place] = _units(_of(dict, entry.get("uiTokenAmount")).get("amount"))
    return units


def _of(kind: type[T], value: Any) -> T:
    if not isinstance(value, kind):
        raise NodeUncertain("the node answered with another shape")
    return value


def _units(value: Any) -> int:
    text = _of(str, value)
    if not (text.isascii() and text.isdigit() and len(text) <= 20):
        raise NodeUncertain("the node answered with something else than an amount")
    return int(text)


_SIGNATURE_BYTES = 64


class SolanaClient(NodeHttp):
    """A client of a Solana node. ``deadline`` limits every call, in seconds; ``commitment`` is the
    level at which reads see the chain."""

    def __init__(
        self,
        url: str,
        *,
        deadline: float = 5.0,
        commitment: Level = "confirmed",
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(url, deadline=deadline, transport=transport)
        self._options = {"commitment": commitment}

    async def genesis_hash(self) -> str:
        """Returns the hash of the first block, which identifies the chain."""
        return str(await self.ask("getGenesisHash"))

    async def latest_blockhash(self) -> Blockhash:
        value = _of(dict, require_value(await self.ask("getLatestBlockhash", self._options)))
        last = require_int(value.get("lastValidBlockHeight"))
        return Blockhash(_of(str, value.get("blockhash")), last)

    async def is_blockhash_good(self, blockhash: str) -> bool:
        answer = await self.ask("isBlockhashValid", blockhash, self._options)
        return require_value(answer) is True

    async def block_height(self) -> int:
        return require_int(await self.ask("getBlockHeight", self._options))

    async def balance(self, address: str) -> int:
        """Returns the balance of an address in lamports; 0 if there is no such account."""
        return require_int(require_value(await self.ask("getBalance", address, self._options)))

    async def holdings(self, owner: str, mint: str) -> list[TokenHolding]:
        """Returns the owner's token accounts for a mint. Empty if there are none."""
        options = {**self._options, "encoding": "jsonParsed"}
        answer = await self.ask("getTokenAccountsByOwner", owner, {"mint": mint}, options)
        return read_holdings(require_value(answer))

    async def rent_exemption(self, size: int) -> int:
        """Returns the lamports that an account with ``size`` bytes of data must hold."""
        return require_int(await self.ask("getMinimumBalanceForRentExemption", size))

    async def simulate(self, transaction: bytes, keys: Sequence[str]) -> SimulationResult:
        """Returns what a transaction, signed or not, would do. ``keys`` are the accounts of its
        message, in sequence."""
        options = {**self._options, "encoding": "base64", "sigVerify": False}
        text = base64.b64encode(transaction).decode()
        value = _of(dict, require_value(await self.ask("simulateTransaction", text, options)))
        units = value.get("unitsConsumed")
        return SimulationResult(
            error=value.get("err"),
            units=None if units is None else require_int(units),
            moves=_moves(value, keys) if value.get("postBalances") is not None else None,
        )

    async def send(self, transaction: bytes) -> str:
        """Sends a signed transaction and returns its signature, which does not prove execution.
        Sending it again is safe. After NodeRefused or NodeUnreachable the transaction was not sent;
        after NodeUncertain it may have been."""
        signature = first_signature(transaction)
        options = {
            "encoding": "base64",
            "preflightCommitment": self._options["commitment"],
            "maxRetries": 0,
        }
        text = base64.b64encode(transaction).decode()
        try:
            answered = await self.ask("sendTransaction", text, options)
        except NodeRefused as refused:
            if refused.reason == "AlreadyProcessed":
                return signature
            raise
        if answered != signature:
            raise NodeUncertain("the node names another signature than the transaction has")
        return signature

    async def status(self, signature: str) -> Status | None:
        """Returns the state of a transaction. None if this node has not executed the transaction,
        which can still happen while the blockhash is valid."""
        options = {"searchTransactionHistory": True}
        statuses = require_value(await self.ask("getSignatureStatuses", [signature], options))
        entries = _of(list, statuses)
        if len(entries) != 1:
            raise NodeUncertain("the node answered for another number of signatures")
        if entries[0] is None:
            return None
        entry = _of(dict, entries[0])
        level = entry.get("confirmationStatus")
        if level not in _LEVELS:
            raise NodeUncertain("the node does not say how far a transaction has come")
        return Status(require_int(entry.get("slot")), level, entry.get("err"))

    async def signatures(self, address: str, most: int = 1_000) -> list[str]:
        """Returns the signatures of the ``most`` newest transactions that name an address, newest
        first, failed ones included."""
        asked = self._options["commitment"]
        options = {
            "commitment": "confirmed" if asked == "processed" else asked,
            "limit": most,
        }
        listed = _of(list, await self.ask("getSignaturesForAddress", address, options))
        return [_of(str, _of(dict, entry).get("signature")) for entry in listed]

    def _refusal(self, error: Any) -> NodeError:
        if not isinstance(error, dict) or type(error.get("code")) is not int:
            return NodeUncertain("the node answered with an error of another shape")
        details = error.get("data")
        data: dict[str, Any] = details if isinstance(details, dict) else {}
        return NodeRefused(error["code"], str(error.get("message")), data.get("err"))


def first_signature(transaction: bytes) -> str:
    """Returns the first signature of a serialized transaction, which identifies the transaction.
    Raises ValueError if the bytes are not a transaction."""
    # One to 127 signatures take one byte of length, and a packet holds fewer.
    if len(transaction) <= _SIGNATURE_BYTES or not 0 < transaction[0] < 128:
        raise ValueError("these bytes are no transaction")
    return base58.encode(transaction[1 : 1 + _SIGNATURE_BYTES])
