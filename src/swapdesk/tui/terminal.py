"""The application base: nothing hostile reaches the terminal, nothing secret a crash report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from rich.segment import Segment
from rich.text import Text
from textual.app import App, ReturnType
from textual.color import Color
from textual.driver import Driver
from textual.filter import LineFilter

from swapdesk.tui.clipboard import can_copy, copied_notice, no_clipboard_notice
from swapdesk.tui.crash_report import crash_report
from swapdesk.tui.glyphs import GlyphSet, automatic_set
from swapdesk.tui.paste_guard import guarded_driver
from swapdesk.tui.themes import DEFAULT_THEME, chosen_theme, load_palettes
from swapdesk.tui.thrift import thrifty_driver
from swapdesk.wire.encoding.text import filter_line


class ControlFilter(LineFilter):
    """The last line before the terminal: controls and format characters become U+FFFD."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        if all(text.isprintable() for text, _, _ in segments):
            return segments
        return [Segment(filter_line(text), style, None) for text, style, _ in segments]


class SafeApp(App[ReturnType]):
    """Textual's App with the desk's palettes, no motion, no markup in messages and a safe end.

    ``theme_problems`` holds one sentence per palette that could not be used; the first screen
    shows them as notices.
    """

    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self,
        *,
        theme: str = DEFAULT_THEME,
        user_themes: Path | None = None,
        theme_file: Path | None = None,
        glyph_set: GlyphSet | None = None,
        driver_class: type[Driver] | None = None,
    ) -> None:
        self._palettes = load_palettes(user_themes, theme_file)
        self.glyph_set = glyph_set or automatic_set()
        self.keymap: dict[str, str] = {}
        self._control_filter = ControlFilter()
        super().__init__(driver_class=driver_class)
        self.animation_level = "none"
        for palette in self._palettes.themes.values():
            self.register_theme(palette)
        self.theme, problem = chosen_theme(theme, self._palettes)
        self.theme_problems = (*self._palettes.problems, *([problem] if problem else []))

    def get_driver_class(self) -> type[Driver]:
        return thrifty_driver(guarded_driver(super().get_driver_class()))

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(self._palettes.defaults)

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), self._control_filter]

    @property
    def theme_names(self) -> list[str]:
        """The desk's own and the user's palettes, for a choice."""
        return sorted(self._palettes.themes)

    def use_keymap(self, keymap: dict[str, str]) -> None:
        """Keys by command id, checked by ``commands.keymap`` beforehand."""
        self.keymap = dict(keymap)
        self.set_keymap(self.keymap)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: Literal["information", "warning", "error"] = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """A notice in its own row where the screen has one; markup is never interpreted."""
        show = getattr(self.screen, "show_notice", None) if self.screen_stack else None
        if show is not None:
            show(message, severity)
            return
        super().notify(message, title=title, severity=severity, timeout=timeout, markup=False)

    def copy_value(self, label: str, value: str) -> str:
        """Put ``value`` on the clipboard and say so; returns the notice that was shown."""
        if can_copy():
            self.copy_to_clipboard(value)
            said = copied_notice(label, value)
        else:
            said = no_clipboard_notice(label)
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
