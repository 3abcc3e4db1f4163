"""The base of every screen of the desk. Rows from the top: frame, frame rule, body (with an
optional side panel), bottom rule or notice, money line (where the funds are and who acts next),
keys."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Resize, ScreenResume
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from swapdesk.clock import Clock
from swapdesk.tui.breakpoints import HEIGHTS, SHORT_BELOW, WIDTHS, bind_keys, classes_at
from swapdesk.tui.cell_updates import CellCompositor
from swapdesk.tui.commands import everywhere_commands
from swapdesk.tui.commands.command import CommandState, Standings, Verb, state_of
from swapdesk.tui.commands.everywhere import KEYS
from swapdesk.tui.commands.key_names import shown_key, split_keys
from swapdesk.tui.spans import Line, Span, wrapped
from swapdesk.tui.widgets.frame import (
    Frame,
    FrameState,
    KeyBar,
    MoneyLine,
    MoneyState,
    NoticeLog,
    NoticeRow,
    NoticeState,
    notice_line,
)
from swapdesk.tui.widgets.lines_view import LinesView

if TYPE_CHECKING:
    from swapdesk.tui.widgets.help_overlay import HelpGroup, PaletteEntry


THEME_ENTRY = "theme:"
PROFILE_ENTRY = "profile:"

Working = list[tuple[Verb, CommandState]]


def verbs_of_screen(own: Sequence[Verb]) -> tuple[Verb, ...]:
    """Returns ``own``, followed by the verbs (commands with keys) that every screen has. A verb in
    ``own`` replaces the common verb with the same id."""
    taken = {verb.id for verb in own}
    return (*own, *(verb for verb in everywhere_commands() if verb.id not in taken))


class ScreenVerbs:
    """The verbs (commands with keys) of one screen. The function ``standings`` returns their
    present states, and ``keymap`` returns the user's keys by verb id."""

    def __init__(
        self,
        verbs: Sequence[Verb],
        standings: Callable[[], Standings],
        keymap: Callable[[], Mapping[str, str]],
    ) -> None:
        self._verbs = verbs
        self._standings = standings
        self._keymap = keymap

    def named(self, name: str) -> Verb | None:
        return next((verb for verb in self._verbs if verb.id == name), None)

    def working(self) -> Working:
        """Returns each verb that is not hidden now, paired with its present state. A locked verb is
        included."""
        standings = self._standings()
        states = [(verb, state_of(standings.get(verb, True))) for verb in self._verbs]
        return [(verb, state) for verb, state in states if not state.hidden]

    def keys(self, verb: Verb) -> list[str]:
        """Returns the keys of ``verb`` by Textual's names: the keys that the user configured,
        otherwise the usual keys."""
        return split_keys(self._keymap().get(verb.id, verb.key))

    @cached_property
    def _by_key(self) -> Mapping[str, Sequence[Verb]]:
        verbs: dict[str, list[Verb]] = defaultdict(list)
        for verb in self._verbs:
            for key in self.keys(verb):
                verbs[key].append(verb)
        return verbs

    def has_key(self, key: str) -> bool:
        """Returns True if ``key`` (Textual's name) belongs to a verb that is not hidden now."""
        verbs = self._by_key.get(key)
        if verbs is None:
            return False
        standings = self._standings()
        return any(not state_of(standings.get(verb, True)).hidden for verb in verbs)

    def hints(self, verbs: Working) -> list[CommandState]:
        return [verb.hint(standing, self._configured_key(verb)) for verb, standing in verbs]

    def help_groups(self, focused: Widget | None, screen: str = "") -> list[HelpGroup]:
        """Returns the three groups of the help: keys of this screen, of the focused widget, and of
        every screen."""
        # Overlays are imported when they are asked for: the first frame does not wait for them.
        from swapdesk.documents import screens
        from swapdesk.tui.widgets.help_overlay import HelpGroup, widget_help

        more = f"swapdesk docs {screen.lower()}" if screen in screens() else ""
        here: list[tuple[str, str]] = []
        everywhere: list[tuple[str, str]] = []
        for verb, standing in self.working():
            row = (self.shown_key(verb), verb.help(standing))
            (everywhere if verb.everywhere else here).append(row)
        return [
            HelpGroup("This screen", here, more),
            widget_help(focused),
            HelpGroup("Everywhere", everywhere),
        ]

    def palette_entries(
        self, theme_names: Iterable[str], profiles: Iterable[str] = ()
    ) -> list[PaletteEntry]:
        """Returns the entries of the command palette: the verbs that work now, then ``profiles``,
        then themes."""
        from swapdesk.tui.widgets.help_overlay import PaletteEntry

        verbs = [
            PaletteEntry(verb.id, verb.text, verb.help(standing), self.shown_key(verb))
            for verb, standing in self.working()
            if not standing.locked and verb.id != "palette"
        ]
        themes = (PaletteEntry(f"{THEME_ENTRY}{name}", f"Theme {name}") for name in theme_names)
        others = (
            PaletteEntry(f"{PROFILE_ENTRY}{name}", f"Profile {name}", "Go on with this account.")
            for name in profiles
        )
        return [*verbs, *others, *themes]

    def shown_key(self, verb: Verb) -> str:
        """Returns the key of ``verb`` as it is drawn, for example ``esc``. It is the key that the
        user configured, otherwise the usual key."""
        return self._configured_key(verb) or verb.shown_key

    def _configured_key(self, verb: Verb) -> str:
        keys = split_keys(self._keymap().get(verb.id, ""))
        return shown_key(keys[0]) if keys else ""


