"""Swaps on chains of the running desk: their work goes on whatever page is in view."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from textual import on
from textual.app import App

from swapdesk.tui.messages import SwapFinished, SwapMoved
from swapdesk.tui.session import Session

if TYPE_CHECKING:
    from swapdesk.flows.dex_plan import SwapPlan
    from swapdesk.flows.intent import Intent
    from swapdesk.flows.running_swaps import RunningSwaps
    from swapdesk.flows.signing_session import SigningSession

log = logging.getLogger(__name__)


class Signing(App[int]):
    """The half of the application that keeps swaps going; the wallet starts with the first."""

    session: Session
    _swaps: RunningSwaps | None = None

    @property
    def swaps(self) -> RunningSwaps | None:
        """None as long as there was none."""
        return self._swaps

    def _begun_swaps(self) -> RunningSwaps:
        from swapdesk.flows.running_swaps import RunningSwaps

        def moved(intent_id: str) -> None:
            self.post_message(SwapMoved(intent_id))

        if self._swaps is None:
            self._swaps = RunningSwaps(self.session.desk, moved)
        return self._swaps

    async def swap(self, intent: Intent, *, wallet: str, plan: SwapPlan | None) -> None:
        """Begin a swap that was confirmed, and show what is to be signed."""
        signing = self._begun_swaps().begin(intent, wallet=wallet, plan=plan)
        self.go_on_signing(signing)
        while len(self.screen_stack) > 1:
            await self.pop_screen()
        self.open_signing(signing)

    def go_on_signing(self, signing: SigningSession) -> None:
        self.run_worker(self._work(signing), group="swap", exit_on_error=False)

    async def _work(self, signing: SigningSession) -> None:
        outcome = await self._begun_swaps().run(signing)
        if outcome is not None:
            self.post_message(SwapFinished(signing.id))

    def open_signing(self, signing: SigningSession) -> None:
        from swapdesk.tui.screens.sign import SignScreen

        self.push_screen(SignScreen(self.session, signing))

    def take_on_swaps(self) -> None:
        """Go on with what an earlier run left open, and with what stopped when the service or
        the wallet was gone."""
        from swapdesk.flows.journal_file import JournalUnavailable
        from swapdesk.flows.signing_session import Stage

        desk = self.session.desk
        if desk.link.connection.read_only:
            return
        try:
            if self._swaps is None and not desk.journal.swaps.open_swaps():
                return
            swaps = self._begun_swaps()
            swaps.left_open()
        except JournalUnavailable as error:
            log.warning("open swaps were not read: %s", error)
            return
        for one in swaps.open:
            if one.stage in (Stage.WORKING, Stage.STOPPED):
                self.go_on_signing(one)

    @on(SwapMoved)
    def _swap_moved(self) -> None:
        page = getattr(self, "page", None)
        if page is not None and page.is_mounted:
            page.swaps_changed()

    @on(SwapFinished)
    async def _swap_finished(self, event: SwapFinished) -> None:
        from swapdesk.flows.dex_outcome import Swapped
        from swapdesk.tui.screens.sign import SignScreen
        from swapdesk.tui.screens.sign_facts import swap_words

        signing = self._swaps.get(event.intent_id) if self._swaps is not None else None
        if signing is None or signing.outcome is None:
            return
        order_id = signing.order_id
        link = self.session.link
        if order_id is not None and link is not None:
            link.tracker.adopt(order_id)
        outcome = signing.outcome
        shown = isinstance(self.screen, SignScreen) and self.screen.signing is signing
        if isinstance(outcome, Swapped):
            if shown:
                await self._show_order(outcome.order.service_id)
            venue = signing.intent.provider_name or "the venue"
            self.notify(f"{swap_words(signing)} is signed and sent. Next: {venue} pays out.")
        elif not shown:
            said = outcome.failure
            self.notify(f"{swap_words(signing)}: {said.cause}", severity="warning")
        page = getattr(self, "page", None)
        if page is not None:
            page.swaps_changed()

    async def _show_order(self, service_id: str) -> None:
        from swapdesk.tui.screens.order import OrderScreen
        from swapdesk.tui.screens.swap import SwapScreen

        while len(self.screen_stack) > 1:
            await self.pop_screen()
        home = self.screen_stack[0]
        if isinstance(home, SwapScreen):
            home.finished()
        await self.push_screen(OrderScreen(self.session, service_id))
