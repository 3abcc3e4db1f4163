"""The screen every screen of the desk is built on: the places, the keys, the notices.

Rows from the top: frame, frame rule, body (with an optional side panel), bottom rule or notice,
money line, keys. A subclass gives the body, its verbs and what each verb does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from swapdesk.clock import Clock
from swapdesk.tui.cell_updates import CellCompositor
from swapdesk.tui.commands.command import READY, Command, Standing
from swapdesk.tui.commands.everywhere import EVERYWHERE, Keys
from swapdesk.tui.commands.key_names import shown_key, split_keys
from swapdesk.tui.notice_log import NoticeLog
from swapdesk.tui.stillness import StillnessGuard
from swapdesk.tui.terminal import bind_keys
from swapdesk.tui.too_small import TooSmall, is_too_small
from swapdesk.tui.widgets.frame import Frame, FrameState
from swapdesk.tui.widgets.key_bar import KeyBar, KeyHint
from swapdesk.tui.widgets.money_line import MoneyLine, MoneyState
from swapdesk.tui.widgets.notice import NoticeRow, NoticeState, Weight, notice_line

if TYPE_CHECKING:
    from swapdesk.tui.widgets.help_overlay import HelpRow
    from swapdesk.tui.widgets.palette_overlay import PaletteEntry

NOTICE_SECONDS = 4.0
WARNING_SECONDS = 10.0
THEME_ENTRY = "theme:"


WIDTHS: list[tuple[int, str]] | None = [
    (0, "-tiny"),
    (60, "-small"),
    (80, "-narrow"),
    (100, "-normal"),
    (120, "-roomy"),
    (160, "-wide"),
]
SHORT_BELOW = 28
HEIGHTS: list[tuple[int, str]] | None = [(0, "-short"), (SHORT_BELOW, "-medium"), (36, "-tall")]


class DeskScreen(Screen[None]):
    """Subclasses set ``VERBS``, yield widgets in :meth:`compose_body` and define ``do_*``.

    ``verb_standing`` says for each verb whether it works now. Verbs of everywhere become a
    :class:`Go` message for the application.
    """

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

    VERBS: ClassVar[tuple[type[Command], ...]] = ()
    _verbs_here: ClassVar[tuple[type[Command], ...]] = EVERYWHERE
    """Those of the screen, then those of everywhere that it has not under words of its own."""

    @dataclass
    class Go(Message):
        """A verb of everywhere was chosen: the application opens the place."""

        verb: type[Command]

    def __init__(
        self,
        frame: FrameState,
        clock: Clock,
        *,
        money: MoneyState | None = None,
        **place: Any,
    ) -> None:
        super().__init__(**place)
        self._compositor = CellCompositor()
        self.guard = StillnessGuard(clock)
        self._frame = Frame(frame)
        self._money = MoneyLine(money or MoneyState(""))
        self._keys = KeyBar()
        self._notice = NoticeRow(self._bare_rule())
        self._notice_timer: Timer | None = None
        self._notice_about: object = None
        self._shown_step = ""

    def __init_subclass__(cls, **options: Any) -> None:
        verbs = (*cls.VERBS, *(verb for verb in EVERYWHERE if not _taken(verb, cls.VERBS)))
        cls._verbs_here = verbs
        own: list[BindingType] = list(cls.__dict__.get("BINDINGS", ()))
        cls.BINDINGS = [*own, *(verb.binding() for verb in verbs)]
        super().__init_subclass__(**options)

    # what a subclass fills in

    def compose_body(self) -> Iterable[Widget]:
        """The widgets of the body, full width; each keeps its margin of two itself."""
        return ()

    def compose_side(self) -> Iterable[Widget]:
        """A side panel (class ``side``); nothing by default."""
        return ()

    def verb_standing(self, verb: type[Command]) -> Standing:
        """Cost, lock and visibility of a verb in the present state."""
        return READY

    # what a subclass calls

    @property
    def frame_state(self) -> FrameState:
        return self._frame.state

    def set_frame(self, state: FrameState) -> None:
        """Another name, context, badge or budget."""
        self._frame.show(state)
        if not self._notice.state.text:
            self._notice.show(self._bare_rule())

    def set_money(
        self, where: str, next_: str, *, where_short: str = "", urgent: bool = False
    ) -> None:
        """``Funds <where>`` and ``Next <next_>``."""
        self._money.show(MoneyState(where, next_, where_short, urgent))

    def set_keys(self, hints: Sequence[KeyHint]) -> None:
        """Footer keys written by hand, in place of those of :attr:`VERBS`."""
        self._keys.show(hints)

    def refresh_keys(self) -> None:
        """Draw the footer from the verbs and their present standing."""
        self._shown_step = self.guard.step
        self.set_keys([self._hint(verb, now) for verb, now in self._working() if verb.FOOTER])
        self.refresh_bindings()

    def step_changed(self, step: str) -> None:
        """What the money key would do is something else now (another quote, other terms)."""
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
        """One sentence above the money line, or over its left half on short screens.

        ``about``: what it speaks of; it goes early when :meth:`settle_notice` names another.
        ``short`` stands in where the sentence would be cut, and is itself never cut.
        ``keep``: whether it goes into the log of notices.
        """
        self._notice_about = about
        weight = Weight.of(severity)
        kept: NoticeLog | None = getattr(self.app, "notices", None)
        if kept is not None and keep:
            kept.add(self.notice_time(), severity, text)
        state = NoticeState(text, weight)
        brief = NoticeState(short, weight) if short else None
        self._notice.show(state, brief)
        self._lay_notice()
        if self._notice_timer is not None:
            self._notice_timer.stop()
        seconds = NOTICE_SECONDS if weight is Weight.INFORMATION else WARNING_SECONDS
        self._notice_timer = self.set_timer(seconds, self.clear_notice)

    def notice_time(self) -> datetime:
        """The time a notice is kept under."""
        return self.guard.clock.now()

    def _lay_notice(self) -> None:
        """On short screens the notice lies over the money line, on others in its own row."""
        state, brief = self._notice.state, self._notice.brief
        over = bool(state.text) and self.app.size.height < SHORT_BELOW
        self._money.lay_over(
            notice_line(state) if over else "", notice_line(brief) if over and brief else ""
        )

    def settle_notice(self, about: object) -> None:
        """What notices speak of is ``about`` now: one that spoke of something else goes."""
        if self._notice_about is not None and self._notice_about != about:
            self.clear_notice()

    def clear_notice(self) -> None:
        self._notice_about = None
        self._notice.show(self._bare_rule())
        self._money.lay_over("")

    # the framework

    def compose(self) -> ComposeResult:
        yield self._frame
        yield Horizontal(
            Vertical(*self.compose_body(), id="body"), *self.compose_side(), id="middle"
        )
        yield self._notice
        yield self._money
        yield self._keys
        yield TooSmall()

    def on_mount(self) -> None:
        bind_keys(self, self._keymap)
        self._keys.help_key = self._shown_key(Keys)
        self.refresh_keys()

    def on_resize(self) -> None:
        size = self.app.size
        self.set_class(is_too_small(size.width, size.height), "-too-small")
        self._lay_notice()
        # Everything stands elsewhere now: a key on its way was meant for the size before.
        self.guard.changed(self.guard.step)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action != "command":
            return super().check_action(action, parameters)
        verb = self._verb(str(parameters[0]))
        if verb is None or (self.has_class("-too-small") and not verb.WHEN_TOO_SMALL):
            return False
        return not self.verb_standing(verb).hidden

    async def action_command(self, name: str) -> None:
        """Do a verb: locked ones say why, money verbs need a still screen."""
        verb = self._verb(name)
        if verb is None:
            return
        standing = self.verb_standing(verb)
        if standing.hidden:
            return
        if standing.locked:
            self.show_notice(f"{verb.text()}: {standing.locked}.", "warning")
            return
        refusal = self.guard.refusal(self._shown_step) if verb.MONEY else None
        if refusal is not None:
            self.show_notice(refusal.value, "warning")
            return
        act = getattr(self, verb.method(), None)
        if act is None:
            self.post_message(self.Go(verb))
            return
        result = act()
        if result is not None:
            await result

    def do_keys(self) -> None:
        # Overlays are imported when they are asked for: the first frame does not wait for them.
        from swapdesk.tui.widgets.help_overlay import HelpGroup, HelpOverlay
        from swapdesk.tui.widgets.widget_help import widget_help

        working = [verb for verb, _ in self._working()]
        here = [self._help_row(verb) for verb in working if not verb.EVERYWHERE]
        everywhere = [self._help_row(verb) for verb in working if verb.EVERYWHERE]
        self.app.push_screen(
            HelpOverlay(
                [
                    widget_help(self.focused),
                    HelpGroup("This screen", here),
                    HelpGroup("Everywhere", everywhere),
                ]
            )
        )

    def _help_row(self, verb: type[Command]) -> HelpRow:
        from swapdesk.tui.widgets.help_overlay import HelpRow

        return HelpRow(self._shown_key(verb), verb.help())

    def _shown_key(self, verb: type[Command]) -> str:
        """The key of a verb as it is written, in the keymap that is on."""
        return self._configured_key(verb) or verb.shown_key()

    @property
    def _keymap(self) -> dict[str, str]:
        keymap: dict[str, str] = getattr(self.app, "keymap", {})
        return keymap

    def _configured_key(self, verb: type[Command]) -> str:
        keys = split_keys(self._keymap.get(verb.id(), ""))
        return shown_key(keys[0]) if keys else ""

    def do_palette(self) -> None:
        from swapdesk.tui.widgets.palette_overlay import PaletteOverlay

        self.app.push_screen(PaletteOverlay(self.palette_entries()), self._chosen)

    def palette_entries(self) -> list[PaletteEntry]:
        """The verbs that work now, then one entry per theme."""
        from swapdesk.tui.widgets.palette_overlay import PaletteEntry

        verbs = [
            PaletteEntry(verb.id(), verb.text(), verb.help(), self._shown_key(verb))
            for verb, standing in self._working()
            if not standing.locked and verb.id() != "palette"
        ]
        names: list[str] = getattr(self.app, "theme_names", [])
        return verbs + [PaletteEntry(f"{THEME_ENTRY}{name}", f"Theme {name}") for name in names]

    async def _chosen(self, key: str | None) -> None:
        if key is None:
            return
        if key.startswith(THEME_ENTRY):
            self.app.theme = key.removeprefix(THEME_ENTRY)
            self.show_notice(f'Theme {self.app.theme}. theme = "{self.app.theme}" keeps it.')
            return
        await self.action_command(key)

    def is_verb_key(self, key: str) -> bool:
        """Whether a verb that works now has this key (Textual's name of it)."""
        return any(
            key in split_keys(self._keymap.get(verb.id(), verb.KEY)) for verb, _ in self._working()
        )

    def _working(self) -> list[tuple[type[Command], Standing]]:
        standings = [(verb, self.verb_standing(verb)) for verb in self._verbs_here]
        return [(verb, standing) for verb, standing in standings if not standing.hidden]

    def _verb(self, name: str) -> type[Command] | None:
        return next((verb for verb in (*self.VERBS, *EVERYWHERE) if verb.id() == name), None)

    def _hint(self, verb: type[Command], standing: Standing) -> KeyHint:
        return verb.hint(standing, self._configured_key(verb))

    def _bare_rule(self) -> NoticeState:
        world = self._frame.state.world
        return NoticeState(rule=world.rule, rule_role=world.role)


def _taken(verb: type[Command], verbs: Sequence[type[Command]]) -> bool:
    """Whether a screen has this verb under its own name (its own ``Back``)."""
    return any(other.id() == verb.id() for other in verbs)
