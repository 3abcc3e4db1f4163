"""The base of the pages of a running desk. A page gets the header, the badge of the connection and
the budget of calls from the session, and is updated once a second."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, cast

from msgspec.structs import replace
from textual import on

from swapdesk.acts import State
from swapdesk.flows.deposits.funds_location import Funds, funds_now
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.notation import age
from swapdesk.tui.base_screen import DeskScreen
from swapdesk.tui.commands.command import HIDDEN, READY, CommandState, Verb
from swapdesk.tui.session import Session
from swapdesk.tui.widgets.frame import BudgetFigure, FrameState, World
from swapdesk.tui.widgets.text_field import TextField

if TYPE_CHECKING:
    from swapdesk.client.errors import ClientError
    from swapdesk.client.live import StreamState
    from swapdesk.flows.catalog.catalog import Catalog
    from swapdesk.flows.connected_desk import ConnectedDesk
    from swapdesk.flows.desk import Desk
    from swapdesk.flows.signing.signing_session import SigningSession
    from swapdesk.tui.controls import DeskControls
    from swapdesk.tui.widgets.overlay import Question


RESET_SHOWN_FROM = 15.0
"""Seconds since the last message from the service. From this age on the badge is redrawn even if
nothing but ages changed."""

Spends = Literal["quote", "exchange", "read"]
Answer = TypeVar("Answer")


class Page(DeskScreen):
    """A page of the running desk. A subclass gives its name and the budget that its keys spend.

    The application calls these methods on the page in view: :meth:`on_tick` once a second,
    :meth:`orders_changed`, and :meth:`session_changed` when the connection changed or the page came
    into view. :meth:`balances_changed` is called when money of the user's own wallet moved; for a
    page out of view, when it comes back.
    """

    NAME: ClassVar[str] = ""
    AUTO_FOCUS: ClassVar[str | None] = "LineTable"
    SPENDS: ClassVar[Spends] = "quote"

    def __init__(self, session: Session, *, context: str = "", **place: Any) -> None:
        self.session = session
        self.context = context
        self._moves = session.moves
        self.fetching: set[str] = set()
        """Groups of the workers that have not answered yet."""
        super().__init__(self.frame_now(), session.clock, **place)

    def verbs_here(self) -> tuple[Verb, ...]:
        """Returns the verbs of this screen, without those that a live or a read-only desk does not
        have."""
        live, reads_only = self.session.live, self.reads_only
        return tuple(
            verb
            for verb in super().verbs_here()
            if not (verb.sandbox_only and live) and not (verb.writes and reads_only)
        )

    @property
    def controls(self) -> DeskControls:
        """The application with its controllers."""
        return cast("DeskControls", self.app)

    @property
    def reads_only(self) -> bool:
        return self.session.settings.reads_only

    @property
    def desk(self) -> Desk:
        return self.session.desk

    @property
    def catalog(self) -> Catalog | None:
        """The tokens from the cache, which are known before the desk is open; None before they are
        read."""
        return self.session.catalog

    @property
    def link(self) -> ConnectedDesk | None:
        return self.session.link

    def funds(self) -> Funds:
        """Returns where the funds of all orders are, from the journal and the tracker."""
        tracker = self.link.tracker if self.link and self.session.ready else None
        return funds_now(
            None if tracker is None else tracker.running(),
            self.desk.journal.orders if self.session.opened else None,
            0 if tracker is None else tracker.stranded_count,
            0 if tracker is None else self._looked_for(),
            0 if tracker is None else tracker.skipped,
        )

    def _looked_for(self) -> int:
        """Returns the number of creates for which the desk still has to find out whether an order
        came of them; 0 if the journal cannot be read."""
        from swapdesk.flows.creation.creates import open_creates

        try:
            creates = open_creates(self.desk.journal.ledger)
        except JournalUnavailable:
            return 0
        return sum(create.state is State.UNKNOWN for create in creates)

    def now(self) -> datetime:
        return self.session.now_clock.now()

    def service_time(self) -> datetime:
        """Returns the service's time, which deadlines and states of orders follow."""
        return self.session.service_clock.now()

    def notice_time(self) -> datetime:
        return self.now()

    @property
    def counting(self) -> bool:
        """True if a countdown is on the screen, so that the page is redrawn every second anyway."""
        return False

    def on_tick(self) -> None:
        """Redraws what changes with time. Is called once a second."""

    def orders_changed(self, ids: frozenset[str]) -> None:
        """Called with the ids of changed orders. The set is empty if the state of the stream or a
        create changed."""

    def swaps_changed(self) -> None:
        """Called when the signing session of a swap on chains made a step, needs the user, or
        ended."""

    def balances_changed(self) -> None:
        """Called when money of the user's own wallet moved, so that totals read earlier are
        outdated."""

    def see_moves(self) -> None:
        """Calls :meth:`balances_changed` if money moved since the last such call."""
        if self._moves != self.session.moves:
            self._moves = self.session.moves
            self.balances_changed()

    def fills_wallet(self) -> None:
        """Records that this page may create and fill the wallet of the sandbox, so that the pages
        below it read their balances again. This page is expected to read them itself."""
        if not self.session.live:
            self.session.moves += 1
            self._moves += 1

    def tells_end_of(self, signing: SigningSession[Any]) -> bool:
        """Returns True if this page itself shows why ``signing`` failed."""
        return False

    def show(self) -> None:
        """Draws what is known."""

    def session_changed(self) -> None:
        """Called when the desk opened, connected or failed to, and when this page came into view.
        Draws what is known."""
        self.show()

    def fetch(
        self,
        group: str,
        question: Awaitable[Answer],
        answered: Callable[[Answer], None],
        failed: Callable[[Any], None] | None = None,
        failures: tuple[type[Exception], ...] = (),
    ) -> None:
        """Awaits ``question`` in a worker; a worker of the same ``group`` that still runs is
        cancelled. The answer is passed to ``answered``. A ClientError, or an error of a type in
        ``failures``, is passed to ``failed``, or shown as a notice if ``failed`` is None."""
        self.fetching.add(group)
        work = self._fetch_answer(group, question, answered, failed or self.show_failure, failures)
        self.run_worker(work, group=group, exclusive=True, exit_on_error=False)

    async def _fetch_answer(
        self,
        group: str,
        question: Awaitable[Answer],
        answered: Callable[[Answer], None],
        failed: Callable[[Any], None],
        failures: tuple[type[Exception], ...],
    ) -> None:
        from swapdesk.client.errors import ClientError

        expected: tuple[type[Exception], ...] = (ClientError, *failures)
        try:
            answer = await question
        except expected as error:
            self.call_later(self._hear, group, failed, error)
        else:
            self.call_later(self._hear, group, answered, answer)

    def _hear(self, group: str, hears: Callable[[Any], None], answer: object) -> None:
        self.fetching.discard(group)
        self.refresh_frame()
        hears(answer)

    def work_failed(self, group: str) -> None:
        """Called when a defect stopped a worker of this group."""
        self.fetching.discard(group)
        self.show()

    @on(TextField.Refused)
    def _refused(self, event: TextField.Refused) -> None:
        self.show_notice(event.value, "warning", about=self.subject())

    def subject(self) -> object:
        """Returns the present subject of this page's notices."""
        return None

    def show_failure(self, error: ClientError, severity: str = "error") -> None:
        """Shows the cause of an error in words, with its code and request id."""
        # What failures mean is imported once one is there: the first frame does not wait for it.
        from swapdesk.flows.tracking.announcements import code_and_request, failure_of_error

        self.show_notice(f"{failure_of_error(error).cause} {code_and_request(error)}", severity)

    def tick(self) -> None:
        if not self.is_mounted:
            # The second came between the screen being shown and its widgets being there.
            return
        self.refresh_frame(idle=not self.counting and self._nothing_open())
        self.on_tick()

    def on_screen_resume(self) -> None:
        self.refresh_frame()
        self.session_changed()
        self.see_moves()

    def step_is(self, step: str) -> None:
        """Sets what the money key would do now and redraws the keys. If ``step`` differs from the
        former one, the key works only after the screen has not changed for a moment."""
        if step != self.guard.step:
            self.step_changed(step)
        else:
            self.refresh_keys()

    def refresh_frame(self, *, idle: bool = False) -> None:
        """Redraws the badge and the budget in the header. With ``idle`` nothing is redrawn if only
        ages changed."""
        state = self.frame_now()
        self.set_frame(_thrifty(self.frame_state, state) if idle else state)

    def frame_now(self) -> FrameState:
        session = self.session
        link = session.link
        world: World = "LIVE" if session.live else "SANDBOX"
        if link is None:
            gone: StreamState | None = "offline" if session.reached else None
            return FrameState(self.NAME, world, self.context, stream=gone)
        tracker = link.tracker
        seconds = tracker.stream_age()
        return FrameState(
            self.NAME,
            world,
            self.context,
            link.connection.partner,
            None if link.connection.read_only else tracker.stream_state,
            int(seconds) if seconds < 1e9 else None,
            budget_of(link, self.SPENDS),
            session.settings.reads_only,
        )

    def with_lock(self, state: FrameState, shut: str = "locked") -> FrameState:
        """Returns ``state`` with the lock of the wallet in place of the budget: how long the keys
        stay unlocked, or ``shut`` if they are locked."""
        if not self.session.opened:
            return state
        seconds = self.desk.wallet.locks_in
        lock = shut if seconds is None else f"unlocked {age(seconds)} left"
        return replace(state, budget=None, lock=lock)

    def confirm(
        self,
        question: Question,
        agreed: Callable[[], object],
        answered: Callable[[], object] = lambda: None,
    ) -> None:
        """Asks a question that the user answers by typing a phrase. When the question closes,
        ``answered`` is called; if the phrase was typed, ``agreed`` is called after it."""
        from swapdesk.tui.widgets.overlay import TypedConfirm

        def typed(yes: bool | None) -> None:
            answered()
            if yes:
                agreed()

        self.app.push_screen(TypedConfirm(question), typed)

    def _nothing_open(self) -> bool:
        return self.link is None or self.link.tracker.open_count == 0


