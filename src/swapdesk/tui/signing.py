"""What the running desk signs, swaps on chains, deposits, groups of a batch: it goes on whatever
is in view."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from textual import on
from textual.app import App

from swapdesk.tui.messages import (
    DepositEnded,
    GroupEnded,
    NotReplaced,
    SigningMoved,
    SwapFinished,
)
from swapdesk.tui.session import Session

if TYPE_CHECKING:
    from swapdesk.flows.batch.group_signing import GroupSigning
    from swapdesk.flows.batch.running_bundles import RunningBundles
    from swapdesk.flows.batch.standing import Until
    from swapdesk.flows.deposits.running_deposits import RunningDeposits
    from swapdesk.flows.dex.dex_plan import SwapPlan
    from swapdesk.flows.dex.running_swaps import RunningSwaps
    from swapdesk.flows.intents.intent import Intent
    from swapdesk.flows.orders.tracked_order import TrackedOrder
    from swapdesk.flows.signing.signing_session import SigningSession
    from swapdesk.flows.wallet.replacement import Replacement
    from swapdesk.wallet.transactions import TransactionState

log = logging.getLogger(__name__)


class Signing(App[int]):
    """The half of the application that keeps what is signed going; the wallet starts with the
    first."""

    session: Session
    _swaps: RunningSwaps | None = None
    _deposits: RunningDeposits | None = None
    _bundles: RunningBundles | None = None
    _sent: dict[str, tuple[str, TransactionState]] | None = None
    """The transaction that a session waits for, as it stood when the page was told of it last."""

    @property
    def swaps(self) -> RunningSwaps | None:
        """None as long as there was none."""
        return self._swaps

    @property
    def deposits(self) -> RunningDeposits | None:
        """None as long as there was none."""
        return self._deposits

    @property
    def bundles(self) -> RunningBundles | None:
        """None as long as there was none."""
        return self._bundles

    @property
    def signings(self) -> list[SigningSession]:
        """All that is not over, swaps first; a group that stands where a key left it is not under
        way."""
        swaps = self._swaps.open if self._swaps is not None else []
        deposits = self._deposits.open if self._deposits is not None else []
        groups = self._bundles.open if self._bundles is not None else []
        return [*swaps, *deposits, *(one for one in groups if not one.rests)]

    def _begun_swaps(self) -> RunningSwaps:
        from swapdesk.flows.dex.running_swaps import RunningSwaps

        if self._swaps is None:
            self._swaps = RunningSwaps(self.session.desk, self._moved)
        return self._swaps

    def _begun_deposits(self) -> RunningDeposits:
        from swapdesk.flows.deposits.running_deposits import RunningDeposits

        if self._deposits is None:
            self._deposits = RunningDeposits(self.session.desk, self._moved)
        return self._deposits

    def _begun_bundles(self) -> RunningBundles:
        from swapdesk.flows.batch.running_bundles import RunningBundles

        if self._bundles is None:
            self._bundles = RunningBundles(self.session.desk, self._moved)
        return self._bundles

    def _moved(self, id_: str) -> None:
        self.post_message(SigningMoved(id_))

    def pay_from_wallet(self, tracked: TrackedOrder) -> None:
        """Pay the deposit of an order that was confirmed here, and show what is to be signed;
        or show the payment that was begun."""
        signing = self._begun_deposits().begin(tracked)
        self.go_on_signing(signing)
        self.open_signing(signing)

    async def swap(self, intent: Intent, *, wallet: str, plan: SwapPlan | None) -> None:
        """Begin a swap that was confirmed, and show what is to be signed."""
        signing = self._begun_swaps().begin(intent, wallet=wallet, plan=plan)
        self.go_on_signing(signing)
        while len(self.screen_stack) > 1:
            await self.pop_screen()
        self.open_signing(signing)

    def pay_group(self, batch_id: str, group: int, until: Until) -> GroupSigning:
        """Go on with the payment of a group that was created; its session. Raises NotSettled and
        JournalUnavailable."""
        bundles = self._begun_bundles()
        signing = bundles.begin(batch_id, group)
        if not bundles.working(signing):
            signing.until = until
            self.go_on_signing(signing)
        return signing

    def go_on_signing(self, signing: SigningSession) -> None:
        self.run_worker(self._work(signing), group="swap", exit_on_error=False)

    async def _work(self, signing: SigningSession) -> None:
        from swapdesk.flows.batch.group_signing import GroupSigning
        from swapdesk.flows.deposits.deposit_signing import DepositSigning

        if await signing.run() is None:
            return
        if isinstance(signing, GroupSigning):
            self.post_message(GroupEnded(signing))
        elif isinstance(signing, DepositSigning):
            self.post_message(DepositEnded(signing))
        else:
            self.post_message(SwapFinished(signing.id))

    def bump_signing(self, signing: SigningSession) -> None:
        """Ask for more gas for what the session waits for; the session goes on meanwhile."""
        from swapdesk.flows.wallet.bumping import bumping

        desk = self.session.desk
        asked = self._replace(signing, bumping(desk.wallet, desk.clock))
        self.run_worker(asked, group="swap", exit_on_error=False)

    def cancel_signing(self, signing: SigningSession) -> None:
        """Ask for the cancellation of what the session waits for."""
        from swapdesk.flows.wallet.cancelling import cancelling

        desk = self.session.desk
        asked = self._replace(signing, cancelling(desk.wallet, desk.clock))
        self.run_worker(asked, group="swap", exit_on_error=False)

    async def _replace(self, signing: SigningSession, replacement: Replacement) -> None:
        from swapdesk.flows.dex.replacing import replace

        said = await replace(self.session.desk.wallet, replacement, signing)
        if said is not None:
            self.post_message(NotReplaced(signing, said))

    @on(NotReplaced)
    def _not_replaced(self, event: NotReplaced) -> None:
        from swapdesk.tui.screens.sign_facts import subject_of

        self.notify(f"{subject_of(event.signing)}: {event.said}", severity="warning")

    def open_signing(self, signing: SigningSession) -> None:
        from swapdesk.tui.screens.sign import SignScreen

        self.push_screen(SignScreen(self.session, signing))

    def take_on_signings(self) -> None:
        """Go on with what an earlier run left open, and with what stopped when the service or
        the wallet was gone."""
        from swapdesk.flows.journal.journal_file import JournalUnavailable
        from swapdesk.flows.signing.signing_session import Stage

        desk = self.session.desk
        if desk.link.connection.read_only:
            return
        try:
            if self._swaps is not None or desk.journal.swaps.open_swaps():
                self._begun_swaps().left_open()
            paying = any(one.by_wallet for one in desk.journal.calls.unresolved())
            if self._deposits is not None or paying:
                self._begun_deposits().left_open()
            if self._bundles is not None or desk.journal.bundles.open():
                self._take_on_groups()
        except JournalUnavailable as error:
            log.warning("what was being signed was not read: %s", error)
            return
        for one in self.signings:
            if one.stage in (Stage.WORKING, Stage.STOPPED):
                self.go_on_signing(one)

    def _take_on_groups(self) -> None:
        """What was signed and not submitted rests until its key is pressed; the rest goes on."""
        from swapdesk.flows.batch.group_account import NotSettled
        from swapdesk.flows.batch.standing import Until

        try:
            found = self._begun_bundles().left_open()
        except NotSettled as error:
            log.warning("a batch is not gone on with: %s", error)
            return
        for one in found:
            bundle = one.standing.bundle
            if bundle is not None and bundle.under_way:
                one.until = Until.SETTLED
            else:
                one.until = Until.SIGNED

    @on(SigningMoved)
    def _signing_moved(self, event: SigningMoved) -> None:
        if (link := self.session.link) is not None:
            link.tracker.look_at_payments()
            swap = self._swaps.known(event.signing_id) if self._swaps is not None else None
            if swap is not None and swap.order_id is not None:
                link.tracker.look_at_swap(swap.order_id)
        self._tell_page(event.signing_id)

    @on(SwapFinished)
    async def _swap_finished(self, event: SwapFinished) -> None:
        from swapdesk.tui.screens.sign import SignScreen
        from swapdesk.tui.screens.sign_facts import subject_of

        signing = self._swaps.known(event.intent_id) if self._swaps is not None else None
        if signing is None or signing.outcome is None:
            return
        order_id = signing.order_id
        link = self.session.link
        if order_id is not None and link is not None:
            link.tracker.adopt(order_id)
        outcome = signing.outcome
        shown = isinstance(self.screen, SignScreen) and self.screen.signing is signing
        if outcome.done:
            if shown and order_id is not None:
                await self._show_order(order_id)
            venue = signing.intent.provider_name or "the venue"
            self.notify(f"{subject_of(signing)} is signed and sent. Next: {venue} pays out.")
        elif not shown:
            self.notify(f"{subject_of(signing)}: {outcome.cause}", severity="warning")
        self._tell_page(event.intent_id, ended=True)

    @on(DepositEnded)
    async def _deposit_ended(self, event: DepositEnded) -> None:
        from swapdesk.tui.screens.sign import SignScreen
        from swapdesk.tui.screens.sign_facts import subject_of

        signing = event.signing
        shown = isinstance(self.screen, SignScreen) and self.screen.signing is signing
        failure = signing.outcome.failure if signing.outcome is not None else None
        if signing.outcome is not None and signing.outcome.done:
            if shown:
                await self.pop_screen()
            self.notify(f"{subject_of(signing)} is paid. Next: the venue counts confirmations.")
        elif failure is not None and not shown:
            self.notify(f"{subject_of(signing)}: {failure.cause}", severity="warning")
        page = getattr(self, "page", None)
        if page is not None:
            page.refresh_frame()
            page.orders_changed(frozenset({signing.id}))
        self._tell_page(signing.id, ended=True)

    @on(GroupEnded)
    async def _group_ended(self, event: GroupEnded) -> None:
        from swapdesk.tui.screens.sign import SignScreen
        from swapdesk.tui.screens.sign_facts import subject_of

        signing = event.signing
        shown = isinstance(self.screen, SignScreen) and self.screen.signing is signing
        failure = signing.outcome.failure if signing.outcome is not None else None
        if failure is None and shown:
            await self.pop_screen()
        page = getattr(self, "page", None)
        told = shown or (page is not None and page.tells_end_of(signing))
        if failure is not None and not told:
            self.notify(f"{subject_of(signing)}: {failure.cause}", severity="warning")
        if failure is None and signing.over:
            self.notify(f"{subject_of(signing)} paid. Next: the exchanges pay out.")
        if page is not None:
            page.refresh_frame()
        self._tell_page(signing.id, ended=True)

    def _tell_page(self, signing_id: str, *, ended: bool = False) -> None:
        """Tell the page in view that a session moved; where it ended or a transaction of it came
        further, so did money of the wallet."""
        found = (one.transaction for one in self.signings if one.id == signing_id)
        sent = next((one for one in found if one is not None), None)
        known = self._sent = self._sent or {}
        before = known.pop(signing_id, None)
        if sent is not None:
            known[signing_id] = (sent.hash, sent.state)
        if ended or before != known.get(signing_id):
            self.session.moves += 1
        page = getattr(self, "page", None)
        if page is not None and page.is_mounted:
            page.swaps_changed()
            page.see_moves()

    async def _show_order(self, service_id: str) -> None:
        from swapdesk.tui.screens.order import OrderScreen
        from swapdesk.tui.screens.swap import SwapScreen

        while len(self.screen_stack) > 1:
            await self.pop_screen()
        home = self.screen_stack[0]
        if isinstance(home, SwapScreen):
            home.finished()
        await self.push_screen(OrderScreen(self.session, service_id))
