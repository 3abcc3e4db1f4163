"""Deposits that this run of the desk pays from the wallet: new ones, and those left open.

Each has a session that whoever shows it looks at; the work goes on without anybody looking, up
to the next question. What became of a payment is decided by the journal and the wallet's records.
"""

from __future__ import annotations

from swapdesk.flows.catalog.coin_price import coin_price
from swapdesk.flows.deposits.deposit_account import OTHER_DESK, lack_of
from swapdesk.flows.deposits.deposit_promise import kind_of
from swapdesk.flows.deposits.deposit_signing import DepositSigning
from swapdesk.flows.deposits.deposit_words import NOT_ENOUGH
from swapdesk.flows.deposits.wallet_funding import WalletFunding, not_paid, payment_open
from swapdesk.flows.dex.swap_account import NoSwapAccount, SwapAccount, find_account
from swapdesk.flows.failure_messages import NO_JOURNAL
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.signing.running_signings import RunningSignings
from swapdesk.flows.signing.signing_keys import open_keys
from swapdesk.flows.transactions.outcome import Outcome, refused
from swapdesk.flows.wallet.wallet_words import MISSING, failure_of_wallet
from swapdesk.wallet.accounts import Account
from swapdesk.wallet.errors import WalletError

_LACKING = frozenset({NOT_ENOUGH, MISSING})
"""Ends after which somebody else has to pay."""


class RunningDeposits(RunningSignings[DepositSigning]):
    """By the ids of their orders."""

    FAILURES = (WalletError, JournalUnavailable, NoSwapAccount)

    def begin(self, tracked: TrackedOrder) -> DepositSigning:
        """The session of a payment that was asked for, the one there is while it is not over;
        :meth:`run` does the work. ValueError for an order that was not confirmed here."""
        known = self.known(tracked.service_id)
        if known is not None and not known.over:
            known.asked = True
            return known
        return self._session(tracked, asked=True)

    def left_open(self) -> list[DepositSigning]:
        """Sessions for payments that the journal has open and nobody here works on. Raises
        JournalUnavailable."""
        found = []
        for call in self._desk.journal.calls.unresolved():
            if not call.by_wallet or call.service_id is None or self.known(call.service_id):
                continue
            tracked = self._desk.link.tracker.get(call.service_id)
            if tracked is not None and tracked.intent is not None:
                found.append(self._session(tracked, asked=False))
        return found

    def _session(self, tracked: TrackedOrder, *, asked: bool) -> DepositSigning:
        desk, service_id = self._desk, tracked.service_id
        chain = "" if tracked.intent is None else tracked.intent.token_in.chain
        node = desk.deposit_ways.node(tracked)
        session = DepositSigning(
            tracked,
            desk.clock,
            lambda: self._changed(service_id),
            asked=asked,
            faucet=desk.link.faucet is not None,
            coin=self._coin(chain),
            confirmations=node.confirmations if node is not None else 0,
        )
        return self._kept(session)

    async def _work(self, session: DepositSigning) -> Outcome | None:
        outcome = await self._paid(session)
        if outcome is not None:
            self._note_lack(session, outcome)
        return outcome

    def _note_lack(self, session: DepositSigning, outcome: Outcome) -> None:
        if outcome.refused and outcome.code in _LACKING:
            self._desk.deposit_ways.lacks(session.id, outcome.cause)

    async def _paid(self, session: DepositSigning) -> Outcome | None:
        desk = self._desk
        tracked = desk.link.tracker.get(session.id) or session.tracked
        session.tracked = tracked
        accounts = await desk.wallet.accounts()
        if accounts.read_only and not session.asked:
            return None
        begun = desk.journal.calls.payment_of(session.id) is not None
        if begun:
            found = next((one for one in accounts.accounts if one.kind is kind_of(tracked)), None)
            if found is None:
                return not_paid(NOT_ENOUGH, "This wallet has no account of the chain.")
            account = found
            session.account(account.name or account.address)
        else:
            looked = await self._looked_into(session, tracked)
            if isinstance(looked, Outcome):
                return looked
            account = looked
        funding = WalletFunding(
            await desk.wallet.client(),
            desk.journal,
            desk.clock,
            session.look,
            desk.link.tracker.get,
            watch=session,
        )
        if (paid := await funding.paid_before(tracked)) is not None:
            return paid
        if not await funding.kept(tracked):
            await open_keys(desk.wallet, account.address, session)
        price = coin_price(desk.catalog, session.intent.token_in.chain)
        return await funding.fund(tracked, account, price)

    async def _looked_into(
        self, session: DepositSigning, tracked: TrackedOrder
    ) -> Account | Outcome:
        """The account that pays, or what it lacks."""
        token = self._desk.catalog.token(session.intent.token_in.id)
        if token is None:
            return not_paid(NOT_ENOUGH, "The token of the order is not in the desk's list.")
        found: SwapAccount | None = None
        async for found in find_account(self._desk, token, token):
            session.account(found.name, filling=token.symbol if found.filling else "")
        assert found is not None  # it yields once, or raises
        if found.read_only:
            return not_paid("READ_ONLY", OTHER_DESK)
        lack = lack_of(found, tracked, session.coin)
        return found.account if lack is None else not_paid(NOT_ENOUGH, lack)

    def _failed(self, session: DepositSigning, error: Exception) -> Outcome:
        """The wallet did not answer, or said no before anything was signed."""
        if isinstance(error, JournalUnavailable):
            return refused("NO_JOURNAL", NO_JOURNAL)
        if not isinstance(error, WalletError):
            code, cause = NOT_ENOUGH, str(error)
        else:
            failure = failure_of_wallet(error)
            code, cause = failure.code, failure.cause
            if self._desk.deposit_ways.payment(session.id) is not None:
                return payment_open(code, cause)
        outcome = not_paid(code, cause)
        self._note_lack(session, outcome)
        return outcome
