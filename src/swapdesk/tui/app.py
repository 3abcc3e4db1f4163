"""The desk as a terminal application: it owns the connection, the tick of once a second, and the
controllers, which do work that outlives a page."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from msgspec import Struct
from textual import on
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.events import Event, Paste
from textual.events import Key as KeyPressed
from textual.screen import Screen
from textual.worker import Worker, WorkerState

from swapdesk.background import Defect
from swapdesk.clock import Clock
from swapdesk.config_file import keep_theme
from swapdesk.tui.base_screen import DeskScreen
from swapdesk.tui.commands import all_commands, everywhere_commands
from swapdesk.tui.commands.keymap import checked_keymap
from swapdesk.tui.controllers.create_controller import BatchController, CreateController
from swapdesk.tui.controllers.navigation import Navigation, PrivacyMode
from swapdesk.tui.controllers.order_follower import EndBell, OrderFollower, terminal_notice
from swapdesk.tui.controllers.signing_controller import SigningController
from swapdesk.tui.glyphs import wanted_set
from swapdesk.tui.keys_in_turn import KeyQueue, KeyTaken
from swapdesk.tui.screens.swap import SwapScreen
from swapdesk.tui.session import PAGES, PLAYED, Session, StartSandbox, load
from swapdesk.tui.terminal import SafeApp

if TYPE_CHECKING:
    import httpx2

    from swapdesk.flows.demo.demonstration import DemoChoice
    from swapdesk.flows.wallet.call_payments import NewPayee
    from swapdesk.settings import Settings
    from swapdesk.toml_document import ConfigProblem
    from swapdesk.tui.widgets.frame import Caption


log = logging.getLogger(__name__)

TICK_SECONDS = 1.0
AGAIN_SECONDS = 10.0
"""Number of seconds after the warning about quitting in which a second ``q`` leaves the desk."""


QUITS = "q quits."


def brief_warning(warning: str) -> str:
    """Returns a short form of ``warning`` for narrow screens: its first sentence, cut before the
    word "and", followed by ``q quits.``"""
    first, dot, _ = warning.partition(".")
    return f"{first.partition(' and ')[0]}{dot} {QUITS}"


class LeavingGuard:
    """Decides whether the key ``q`` may leave the desk. If there is a warning, the first ``q``
    shows it. A second ``q`` within :data:`AGAIN_SECONDS` leaves the desk."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._told: tuple[str, float] | None = None

    def refusal(self, warning: str | None) -> str | None:
        """Returns the warning to show instead of leaving, or None if the desk may be left."""
        now = self._clock.monotonic()
        told, self._told = self._told, (warning, now) if warning is not None else None
        if warning is None:
            return None
        if told is not None and told[0] == warning and now - told[1] <= AGAIN_SECONDS:
            return None
        return warning


ASIDE_SECONDS = 10.0
WHOLE_SECONDS = 600.0
PAUSE_SECONDS = 30.0
MIDDLE = 3
"""Collections of the youngest garbage generation before the middle one is collected too. A higher
number causes visible pauses."""
_NEVER = 1_000_000
"""So many collections that Python never collects the oldest generation by itself."""


class GarbageRounds(Struct):
    """Runs Python's garbage collection at moments when no key has to wait for it."""

    clock: Clock
    _aside: float = 0.0
    _whole: float = 0.0
    _key: float = 0.0
    _usual: tuple[int, int, int] | None = None

    def begin(self) -> None:
        self._aside = self._whole = self._key = self.clock.monotonic()
        self._usual = gc.get_threshold()
        young, _, _ = self._usual
        gc.set_threshold(young, MIDDLE, _NEVER)

    def end(self) -> None:
        """Restores the garbage collection thresholds that the process had before :meth:`begin`."""
        if self._usual is not None:
            gc.set_threshold(*self._usual)
            gc.unfreeze()
            self._usual = None

    def key(self) -> None:
        self._key = self.clock.monotonic()

    def tick(self) -> None:
        now = self.clock.monotonic()
        if now - self._whole >= WHOLE_SECONDS and now - self._key >= PAUSE_SECONDS:
            self._whole = self._aside = now
            gc.unfreeze()
            gc.collect()
            gc.freeze()
        elif now - self._aside >= ASIDE_SECONDS:
            self._aside = now
            gc.collect(1)
            gc.freeze()
        else:
            # Where new orders take the place of old ones the interpreter counts nothing new and
            # lets the young ones become tens of thousands; walked every second they are few.
            gc.collect(1)


class TapePlayer(Protocol):
    """The player of a tape (a text file that lists keys to press), as the application sees it."""

    def attach(self, app: DeskApp) -> Mapping[str, Any]:
        """Connects the player to ``app``. Returns the keyword arguments for ``app.run``."""

    def keeps(self, event: KeyPressed | Paste) -> bool:
        """Returns True if ``event`` is a key or paste of the user that the desk must not get."""


