"""What takes the place of a transaction that waits: its cancellation, or a higher fee for it."""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.cli.command_error import CommandError
from swapdesk.cli.consent import require_consent
from swapdesk.cli.exit_codes import Exit
from swapdesk.cli.session import Session
from swapdesk.cli.wallet_session import unlock
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.flows.wallet.replacement import (
    Kept,
    Outcome,
    Proposed,
    Replacement,
    Undecided,
    UnderWay,
    Words,
)
from swapdesk.wallet.transactions import TransactionState

_NEVER = frozenset({TransactionState.REPLACED, TransactionState.LOST, TransactionState.ABANDONED})
_AGAIN = "you: give the same command again; the same bytes are sent, never new ones"
_WAITS = "in your wallet, or where the transaction takes it once it is executed"
_LISTED = "you: swapdesk wallet transactions lists what was signed"


@dataclass(frozen=True)
class Told:
    """How a command tells its ends: the codes of its refusals, and the name of what it did in
    its document."""

    done: str
    kept: str
    undecided: str


CANCELLED = Told("cancelled", "NOT_CANCELLED", "UNDECIDED")
BUMPED = Told("bumped", "NOT_BUMPED", "STILL_WAITING")


async def replace_transaction(
    session: Session,
    wallet: LocalWallet,
    replacement: Replacement,
    told: Told,
    hash_: str,
    descriptor: int | None,
    yes: bool,
) -> int:
    """Exit 0 once what was asked for holds, 10 where it was executed in vain, 9 where nothing
    takes its place, 8 while both wait."""
    proposed = await replacement.propose(hash_)
    if isinstance(proposed, UnderWay):
        session.call.output.talk(replacement.words.signed_before(proposed.second))
    elif isinstance(proposed, Proposed):
        require_consent(session.call.output, proposed.review, yes=yes, money=_WAITS)
        await unlock(session.call, wallet, descriptor)
    else:
        return _ended(session, replacement.words, told, proposed)
    return _ended(session, replacement.words, told, await replacement.replace(proposed))


def _ended(session: Session, words: Words, told: Told, ended: Outcome) -> int:
    if isinstance(ended, Undecided):
        raise CommandError(
            Exit.UNKNOWN,
            told.undecided,
            words.either(ended),
            money=_WAITS,
            next=_AGAIN,
        )
    if isinstance(ended, Kept):
        raise CommandError(
            Exit.OWN_REFUSAL,
            told.kept,
            words.stays(ended, ended.first),
            money=_money(ended.state),
            next=_LISTED,
        )
    if ended.failed:
        raise CommandError(
            Exit.ENDED_OTHERWISE,
            "REVERTED",
            f"{ended.hash} was executed and failed; its gas is paid.",
            money="in your wallet, less the gas",
            next=_LISTED,
        )
    output = session.call.output
    if output.json:
        output.document({told.done: ended.first, "hash": ended.hash})
    else:
        output.say(*words.done(ended))
    return Exit.DONE


def _money(state: TransactionState) -> str:
    if state in _NEVER or state is TransactionState.SIGNED:
        return "in your wallet"
    return "where the transaction takes it"
