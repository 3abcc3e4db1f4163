"""The application base: nothing hostile reaches the terminal, nothing secret a crash report."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from rich.segment import Segment
from rich.text import Text
from textual import on
from textual.app import App, ReturnType
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.driver import Driver
from textual.filter import LineFilter, Monochrome
from textual.screen import Screen

from swapdesk.toml_document import ConfigProblem
from swapdesk.tui.ansi_compaction import thrifty_driver
from swapdesk.tui.clipboard import Way, copied_notice, no_clipboard_notice, way_of, wrapped_copy
from swapdesk.tui.crash_report import crash_report
from swapdesk.tui.glyphs import GlyphSet, automatic_set
from swapdesk.tui.hangup import EXIT_CODE, LOOK_SECONDS, has_hung_up
from swapdesk.tui.hyperlinks import draws_links
from swapdesk.tui.no_color_filter import NoColorButInk
from swapdesk.tui.notice_log import NoticeLog
from swapdesk.tui.palette_files import DEFAULT_THEME, stamp_of
from swapdesk.tui.paste_guard import guarded_driver
from swapdesk.tui.themes import HUELESS, chosen_theme, hueless_theme, load_palettes
from swapdesk.wire.encoding.text import filter_line

TERMINAL_THEME = "terminal"
_NO_COLOUR = NoColorButInk()


class ControlFilter(LineFilter):
    """The last line before the terminal: controls and format characters become U+FFFD."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        if all(text.isprintable() for text, _, _ in segments):
            return segments
        return [Segment(filter_line(text), style, None) for text, style, _ in segments]


class Chain(LineFilter):
    """Filters as one: a line that did not change is looked up once, and not once for each."""

    def __init__(self, filters: tuple[LineFilter, ...]) -> None:
        super().__init__()
        self._filters = filters

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        for one in self._filters:
            segments = one.apply(segments, background)
        return segments


_chained = lru_cache(8)(Chain)
"""The same object for the same filters: what a line looks like through it is kept under it."""


