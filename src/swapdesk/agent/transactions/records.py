"""The records of everything that this wallet signed: the chains it knows, signatures, transactions
and their outcomes.

One confirmation pays once, and one nonce makes one payment. A second payment for an intent is
accepted only if the first can no longer have any effect. A used nonce may be taken again only to
replace the first transaction by the same call with a higher fee, or to cancel it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any

from msgspec import ValidationError, convert
from msgspec.structs import asdict, replace

from swapdesk.acts import LEFT, OPEN, State
from swapdesk.agent.gate.case import NEVER_ARRIVES, PaidCall, PastSignature, PastSignatures, Taking
from swapdesk.agent.shapes.claim import Act, NonceKind
from swapdesk.agent.spending.limits import Spending
from swapdesk.agent.transactions.file import RecordsFile, SpentRecord, count
from swapdesk.wallet.answers import SignedTransaction, TransactionCode
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.protocol import Refused


def given_of(row: sqlite3.Row) -> PastSignature:
    return PastSignature(
        content=bytes(row["content"]),
        act=convert(row["act"], Act),
        quote_id=row["quote"],
        chain_id=row["chain_id"],
        owner=row["owner"],
        token=row["token"],
        contract=row["contract"],
        key=row["key"],
        step=row["step"],
        total=row["total"],
        complete=bool(row["complete"]),
        hash=row["hash"],
        code=row["tx_code"],
        taking=read_taking(row["taking"]),
        nonce=row["nonce"],
    )


def taking_text(taking: Taking) -> str:
    """Returns a taking as JSON text for the records. Numbers are written as text, because they may
    be too large for the database."""
    nonce = taking.nonce
    entry = {
        **asdict(taking),
        "units": str(taking.units),
        "nonce": None if nonce is None else _nonce_text(nonce),
    }
    return json.dumps(entry)


def _nonce_text(nonce: int | bytes) -> str:
    return "0x" + nonce.hex() if isinstance(nonce, bytes) else str(nonce)


def read_taking(text: str | None) -> Taking | None:
    """Returns the taking from its JSON text in the records; None if there is no text or an earlier
    release wrote it in another form."""
    if text is None:
        return None
    try:
        entry = json.loads(text)
        nonce = entry["nonce"]
        if nonce is not None:
            nonce = bytes.fromhex(nonce[2:]) if nonce.startswith("0x") else int(nonce)
        kind: NonceKind = convert(entry["kind"], NonceKind)
        return Taking(**{**entry, "units": int(entry["units"]), "kind": kind, "nonce": nonce})
    except (ValueError, TypeError, KeyError, AttributeError, ValidationError):
        return None


def told_of(row: sqlite3.Row) -> SignedTransaction:
    return SignedTransaction(
        hash=row["hash"],
        intent_id=row["intent"],
        purpose=Purpose(row["purpose"]),
        chain=row["chain"],
        account=row["account"],
        state=State(row["state"]),
        nonce=row["nonce"],
        last_valid_height=row["last_valid"],
        confirmations=row["confirmations"],
        replaces=row["replaces"],
        created=datetime.fromisoformat(row["created"]),
        problem=row["problem"],
        code=row["code"],
    )


_PAYS = frozenset(
    {
        Purpose.SWAP,
        Purpose.DEPOSIT,
        Purpose.ORDER,
        Purpose.FUND,
        Purpose.BUNDLE,
        Purpose.WITHDRAW,
    }
)
MIN_BUMP_PERCENT = 10
"""The percentage by which a replacement must raise both fees. With a smaller increase, nodes keep
the first transaction."""


def _already_signed(transaction: SignedTransaction) -> Refused:
    return Refused(
        "already_signed",
        f"{transaction.hash} was signed for this already and is {transaction.word}",
    )


def _alike(draft: SignedTransaction, content: bytes, row: sqlite3.Row) -> bool:
    return draft.purpose is Purpose.CANCEL or bytes(row["content"]) == content


def _bars(draft: SignedTransaction, content: bytes, row: sqlite3.Row) -> bool:
    transaction = told_of(row)
    if transaction.code in NEVER_ARRIVES:
        return False
    if transaction.purpose is not draft.purpose:
        # After a cancellation the same confirmation pays nothing: a node may have reported a
        # cancellation that never happened.
        return transaction.purpose is Purpose.CANCEL and draft.purpose in _PAYS
    if draft.purpose in _PAYS:
        # On EVM chains not even a failure frees it: nodes have reported wrong ones, so the trader
        # confirms anew. A Solana transaction whose blockhash has expired can never be executed.
        return not (transaction.code == "LOST" and transaction.nonce is None)
    if not transaction.final:
        return True
    return transaction.state is State.DONE and bytes(row["content"]) == content


_LAST_PLACE = (1 << 63) - 1


class Records:
    """The records of what one wallet signed. Methods may raise Refused (code ``records``) if the
    file fails."""

    def __init__(self, file: RecordsFile, monotonic: Callable[[], float] = lambda: 0.0) -> None:
        self._file = file
        self.spent = SpentRecord(file, monotonic)

    def close(self) -> None:
        self._file.close()

    # Chains

    def bind_chain(self, name: str, chain_id: int | None, genesis: str) -> None:
        """Records permanently which chain a short name means. Raises Refused if the name means a
        different chain already."""
        rows = self._file.read("SELECT chain_id, genesis FROM chain WHERE name=?", name)
        if rows:
            if (rows[0]["chain_id"], rows[0]["genesis"]) != (chain_id, genesis):
                raise Refused(
                    "other_chain",
                    f"{name} is another chain than this wallet has known by that name",
                )
            return
        with self._file.transaction() as connection:
            connection.execute(
                "INSERT INTO chain(name, chain_id, genesis) VALUES(?, ?, ?)",
                (name, chain_id, genesis),
            )

    def genesis(self, name: str) -> str | None:
        """Returns the hash of the first block of a chain, by short name; None if this wallet never
        signed for it."""
        rows = self._file.read("SELECT genesis FROM chain WHERE name=?", name)
        return str(rows[0]["genesis"]) if rows else None

    # Signatures

    def given(self, intent_id: str) -> PastSignatures:
        """Returns all signatures given out under an intent, in the order of signing."""
        rows = self._file.read(
            "SELECT given.*, tx.code AS tx_code, tx.nonce AS nonce"
            " FROM given LEFT JOIN tx USING(hash) WHERE given.intent=? ORDER BY given.seq",
            intent_id,
        )
        return tuple(given_of(row) for row in rows)

    def paid_calls(self) -> frozenset[PaidCall]:
        """Returns the chain, token and payee of every API call that was paid."""
        rows = self._file.read("SELECT chain_id, token, payee FROM paid_call")
        return frozenset((row["chain_id"], row["token"], row["payee"]) for row in rows)

    def write_given(
        self,
        intent_id: str,
        given: PastSignature,
        at: datetime,
        spending: Spending | None = None,
        call: PaidCall | None = None,
    ) -> None:
        """Records a signature that is not a transaction, before it is given out. Recording twice
        changes nothing. ``call`` is None unless an API call is paid."""
        signed = any(
            (past.content, past.key, past.step) == (given.content, given.key, given.step)
            for past in self.given(intent_id)
        )
        if signed and (spending is None or self.spent.has(spending)):
            return
        when = self.spent.now(at)
        with self._file.transaction() as connection:
            if call is not None:
                connection.execute("INSERT OR IGNORE INTO paid_call VALUES(?,?,?)", call)
            count(connection, spending, when)
            if not signed:
                _insert_given(connection, intent_id, given, at)

    # Transactions

    def next_nonce(self, chain: str, account: str, of_node: int) -> int:
        """Returns the nonce for a new transaction: the node's next one (``of_node``), or a higher
        one if that nonce or a later one is recorded already."""
        rows = self._file.read(
            "SELECT MAX(nonce) AS last FROM tx WHERE chain=? AND account=?"
            " AND code IS NOT 'ABANDONED'",
            chain,
            account,
        )
        # A finished transaction frees nothing: its nonce was used, by it or by another one.
        last = rows[0]["last"]
        return of_node if last is None else max(of_node, last + 1)

    def _admit(
        self,
        draft: SignedTransaction,
        content: bytes,
        of_node: int | None,
        fees: tuple[int, int],
    ) -> None:
        """Raises Refused if ``draft`` may not be signed. Call it in the database transaction that
        then records ``draft``."""
        others = self._file.read(
            "SELECT * FROM tx WHERE chain=? AND account=? AND hash<>?"
            " AND (intent=? OR state IN (SELECT value FROM json_each(?)))",
            draft.chain,
            draft.account,
            draft.replaces or "",
            draft.intent_id,
            json.dumps(OPEN),
        )
        same = self.find(draft.hash)
        # The same bytes may be signed again if they were given up before they left.
        if same is not None and same.code != "ABANDONED":
            raise _already_signed(same)
        for row in others:
            # Of transactions with one nonce a single one is ever executed.
            same_place = draft.replaces is not None and row["nonce"] == draft.nonce
            if row["intent"] != draft.intent_id or (same_place and _alike(draft, content, row)):
                continue
            if _bars(draft, content, row):
                raise _already_signed(told_of(row))
        if draft.replaces is not None:
            self._allow_replacement(draft, content, fees)
            return
        if draft.purpose is Purpose.CANCEL:
            raise Refused("stale_review", "a cancellation takes the place of a transaction")
        for row in others:
            if row["state"] in (State.PREPARED, State.UNKNOWN):
                raise Refused(
                    "unresolved",
                    f"{row['hash']} of this account was signed before and is not on its way yet",
                )
        if draft.nonce is not None and draft.nonce != self.next_nonce(
            draft.chain, draft.account, of_node or 0
        ):
            raise Refused(
                "stale_review",
                "another transaction of this account took the nonce meanwhile",
            )

    def _allow_replacement(
        self, draft: SignedTransaction, content: bytes, fees: tuple[int, int]
    ) -> None:
        old = self._row(draft.replaces or "")
        if old is None or told_of(old).final or told_of(old).mined:
            raise Refused("stale_review", "what it should replace is not waiting any more")
        same = (
            old["intent"] == draft.intent_id
            and old["chain"] == draft.chain
            and old["account"] == draft.account
            and _alike(draft, content, old)
            and old["nonce"] == draft.nonce
            and draft.nonce is not None
        )
        if not same:
            raise Refused("stale_review", "a replacement must be the same call with the same nonce")
        for name, fee in zip(("fee", "priority"), fees, strict=True):
            if fee * 100 < int(old[name]) * (100 + MIN_BUMP_PERCENT):
                raise Refused("stale_review", f"both fees must be {MIN_BUMP_PERCENT} % higher")

    def write(
        self,
        draft: SignedTransaction,
        raw: bytes,
        given: PastSignature,
        of_node: int | None,
        spending: Spending | None = None,
        *,
        fees: tuple[int, int] = (0, 0),
        asked: str | None = None,
    ) -> SignedTransaction:
        """Records a signed transaction and returns its record. ``fees`` are the highest fee and the
        priority fee, in wei per unit of gas. If the transaction may not be signed, raises Refused;
        the caller must then discard ``raw``."""
        at, when = draft.created, self.spent.now(draft.created)
        with self._file.transaction() as connection:
            self._admit(draft, given.content, of_node, fees)
            count(connection, spending, when)
            connection.execute(
                "INSERT INTO tx(hash, intent, purpose, chain, account, content, raw, nonce, fee,"
                " priority, last_valid, state, replaces, created, asked)"
                " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
                " ON CONFLICT(hash) DO UPDATE SET intent=excluded.intent,"
                " purpose=excluded.purpose, state=excluded.state, code=NULL,"
                " replaces=excluded.replaces, problem=NULL, created=excluded.created,"
                " asked=excluded.asked",
                (
                    draft.hash,
                    draft.intent_id,
                    draft.purpose.value,
                    draft.chain,
                    draft.account,
                    given.content,
                    raw,
                    draft.nonce,
                    *map(str, fees),
                    draft.last_valid_height,
                    draft.state,
                    draft.replaces,
                    at.isoformat(),
                    asked,
                ),
            )
            _insert_given(connection, draft.intent_id, replace(given, hash=draft.hash), at)
        return told_of(self._known(draft.hash))

    def _row(self, hash_: str) -> sqlite3.Row | None:
        rows = self._file.read("SELECT * FROM tx WHERE hash=?", hash_)
        return rows[0] if rows else None

    def find(self, hash_: str) -> SignedTransaction | None:
        row = self._row(hash_)
        return None if row is None else told_of(row)

    def _known(self, hash_: str) -> sqlite3.Row:
        row = self._row(hash_)
        if row is None:
            raise KeyError(hash_)
        return row

    def raw(self, hash_: str) -> bytes:
        """Returns the signed bytes of a transaction. Raises KeyError if this wallet did not sign
        it."""
        return bytes(self._known(hash_)["raw"])

    def asked(self, hash_: str) -> str | None:
        """Returns the JSON of a transaction's payload and of what the user confirmed, None if not
        recorded. Raises KeyError if this wallet did not sign it."""
        asked = self._known(hash_)["asked"]
        return None if asked is None else str(asked)

    def fees(self, hash_: str) -> tuple[int, int]:
        """Returns (highest fee, priority fee) in wei per unit of gas. Raises KeyError if this
        wallet did not sign the transaction."""
        row = self._known(hash_)
        return int(row["fee"]), int(row["priority"])

    def page(
        self, intent_id: str | None = None, after: int = 0, most: int = -1
    ) -> tuple[tuple[SignedTransaction, ...], int | None]:
        """Returns at most ``most`` transactions (-1: all) after position ``after``, oldest first.
        The second value is the position to pass as ``after`` for the next page, None if this page
        is not full."""
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

    def twins(self, transaction: SignedTransaction) -> tuple[SignedTransaction, ...]:
        """Returns the wallet's other transactions with the same account and nonce, oldest first.
        Empty on Solana."""
        if transaction.nonce is None:
            return ()
        rows = self._file.read(
            "SELECT * FROM tx WHERE chain=? AND account=? AND nonce=? AND hash<>? ORDER BY rowid",
            transaction.chain,
            transaction.account,
            transaction.nonce,
            transaction.hash,
        )
        return tuple(told_of(row) for row in rows)

    def outbidding(self, transaction: SignedTransaction) -> SignedTransaction | None:
        """Returns the sent transaction with the same nonce that nodes prefer because of its higher
        fee; None if no other one has a higher fee."""
        bids = [twin for twin in self.twins(transaction) if twin.state in LEFT]
        dearest = max(bids, key=lambda twin: self.fees(twin.hash), default=None)
        if dearest is None or self.fees(dearest.hash) <= self.fees(transaction.hash):
            return None
        return dearest

    def move(
        self,
        hash_: str,
        state: State,
        code: TransactionCode | None = None,
        *,
        among: Collection[State] = OPEN,
        mined: bool = True,
        confirmations: int = 0,
        problem: str | None = None,
    ) -> bool:
        """Sets state, code, confirmations and problem if the present state is in ``among``. Returns
        True if the record was changed. With ``mined`` False, a transaction in a block stays
        unchanged."""
        with self._file.transaction() as connection:
            changed = connection.execute(
                "UPDATE tx SET state=?, code=?, confirmations=?, problem=? WHERE hash=?"
                " AND state IN (SELECT value FROM json_each(?)) AND (? OR code IS NOT 'MINED')",
                (state, code, confirmations, problem, hash_, json.dumps(among), mined),
            ).rowcount
        return changed == 1


def _insert_given(
    connection: sqlite3.Connection, intent_id: str, given: PastSignature, at: datetime
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
