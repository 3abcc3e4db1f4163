"""Everything this wallet signed: the chains it knows, signatures, transactions and their ends."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from typing import Any

from swapdesk.agent.transactions.admission import Admission, state_names
from swapdesk.agent.transactions.entries import (
    Draft,
    Given,
    State,
    given_of,
    taking_text,
    told_of,
)
from swapdesk.agent.transactions.file import RecordsFile
from swapdesk.wallet.transactions import FINAL, SignedTransaction

_LAST_PLACE = (1 << 63) - 1
_ON_ITS_WAY = frozenset({State.SENDING, State.SENT, State.MINED})


class OtherChain(Exception):
    """The node serves another chain than the one this wallet has known by that name."""


class Records:
    """Raises RecordsUnavailable wherever the file fails."""

    def __init__(self, file: RecordsFile) -> None:
        self._file = file
        self._admission = Admission(file)

    def close(self) -> None:
        self._file.close()

    # Chains

    def bind_chain(self, name: str, chain_id: int | None, genesis: str) -> None:
        """Remember which chain a name means, for ever. Raises OtherChain."""
        if self._known(name, chain_id, genesis):
            return
        with self._file.transaction() as connection:
            connection.execute(
                "INSERT INTO chain(name, chain_id, genesis) VALUES(?, ?, ?)",
                (name, chain_id, genesis),
            )

    def genesis(self, name: str) -> str | None:
        """Hash of the first block of the chain that a name means; None before first use."""
        rows = self._file.read("SELECT genesis FROM chain WHERE name=?", name)
        return str(rows[0]["genesis"]) if rows else None

    def _known(self, name: str, chain_id: int | None, genesis: str) -> bool:
        rows = self._file.read("SELECT chain_id, genesis FROM chain WHERE name=?", name)
        if not rows:
            return False
        if (rows[0]["chain_id"], rows[0]["genesis"]) != (chain_id, genesis):
            raise OtherChain(f"{name} is another chain than this wallet has known by that name")
        return True

    # Signatures

    def given(self, intent_id: str) -> tuple[Given, ...]:
        """Every signature under an intent, in the order they were given."""
        rows = self._file.read(
            "SELECT given.*, tx.state AS state, tx.nonce AS nonce"
            " FROM given LEFT JOIN tx USING(hash) WHERE given.intent=? ORDER BY given.seq",
            intent_id,
        )
        return tuple(given_of(row) for row in rows)

    def write_given(self, intent_id: str, given: Given, at: datetime) -> None:
        """A signature of typed data, before it leaves; the same one again changes nothing."""
        if any(
            (one.content, one.key, one.step) == (given.content, given.key, given.step)
            for one in self.given(intent_id)
        ):
            return
        with self._file.transaction() as connection:
            _insert_given(connection, intent_id, given, at)

    # Transactions

    def next_nonce(self, chain: str, account: str, of_node: int) -> int:
        """The nonce of a new transaction, ``of_node`` being what the node would use."""
        return self._admission.next_nonce(chain, account, of_node)

    def write(self, draft: Draft, given: Given, of_node: int | None, at: datetime) -> None:
        """Write a signed transaction down. Raises AlreadySigned, Unresolved, NonceTaken and
        BadReplacement; after each of them nothing is written and the bytes must be dropped."""
        with self._file.transaction() as connection:
            self._admission.require(draft, of_node)
            connection.execute(
                "INSERT INTO tx(hash, intent, purpose, chain, account, content, raw, nonce, fee,"
                " priority, last_valid, state, replaces, created, asked)"
                " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
                " ON CONFLICT(hash) DO UPDATE SET intent=excluded.intent,"
                " purpose=excluded.purpose, state=excluded.state, replaces=excluded.replaces,"
                " problem=NULL, created=excluded.created, asked=excluded.asked",
                (
                    draft.hash,
                    draft.intent_id,
                    draft.purpose.value,
                    draft.chain,
                    draft.account,
                    draft.content,
                    draft.raw,
                    draft.nonce,
                    str(draft.fee),
                    str(draft.priority),
                    draft.last_valid,
                    State.SIGNED.value,
                    draft.replaces,
                    at.isoformat(),
                    draft.asked,
                ),
            )
            _insert_given(connection, draft.intent_id, given, at)

    def _row(self, hash_: str) -> sqlite3.Row | None:
        rows = self._file.read("SELECT * FROM tx WHERE hash=?", hash_)
        return rows[0] if rows else None

    def find(self, hash_: str) -> SignedTransaction | None:
        row = self._row(hash_)
        return None if row is None else told_of(row)

    def raw(self, hash_: str) -> bytes:
        """The bytes that were signed; KeyError for an unknown one."""
        row = self._row(hash_)
        if row is None:
            raise KeyError(hash_)
        return bytes(row["raw"])

    def asked(self, hash_: str) -> str | None:
        """What it was signed for, as its draft had it; None where that was not kept. KeyError
        for an unknown one."""
        row = self._row(hash_)
        if row is None:
            raise KeyError(hash_)
        told = row["asked"]
        return None if told is None else str(told)

    def fees(self, hash_: str) -> tuple[int, int]:
        """(highest fee, priority) of a transaction, in wei per gas."""
        row = self._row(hash_)
        if row is None:
            raise KeyError(hash_)
        return int(row["fee"]), int(row["priority"])

    def transactions(
        self, intent_id: str | None = None, *, open_only: bool = False
    ) -> tuple[SignedTransaction, ...]:
        """In the order they were written."""
        told, _ = self.page(intent_id)
        return tuple(one for one in told if not open_only or one.state not in FINAL)

    def page(
        self, intent_id: str | None, after: int = 0, most: int = -1
    ) -> tuple[tuple[SignedTransaction, ...], int | None]:
        """Up to ``most`` of them behind the place ``after`` (-1: all), and the place that the next
        ones are behind; None where none follow."""
        rows = self._file.read(
            "SELECT rowid AS place, * FROM tx WHERE rowid>? AND (? IS NULL OR intent=?)"
            " ORDER BY rowid LIMIT ?",
            min(after, _LAST_PLACE),
            intent_id,
            intent_id,
            most,
        )
        full = 0 < most == len(rows)
        return tuple(told_of(row) for row in rows), rows[-1]["place"] if full else None

    def twins(self, one: SignedTransaction) -> tuple[SignedTransaction, ...]:
        """The other transactions of this wallet with the same nonce, in the order they were
        written."""
        if one.nonce is None:
            return ()
        rows = self._file.read(
            "SELECT * FROM tx WHERE chain=? AND account=? AND nonce=? AND hash<>? ORDER BY rowid",
            one.chain,
            one.account,
            one.nonce,
            one.hash,
        )
        return tuple(told_of(row) for row in rows)

    def outbidding(self, one: SignedTransaction) -> SignedTransaction | None:
        """The twin that pays most for gas of those that are on their way and pay more than it;
        None where it is the one that nodes keep."""
        if one.nonce is None:
            return None
        bids = [twin for twin in self.twins(one) if twin.state in _ON_ITS_WAY]
        dearest = max(bids, key=lambda twin: self.fees(twin.hash), default=None)
        if dearest is None or self.fees(dearest.hash) <= self.fees(one.hash):
            return None
        return dearest

    def move(
        self,
        hash_: str,
        state: State,
        *,
        among: frozenset[State],
        confirmations: int = 0,
        problem: str | None = None,
    ) -> bool:
        """Into ``state`` if it is still in one of ``among``; on disk when this returns."""
        with self._file.transaction() as connection:
            changed = connection.execute(
                "UPDATE tx SET state=?, confirmations=?, problem=?"
                " WHERE hash=? AND state IN (SELECT value FROM json_each(?))",
                (state.value, confirmations, problem, hash_, state_names(among)),
            ).rowcount
        return changed == 1


def _insert_given(
    connection: sqlite3.Connection, intent_id: str, given: Given, at: datetime
) -> None:
    values: tuple[Any, ...] = (
        intent_id,
        given.content,
        given.act,
        given.quote_id,
        given.chain_id,
        given.owner,
        given.token,
        given.contract,
        given.key,
        given.step,
        given.total,
        int(given.complete),
        given.hash,
        at.isoformat(),
        None if given.taking is None else taking_text(given.taking),
    )
    connection.execute(
        "INSERT INTO given(intent, content, act, quote, chain_id, owner, token, contract, key,"
        " step, total, complete, hash, at, taking) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        values,
    )
