"""What takes the place of a transaction that waits: its cancellation, or a higher fee for it."""

from __future__ import annotations

from dataclasses import replace

from swapdesk.cli.consent import prepare, require_done
from swapdesk.cli.exit_codes import Exit
from swapdesk.cli.session import Session
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.flows.transactions.transactor import UnderWay
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.flows.wallet.replacement import REVERTED, WAITS, Replacement


async def replace_transaction(
    session: Session,
    wallet: LocalWallet,
    replacement: Replacement,
    hash_: str,
    descriptor: int | None,
    yes: bool,
) -> int:
    """Exit 0 once what was asked for holds, 10 where it was executed in vain, 9 where nothing
    takes its place, 8 while both wait."""
    words = replacement.words
    step = await replacement.propose(hash_)
    if not isinstance(step, Outcome):
        before = words.signed_before(step.transaction) if isinstance(step, UnderWay) else ""
        await prepare(
            session, wallet, step, yes=yes, descriptor=descriptor, before=before, money=WAITS
        )
        step = await replacement.replace(step)
    outcome, failure = step, step.failure
    if failure is not None and outcome.code == words.kept_code:
        cause = words.stays(outcome, hash_)
        outcome = replace(outcome, failure=replace(failure, cause=cause))
    in_vain = outcome.code == REVERTED
    require_done(outcome, refused=Exit.ENDED_OTHERWISE if in_vain else Exit.OWN_REFUSAL)
    output = session.call.output
    if output.json:
        output.document({words.done_code: hash_, "hash": outcome.hash})
    else:
        output.say(*words.done(hash_, outcome.hash))
    return Exit.DONE