class DeskApp(SafeApp[int]):
    """The desk as a Textual application. ``start_sandbox`` is called after the first frame if the
    profile is the sandbox."""

    CSS_PATH = "styles/desk.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "help_quit", "how to leave", show=False, priority=True),
    ]

    def __init__(
        self,
        settings: Settings,
        start_sandbox: StartSandbox | None,
        *,
        clock: Clock | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        driver_class: type[Driver] | None = None,
    ) -> None:
        super().__init__(
            theme=settings.theme.value,
            user_themes=settings.home.themes,
            glyph_set=wanted_set(settings.glyphs.value),
            driver_class=driver_class,
        )
        self.session = Session(settings, start_sandbox, clock=clock, transport=transport)
        self.session.background.on_defect = self._tell_defect
        self.session.on_notice = self.notify
        self.session.on_new_payee = self._agree_to_payee
        self.keys = KeyQueue(self, self.session.clock, super().on_event)
        self.navigation = Navigation(self, self.session, SwapScreen(self.session))
        self.privacy = PrivacyMode(self, self.session)
        ends = EndBell(settings.notify.value, self._tell_terminal)
        self.orders = OrderFollower(self.navigation, ends)
        self.creates = CreateController(self.navigation)
        self.signing = SigningController(self.navigation)
        self.batches = BatchController(self.navigation)
        self.player: TapePlayer | None = None
        """The player of the tape; None if no tape plays."""
        self.caption: Caption | None = None
        self._leaving = LeavingGuard(self.session.clock)
        self._garbage = GarbageRounds(self.session.clock)
        self._key_problems = self._take_keymap()
        self._begun = False
        self._clock_told = False
        self.next_profile: str | None = None
        """The profile to open after this desk; None to end the program."""
        self.demo: DemoChoice | None = None
        """The demonstration to open as soon as the desk is connected; None if there is none to
        open."""

    def get_default_screen(self) -> Screen[Any]:
        return self.navigation.first

    # the connection

    def on_mount(self) -> None:
        self._garbage.begin()
        self.set_interval(TICK_SECONDS, self.tick)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        if not self._begun:
            self.start()

    def start(self) -> None:
        """Starts the task that connects the desk and keeps it connected."""
        self._begun = True
        connected = self.session.background.keep("the connection", self._keep_connected)
        self.run_worker(connected, group="session", exclusive=True, exit_on_error=False)

    async def on_unmount(self) -> None:
        self._garbage.end()
        await self.session.close()

    async def _keep_connected(self) -> None:
        session = self.session
        while await session.begin(partial(self.call_later, self._start_moved)):
            self.call_later(self._connected)
            await load(PAGES, session.rest)
            if session.live:
                return
            await session.sandbox_gone()
            log.warning("the sandbox is gone; it is started again")

    def _start_moved(self) -> None:
        if self.session.refused is not None:
            self.exit()
            return
        if (page := self.navigation.page) is not None:
            page.refresh_frame()
            page.session_changed()

    def _connected(self) -> None:
        self.orders.follow(self.session.desk.link)
        self.signing.take_on()
        self.tell_problems(self._start_problems())
        if self.demo is not None:
            self.navigation.open_demo(self.demo)
            self.demo = None

    def _take_keymap(self) -> list[ConfigProblem]:
        settings = self.session.settings
        keymap, problems = checked_keymap(settings.keys, all_commands(), settings.key_problem)
        self.use_keymap(keymap)
        return problems

    def _start_problems(self) -> list[ConfigProblem | str]:
        session, settings = self.session, self.session.settings
        misnamed = settings.misnamed_theme(self.theme_names)
        said: list[ConfigProblem | str] = [
            *settings.problems,
            *self._key_problems,
            *([misnamed] if misnamed is not None else []),
            *self.palette_problems,
            *session.desk.book.problems,
        ]
        for problem in (session.desk.journal.problem, session.desk.catalog.gap):
            if problem:
                said.append(problem)
        return said

    def choose_theme(self, name: str) -> str:
        """Draws the desk in the theme ``name`` and saves the choice. Returns a notice, which says
        if the configuration file could not be written."""
        said = super().choose_theme(name)
        settings = self.session.settings
        try:
            keep_theme(settings.home.config_file, name, settings.profile.value)
        except OSError as error:
            self.notices.add(None, "warning", str(error.strerror or error))
            return f"Theme {name}, until you quit: config.toml cannot be changed."
        return f"{said} It is kept in config.toml."

    async def on_event(self, event: Event) -> None:
        if isinstance(event, KeyPressed):
            self._garbage.key()
            self.session.rest.key()
        if (
            isinstance(event, KeyPressed | Paste)
            and self.player is not None
            and self.player.keeps(event)
        ):
            return
        if isinstance(event, KeyPressed | Paste) and self.screen_stack:
            await self.keys.take(event)
        else:
            await super().on_event(event)

    def tick(self) -> None:
        """Updates everything on the page in view that depends on the time. Textual calls it once a
        second."""
        self._begin()
        if self.palettes_changed():
            self.reload_palettes()
            self.tell_problems(self.palette_problems)
        if (link := self.session.link) is not None:
            # Another desk, or a command, may pay the same orders.
            link.tracker.look_at_payments()
            self._tell_clock(link.clock_problem())
        if (page := self.navigation.page) is not None:
            page.tick()
        self._garbage.tick()

    def _tell_defect(self, defect: Defect) -> None:
        self.notify(str(defect), severity="error")

    async def _agree_to_payee(self, asked: NewPayee) -> bool:
        from swapdesk.tui.widgets.overlay import Question, TypedConfirm

        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        def typed(agreed: bool | None) -> None:
            if not answer.done():
                answer.set_result(agreed is True)

        title = "Calls would be paid to somebody new"
        self.push_screen(TypedConfirm(Question(title, asked.lines, asked.phrase, "agree")), typed)
        return await answer

    def _tell_clock(self, problem: str | None) -> None:
        if problem is not None and not self._clock_told:
            self.notify(problem, severity="warning")
        self._clock_told = problem is not None

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Shows a notice if a background worker stopped by an unexpected error."""
        if event.state is not WorkerState.ERROR:
            return
        error = event.worker.error
        log.error("worker %s failed", event.worker.group, exc_info=error)
        self.notify(
            f"A defect stopped the {event.worker.group} work: {type(error).__name__}.",
            severity="error",
        )
        if (page := self.navigation.page) is not None:
            page.work_failed(event.worker.group)

    # a tape

    def show_caption(self, caption: Caption | None) -> None:
        self.caption = caption
        for screen in self.screen_stack:
            if isinstance(screen, DeskScreen):
                screen.refresh_caption()

    def copy_value(self, label: str, value: str) -> str:
        if self.session.played:
            self.notify(PLAYED, severity="warning")
            return PLAYED
        return super().copy_value(label, value)

    def copy_to_clipboard(self, text: str) -> None:
        if not self.session.played:
            super().copy_to_clipboard(text)

    # verbs of everywhere

    @on(DeskScreen.Go)
    async def _go(self, event: DeskScreen.Go) -> None:
        # A screen may have a verb of everywhere under its own words: the name is the same.
        named = {verb.id: verb for verb in everywhere_commands()}
        verb = named.get(event.verb.id)
        if verb is None:
            return
        if verb.opens:
            self.navigation.open(verb)
            return
        done = getattr(self, verb.method)()
        if done is not None:
            await done

    async def do_new_swap(self) -> None:
        (await self.navigation.home()).begin(private=False)

    async def do_private_send(self) -> None:
        (await self.navigation.home()).begin(private=True)

    async def do_back(self) -> None:
        await self.navigation.back()

    def do_hide_amounts(self) -> None:
        self.privacy.toggle_amounts()

    def do_release_mouse(self) -> None:
        self.privacy.toggle_mouse()

    def do_quit(self) -> None:
        self.leave()

    @property
    def other_profiles(self) -> list[str]:
        settings = self.session.settings
        return [name for name in settings.profiles if name != settings.profile.value]

    def leave(self, profile: str | None = None) -> None:
        """Leaves the desk, or shows a warning if something is still open. ``profile`` is opened
        afterwards; None ends the program."""
        refusal = self._leaving.refusal(self._open_business())
        if refusal is None:
            self.next_profile = profile
            self.exit(0)
        else:
            self._warn_leaving(refusal)

    @on(KeyTaken)
    async def _key_taken(self, event: KeyTaken) -> None:
        await self.keys.key_taken(event)

    # the terminal

    def on_app_focus(self) -> None:
        self.orders.ends.focused = True

    def on_app_blur(self) -> None:
        self.orders.ends.focused = False

    def _tell_terminal(self, text: str) -> None:
        if self._driver is not None:
            self._driver.write(terminal_notice(text))

    # leaving

    def _warn_leaving(self, warning: str) -> None:
        if isinstance(self.screen, DeskScreen):
            self.screen.show_notice(warning, "warning", short=brief_warning(warning))
        else:
            self.notify(warning, severity="warning")

    def _open_business(self) -> str | None:
        link = self.session.link
        if link is None:
            return None
        from swapdesk.flows.tracking.open_business import quit_warning

        now = self.session.service_clock.now()
        creating = self.creates.creating is not None or self.batches.creating
        swaps, payments = self.signing.open_counts
        return quit_warning(
            link.tracker.running(), now, creating=creating, signing=swaps, paying=payments
        )


def run_desk(
    settings: Settings,
    start_sandbox: StartSandbox | None,
    player: TapePlayer | None = None,
    *,
    demo: DemoChoice | None = None,
) -> int | str:
    """Runs the desk until the user leaves it. Returns the exit code, or the name of the profile to
    open next. Raises JournalRefused, after the terminal is restored, if the journal must not be
    used."""
    app = DeskApp(settings, start_sandbox)
    app.demo = demo
    result = app.run() if player is None else app.run(**player.attach(app))
    if app.session.refused is not None:
        raise app.session.refused
    if app.next_profile is not None:
        return app.next_profile
    return (app.return_code or 0) if result is None else result
