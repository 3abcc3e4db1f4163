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
"""Seconds without a message from the service after which the header is redrawn every second."""

Spends = Literal["quote", "exchange", "read"]
Answer = TypeVar("Answer")


class Page(DeskScreen):
    """A page of the running desk. A subclass sets ``NAME`` and, in ``SPENDS``, the kind of API
    calls that its keys make."""

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
        """Returns the commands of this screen, except commands for the sandbox on a live desk and
        commands that write on a read-only desk."""
        live, reads_only = self.session.live, self.reads_only
        return tuple(
            verb
            for verb in super().verbs_here()
            if not (verb.sandbox_only and live) and not (verb.writes and reads_only)
        )

    @property
    def controls(self) -> DeskControls:
        return cast("DeskControls", self.app)

    @property
    def reads_only(self) -> bool:
        return self.session.settings.reads_only

    @property
    def desk(self) -> Desk:
        return self.session.desk

    @property
    def catalog(self) -> Catalog | None:
        """The catalogue of tokens, which can be searched before the desk is open; None until its
        cache is read."""
        return self.session.catalog

    @property
    def link(self) -> ConnectedDesk | None:
        return self.session.link

    def funds(self) -> Funds:
        """Returns where the funds of all orders are, according to the journal and the open
        orders."""
        tracker = self.link.tracker if self.link and self.session.ready else None
        return funds_now(
            None if tracker is None else tracker.running(),
            self.desk.journal.orders if self.session.opened else None,
            0 if tracker is None else tracker.stranded_count,
            0 if tracker is None else self._looked_for(),
            0 if tracker is None else tracker.skipped,
        )

    def _looked_for(self) -> int:
        """Returns how many create requests have an unknown result. It is 0 if the journal cannot be
        read."""
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
        return False

    def on_tick(self) -> None:
        """Redraws what changes with time. It is called once a second while the page is in view."""

    def orders_changed(self, ids: frozenset[str]) -> None:
        """Called on the page in view when the orders with the service ids ``ids`` changed. Empty
        ``ids`` mean that the order stream or a create request changed."""

    def swaps_changed(self) -> None:
        """Called on the page in view when a swap that is being signed made a step, needs the user,
        or ended."""

    def balances_changed(self) -> None:
        """Called when money of the user's own wallet moved, so that balances read earlier are
        outdated."""

    def see_moves(self) -> None:
        """Calls :meth:`balances_changed` if money of the user's own wallet moved since this page
        last checked."""
        if self._moves != self.session.moves:
            self._moves = self.session.moves
            self.balances_changed()

    def fills_wallet(self) -> None:
        """Records that this page may put money into the sandbox's wallet. Other pages then read
        their balances again."""
        if not self.session.live:
            self.session.moves += 1
            self._moves += 1

    def tells_end_of(self, signing: SigningSession[Any]) -> bool:
        """Returns True if this page itself shows why ``signing`` failed. No notice is shown
        then."""
        return False

    def show(self) -> None:
        """Draws everything that the page knows so far. A subclass overrides it."""

    def session_changed(self) -> None:
        """Called when the connection changed or this page came into view. Redraws the page by
        default."""
        self.show()

    def fetch(
        self,
        group: str,
        question: Awaitable[Answer],
        answered: Callable[[Answer], None],
        failed: Callable[[Any], None] | None = None,
        failures: tuple[type[Exception], ...] = (),
    ) -> None:
        """Awaits ``question`` in a worker and calls ``answered`` with its result, or ``failed``
        with a ClientError or an error in ``failures``. A new call cancels the worker of the same
        ``group``. Without ``failed``, a notice shows the error."""
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
        """Called when the worker of ``group`` stopped with an unexpected error. No answer will
        come."""
        self.fetching.discard(group)
        self.show()

    @on(TextField.Refused)
    def _refused(self, event: TextField.Refused) -> None:
        self.show_notice(event.value, "warning", about=self.subject())

    def subject(self) -> object:
        """Returns the present subject of this page's notices, such as a row, or None. When the
        subject changes, the notice is cleared."""
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
        """Sets ``step``, the present action of the key that moves money. If the action is new, the
        key does not work for 0.3 s."""
        if step != self.guard.step:
            self.step_changed(step)
        else:
            self.refresh_keys()

    def refresh_frame(self, *, idle: bool = False) -> None:
        """Redraws the header. If ``idle`` is True and only ages in the header changed, the old
        header stays."""
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
        """Returns ``state`` with the wallet's lock in place of the remaining API calls. The text
        says how long the wallet stays unlocked; for a locked wallet it is ``shut``."""
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
        """Shows ``question``, which the user confirms by typing a phrase. When the question is
        closed, calls ``answered`` and then, if the phrase was typed, ``agreed``."""
        from swapdesk.tui.widgets.overlay import TypedConfirm

        def typed(yes: bool | None) -> None:
            answered()
            if yes:
                agreed()

        self.app.push_screen(TypedConfirm(question), typed)

    def _nothing_open(self) -> bool:
        return self.link is None or self.link.tracker.open_count == 0


def budget_of(link: ConnectedDesk, spends: Spends) -> BudgetFigure | None:
    """Returns what the header shows about API calls of one kind: the rate limit with the fewest
    calls left or, without a limit, the number of calls this hour. None if there is nothing to
    show."""
    budget = link.api.budget
    left = budget.left(spends)
    if left is None:
        used = budget.used_this_hour(spends)
        return BudgetFigure(f"{spends}s", used=used) if used else None
    return BudgetFigure(f"{spends}s", left.left, left.limit, age(left.resets_in), left.used)


def _thrifty(shown: FrameState, state: FrameState) -> FrameState:
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