def budget_of(link: ConnectedDesk, spends: Spends) -> BudgetFigure | None:
    """Returns the figure to show for the calls that a page spends (``spends``): the rate limit with
    the fewest calls left. If the service sends no limits, returns the number of calls that the desk
    made this hour, or None if it made none."""
    budget = link.api.budget
    left = budget.left(spends)
    if left is None:
        used = budget.used_this_hour(spends)
        return BudgetFigure(f"{spends}s", used=used) if used else None
    return BudgetFigure(f"{spends}s", left.left, left.limit, age(left.resets_in), left.used)


def _thrifty(shown: FrameState, state: FrameState) -> FrameState:
    """Returns the header state to draw on an idle screen: the one already ``shown`` if ``state``
    differs only in ages, otherwise ``state``. The desk reads without any key, so a changed budget
    of reads does not count as a difference until few reads are left."""
    if state.stream != shown.stream or state.stream in (None, "resuming", "offline"):
        return state
    if (state.age or 0) >= RESET_SHOWN_FROM:
        return state
    now, before = state.budget, shown.budget
    if now is None or before is None:
        return shown if now is before else state
    if now.name == "reads" == before.name and not _scarce(now) and not _scarce(before):
        return shown
    return shown if replace(now, reset=before.reset) == before else state


def _scarce(budget: BudgetFigure) -> bool:
    return budget.limit is not None and budget.left * 5 < budget.limit


SHOWN_BY_KEY = "you: s shows what is to be signed"
"""The next step on the money line if something waits for a signature."""


def signing_standing(signing: SigningSession[Any] | None) -> CommandState:
    if signing is None:
        return HIDDEN
    return READY if signing.waits else CommandState(verb=f"open {signing.kind.noun}")
