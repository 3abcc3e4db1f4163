"""Groups of batches while their deposits are paid: new ones, and those left open.

The steps are build, fund, sign, submit, paid. How far a group went is read from the journal and
the wallet's records.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec import Struct

from swapdesk.flows.batch.batches import read_group
from swapdesk.flows.batch.bundles import Bundle, open_bundles, sum_of
from swapdesk.flows.batch.group_payment import first_token, pay_group
from swapdesk.flows.batch.progress import (
    GroupStanding,
    Stopped,
    Until,
    group_standing,
    stopped_outcome,
)
from swapdesk.flows.batch.rows import Group
from swapdesk.flows.failure_messages import NO_JOURNAL, Failure
from swapdesk.flows.intents.intent import TokenFacts
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.ledger import State
from swapdesk.flows.notation import counted
from swapdesk.flows.signing.signing_session import (
    FlowStep,
    RunningSignings,
    SigningKind,
    SigningSession,
    line_of,
    open_keys,
)
from swapdesk.flows.transactions import Outcome, still_open
from swapdesk.wallet.accounts import Account
from swapdesk.wallet.protocol import WalletError

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk


_BUILD, _FUND, _SIGN, _SUBMIT, _PAID = range(5)


def _step_of(bundle: Bundle) -> int:
    """The step that goes on, or that it ended in."""
    if bundle.paid:
        return _PAID + 1
    if bundle.unsigned:
        return _SIGN
    if bundle.code == "REPLACED":
        return _BUILD
    return _PAID if bundle.accepted or bundle.code in ("FAILED", "WITHDRAWN") else _SUBMIT


class GroupRun(Struct):
    """``account`` is whom an earlier run paid from, empty for the first of the chain. ``until``:
    how far the run that goes on, or the last one, was asked to go."""

    group: Group
    account: str = ""
    until: Until = Until.BUILT


GroupSession = SigningSession[GroupRun]
"""Its token is what the review in hand pays with; before there is one, what the group sells
first."""


def standing_of(session: GroupSession) -> GroupStanding:
    """Raises JournalUnavailable."""
    return group_standing(session.journal, session.about.group)


def _pays(session: GroupSession) -> tuple[Decimal, str]:
    """What the group sells of its first token, and how many deposits are paid."""
    standing = standing_of(session)
    bundle, amounts = standing.bundle, standing.amounts
    deposits = len(bundle.deposits) if bundle is not None else standing.created
    return amounts[0][0] if amounts else Decimal(0), counted(deposits, "deposit")


def _steps(session: GroupSession) -> tuple[FlowStep, ...]:
    """From the journal. On Solana nothing is funded, and what is signed is sent."""
    standing = standing_of(session)
    names = (
        ("build", "sign and send", "paid")
        if standing.solana
        else ("build", "fund", "sign", "submit", "paid")
    )
    return line_of(session, names, _at(session, standing))


def _at(session: GroupSession, standing: GroupStanding) -> int:
    """The step that goes on."""
    bundle, turn = standing.bundle, session.turn
    if bundle is None:
        return _BUILD
    if standing.solana:
        return 3 if bundle.paid else int(bundle.code != "REPLACED")
    if bundle.unsigned and (turn is None or turn.funding):
        filled = {
            sum_of(act).contract
            for act in standing.fundings
            if act.state is not State.REFUSED and act.hash
        }
        lacking = any(need.contract not in filled for need in bundle.needs)
        return _FUND if lacking or session.transaction is not None else _SIGN
    return _step_of(bundle)


def _doing(session: GroupSession) -> str:
    if session.agreed is not None:
        return ""
    bundle = standing_of(session).bundle
    if bundle is None:
        return "The desk asks the service what is to be signed."
    if bundle.under_way:
        return "The desk asks the service what became of the bundle."
    if session.turn is None:
        return "The desk compares the bundle with the orders of the group."
    return ""


async def _work(desk: Desk, session: GroupSession) -> Outcome | None:
    """Up to ``until``. An outcome without a failure says that the group stands there."""
    try:
        return await _paid(desk, session)
    except JournalUnavailable:
        return still_open("NO_JOURNAL", NO_JOURNAL)
    except Stopped as error:
        failure = Failure(str(error), standing_of(session).whereabouts, error.next)
        return still_open(error.code, failure)
    except WalletError as error:
        return stopped_outcome(error, standing_of(session))


async def _paid(desk: Desk, session: GroupSession) -> Outcome | None:
    run = session.about

    async def begin(account: Account, keys: bool) -> None:
        session.wallet = account.name or account.address
        if keys:
            await open_keys(desk.wallet, account.address, session)

    return await pay_group(
        desk, run.group, run.account, run.until, begin=begin, look=session.look, watch=session
    )


GROUP = SigningKind[GroupRun](
    noun="bundle",
    promise="group",
    expired="ORDERS_EXPIRED",
    done="The deposits of the group are paid. The exchanges act next.",
    work=_work,
    pays=_pays,
    steps=_steps,
    doing=_doing,
    whereabouts=lambda session: standing_of(session).whereabouts,
    brief=lambda session: standing_of(session).brief,
    rank=2,
    goes_on=True,
)


def begin_group(running: RunningSignings, group_id: str, account: str = "") -> GroupSession:
    """The session of a group that was created, by its act; ``account`` as of :class:`GroupRun`.
    Raises Stopped, KeyError for no such group, and JournalUnavailable."""
    known = running.get(group_id)
    if known is not None:
        return known
    group = read_group(running.desk.journal.ledger, group_id)
    token = TokenFacts.of(first_token(running.desk, group))
    about = GroupRun(group, account)
    return running.begin(GROUP, group_id, about, token, notice="paid. Next: the exchanges pay out.")


def groups_left_open(running: RunningSignings) -> list[GroupSession]:
    """Sessions for groups of which something was signed and that nobody here works on. Raises
    Stopped and JournalUnavailable."""
    sessions = []
    journal = running.desk.journal
    for bundle in open_bundles(journal.ledger):
        group_id = str(bundle.operation.parent)
        if running.get(group_id) is not None:
            continue
        if group_standing(journal, read_group(journal.ledger, group_id)).begun:
            sessions.append(begin_group(running, group_id, bundle.account))
    return sessions
