"""What takes the place of a transaction that waits: its cancellation, or a higher fee for it."""

from __future__ import annotations

from swapdesk.cli.command_error import CommandError
from swapdesk.cli.exit_codes import Exit
from swapdesk.cli.session import Session
from swapdesk.cli.wallet_chains import refused_by_gate, review_text
from swapdesk.cli.wallet_session import unlock
from swapdesk.flows import bumping, cancelling
from swapdesk.flows.local_wallet import LocalWallet
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import TransactionState

_NEVER = frozenset({TransactionState.REPLACED, TransactionState.LOST, TransactionState.ABANDONED})
_AGAIN = "you: give the same command again; the same bytes are sent, never new ones"
_LISTED = "you: swapdesk wallet transactions lists what was signed"


async def cancel_transaction(
    session: Session, wallet: LocalWallet, hash_: str, descriptor: int | None, yes: bool
) -> int:
    """Exit 0 once it can never be executed, 9 where it was or cannot be taken back, 8 while
    both wait."""
    flow = cancelling.Cancelling(wallet, session.desk.clock)
    proposed = await flow.propose(hash_)
    if isinstance(proposed, cancelling.UnderWay):
        session.call.output.talk(
            "A cancellation was signed before. The same transaction is sent again."
        )
    elif isinstance(proposed, cancelling.Proposed):
        await _agreed(session, wallet, proposed.review, descriptor, yes)
    else:
        return _cancelled(session, proposed)
    return _cancelled(session, await flow.cancel(proposed))


async def bump_transaction(
    session: Session,
    wallet: LocalWallet,
    hash_: str,
    gas_units: int,
    descriptor: int | None,
    yes: bool,
) -> int:
    """Exit 0 once one of the two was executed, 10 where it was executed in vain, 9 where there is
    nothing that could pay more, 8 while neither was."""
    flow = bumping.Bumping(wallet, session.desk.clock)
    proposed = await flow.propose(hash_, gas_units)
    if isinstance(proposed, bumping.UnderWay):
        session.call.output.talk(
            f"A higher fee was signed before, as {proposed.bump.hash}. The same transaction is"
            " sent again."
        )
    elif isinstance(proposed, bumping.Proposed):
        await _agreed(session, wallet, proposed.review, descriptor, yes)
    else:
        return _bumped(session, proposed)
    return _bumped(session, await flow.bump(proposed))


async def _agreed(
    session: Session, wallet: LocalWallet, review: Review, descriptor: int | None, yes: bool
) -> None:
    """Show it and ask. Raises CommandError where it is not to be signed."""
    output = session.call.output
    output.talk(*review_text(review))
    if review.refused or review.phrase is not None:
        raise refused_by_gate(review)
    if not yes and output.ask("Sign and send? [y/N]").lower() not in ("y", "yes"):
        raise CommandError(Exit.INTERRUPTED, "NOT_CONFIRMED", "Nothing was signed.")
    await unlock(session.call, wallet, descriptor)


def _cancelled(session: Session, ended: cancelling.Outcome) -> int:
    output = session.call.output
    if isinstance(ended, cancelling.Undecided):
        raise CommandError(
            Exit.UNKNOWN,
            "UNDECIDED",
            f"{ended.first} may still be executed, and so may its cancellation {ended.hash}."
            f" {ended.reason}".rstrip(),
            money="in your wallet, or where the transaction takes it if it is executed first",
            next=_AGAIN,
        )
    if isinstance(ended, cancelling.NotCancelled):
        raise CommandError(
            Exit.OWN_REFUSAL,
            "NOT_CANCELLED",
            f"{ended.first} was not cancelled. {ended.reason}",
            money=_money(ended.state),
            next=_LISTED,
        )
    if output.json:
        output.document({"cancelled": ended.first, "hash": ended.hash})
    elif ended.hash is None:
        output.say(f"Given up: {ended.first} was never sent and never will be.")
    else:
        output.say(f"Cancelled: {ended.first} can never be executed.", f"Transaction {ended.hash}")
    return Exit.DONE


def _bumped(session: Session, ended: bumping.Outcome) -> int:
    output = session.call.output
    if isinstance(ended, bumping.StillWaiting):
        raise CommandError(
            Exit.UNKNOWN,
            "STILL_WAITING",
            f"Neither {ended.first} nor {ended.hash} for a higher fee was executed yet; one of the"
            f" two will be, never both. {ended.reason}".rstrip(),
            money="in your wallet, or where the transaction takes it once it is executed",
            next=_AGAIN,
        )
    if isinstance(ended, bumping.NotBumped):
        raise CommandError(
            Exit.OWN_REFUSAL,
            "NOT_BUMPED",
            f"{ended.first} got no higher fee. {ended.reason}",
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
    if output.json:
        output.document({"bumped": ended.first, "hash": ended.hash})
    elif ended.hash == ended.first:
        output.say(f"Executed: {ended.first} itself counts, for the fee it was signed with.")
    else:
        output.say(
            f"Executed for a higher fee: {ended.hash}",
            f"It is the same payment as {ended.first}, which can never be executed any more.",
        )
    return Exit.DONE


def _money(state: TransactionState) -> str:
    if state in _NEVER or state is TransactionState.SIGNED:
        return "in your wallet"
    return "where the transaction takes it"
