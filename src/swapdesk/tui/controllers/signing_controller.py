"""The controller of everything that this run signs: swaps on chains, deposits, payments of a batch,
revoked allowances and withdrawals."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from swapdesk.tui.controllers.navigation import Controller

if TYPE_CHECKING:
    from swapdesk.flows.batch.group_payment import GroupSession
    from swapdesk.flows.batch.progress import Until
    from swapdesk.flows.dex.dex_plan import SwapPlan
    from swapdesk.flows.intents.intent import Intent
    from swapdesk.flows.orders.tracked_order import TrackedOrder
    from swapdesk.flows.signing.signing_session import RunningSignings, SigningSession
    from swapdesk.flows.wallet.replacement import Replacement
    from swapdesk.tui.controllers.navigation import Navigation
    from swapdesk.wallet.accounts import Account, ChainLink
    from swapdesk.wallet.answers import Allowance, TransactionWord

log = logging.getLogger(__name__)


class SigningController(Controller):
    """Keeps signing sessions running. Each session leads one swap, deposit or similar action from
    its review to its confirmed transactions."""

    def __init__(self, navigation: Navigation) -> None:
        super().__init__(navigation)
        self._begun: RunningSignings | None = None
        self._sent: dict[str, tuple[str, TransactionWord]] = {}
        """Hash and state of each session's transaction as last told to the page, by session id."""

    @property
    def begun(self) -> bool:
        return self._begun is not None

    @property
    def open_sessions(self) -> list[SigningSession[Any]]:
        """The signing sessions that have not ended, swaps first. Sessions that do nothing until the
        user presses a key are left out."""
        if self._begun is None:
            return []
        return [session for session in self._begun.open if not session.rests]

    @property
    def open_counts(self) -> tuple[int, int]:
        """How many of :attr:`open_sessions` are swaps, and how many are payments for deposits or
        batches."""
        nouns = [session.kind.noun for session in self.open_sessions]
        return nouns.count("swap"), nouns.count("payment") + nouns.count("bundle")

    @property
    def running(self) -> RunningSignings:
        from swapdesk.flows.signing.signing_session import RunningSignings

        if self._begun is None:
            moved = partial(self._app.call_later, self.moved)
            self._begun = RunningSignings(self._session.desk, moved)
        return self._begun

    def revoke(self, account: Account, link: ChainLink, allowance: Allowance) -> None:
        """Begins to revoke ``allowance``, the right of a contract to spend tokens of ``account``.
        Opens the page where the user signs the transaction."""
        from swapdesk.flows.signing.wallet_signing import begin_revocation

        self._carry_out(begin_revocation(self.running, account, link, allowance))

    def withdraw(self, account: Account, link: ChainLink) -> None:
        """Begins to withdraw everything that the smart account of ``account`` holds, and opens the
        page where the user signs the transaction."""
        from swapdesk.flows.batch.withdrawing import begin_withdrawal

        self._carry_out(begin_withdrawal(self.running, account.address, link, account.name))

    def _carry_out(self, signing: SigningSession[Any]) -> None:
        self.go_on(signing)
        self.open(signing)

    def pay_from_wallet(self, tracked: TrackedOrder) -> None:
        """Begins or continues to pay the deposit of ``tracked`` from the wallet, and opens the page
        where the user signs the payment."""
        from swapdesk.flows.deposits.wallet_funding import begin_deposit

        self._carry_out(begin_deposit(self.running, tracked))

    async def swap(self, intent: Intent, *, wallet: str, plan: SwapPlan | None) -> None:
        """Begins the swap on chains that the user confirmed as ``intent``, and opens its page.
        ``wallet`` is the name of the signing account, or empty. ``plan`` has the steps of the swap;
        None if they are unknown."""
        from swapdesk.flows.dex.swap_signing import begin_swap

        signing = begin_swap(self.running, intent, wallet=wallet, plan=plan)
        self.go_on(signing)
        await self._navigation.home()
        self.open(signing)

    def pay_group(self, group_id: str, until: Until) -> GroupSession:
        """Returns the signing session that pays the orders with the journal id ``group_id``
        together, and continues it up to the stage ``until``. Raises KeyError for an unknown id and
        Stopped if the payment cannot continue. May raise JournalUnavailable."""
        from swapdesk.flows.batch.group_payment import begin_group

        signing = begin_group(self.running, group_id)
        if not self.running.working(signing):
            signing.about.until = until
            self.go_on(signing)
        return signing

    def go_on(self, signing: SigningSession[Any]) -> None:
        self._app.run_worker(self._work(signing), group="swap", exit_on_error=False)

    async def _work(self, signing: SigningSession[Any]) -> None:
        if await self.running.run(signing) is not None:
            self._app.call_later(self._ended, signing)

    def replace(self, signing: SigningSession[Any], *, cancels: bool) -> None:
        """Replaces the pending transaction of ``signing``: with more gas or, if ``cancels`` is
        True, by a transaction that moves nothing."""
        from swapdesk.flows.wallet.replacement import CANCELLATION, HIGHER_FEE, Replacement

        desk = self._session.desk
        kind = CANCELLATION if cancels else HIGHER_FEE
        replacement = Replacement(desk.wallet, desk.clock, kind)
        asked = self._replace(signing, replacement)
        self._app.run_worker(asked, group="swap", exit_on_error=False)

    async def _replace(self, signing: SigningSession[Any], replacement: Replacement) -> None:
        from swapdesk.flows.signing.signing_session import replace

        problem = await replace(replacement, signing)
        if problem is not None:
            self._app.call_later(self._not_replaced, signing, problem)

    def _not_replaced(self, signing: SigningSession[Any], problem: str) -> None:
        from swapdesk.tui.screens.sign import subject_of

        self._app.notify(f"{subject_of(signing)}: {problem}", severity="warning")

    def open(self, signing: SigningSession[Any]) -> None:
        from swapdesk.tui.screens.sign import SignScreen

        self._app.push_screen(SignScreen(self._session, signing))

    def take_on(self) -> None:
        """Continues signing sessions that an earlier run left open, or that stopped because the
        service or the wallet could not be reached."""
        from swapdesk.flows.batch.bundles import open_bundles, open_withdrawals
        from swapdesk.flows.creation.creates import open_swaps
        from swapdesk.flows.journal.journal_file import JournalUnavailable
        from swapdesk.flows.payments import unanswered
        from swapdesk.flows.signing.signing_session import Stage

        journal = self._session.desk.journal
        if self._session.settings.reads_only:
            return
        try:
            if open_swaps(journal.ledger):
                from swapdesk.flows.dex.swap_signing import swaps_left_open

                swaps_left_open(self.running)
            if any(act.body.get("by") == "wallet" for act in unanswered(journal.ledger)):
                from swapdesk.flows.deposits.wallet_funding import deposits_left_open

                deposits_left_open(self.running)
            if open_withdrawals(journal.ledger):
                from swapdesk.flows.batch.withdrawing import withdrawals_left_open

                withdrawals_left_open(self.running)
            if open_bundles(journal.ledger):
                self._take_on_groups()
        except JournalUnavailable as error:
            log.warning("what was being signed was not read: %s", error)
            return
        for session in self.open_sessions:
            if session.stage in (Stage.WORKING, Stage.STOPPED):
                self.go_on(session)

    def _take_on_groups(self) -> None:
        """Continues payments for batches that an earlier run left open. A signed payment that was
        not sent stays unsent until the user presses the key that submits it."""
        from swapdesk.flows.batch.group_payment import groups_left_open, standing_of
        from swapdesk.flows.batch.progress import Stopped, Until

        try:
            sessions = groups_left_open(self.running)
        except Stopped as error:
            log.warning("a batch is not gone on with: %s", error)
            return
        for session in sessions:
            bundle = standing_of(session).bundle
            under_way = bundle is not None and bundle.under_way
            session.about.until = Until.SETTLED if under_way else Until.SIGNED

    def moved(self, signing_id: str) -> None:
        """Updates the page in view after a step, a new review or a new confirmation of the signing
        session ``signing_id``."""
        if (link := self._session.link) is not None:
            link.tracker.look_at_payments()
            signing = self.running.get(signing_id)
            if signing is not None and signing.kind.shows_order and signing.order_id is not None:
                link.tracker.look_at_swap(signing.order_id)
        self._tell_page(signing_id)

    async def _ended(self, signing: SigningSession[Any]) -> None:
        from swapdesk.tui.screens.order import OrderScreen
        from swapdesk.tui.screens.sign import SignScreen, subject_of

        link, screen = self._session.link, self._app.screen
        outcome, order_id = signing.outcome, signing.order_id
        if outcome is None:
            return
        shows_order = order_id if signing.kind.shows_order else None
        if shows_order is not None and link is not None:
            link.tracker.adopt(shows_order)
        shown = isinstance(screen, SignScreen) and screen.signing is signing
        if shown and outcome.failure is None:
            if shows_order is not None:
                await self._navigation.finish_with(OrderScreen(self._session, shows_order))
            else:
                await self._navigation.back()
        page = self._navigation.page
        announced = shown or (page is not None and page.tells_end_of(signing))
        if outcome.failure is not None and not announced:
            self._app.notify(f"{subject_of(signing)}: {outcome.cause}", severity="warning")
        if outcome.done:
            self._app.notify(f"{subject_of(signing)} {signing.notice}")
        if order_id is not None:
            self._navigation.tell_orders(frozenset({order_id}))
        self._tell_page(signing.id, ended=True)

    def _tell_page(self, signing_id: str, *, ended: bool = False) -> None:
        transactions = (
            session.transaction for session in self.open_sessions if session.id == signing_id
        )
        sent = next((transaction for transaction in transactions if transaction is not None), None)
        reported = self._sent
        before = reported.pop(signing_id, None)
        if sent is not None:
            reported[signing_id] = (sent.hash, sent.word)
        if ended or before != reported.get(signing_id):
            self._session.moves += 1
        page = self._navigation.page
        if page is not None and page.is_mounted:
            page.refresh_frame()
            page.swaps_changed()
            page.see_moves()
