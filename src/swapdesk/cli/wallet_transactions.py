"""Transactions that a wallet signed, on the command line: the list, and the cancellation or a
higher fee of one that waits.
"""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from swapdesk.cli.consent import prepare, require_done
from swapdesk.cli.exit_codes import Exit
from swapdesk.cli.session import CommandSession
from swapdesk.flows.notation import iso
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.flows.transactions.transactor import UnderWay
from swapdesk.flows.wallet.replacement import (
    GAS_UNITS,
    REVERTED,
    WAITS,
    Replacement,
    bumping,
    cancelling,
)
from swapdesk.wallet.transactions import FINAL, SignedTransaction

_NONE_WAITS = "No transaction still waits."
_NONE = (
    "No transaction was signed. Payments of calls, permits and orders are signatures alone: wallet"
    " policy show says how much of each limit they use."
)


class TransactionsDocument(Struct, frozen=True):
    """Oldest first."""

    transactions: tuple[SignedTransaction, ...]


class ReplacedDocument(Struct, frozen=True):
    """``hash`` is the transaction that took the place of the one ``bumped`` or ``cancelled``; None
    where none was needed."""

    hash: str | None
    bumped: str | UnsetType = UNSET
    cancelled: str | UnsetType = UNSET


async def list_transactions(session: CommandSession, waiting: bool) -> None:
    """Every transaction that was signed, oldest first, as the wallet's own records have it."""
    signed = await (await session.desk.wallet.client()).transactions()
    shown = [one for one in signed if not (waiting and one.state in FINAL)]
    session.call.output.table(
        ("signed", "chain", "for", "state", "nonce", "hash"),
        [
            (iso(one.created), one.chain, str(one.purpose), str(one.state),
             "" if one.nonce is None else str(one.nonce), one.hash)
            for one in shown
        ],
        plain=[f"{one.hash} on {one.chain}, to {one.purpose}, is {one.state}." for one in shown],
        document=TransactionsDocument(tuple(shown)),
    )  # fmt: skip
    if not shown:
        session.call.output.talk(_NONE_WAITS if waiting else _NONE)


async def cancel_transaction(session: CommandSession, hash_: str, yes: bool) -> None:
    replacement = cancelling(session.desk.wallet, session.desk.clock)
    await _replace(session, replacement, hash_, yes)


async def bump_transaction(session: CommandSession, hash_: str, gas: int | None, yes: bool) -> None:
    units = GAS_UNITS if gas is None else gas
    await _replace(session, bumping(session.desk.wallet, session.desk.clock, units), hash_, yes)


async def _replace(
    session: CommandSession, replacement: Replacement, hash_: str, yes: bool
) -> None:
    """Exit 0 once what was asked for holds, 10 where it was executed in vain, 9 where nothing
    takes its place, 8 while both wait."""
    words = replacement.words
    step = await replacement.propose(hash_)
    if not isinstance(step, Outcome):
        before = words.signed_before(step.transaction) if isinstance(step, UnderWay) else ""
        await prepare(session, step, yes=yes, before=before, money=WAITS)
        step = await replacement.replace(step)
    outcome, failure = step, step.failure
    if failure is not None and outcome.code == words.kept_code:
        cause = words.stays(outcome, hash_)
        outcome = replace(outcome, failure=replace(failure, cause=cause))
    in_vain = outcome.code == REVERTED
    require_done(outcome, refused=Exit.ENDED_OTHERWISE if in_vain else Exit.OWN_REFUSAL)
    document = ReplacedDocument(outcome.hash, **{words.done_code: hash_})
    session.call.output.say(*words.done(hash_, outcome.hash), document=document)
