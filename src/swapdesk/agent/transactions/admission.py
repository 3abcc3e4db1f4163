"""When another transaction may be signed: one confirmation pays once, one nonce one payment.

For an intent a second payment is let in only when nothing can come of the first one. Another
transaction takes a nonce only to replace the first by the same call with a higher fee.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from swapdesk.agent.transactions.entries import Draft, State
from swapdesk.agent.transactions.file import RecordsFile
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.transactions import FINAL

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
_NEVER_ARRIVES = frozenset({State.ABANDONED, State.REPLACED})
MIN_BUMP_PERCENT = 10
"""By how much a replacement must raise both fees, or nodes keep the first one."""


class AlreadySigned(Exception):
    """This was signed before and may still arrive, or has; ``hash`` is what was signed."""

    def __init__(self, hash_: str, state: State) -> None:
        super().__init__(f"{hash_} was signed for this already and is {state}")
        self.hash = hash_
        self.state = state


class Unresolved(Exception):
    """An earlier transaction of the account has to be sent or given up first."""

    def __init__(self, hash_: str) -> None:
        super().__init__(f"{hash_} of this account was signed before and is not on its way yet")
        self.hash = hash_


class NonceTaken(Exception):
    """The nonce of a review is not the next one any more."""


class BadReplacement(Exception):
    """A replacement that is not the same call for a higher fee."""


class Admission:
    """Asked inside the database transaction that writes a draft down."""

    def __init__(self, file: RecordsFile) -> None:
        self._file = file

    def next_nonce(self, chain: str, account: str, of_node: int) -> int:
        """The nonce of a new transaction, ``of_node`` being what the node would use."""
        rows = self._file.read(
            "SELECT MAX(nonce) AS last FROM tx WHERE chain=? AND account=? AND state<>?",
            chain,
            account,
            State.ABANDONED.value,
        )
        # One that is over frees nothing: its nonce was used, by it or by another one.
        last = rows[0]["last"]
        return of_node if last is None else max(of_node, last + 1)

    def require(self, draft: Draft, of_node: int | None) -> None:
        """Raises AlreadySigned, Unresolved, NonceTaken and BadReplacement."""
        others = self._file.read(
            "SELECT * FROM tx WHERE chain=? AND account=? AND hash<>?"
            " AND (intent=? OR state IN (SELECT value FROM json_each(?)))",
            draft.chain,
            draft.account,
            draft.replaces or "",
            draft.intent_id,
            state_names(state for state in State if state not in FINAL),
        )
        same = self._file.read("SELECT state FROM tx WHERE hash=?", draft.hash)
        # The same bytes once more are fine if they were given up before they left.
        if same and same[0]["state"] != State.ABANDONED.value:
            raise AlreadySigned(draft.hash, State(same[0]["state"]))
        for row in others:
            state = State(row["state"])
            # Of transactions with one nonce a single one is ever executed.
            takes_its_place = draft.replaces is not None and row["nonce"] == draft.nonce
            if row["intent"] != draft.intent_id or (takes_its_place and _alike(draft, row)):
                continue
            if _bars(draft, row, state):
                raise AlreadySigned(row["hash"], state)
        if draft.replaces is not None:
            self._allow_replacement(draft)
            return
        if draft.purpose is Purpose.CANCEL:
            raise BadReplacement("a cancellation takes the place of a transaction")
        for row in others:
            if row["state"] in (State.SIGNED.value, State.SENDING.value):
                raise Unresolved(row["hash"])
        if draft.nonce is not None and draft.nonce != self.next_nonce(
            draft.chain, draft.account, of_node or 0
        ):
            raise NonceTaken("another transaction of this account took the nonce meanwhile")

    def _allow_replacement(self, draft: Draft) -> None:
        old = self._row(draft.replaces or "")
        if old is None or State(old["state"]) in FINAL | {State.MINED}:
            raise BadReplacement("what it should replace is not waiting any more")
        same = (
            old["intent"] == draft.intent_id
            and old["chain"] == draft.chain
            and old["account"] == draft.account
            and (draft.purpose is Purpose.CANCEL or bytes(old["content"]) == draft.content)
            and old["nonce"] == draft.nonce
            and draft.nonce is not None
        )
        if not same:
            raise BadReplacement("a replacement must be the same call with the same nonce")
        for name, fee in (("fee", draft.fee), ("priority", draft.priority)):
            if fee * 100 < int(old[name]) * (100 + MIN_BUMP_PERCENT):
                raise BadReplacement(f"both fees must be {MIN_BUMP_PERCENT} % higher")

    def _row(self, hash_: str) -> sqlite3.Row | None:
        rows = self._file.read("SELECT * FROM tx WHERE hash=?", hash_)
        return rows[0] if rows else None


def state_names(states: Iterable[State]) -> str:
    """States as a JSON list for the database."""
    return json.dumps([state.value for state in states])


def _alike(draft: Draft, row: sqlite3.Row) -> bool:
    """The same call again, or a cancellation of it."""
    return draft.purpose is Purpose.CANCEL or bytes(row["content"]) == draft.content


def _bars(draft: Draft, row: sqlite3.Row, state: State) -> bool:
    """Whether ``row``, of the same intent, forbids another signature."""
    if row["purpose"] == Purpose.CANCEL.value and draft.purpose in _PAYS:
        # What was taken back is not paid under the same confirmation: a node may have told a
        # cancellation that never was.
        return state not in _NEVER_ARRIVES
    if row["purpose"] != draft.purpose.value or state in _NEVER_ARRIVES:
        return False
    if draft.purpose in _PAYS:
        # Of EVM chains not even a failure frees it: nodes have told wrong ones. The trader
        # confirms anew. A Solana transaction whose blockhash has expired can never arrive.
        return not (state is State.LOST and row["nonce"] is None)
    if state not in FINAL:
        return True
    return state is State.SUCCEEDED and bytes(row["content"]) == draft.content