STILL_SECONDS = 0.3


MOVING = "The screen just changed. Read it, then press the key again."
OTHER_STEP = "The step changed under the key. Nothing was done."
"""The notice that a money key did nothing because its action had just changed."""


class StillnessGuard(Struct):
    """Decides whether a key that moves money works. After each call of :meth:`changed`, such a key
    does not work for :data:`STILL_SECONDS`."""

    clock: Clock
    step: str = ""
    _changed: float | None = None

    def changed(self, step: str) -> None:
        """Records that the screen changed now. ``step`` names what a key that moves money would do
        from now on."""
        self.step = step
        self._changed = self.clock.monotonic()

    def refusal(self, step: str) -> str | None:
        """Returns why a key that moves money does not work now; None if it works. ``step`` is the
        action that the footer names."""
        if step != self.step:
            return OTHER_STEP
        if self._changed is None or self.clock.monotonic() - self._changed < STILL_SECONDS:
            return MOVING
        return None


LEAST_WIDTH = 60
LEAST_HEIGHT = 15


def is_too_small(width: int, height: int) -> bool:
    return width < LEAST_WIDTH or height < LEAST_HEIGHT


class TooSmall(LinesView):
    """A message that covers the whole screen if the terminal is too small."""

    DEFAULT_CSS = """
    TooSmall {
        display: none; padding: 0; layer: cover; width: 100%; height: 100%;
        background: $background;
    }
    """

    def lines(self, width: int) -> list[Line]:
        size = self.app.size
        need = f"This desk needs {LEAST_WIDTH} x {LEAST_HEIGHT}."
        said = f"{need} You have {size.width} x {size.height}."
        return wrapped([Span(said)], width)


NOTICE_SECONDS = 4.0
WARNING_SECONDS = 10.0


