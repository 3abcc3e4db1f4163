"""Groups of batches that this run of the desk pays: new ones, and those left open.

Each has a session that whoever shows it looks at; the work goes on without anybody looking, up
to the next question. How far it went is read from the journal and the wallet's records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from swapdesk.flows.batch.group_account import (
    NotSettled,
    first_token,
    group_account,
    settling_of,
)
from swapdesk.flows.batch.group_signing import GroupSigning, group_id
from swapdesk.flows.batch.standing import signs, standings
from swapdesk.flows.failure_messages import NO_JOURNAL, Failure
from swapdesk.flows.intents.intent import TokenFacts
from swapdesk.flows.journal.batch_records import JournaledGroup
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.signing.running_signings import RunningSignings
from swapdesk.flows.signing.signing_keys import open_keys
from swapdesk.flows.transactions.delivery import Pace
from swapdesk.flows.transactions.outcome import Outcome, still_open
from swapdesk.flows.wallet.wallet_words import failure_of_wallet
from swapdesk.wallet.errors import WalletError

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk


class RunningBundles(RunningSignings[GroupSigning]):
    """By batch and number of the group."""

    FAILURES = (WalletError, NotSettled, JournalUnavailable)

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
        chain. Raises NotSettled, KeyError for no such group, and JournalUnavailable."""
        known = self.get(batch_id, group)
        if known is not None:
            return known
        batch = self._desk.journal.batches.get(batch_id)
        found = batch.groups[group - 1] if batch and 0 < group <= len(batch.groups) else None
        if batch is None or found is None:
            raise KeyError(group_id(batch_id, group))
        return self._session(batch.id, found, account)

    def left_open(self) -> list[GroupSigning]:
        """Sessions for groups of which something was signed and that nobody here works on. Raises
        JournalUnavailable."""
        found = []
        for bundle in self._desk.journal.bundles.open():
            if self.get(bundle.batch_id, bundle.group) is not None:
                continue
            standing = standings(self._desk.journal, bundle.batch_id)[bundle.group - 1]
            if standing.begun:
                found.append(self._session(bundle.batch_id, standing.group, bundle.built.account))
        return found

    def _session(self, batch_id: str, group: JournaledGroup, account: str) -> GroupSigning:
        token = first_token(self._desk, group)
        link = self._desk.wallet.link(group.chain)
        id_ = group_id(batch_id, group.number)
        session = GroupSigning(
            batch_id,
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
        if not desk.journal.batches.adopt(session.batch_id):
            return None
        standing = session.standing
        account = await group_account(desk, standing, session.account)
        session.wallet = account.name or account.address
        if signs(standing, session.until):
            await open_keys(desk.wallet, account.address, session)
        settling = await settling_of(
            desk, standing, account, session.look, pace=self._pace, watch=session
        )
        return await settling.advance(session.until)

    def _failed(self, session: GroupSigning, error: Exception) -> Outcome:
        if isinstance(error, JournalUnavailable):
            return still_open("NO_JOURNAL", NO_JOURNAL)
        if isinstance(error, NotSettled):
            failure = Failure(str(error), session.whereabouts, error.next)
            return still_open(error.code, failure)
        assert isinstance(error, WalletError)
        told = failure_of_wallet(error)
        return still_open(told.code, Failure(told.cause, session.whereabouts, told.next))
