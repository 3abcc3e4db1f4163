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
"""An idle desk redraws the badge from this age on, in seconds."""

Spends = Literal["quote", "exchange", "read"]
Answer = TypeVar("Answer")


class Page(DeskScreen):
    """Subclasses give their name and the budget that their keys spend.

    On the page in view the application calls :meth:`on_tick` once a second,
    :meth:`orders_changed`, and :meth:`session_changed` when the connection changed, and also when
    a page opens or comes back into view. :meth:`balances_changed` follows when money of the own
    wallet moved; a page out of view hears of it when it comes back.
    """

    NAME: ClassVar[str] = ""
    AUTO_FOCUS: ClassVar[str | None] = "LineTable"
    SPENDS: ClassVar[Spends] = "quote"

    def __init__(self, session: Session, *, context: str = "", **place: Any) -> None:
        self.session = session
        self.context = context
        self._moves = session.moves
        self.fetching: set[str] = set()
        """Groups of workers that have not answered yet."""
        super().__init__(self.frame_now(), session.clock, **place)

    def verbs_here(self) -> tuple[Verb, ...]:
        """Without those that a live or a read-only desk does not have."""
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
        """Where the funds are, over all orders."""
        tracker = self.link.tracker if self.link and self.session.ready else None
        return funds_now(
            None if tracker is None else tracker.running(),
            self.desk.journal.orders if self.session.opened else None,
            0 if tracker is None else tracker.stranded_count,
            0 if tracker is None else self._looked_for(),
            0 if tracker is None else tracker.skipped,
        )

    def _looked_for(self) -> int:
        """Number of creates of unknown outcome."""
        from swapdesk.flows.creation.creates import open_creates

        try:
            creates = open_creates(self.desk.journal.ledger)
        except JournalUnavailable:
            return 0
        return sum(create.state is State.UNKNOWN for create in creates)

    def now(self) -> datetime:
        return self.session.now_clock.now()

    def service_time(self) -> datetime:
        """The service's time, which deadlines and states of orders follow."""
        return self.session.service_clock.now()

    def notice_time(self) -> datetime:
        return self.now()

    @property
    def counting(self) -> bool:
        """True if a countdown is on the screen, which needs a redraw a second anyhow."""
        return False

    def on_tick(self) -> None:
        """Redraws what changes with time."""

    def orders_changed(self, ids: frozenset[str]) -> None:
        """Called with the ids of changed orders; an empty set is a change of the stream."""

    def swaps_changed(self) -> None:
        """A swap on chains made a step, asks something, or ended."""

    def balances_changed(self) -> None:
        """Money of the own wallet moved: totals read before are outdated."""

    def see_moves(self) -> None:
        """Calls :meth:`balances_changed` if money moved since it was called last."""
        if self._moves != self.session.moves:
            self._moves = self.session.moves
            self.balances_changed()

    def fills_wallet(self) -> None:
        """Marks that this page may create and fill the wallet: it reads the balances itself, and
        pages behind it read theirs again."""
        if not self.session.live:
            self.session.moves += 1
            self._moves += 1

    def tells_end_of(self, signing: SigningSession[Any]) -> bool:
        """True if this page itself says why ``signing`` failed."""
        return False

    def show(self) -> None:
        """Draws what is known."""

    def session_changed(self) -> None:
        """The desk opened, connected or failed to; or this page opened or came back into view."""
        self.show()

    def fetch(
        self,
        group: str,
        question: Awaitable[Answer],
        answered: Callable[[Answer], None],
        failed: Callable[[Any], None] | None = None,
        failures: tuple[type[Exception], ...] = (),
    ) -> None:
        """Awaits ``question`` in a worker, which replaces that of the same group. The answer goes
        to ``answered``; a ClientError to ``failed``, or into a notice."""
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
        """What notices of this page are about now."""
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
        """Says what the money key would do now. After another step the key waits for a still
        screen."""
        if step != self.guard.step:
            self.step_changed(step)
        else:
            self.refresh_keys()

    def refresh_frame(self, *, idle: bool = False) -> None:
        """Draws badge and budget; with ``idle`` not where only ages changed."""
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
        """``state`` with the lock of the keys in place of the budget, and its time left."""
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
        """Asks for the phrase of a question. ``answered`` is called in any case, then ``agreed``
        if the phrase was typed."""
        from swapdesk.tui.widgets.overlay import TypedConfirm

        def typed(yes: bool | None) -> None:
            answered()
            if yes:
                agreed()

        self.app.push_screen(TypedConfirm(question), typed)

    def _nothing_open(self) -> bool:
        return self.link is None or self.link.tracker.open_count == 0


def budget_of(link: ConnectedDesk, spends: Spends) -> BudgetFigure | None:
    """The rate limit with the fewest calls left; without limits of the service this hour's own
    count, None if that is zero."""
    budget = link.api.budget
    left = budget.left(spends)
    if left is None:
        used = budget.used_this_hour(spends)
        return BudgetFigure(f"{spends}s", used=used) if used else None
    return BudgetFigure(f"{spends}s", left.left, left.limit, age(left.resets_in), left.used)


def _thrifty(shown: FrameState, state: FrameState) -> FrameState:
    """``shown`` if ``state`` differs from it only in ages, else ``state``. The count of reads,
    which the desk makes by itself, is an age until few are left."""
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
"""Who acts next where something waits for a signature."""


def signing_standing(signing: SigningSession[Any] | None) -> CommandState:
    if signing is None:
        return HIDDEN
    return READY if signing.waits else CommandState(verb=f"open {signing.kind.noun}")