class SafeApp(App[ReturnType]):
    """Textual's App with the desk's palettes, no motion, no markup in messages and a safe end.

    ``palette_problems`` holds what was wrong in palette files; ``notices`` keeps what was said.
    """

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "help_quit", "how to leave", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", "to the shell", show=False, priority=True),
    ]

    def __init__(
        self,
        *,
        theme: str = DEFAULT_THEME,
        user_themes: Path | None = None,
        theme_file: Path | None = None,
        glyph_set: GlyphSet | None = None,
        driver_class: type[Driver] | None = None,
    ) -> None:
        self._user_themes, self._theme_file = user_themes, theme_file
        self._palettes = load_palettes(user_themes, theme_file)
        self._stamp = stamp_of(user_themes)
        self.glyph_set = glyph_set or automatic_set()
        self.keymap: dict[str, str] = {}
        self.notices = NoticeLog()
        self.draws_links = draws_links(os.environ)
        self._control_filter = ControlFilter()
        super().__init__(driver_class=driver_class)
        self.animation_level = "none"
        for palette in self._palettes.themes.values():
            self.register_theme(palette)
        self.register_theme(hueless_theme(self._palettes.themes[TERMINAL_THEME]))
        # A variable without a value does not count (https://no-color.org).
        self.no_color = self.no_color and bool(os.environ.get("NO_COLOR"))
        self.theme = HUELESS if self.no_color else chosen_theme(theme, self._palettes)

    def on_mount(self) -> None:
        if not self.is_headless and sys.__stdin__ is not None and sys.__stdin__.isatty():
            self.set_interval(LOOK_SECONDS, self._end_without_terminal)

    @on(Driver.SignalResume)
    def _repaint(self) -> None:
        """Back from the shell, which has written over the picture."""
        self.screen.refresh(layout=True)

    def _end_without_terminal(self) -> None:
        if sys.__stdin__ is not None and has_hung_up(sys.__stdin__.fileno()):
            self.exit(return_code=EXIT_CODE)

    @property
    def _background_screens(self) -> list[Screen[Any]]:
        """The screens that show through the one in view: none through an opaque one.

        The toolkit always counts the next one below, so that it is laid out twice at each resize
        and once for everything that changes on it, which nobody sees.
        """
        opaque = self.screen.styles.background.a == 1
        return [] if opaque else super()._background_screens

    def get_driver_class(self) -> type[Driver]:
        return thrifty_driver(guarded_driver(super().get_driver_class()))

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(self._palettes.defaults)

    def get_line_filters(self) -> Sequence[LineFilter]:
        # Greys are colours too: without hues the terminal's own two are all there is.
        own = [one for one in super().get_line_filters() if not isinstance(one, Monochrome)]
        return [_chained((*own, *([_NO_COLOUR] if self.no_color else []), self._control_filter))]

    # palettes

    @property
    def palette_problems(self) -> tuple[ConfigProblem, ...]:
        return self._palettes.problems

    @property
    def theme_names(self) -> list[str]:
        """The desk's own and the user's palettes, for a choice."""
        return sorted(self._palettes.themes)

    def palettes_changed(self) -> bool:
        """Whether a file of the user's palettes was added, changed or taken away since."""
        if self._user_themes is None:
            return False
        stamp = stamp_of(self._user_themes)
        changed = stamp != self._stamp
        self._stamp = stamp
        return changed

    def reload_palettes(self) -> None:
        """Read the palettes again and draw the screen in them; the default one when the chosen
        one is gone."""
        before, self._palettes = self._palettes, load_palettes(self._user_themes, self._theme_file)
        for palette in self._palettes.themes.values():
            self.register_theme(palette)
        if self.theme not in {*self._palettes.themes, HUELESS}:
            self.theme = DEFAULT_THEME
        elif before.themes.get(self.theme) != self._palettes.themes.get(self.theme):
            self.mutate_reactive(App.theme)
        for name in before.themes.keys() - self._palettes.themes.keys():
            self.unregister_theme(name)

    def choose_theme(self, name: str) -> str:
        """Draw in this theme; what to say about it."""
        self.theme = name
        return f"Theme {name}."

    # keys

    def use_keymap(self, keymap: dict[str, str]) -> None:
        """Keys by command id, checked by ``commands.keymap`` beforehand; for screens that open
        from now on."""
        self.keymap = dict(keymap)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: Literal["information", "warning", "error"] = "information",
        timeout: float | None = None,
        markup: bool = False,
        keep: bool = True,
    ) -> None:
        """A notice in its own row where the screen has one; markup is never interpreted."""
        show = getattr(self.screen, "show_notice", None) if self.screen_stack else None
        if show is not None:
            show(message, severity, keep=keep)
            return
        if keep:
            self.notices.add(None, severity, message)
        super().notify(message, title=title, severity=severity, timeout=timeout, markup=False)

    def tell_problems(self, problems: Sequence[ConfigProblem | str]) -> None:
        """Say in one notice what is wrong in the user's files: the first problem with its file
        and line; all of them are kept with the notices, with their whole paths."""
        if not problems:
            return
        for problem in problems:
            self.notices.add(None, "warning", str(problem))
        first, *rest = problems
        said = first if isinstance(first, str) else first.brief
        more = f" And {len(rest)} more: g shows them." if rest else ""
        self.notify(f"{said}.{more}", severity="warning", keep=False)

    def copy_value(self, label: str, value: str) -> str:
        """Put ``value`` on the clipboard and say so; returns the notice that was shown."""
        way = way_of()
        if way is Way.NONE:
            said = no_clipboard_notice(label)
            from swapdesk.tui.widgets.exact_text import ExactText

            self.push_screen(ExactText(label, value))
            return said
        self.copy_to_clipboard(value)
        wrapped = wrapped_copy(value, way)
        if wrapped and self._driver is not None:
            self._driver.write(wrapped)
        said = copied_notice(label, value, way)
        self.notify(said)
        return said

    def action_help_quit(self) -> None:
        """``ctrl+c`` says how to leave instead of leaving."""
        self.notify("q quits. Orders go on without the desk.")

    def _fatal_error(self) -> None:
        """Leave after an unhandled exception, without local variables on the screen."""
        error: Any = sys.exc_info()[1] or self._exception
        report = crash_report(error) if error is not None else "The desk stopped by a defect."
        self.bell()
        self._exit_renderables.append(Text(report))
        self._close_messages_no_wait()
