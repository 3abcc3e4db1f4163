"""The verbs of one screen as they are now: which keys work, and their rows in footer, help and
palette."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from swapdesk.tui.commands import everywhere_commands
from swapdesk.tui.commands.command import Command, CommandState
from swapdesk.tui.commands.key_names import shown_key, split_keys
from swapdesk.tui.key_hint import KeyHint

if TYPE_CHECKING:
    from textual.widget import Widget

    from swapdesk.tui.widgets.help_overlay import HelpGroup, PaletteEntry

THEME_ENTRY = "theme:"

Working = list[tuple[type[Command], CommandState]]


def verbs_of_screen(own: Sequence[type[Command]]) -> tuple[type[Command], ...]:
    """Those of the screen, then those of everywhere that it has not under words of its own."""
    taken = {verb.id() for verb in own}
    return (*own, *(verb for verb in everywhere_commands() if verb.id() not in taken))


class ScreenVerbs:
    """``standing`` says whether a verb works now, ``keymap`` which keys the user gave to verbs."""

    def __init__(
        self,
        verbs: Sequence[type[Command]],
        standing: Callable[[type[Command]], CommandState],
        keymap: Callable[[], Mapping[str, str]],
    ) -> None:
        self._verbs = verbs
        self._standing = standing
        self._keymap = keymap

    def named(self, name: str) -> type[Command] | None:
        return next((verb for verb in self._verbs if verb.id() == name), None)

    def working(self) -> Working:
        """Those that have a key at this moment, with how they stand."""
        standings = [(verb, self._standing(verb)) for verb in self._verbs]
        return [(verb, standing) for verb, standing in standings if not standing.hidden]

    def keys(self, verb: type[Command]) -> list[str]:
        """The keys of a verb in the keymap that is on, by Textual's names."""
        return split_keys(self._keymap().get(verb.id(), verb.KEY))

    def has_key(self, key: str) -> bool:
        """Whether a verb that works now has this key (Textual's name of it)."""
        return any(key in self.keys(verb) for verb, _ in self.working())

    def hints(self, verbs: Working) -> list[KeyHint]:
        """The entries of the footer."""
        return [verb.hint(standing, self._configured_key(verb)) for verb, standing in verbs]

    def help_groups(self, focused: Widget | None) -> list[HelpGroup]:
        """What the help says: keys of the focused widget, of this screen, of every screen."""
        # Overlays are imported when they are asked for: the first frame does not wait for them.
        from swapdesk.tui.widgets.help_overlay import HelpGroup, HelpRow, widget_help

        here: list[HelpRow] = []
        everywhere: list[HelpRow] = []
        for verb, standing in self.working():
            row = HelpRow(self._shown_key(verb), verb.help(standing))
            (everywhere if verb.EVERYWHERE else here).append(row)
        return [
            widget_help(focused),
            HelpGroup("This screen", here),
            HelpGroup("Everywhere", everywhere),
        ]

    def palette_entries(self, theme_names: Iterable[str]) -> list[PaletteEntry]:
        """The verbs that work now, then one entry per theme."""
        from swapdesk.tui.widgets.help_overlay import PaletteEntry

        verbs = [
            PaletteEntry(verb.id(), verb.text(), verb.help(standing), self._shown_key(verb))
            for verb, standing in self.working()
            if not standing.locked and verb.id() != "palette"
        ]
        themes = (PaletteEntry(f"{THEME_ENTRY}{name}", f"Theme {name}") for name in theme_names)
        return [*verbs, *themes]

    def _shown_key(self, verb: type[Command]) -> str:
        """The key of a verb as it is written."""
        return self._configured_key(verb) or verb.shown_key()

    def _configured_key(self, verb: type[Command]) -> str:
        """The key that the user gave to a verb; empty where it has its own."""
        keys = split_keys(self._keymap().get(verb.id(), ""))
        return shown_key(keys[0]) if keys else ""
