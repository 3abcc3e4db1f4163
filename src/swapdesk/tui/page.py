"""The base of the pages of a running desk. From the session a page takes its header, which has the
state of the connection and the remaining API calls. It is updated once a second."""

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
"""Seconds since the last message from the service from which on the header is redrawn every second,
even if nothing but that age changed."""

Spends = Literal["quote", "exchange", "read"]
Answer = TypeVar("Answer")


class Page(DeskScreen):
    """A page of the running desk. A subclass sets ``NAME`` and, as ``SPENDS``, the kind of API
    calls that its keys make.

    The application tells the page in view what happened: it calls :meth:`on_tick` once a second,
    :meth:`session_changed` when the connection changed or the page came into view, and
    :meth:`orders_changed`, :meth:`swaps_changed` and :meth:`balances_changed`. A page that was out
    of view when balances changed is told when it comes back.
    """

    NAME: ClassVar[str] = ""
    AUTO_FOCUS: ClassVar[str | None] = "LineTable"
    SPENDS: ClassVar[Spends] = "quote"

    def __init__(self, session: Session, *, context: str = "", **place: Any) -> None:
        self.session = session
        self.context = context
        self._moves = session.moves
        self.fetching: set[str] = set()
        """The names of the groups of :meth:`fetch` whose answer has not arrived yet."""
        super().__init__(self.frame_now(), session.clock, **place)

    def verbs_here(self) -> tuple[Verb, ...]:
        """Returns the commands of this screen, without the commands for the sandbox if the desk is
        live, and without the commands that write if the desk only reads."""
        live, reads_only = self.session.live, self.reads_only
        return tuple(
            verb
            for verb in super().verbs_here()
            if not (verb.sandbox_only and live) and not (verb.writes and reads_only)
        )

    @property
    def controls(self) -> DeskControls:
        """The application, by which a page reaches the controllers."""
        return cast("DeskControls", self.app)

    @property
    def reads_only(self) -> bool:
        return self.session.settings.reads_only

    @property
    def desk(self) -> Desk:
        return self.session.desk

    @property
    def catalog(self) -> Catalog | None:
        """The catalogue of tokens, which can be searched from its cache before the desk is open;
        None until the cache is read."""
        return self.session.catalog

    @property
    def link(self) -> ConnectedDesk | None:
        return self.session.link

    def funds(self) -> Funds:
        """Returns where the funds of all orders are, according to the journal and to the open
        orders that the desk follows."""
        tracker = self.link.tracker if self.link and self.session.ready else None
        return funds_now(
            None if tracker is None else tracker.running(),
            self.desk.journal.orders if self.session.opened else None,
            0 if tracker is None else tracker.stranded_count,
            0 if tracker is None else self._looked_for(),
            0 if tracker is None else tracker.skipped,
        )

    def _looked_for(self) -> int:
        """Returns how many create requests there are of which it is still unknown whether they led
        to an order. It is 0 if the journal cannot be read."""
        from swapdesk.flows.creation.creates import open_creates

        try:
            creates = open_creates(self.desk.journal.ledger)
        except JournalUnavailable:
            return 0
        return sum(create.state is State.UNKNOWN for create in creates)

    def now(self) -> datetime:
        return self.session.now_clock.now()

    def service_time(self) -> datetime:
        """Returns the present time by the service's clock, which deadlines and states of orders
        use."""
        return self.session.service_clock.now()

    def notice_time(self) -> datetime:
        return self.now()

    @property
    def counting(self) -> bool:
        """True if the page shows a countdown. The header is then redrawn every second, too."""
        return False

    def on_tick(self) -> None:
        """Redraws what changes with time. It is called once a second while the page is in view."""

    def orders_changed(self, ids: frozenset[str]) -> None:
        """Is called on the page in view when orders changed; ``ids`` are their service ids. ``ids``
        is empty if the state of the order stream or a create request changed instead."""

    def swaps_changed(self) -> None:
        """Is called on the page in view when a swap that is being signed on its chains made a step,
        needs the user, or ended."""

    def balances_changed(self) -> None:
        """Is called when money of the user's own wallet moved, so that balances read earlier are
        outdated."""

    def see_moves(self) -> None:
        """Calls :meth:`balances_changed` if money of the user's own wallet moved since this page
        was last told."""
        if self._moves != self.session.moves:
            self._moves = self.session.moves
            self.balances_changed()

    def fills_wallet(self) -> None:
        """Records that this page may create and fill the wallet of the sandbox. Other pages then
        read their balances again when they come back into view, but this page is not told to. Does
        nothing on a live desk."""
        if not self.session.live:
            self.session.moves += 1
            self._moves += 1

    def tells_end_of(self, signing: SigningSession[Any]) -> bool:
        """Returns True if this page itself shows why ``signing`` failed, so that no notice is
        needed."""
        return False

    def show(self) -> None:
        """Draws everything that the page knows so far. A subclass overrides it."""

    def session_changed(self) -> None:
        """Is called when the desk opened, connected or failed to connect, and when this page came
        into view. By default it redraws the page."""
        self.show()

    def fetch(
        self,
        group: str,
        question: Awaitable[Answer],
        answered: Callable[[Answer], None],
        failed: Callable[[Any], None] | None = None,
        failures: tuple[type[Exception], ...] = (),
    ) -> None:
        """Awaits ``question`` in a worker and passes its result to ``answered``. A worker that
        still runs under the same ``group`` is cancelled. A ClientError, or an error of a type in
        ``failures``, is passed to ``failed``; if ``failed`` is None, a ClientError is shown as a
        notice."""
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
        """Is called when an unexpected error stopped the worker of ``group``. Redraws the page,
        since no answer will come."""
        self.fetching.discard(group)
        self.show()

    @on(TextField.Refused)
    def _refused(self, event: TextField.Refused) -> None:
        self.show_notice(event.value, "warning", about=self.subject())

    def subject(self) -> object:
        """Returns what notices of this page refer to now, such as a row. A notice is cleared when
        the subject changes. None means that notices have no subject."""
        return None

    def show_failure(self, error: ClientError, severity: str = "error") -> None:
        """Shows a notice with the cause of ``error`` in words, its code and the id of the failed
        request."""
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
        """Sets what a key that moves money would do now, and redraws the footer. If ``step``
        differs from the step before, such a key works only after the screen has not changed for 0.3
        s."""
        if step != self.guard.step:
            self.step_changed(step)
        else:
            self.refresh_keys()

    def refresh_frame(self, *, idle: bool = False) -> None:
        """Redraws the header with the present state of the connection and the remaining API calls.
        If ``idle`` is True, a header in which only ages changed is not redrawn."""
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
        """Returns ``state`` with the state of the wallet's lock in place of the remaining API
        calls: how long the keys stay unlocked, or ``shut`` if they are locked. Returns ``state``
        unchanged if the desk is not open yet."""
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
        """Shows ``question``, which the user confirms by typing a phrase. When it closes,
        ``answered`` is called in any case, and after it ``agreed`` if the phrase was typed."""
        from swapdesk.tui.widgets.overlay import TypedConfirm

        def typed(yes: bool | None) -> None:
            answered()
            if yes:
                agreed()

        self.app.push_screen(TypedConfirm(question), typed)

    def _nothing_open(self) -> bool:
        return self.link is None or self.link.tracker.open_count == 0


def budget_of(link: ConnectedDesk, spends: Spends) -> BudgetFigure | None:
    """Returns what the header shows about API calls of the kind ``spends``: the rate limit with the
    fewest calls left. If the service sends no rate limits, returns the number of calls that the
    desk made this hour; None if there were none."""
    budget = link.api.budget
    left = budget.left(spends)
    if left is None:
        used = budget.used_this_hour(spends)
        return BudgetFigure(f"{spends}s", used=used) if used else None
    return BudgetFigure(f"{spends}s", left.left, left.limit, age(left.resets_in), left.used)


def _thrifty(shown: FrameState, state: FrameState) -> FrameState:
    """Returns the header to draw on an idle screen. This is ``shown``, the present header, if the
    new ``state`` differs from it only in ages, and otherwise ``state``. A changed number of
    remaining read calls counts only when few are left, because the desk reads by itself all the
    time."""
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
"""The text for the next step on the money line if a payload waits for the user's signature."""


def signing_standing(signing: SigningSession[Any] | None) -> CommandState:
    if signing is None:
        return HIDDEN
    return READY if signing.waits else CommandState(verb=f"open {signing.kind.noun}")
