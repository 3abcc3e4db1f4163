"""Groups of batches while their deposits are paid: new ones, and those left open.

The steps are build, fund, sign, submit, paid. How far a group went is read from the journal and
the wallet's records.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec.structs import replace

from swapdesk.clock import Clock
from swapdesk.flows.batch.batches import find_batch, read_group
from swapdesk.flows.batch.group_payment import (
    GroupWatch,
    Turn,
    first_token,
    group_account,
    payment_of_group,
)
from swapdesk.flows.batch.group_status import (
    GroupStanding,
    Stopped,
    Until,
    group_standing,
    signs,
)
from swapdesk.flows.batch.rows import Group
from swapdesk.flows.failure_messages import NO_JOURNAL, Failure
from swapdesk.flows.intents.intent import TokenFacts
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.ledger import State
from swapdesk.flows.journal.payments import Bundle, open_bundles, sum_of
from swapdesk.flows.signing.signing_session import (
    FlowStep,
    RunningSignings,
    SigningSession,
    open_keys,
)
from swapdesk.flows.transactions import Outcome, Pace, still_open
from swapdesk.flows.wallet.wallet_words import failure_of_wallet
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


class GroupSigning(SigningSession, GroupWatch):
    """``token`` is what the review in hand pays with; before there is one, what the group sells
    first. ``account`` is whom the trader named, empty for the first of the chain."""

    NOUN = "bundle"
    PROMISE = "group"
    EXPIRED = "ORDERS_EXPIRED"
    DONE = "The deposits of the group are paid. The exchanges act next."
    ENDS_FOR_GOOD = False

    def __init__(
        self,
        group: Group,
        token: TokenFacts,
        journal: Journal,
        clock: Clock,
        changed: Callable[[], None],
        *,
        account: str = "",
        coin: str = "",
        confirmations: int = 0,
    ) -> None:
        super().__init__(token, clock, changed, coin=coin, confirmations=confirmations)
        self.batch_id = str(group.act.parent)
        self.group = group
        self.account = account
        self.until = Until.BUILT
        """How far the run that goes on, or the last one, was asked to go."""
        self.turn: Turn | None = None
        self._first = token
        self._journal = journal

    @property
    def id(self) -> str:
        return group_id(self.batch_id, self.group.number)

    @property
    def standing(self) -> GroupStanding:
        """Raises JournalUnavailable."""
        return group_standing(self._journal, self.group)

    @property
    def rests(self) -> bool:
        """Whether it stands where it was asked to, and goes on at a key."""
        return self.outcome is not None and self.outcome.open and self.outcome.failure is None

    @property
    def amount(self) -> Decimal:
        """What the review in hand pays, else what the group sells of its first token."""
        if self.turn is not None:
            return self.turn.need.amount
        amounts = self.standing.amounts
        return amounts[0][0] if amounts else Decimal(0)

    @property
    def against(self) -> str:
        """Who is paid: so many deposits, or the own smart account."""
        if self.turn is not None and self.turn.funding:
            return "your smart account"
        bundle = self.standing.bundle
        deposits = len(bundle.deposits) if bundle is not None else self.standing.created
        count = self.turn.payees if self.turn is not None else deposits
        return f"{count} deposit{'' if count == 1 else 's'}"

    @property
    def place(self) -> tuple[int, int] | None:
        turn = self.turn
        return None if turn is None or turn.total < 2 else (turn.number, turn.total)

    @property
    def steps(self) -> tuple[FlowStep, ...]:
        """From the journal. On Solana nothing is funded, and what is signed is sent."""
        standing = self.standing
        names = (
            ("build", "sign and send", "paid")
            if standing.solana
            else ("build", "fund", "sign", "submit", "paid")
        )
        return self._line(names, self._at(standing))

    def _at(self, standing: GroupStanding) -> int:
        """The step that goes on."""
        bundle = standing.bundle
        if bundle is None:
            return _BUILD
        if standing.solana:
            return 3 if bundle.paid else int(bundle.code != "REPLACED")
        if bundle.unsigned and (self.turn is None or self.turn.funding):
            filled = {
                sum_of(act).contract
                for act in standing.fundings
                if act.state is not State.REFUSED and act.hash
            }
            lacking = any(need.contract not in filled for need in bundle.needs)
            return _FUND if lacking or self.transaction is not None else _SIGN
        return _step_of(bundle)

    @property
    def doing(self) -> str:
        sent = self.transaction
        if sent is not None:
            return self.following(sent)
        if self._agreed is not None:
            return "The wallet looks once more, and signs."
        bundle = self.standing.bundle
        if bundle is None:
            return "The desk asks the service what is to be signed."
        if bundle.under_way:
            return "The desk asks the service what became of the bundle."
        if self.turn is None:
            return "The desk compares the bundle with the orders of the group."
        return "The wallet reads the chain and looks at what is to be signed."

    @property
    def whereabouts(self) -> str:
        return self.standing.whereabouts

    @property
    def notice(self) -> str:
        return "paid. Next: the exchanges pay out."

    @property
    def brief(self) -> str | None:
        return self.standing.brief

    # What the work says

    def finish(self, outcome: Outcome) -> None:
        self.turn = None
        super().finish(outcome)

    def moved(self) -> None:
        self._changed()

    def turns_to(self, turn: Turn) -> None:
        need = turn.need
        self.turn = turn
        self._agreed = None
        self.token = replace(
            self._first, symbol=need.symbol, decimals=need.decimals, contract=need.contract
        )
        self._changed()


def group_id(batch_id: str, group: int) -> str:
    """``BATCH:1``."""
    return f"{batch_id}:{group}"


class RunningBundles(RunningSignings[GroupSigning]):
    """By batch and number of the group."""

    FAILURES = (WalletError, Stopped, JournalUnavailable)

    def __init__(
        self,
        desk: Desk,
        changed: Callable[[str], None],
        *,
        pace: Pace = Pace(),  # noqa: B008 - it is frozen
    ) -> None:
        super().__init__(desk, changed)
        self._pace = pace

    def get(self, batch_id: str, group: int) -> GroupSigning | None:
        return self.known(group_id(batch_id, group))

    def begin(self, batch_id: str, group: int, account: str = "") -> GroupSigning:
        """The session of a group that was created, the one there is where there is one;
        :meth:`run` does the work. ``account`` is a name or an address, empty for the first of the
        chain. Raises Stopped, KeyError for no such group, and JournalUnavailable."""
        known = self.get(batch_id, group)
        if known is not None:
            return known
        batch = find_batch(self._desk.journal.ledger, batch_id)
        found = batch.groups[group - 1] if batch and 0 < group <= len(batch.groups) else None
        if batch is None or found is None:
            raise KeyError(group_id(batch_id, group))
        return self._session(found, account)

    def left_open(self) -> list[GroupSigning]:
        """Sessions for groups of which something was signed and that nobody here works on. Raises
        JournalUnavailable."""
        found = []
        for bundle in open_bundles(self._desk.journal.ledger):
            act = self._desk.journal.ledger.get(str(bundle.operation.parent))
            if act is None or self.get(str(act.parent), act.body["number"]) is not None:
                continue
            standing = group_standing(
                self._desk.journal, read_group(self._desk.journal.ledger, act)
            )
            if standing.begun:
                found.append(self._session(standing.group, bundle.account))
        return found

    def _session(self, group: Group, account: str) -> GroupSigning:
        token = first_token(self._desk, group)
        link = self._desk.wallet.link(group.chain)
        id_ = group_id(str(group.act.parent), group.number)
        session = GroupSigning(
            group,
            TokenFacts.of(token),
            self._desk.journal,
            self._desk.clock,
            lambda: self._changed(id_),
            account=account,
            coin=self._coin(group.chain),
            confirmations=link.confirmations if link is not None else 0,
        )
        return self._kept(session)

    async def _work(self, session: GroupSigning) -> Outcome | None:
        """Up to ``session.until``. An outcome without a failure says that the group stands
        there."""
        desk = self._desk
        if not desk.journal.ledger.take_over(session.batch_id):
            return None
        standing = session.standing
        account = await group_account(desk, standing, session.account)
        session.wallet = account.name or account.address
        if signs(standing, session.until):
            await open_keys(desk.wallet, account.address, session)
        payment = await payment_of_group(
            desk, standing, account, session.look, pace=self._pace, watch=session
        )
        return await payment.advance(session.until)

    def _failed(self, session: GroupSigning, error: Exception) -> Outcome:
        if isinstance(error, JournalUnavailable):
            return still_open("NO_JOURNAL", NO_JOURNAL)
        if isinstance(error, Stopped):
            failure = Failure(str(error), session.whereabouts, error.next)
            return still_open(error.code, failure)
        assert isinstance(error, WalletError)
        told = failure_of_wallet(error)
        return still_open(told.code, Failure(told.cause, session.whereabouts, told.next))