class DeskScreen(Screen[None]):
    """The base of a screen. A subclass lists its commands in ``VERBS`` and has a ``do_*`` method
    for each command."""

    VERBS: ClassVar[tuple[Verb, ...]] = ()
    _verbs_here: ClassVar[tuple[Verb, ...]] = ()

    DEFAULT_CSS = """
    DeskScreen {
        background: $background; color: $foreground; layout: vertical; layers: cover;
    }
    DeskScreen #middle { height: 1fr; width: 100%; }
    DeskScreen #body {
        height: 100%; width: 1fr; padding: 1 0 0 0; overflow-y: auto; scrollbar-size: 0 0;
    }
    DeskScreen .side { height: 100%; width: 44; background: $surface; }
    DeskScreen .side.-form { width: 36; }
    DeskScreen.-short #body { padding: 0; }
    DeskScreen.-short NoticeRow { display: none; }
    DeskScreen.-too-small > TooSmall { display: block; }
    DeskScreen .gap { height: 1; }
    DeskScreen.-short .gap { display: none; }
    """

    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS

    @dataclass
    class Go(Message):
        """Asks the application to carry out a verb (a command with a key) for which the screen has
        no method."""

        verb: Verb

    def __init_subclass__(cls, *, bare: bool = False, **options: Any) -> None:
        """Makes the key bindings, or none if ``bare`` is True. Raises TypeError if a verb acts on
        :attr:`current` but the class does not define this property."""
        if not bare:
            if cls.current is DeskScreen.current and any(verb.current for verb in cls.VERBS):
                raise TypeError(f"{cls.__name__} has verbs of a subject and no current one")
            cls._verbs_here = verbs_of_screen(cls.VERBS)
            own: list[BindingType] = list(cls.__dict__.get("BINDINGS", ()))
            cls.BINDINGS = [*own, *(verb.binding() for verb in cls._verbs_here)]
        super().__init_subclass__(**options)

    def __init__(
        self,
        frame: FrameState,
        clock: Clock,
        *,
        money: MoneyState | None = None,
        **place: Any,
    ) -> None:
        super().__init__(**place)
        self.guard = StillnessGuard(clock)
        self.verbs = ScreenVerbs(self.verbs_here(), self.all_standings, self._keymap)
        self._shown_step = ""
        self._compositor = CellCompositor()
        self._frame = Frame(frame)
        self._money = MoneyLine(money or MoneyState(""))
        self._keys = KeyBar()
        self._notice = NoticeRow(self._bare_rule())
        self._delays: dict[str, Timer] = {}
        self._due: set[str] = set()
        self._notice_ends = 0.0
        self._notice_about: object = None

    # what a subclass fills in

    def compose_body(self) -> Iterable[Widget]:
        """Returns the widgets of the body. Each widget draws its own margin of two cells at the
        left and the right."""
        return ()

    def compose_side(self) -> Iterable[Widget]:
        """Returns the widgets of the side panel, which must have the style class ``side``. The
        default is no panel."""
        return ()

    def verbs_here(self) -> tuple[Verb, ...]:
        """Returns all verbs (commands with keys) of this screen: its own, followed by those that
        work on every screen."""
        return self._verbs_here

    def standings(self) -> Standings:
        """Returns the present states of verbs: their cost, why they are locked, or that they are
        hidden. A verb that is missing from the result works."""
        return {}

    @property
    def current(self) -> Any:
        """What the verbs with ``current=True`` act on, such as the row under the cursor. None hides
        these verbs."""
        return None

    def standings_of(self, current: Any) -> Standings:
        """Returns the present states of the verbs that act on ``current``. A verb that is missing
        from the result works."""
        return {}

    def all_standings(self) -> Standings:
        current = self.current
        if current is None:
            absent = (verb for verb in self._verbs_here if verb.current)
            return {**self.standings(), **dict.fromkeys(absent, False)}
        return {**self.standings_of(current), **self.standings()}

    def standing_of(self, verb: Verb) -> CommandState:
        return state_of(self.all_standings().get(verb, True))

    def in_footer(self) -> Working:
        """Returns the verbs in the footer with their present states. The first verb is the main
        one."""
        return [(verb, standing) for verb, standing in self.verbs.working() if verb.in_footer]

    # verbs

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action != "command":
            return super().check_action(action, parameters)
        verb = self.verbs.named(str(parameters[0]))
        if verb is None or (self.has_class("-too-small") and not verb.when_too_small):
            return False
        return not self.standing_of(verb).hidden

    async def action_command(self, name: str) -> None:
        """Carries out the verb with the id ``name``. Shows only a notice if the verb is locked, or
        if it moves money and the screen has just changed."""
        verb = self.verbs.named(name)
        if verb is None:
            return
        standing = self.standing_of(verb)
        if standing.hidden:
            return
        if standing.locked:
            self.show_notice(f"{verb.text}: {standing.locked}.", "warning")
            return
        refusal = self.guard.refusal(self._shown_step) if verb.money else None
        if refusal is not None:
            self.show_notice(refusal, "warning")
            return
        act = getattr(self, verb.method, None)
        if act is None:
            self.post_message(self.Go(verb))
            return
        result = act(self.current, *verb.given) if verb.current else act(*verb.given)
        if result is not None:
            await result

    def do_keys(self) -> None:
        from swapdesk.tui.widgets.help_overlay import HelpOverlay

        groups = self.verbs.help_groups(self.focused, self.frame_state.name)
        self.app.push_screen(HelpOverlay(groups))

    def do_palette(self) -> None:
        from swapdesk.tui.widgets.help_overlay import PaletteOverlay

        names: list[str] = getattr(self.app, "theme_names", [])
        profiles: list[str] = getattr(self.app, "other_profiles", [])
        entries = self.verbs.palette_entries(names, profiles)
        self.app.push_screen(PaletteOverlay(entries), self._chosen)

    async def _chosen(self, key: str | None) -> None:
        if key is None:
            return
        if key.startswith(THEME_ENTRY):
            app: Any = self.app
            self.show_notice(app.choose_theme(key.removeprefix(THEME_ENTRY)))
            return
        if key.startswith(PROFILE_ENTRY):
            app = self.app
            app.leave(profile=key.removeprefix(PROFILE_ENTRY))
            return
        await self.action_command(key)

    def _keymap(self) -> dict[str, str]:
        keymap: dict[str, str] = getattr(self.app, "keymap", {})
        return keymap

    # what a subclass calls

    @property
    def frame_state(self) -> FrameState:
        return self._frame.state

    def set_frame(self, state: FrameState) -> None:
        self._frame.show(state)
        if not self._notice.state.text:
            self._notice.show(self._bare_rule())

    def refresh_caption(self) -> None:
        """Redraws the header, because its caption (the text of a playing tape) changed."""
        self._frame.redraw()

    def set_money(
        self,
        where: str,
        next_: str,
        *,
        where_short: str = "",
        next_short: str = "",
        urgent: bool = False,
    ) -> None:
        """Shows ``Funds <where>`` and ``Next <next_>`` on the money line, or the short texts on
        narrow screens. ``urgent`` draws the next step in bold."""
        self._money.show(MoneyState(where, next_, where_short, urgent, next_short))

    def refresh_keys(self) -> None:
        """Redraws the footer from the present states of the verbs."""
        self._shown_step = self.guard.step
        self._keys.show(self.verbs.hints(self.in_footer()), self._help_key())
        self.refresh_bindings()

    def step_changed(self, step: str) -> None:
        """Records that the key that moves money now does something else, named ``step``. The key
        then does not work for 0.3 s."""
        self.guard.changed(step)
        self.refresh_keys()

    def show_notice(
        self,
        text: str,
        severity: str = "information",
        *,
        about: object = None,
        short: str = "",
        keep: bool = True,
    ) -> None:
        """Shows ``text`` as a notice, or ``short`` if there is no room. ``keep`` adds the notice to
        the log. ``about`` is the subject of the notice, for :meth:`settle_notice`."""
        self._notice_about = about
        kept: NoticeLog | None = getattr(self.app, "notices", None)
        if kept is not None and keep:
            kept.add(self.notice_time(), severity, text)
        self._notice.show(NoticeState(text, severity, short=short))
        self._lay_notice()
        seconds = NOTICE_SECONDS if severity not in ("warning", "error") else WARNING_SECONDS
        self._notice_ends = self.guard.clock.monotonic() + seconds
        self.delay("notice", seconds, self._notice_over)

    def _notice_over(self) -> None:
        left = self._notice_ends - self.guard.clock.monotonic()
        if left > 0:
            self.delay("notice", left, self._notice_over)
        else:
            self.clear_notice()

    def delay(self, name: str, seconds: float, act: Callable[[], None]) -> None:
        """Calls ``act`` after ``seconds``. If an earlier call under the same ``name`` is still
        waiting, the earlier one is cancelled."""
        if name in self._delays:
            self._delays[name].stop()
        self._delays[name] = self.set_timer(seconds, act)

    def soon(self, name: str, seconds: float, act: Callable[[], None]) -> None:
        """Calls ``act`` after ``seconds``. While this call waits, further calls under the same
        ``name`` are ignored."""
        if name not in self._due:
            self._due.add(name)
            self.set_timer(seconds, partial(self._act, name, act))

    def _act(self, name: str, act: Callable[[], None]) -> None:
        self._due.discard(name)
        act()

    def notice_time(self) -> datetime:
        """Returns the time that the log of notices records for a new notice."""
        return self.guard.clock.now()

    def _lay_notice(self) -> None:
        state = self._notice.state
        over = bool(state.text) and self.app.size.height < SHORT_BELOW
        self._money.lay_over(
            notice_line(state) if over else "",
            notice_line(state, brief=True) if over and state.short else "",
        )

    def settle_notice(self, about: object) -> None:
        """Clears the notice if it refers to something other than ``about``. A notice that was shown
        without a subject stays."""
        if self._notice_about is not None and self._notice_about != about:
            self.clear_notice()

    def clear_notice(self) -> None:
        self._notice_about = None
        self._notice.show(self._bare_rule())
        self._money.lay_over("")

    # the framework

    def compose(self) -> ComposeResult:
        # Known before its widgets are styled, or the first picture would style them all again.
        self.update_classes(classes_at(*self.app.size), update=False)
        yield self._frame
        yield Horizontal(
            Vertical(*self.compose_body(), id="body"), *self.compose_side(), id="middle"
        )
        yield self._notice
        yield self._money
        yield self._keys
        yield TooSmall()

    def on_mount(self) -> None:
        bind_keys(self, self._keymap())
        self.refresh_keys()

    def on_resize(self) -> None:
        size = self.app.size
        self.set_class(is_too_small(size.width, size.height), "-too-small")
        self._lay_notice()
        # Everything stands elsewhere now: a key on its way was meant for the size before.
        self.guard.changed(self.guard.step)

    @on(ScreenResume)
    def _follow_size(self) -> None:
        self.update_classes(classes_at(*self.app.size))

    @on(ScreenResume)
    @on(Resize)
    async def _take_turns(self) -> None:
        await asyncio.sleep(0)

    def _help_key(self) -> str:
        field = self.focused
        for key in self.verbs.keys(KEYS):
            shown = shown_key(key)
            character = shown if len(shown) == 1 else None
            if field is None or not field.check_consume_key(key, character):
                return shown
        return ""

    def _bare_rule(self) -> NoticeState:
        return NoticeState(world=self._frame.state.world)
