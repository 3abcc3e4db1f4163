"""What the chain has executed, as the event loop reads it while another thread executes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from solders.account import Account
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.token.state import TokenAccount

from swapdesk.chain.solana.instructions import token_account
from swapdesk.chain.solana.transaction import read_transaction
from swapdesk.sandbox.node.chain_wallets import Inclusion, IncomingPayment
from swapdesk.sandbox.node.solana.chain import SolanaChain
from swapdesk.sandbox.node.solana.documents import read_token_account
from swapdesk.sandbox.node.solana.store import Record, StoreReader

_TOKENS = 256
"""Positions of payments of tokens begin here; a transaction names fewer accounts."""


@dataclass(frozen=True)
class BlockhashWindow:
    """A blockhash, and the last height at which it is good."""

    blockhash: bytes
    last: int


class SolanaBook:
    """Blocks, payments and balances of one chain. Used by the event loop's thread."""

    def __init__(self, chain: SolanaChain) -> None:
        self._slots, self._blockhashes = chain.slots, chain.blockhashes
        self._reader = StoreReader(chain.store.path)

    @property
    def height(self) -> int:
        """Of the newest block to which nothing more is added."""
        return self._slots.sealed

    def window(self) -> BlockhashWindow:
        """The newest blockhash."""
        return BlockhashWindow(*self._blockhashes.latest(self._slots.now().height))

    def mined(self, signature: Signature) -> Inclusion | None:
        """None while it is in no block that is complete."""
        record = self._reader.find(bytes(signature))
        if record is None or record.height > self.height:
            return None
        return Inclusion(record.height, json.loads(record.meta)["err"] is None)

    def executed(self, signature: Signature) -> bool:
        return self._reader.find(bytes(signature)) is not None

    def arrivals(self, first: int, last: int) -> Iterator[IncomingPayment]:
        """Every account that has more after a transaction than before it."""
        for record in self._reader.between(first, last):
            meta = json.loads(record.meta)
            if meta["err"] is None:
                yield from _coins(record, meta)
                yield from _tokens(record, meta)

    def lamports(self, address: Pubkey) -> int:
        account = self._account(address)
        return 0 if account is None else account.lamports

    def units(self, owner: Pubkey, mint: Pubkey) -> int:
        """In the owner's derived token account."""
        held = self.token_account(token_account(owner, mint))
        return 0 if held is None else int(held.amount)

    def token_account(self, address: Pubkey) -> TokenAccount | None:
        return read_token_account(self._account(address))

    def close(self) -> None:
        self._reader.close()

    def _account(self, address: Pubkey) -> Account | None:
        found = self._reader.account(bytes(address))
        return None if found is None else Account.from_bytes(found)


def _coins(record: Record, meta: dict[str, Any]) -> Iterator[IncomingPayment]:
    keys = list(map(str, read_transaction(record.raw).message.account_keys))
    both = zip(keys, meta["preBalances"], meta["postBalances"], strict=True)
    for position, (key, before, after) in enumerate(both):
        if after > before:
            yield _arrival(record, position, None, keys[0], key, after - before)


def _tokens(record: Record, meta: dict[str, Any]) -> Iterator[IncomingPayment]:
    before, after = (
        {one["accountIndex"]: one for one in meta[name]}
        for name in ("preTokenBalances", "postTokenBalances")
    )
    moved = {
        index: _units(after.get(index)) - _units(before.get(index)) for index in {**before, **after}
    }
    for index, units in sorted(moved.items()):
        if units <= 0:
            continue
        mint = after[index]["mint"]
        senders = [
            one["owner"] for at, one in before.items() if moved[at] < 0 and one["mint"] == mint
        ]
        yield _arrival(
            record,
            _TOKENS + int(index),
            mint,
            senders[0] if senders else "",
            after[index]["owner"],
            units,
        )


def _units(balance: Any) -> int:
    return 0 if balance is None else int(balance["uiTokenAmount"]["amount"])


def _arrival(
    record: Record, position: int, token: str | None, sender: str, receiver: str, units: int
) -> IncomingPayment:
    return IncomingPayment(
        str(Signature.from_bytes(record.signature)),
        position,
        record.height,
        record.seconds,
        token,
        sender,
        receiver,
        units,
    )
