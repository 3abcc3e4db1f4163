"""A screen of the running desk: frame, badge and budget from the session, one tick a second."""

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
"""Seconds of age below which an idle desk does not redraw the badge."""

Spends = Literal["quote", "exchange", "read"]
Answer = TypeVar("Answer")


class Page(DeskScreen):
    """Subclasses name themselves and the budget that their keys spend.

    The application calls :meth:`on_tick` once a second, :meth:`orders_changed` and
    :meth:`session_changed` after such a change, all on the page in view only;
    :meth:`session_changed` also when a page opens or comes back into view. :meth:`balances_changed`
    is called once money of the own wallet moved, on a page out of view when it comes back.
    """

    NAME: ClassVar[str] = ""
    AUTO_FOCUS: ClassVar[str | None] = "LineTable"
    SPENDS: ClassVar[Spends] = "quote"

    def __init__(self, session: Session, *, context: str = "", **place: Any) -> None:
        self.session = session
        self.context = context
        self._moves = session.moves
        self.fetching: set[str] = set()
        """Groups of workers whose answer is waited for."""
        super().__init__(self.frame_now(), session.clock, **place)

    def verbs_here(self) -> tuple[Verb, ...]:
        """Without those that a live desk, or one that only reads, does not have."""
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
        """The tokens of the cache, which are there before the desk is open."""
        return self.session.catalog

    @property
    def link(self) -> ConnectedDesk | None:
        return self.session.link

    def funds(self) -> Funds:
        """Where the funds are, where no single order is spoken of."""
        tracker = self.link.tracker if self.link and self.session.ready else None
        return funds_now(
            None if tracker is None else tracker.running(),
            self.desk.journal.orders if self.session.opened else None,
            0 if tracker is None else tracker.stranded_count,
            0 if tracker is None else self._looked_for(),
            0 if tracker is None else tracker.skipped,
        )

    def _looked_for(self) -> int:
        """How many creates have an unknown outcome."""
        from swapdesk.flows.creation.creates import open_creates

        try:
            creates = open_creates(self.desk.journal.ledger)
        except JournalUnavailable:
            return 0
        return sum(create.state is State.UNKNOWN for create in creates)

    def now(self) -> datetime:
        """The desk's time."""
        return self.session.now_clock.now()

    def service_time(self) -> datetime:
        """The service's time, which orders go by."""
        return self.session.service_clock.now()

    def notice_time(self) -> datetime:
        return self.now()

    @property
    def counting(self) -> bool:
        """True while a countdown is on the screen, so that it is redrawn every second anyhow."""
        return False

    def on_tick(self) -> None:
        """Redraws what changes with time."""

    def orders_changed(self, ids: frozenset[str]) -> None:
        """Orders with these ids changed; an empty set stands for the state of the stream."""

    def swaps_changed(self) -> None:
        """A signing session moved on, asks something, or ended."""

    def balances_changed(self) -> None:
        """Money of the own wallet moved: a total that was read before is out of date."""

    def see_moves(self) -> None:
        """Calls :meth:`balances_changed` where money moved since it was called last."""
        if self._moves != self.session.moves:
            self._moves = self.session.moves
            self.balances_changed()

    def fills_wallet(self) -> None:
        """Call before the page has the wallet made and filled. It reads the balances itself
        afterwards; the pages behind it read theirs again."""
        if not self.session.live:
            self.session.moves += 1
            self._moves += 1

    def tells_end_of(self, signing: SigningSession[Any]) -> bool:
        """True if this page says by itself why a signing session failed."""
        return False

    def show(self) -> None:
        """Draws what is known now."""

    def session_changed(self) -> None:
        """The desk opened, connected or failed to, or this page opened or came back into view."""
        self.show()

    def fetch(
        self,
        group: str,
        question: Awaitable[Answer],
        answered: Callable[[Answer], None],
        failed: Callable[[Any], None] | None = None,
        failures: tuple[type[Exception], ...] = (),
    ) -> None:
        """Waits for the answer to ``question`` in a worker, in place of a question of the same
        group. ``answered`` is called with the answer, ``failed`` with the ClientError or one of
        ``failures``; without ``failed`` a notice shows the error."""
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
        """A worker of this group was stopped by a defect."""
        self.fetching.discard(group)
        self.show()

    @on(TextField.Refused)
    def _refused(self, event: TextField.Refused) -> None:
        self.show_notice(event.value, "warning", about=self.subject())

    def subject(self) -> object:
        """The present subject of notices."""
        return None

    def show_failure(self, error: ClientError, severity: str = "error") -> None:
        """Shows the cause in words, with code and request id."""
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
        """Names what the money key would do; another step than before waits for a still screen."""
        if step != self.guard.step:
            self.step_changed(step)
        else:
            self.refresh_keys()

    def refresh_frame(self, *, idle: bool = False) -> None:
        """Draws badge and budget; ``idle`` leaves ages as they are drawn."""
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
        """Shows in place of the budget whether keys are open, and for how long."""
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
        """Asks for the phrase of a question. ``agreed`` is called once it was typed; ``answered``
        before that, and also when the question was left."""
        from swapdesk.tui.widgets.overlay import TypedConfirm

        def typed(yes: bool | None) -> None:
            answered()
            if yes:
                agreed()

        self.app.push_screen(TypedConfirm(question), typed)

    def _nothing_open(self) -> bool:
        return self.link is None or self.link.tracker.open_count == 0


def budget_of(link: ConnectedDesk, spends: Spends) -> BudgetFigure | None:
    """The window that binds, as the frame shows it; the own count of this hour where the service
    tells no limits; None before anything was counted."""
    budget = link.api.budget
    left = budget.left(spends)
    if left is None:
        used = budget.used_this_hour(spends)
        return BudgetFigure(f"{spends}s", used=used) if used else None
    return BudgetFigure(f"{spends}s", left.left, left.limit, age(left.resets_in), left.used)


def _thrifty(shown: FrameState, state: FrameState) -> FrameState:
    """The new state with the ages that are drawn, as long as nothing else differs. The count of
    reads goes on by itself, so it is an age too, until few are left."""
    if state.stream != shown.stream or state.stream in (None, "resuming", "offline"):
        return state
    if (state.age or 0) >= RESET_SHOWN_FROM:
        return state
    budget, drawn = state.budget, shown.budget
    if budget is None or drawn is None:
        return shown if budget is drawn else state
    if budget.name == "reads" == drawn.name and not _scarce(budget) and not _scarce(drawn):
        return shown
    if (budget.left, budget.limit, budget.used) != (drawn.left, drawn.limit, drawn.used):
        return state
    return shown


def _scarce(budget: BudgetFigure) -> bool:
    return budget.limit is not None and budget.left * 5 < budget.limit


SHOWN_BY_KEY = "you: s shows what is to be signed"
"""Who acts next where something waits for a signature."""


def signing_standing(signing: SigningSession[Any] | None) -> CommandState:
    if signing is None:
        return HIDDEN
    return READY if signing.waits else CommandState(verb=f"open {signing.kind.noun}")
