"""The chain: what LiteSVM executes, at our time, once, and on disk before it is told.

Used by one thread.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from solders.account import Account
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from swapdesk.sandbox.node.solana.documents import read_mint, read_token_account
from swapdesk.sandbox.node.solana.first_state import first_accounts
from swapdesk.sandbox.node.solana.genesis import genesis_hash, shown_hash
from swapdesk.sandbox.node.solana.machine import Machine, Outcome
from swapdesk.sandbox.node.solana.records import record_meta
from swapdesk.sandbox.node.solana.slots import Blockhashes, Instant, Slots
from swapdesk.sandbox.node.solana.store import Record, Store, StoredAccount
from swapdesk.sandbox.node.solana.terms import CHAIN
from swapdesk.sandbox.world import chains_by_name


@dataclass(frozen=True)
class Refusal:
    """Why a transaction is not even executed, by Solana's name of it."""

    error: str


EXPIRED = Refusal("BlockhashNotFound")
REPEATED = Refusal("AlreadyProcessed")


class Chain:
    """Opens or begins the chain in ``path``. ``now_ms`` is sandbox time."""

    def __init__(self, path: Path, key: bytes, now_ms: Callable[[], int]) -> None:
        self.store = Store(path)
        self.genesis = shown_hash(genesis_hash(key))
        meta = self.store.meta()
        if not meta:
            meta = {"genesis": self.genesis, "began_ms": str(now_ms())}
            first = first_accounts(Machine(), key)
            self.store.begin(meta, [_stored(address, each) for address, each in first.items()])
        self.slots = Slots(
            now_ms,
            began_ms=int(meta["began_ms"]),
            first=chains_by_name()[CHAIN].first_height,
            reached=self.store.reached(),
        )
        self.blockhashes = Blockhashes(key)
        self.machine = self._loaded()

    def refusal(
        self, transaction: VersionedTransaction, at: Instant, *, any_blockhash: bool = False
    ) -> Refusal | None:
        """Why it is not executed now, if so."""
        message = transaction.message
        blockhash = bytes(message.recent_blockhash)
        if not any_blockhash and not self.blockhashes.is_good(blockhash, at.height):
            return EXPIRED
        if self.store.executed(bytes(transaction.signatures[0]), bytes(message.hash())):
            return REPEATED
        return None

    def execute(self, transaction: VersionedTransaction) -> Outcome | Refusal:
        """Execute a transaction once; durable when this returns. One that could not pay, or is
        not signed, leaves nothing behind."""
        with self.slots.executing() as at:
            return self._execute(transaction, at)

    def _execute(self, transaction: VersionedTransaction, at: Instant) -> Outcome | Refusal:
        refusal = self.refusal(transaction, at)
        if refusal is not None:
            return refusal
        outcome = self.machine.execute(transaction, at)
        if not outcome.charged:
            return outcome
        record = Record(
            signature=bytes(transaction.signatures[0]),
            message=bytes(transaction.message.hash()),
            height=at.height,
            seconds=at.seconds,
            raw=bytes(transaction),
            meta=json.dumps(record_meta(outcome, transaction, self.decimals)),
        )
        try:
            self._keep(record, transaction.message.account_keys, outcome)
        except sqlite3.Error:
            # Memory is ahead of the disk now; the disk is right.
            self.machine = self._loaded()
            raise
        return outcome

    def decimals(self, mint: Pubkey) -> int | None:
        """Of a mint, None when there is none."""
        found = read_mint(self.machine.get(mint))
        return None if found is None else found.decimals

    def close(self) -> None:
        self.store.close()

    def _keep(self, record: Record, keys: list[Pubkey], outcome: Outcome) -> None:
        changed, gone = [], []
        for address, before, after in zip(keys, outcome.before, outcome.after, strict=True):
            if after == before:
                continue
            if after is None:
                gone.append(bytes(address))
            else:
                changed.append(_stored(address, after))
        self.store.append(record, map(bytes, keys), changed, gone)

    def _loaded(self) -> Machine:
        machine = Machine()
        for address, account in self.store.accounts():
            machine.put(Pubkey.from_bytes(address), Account.from_bytes(account))
        return machine


def _stored(address: Pubkey, account: Account) -> StoredAccount:
    token = read_token_account(account)
    if token is None:
        return StoredAccount(bytes(address), bytes(account))
    return StoredAccount(
        bytes(address), bytes(account), bytes(account.owner), bytes(token.owner), bytes(token.mint)
    )
