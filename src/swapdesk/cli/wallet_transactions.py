"""What a wallet signed on the command line, and taking back what still waits."""

from __future__ import annotations

from typing import Any

from swapdesk.cli.command_error import CommandError
from swapdesk.cli.exit_codes import Exit
from swapdesk.cli.output import Form
from swapdesk.cli.session import Session
from swapdesk.cli.wallet_chains import refused_by_gate, review_text
from swapdesk.cli.wallet_session import unlock
from swapdesk.flows.cancelling import (
    Cancelled,
    Cancelling,
    NotCancelled,
    Outcome,
    Undecided,
    UnderWay,
)
from swapdesk.flows.local_wallet import LocalWallet
from swapdesk.flows.notation import iso
from swapdesk.wallet.transactions import FINAL, SignedTransaction, TransactionState

_NEVER = frozenset({TransactionState.REPLACED, TransactionState.LOST, TransactionState.ABANDONED})


async def list_transactions(session: Session, wallet: LocalWallet, *, waiting: bool) -> int:
    """Everything that was signed, oldest first, as the wallet's own records have it."""
    signed = await (await wallet.client()).transactions()
    shown = [one for one in signed if not (waiting and one.state in FINAL)]
    output = session.call.output
    if output.json:
        output.document({"transactions": [_json(one) for one in shown]})
    elif output.form is Form.PLAIN:
        output.say(
            *(f"{one.hash} on {one.chain}, to {one.purpose}, is {one.state}." for one in shown)
        )
    else:
        rows = [
            (iso(one.created), one.chain, str(one.purpose), str(one.state),
             "" if one.nonce is None else str(one.nonce), one.hash)
            for one in shown
        ]  # fmt: skip
        output.table(("signed", "chain", "for", "state", "nonce", "hash"), rows)
    if not shown:
        output.talk("Nothing that was signed still waits." if waiting else "Nothing was signed.")
    return Exit.DONE


def _json(one: SignedTransaction) -> dict[str, Any]:
    return {
        "hash": one.hash,
        "intentId": one.intent_id,
        "purpose": str(one.purpose),
        "chain": one.chain,
        "account": one.account,
        "state": str(one.state),
        "nonce": one.nonce,
        "confirmations": one.confirmations,
        "replaces": one.replaces,
        "created": iso(one.created),
        "problem": one.problem,
    }


async def cancel_transaction(
    session: Session, wallet: LocalWallet, hash_: str, descriptor: int | None, yes: bool
) -> int:
    """Exit 0 once it can never be executed, 9 where it was or cannot be taken back, 8 while
    both wait."""
    output = session.call.output
    cancelling = Cancelling(wallet, session.desk.clock)
    proposed = await cancelling.propose(hash_)
    if isinstance(proposed, Cancelled | NotCancelled | Undecided):
        return _end(session, proposed)
    if isinstance(proposed, UnderWay):
        output.talk("A cancellation was signed before. The same transaction is sent again.")
    else:
        output.talk(*review_text(proposed.review))
        if proposed.review.refused or proposed.review.phrase is not None:
            raise refused_by_gate(proposed.review)
        if not yes and output.ask("Sign and send? [y/N]").lower() not in ("y", "yes"):
            raise CommandError(Exit.INTERRUPTED, "NOT_CONFIRMED", "Nothing was signed.")
        await unlock(session.call, wallet, descriptor)
    return _end(session, await cancelling.cancel(proposed))


def _end(session: Session, ended: Outcome) -> int:
    output = session.call.output
    if isinstance(ended, Undecided):
        raise CommandError(
            Exit.UNKNOWN,
            "UNDECIDED",
            f"{ended.first} may still be executed, and so may its cancellation {ended.hash}."
            f" {ended.reason}".rstrip(),
            money="in your wallet, or where the transaction takes it if it is executed first",
            next="you: give the same command again; the same bytes are sent, never new ones",
        )
    if isinstance(ended, NotCancelled):
        never = ended.state in _NEVER
        raise CommandError(
            Exit.OWN_REFUSAL,
            "NOT_CANCELLED",
            f"{ended.first} was not cancelled. {ended.reason}",
            money="in your wallet" if never else "where the transaction takes it",
            next="you: swapdesk wallet transactions lists what was signed",
        )
    if output.json:
        output.document({"cancelled": ended.first, "hash": ended.hash})
    elif ended.hash is None:
        output.say(f"Given up: {ended.first} was never sent and never will be.")
    else:
        output.say(f"Cancelled: {ended.first} can never be executed.", f"Transaction {ended.hash}")
    return Exit.DONE
