"""A screen of verbs: which keys work now, what they do, help and palette of them.

A verb is a command class; a screen says what it does in a method of its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import BindingType
from textual.message import Message
from textual.screen import Screen

from swapdesk.clock import Clock
from swapdesk.tui.commands import everywhere_commands
from swapdesk.tui.commands.command import READY, Command, Standing
from swapdesk.tui.commands.key_names import shown_key, split_keys
from swapdesk.tui.stillness import StillnessGuard
from swapdesk.tui.widgets.key_bar import KeyHint

if TYPE_CHECKING:
    from swapdesk.tui.widgets.help_overlay import HelpRow
    from swapdesk.tui.widgets.palette_overlay import PaletteEntry

THEME_ENTRY = "theme:"


class VerbScreen(Screen[None]):
    """Subclasses set ``VERBS`` and define a ``do_*`` for each.

    ``verb_standing`` says for each verb whether it works now. Verbs of everywhere become a
    :class:`Go` message for the application.
    """

    VERBS: ClassVar[tuple[type[Command], ...]] = ()
    _verbs_here: ClassVar[tuple[type[Command], ...]] = ()
    """Those of the screen, then those of everywhere that it has not under words of its own."""

    @dataclass
    class Go(Message):
        """A verb of everywhere was chosen: the application opens the place."""

        verb: type[Command]

    def __init__(self, clock: Clock, **place: Any) -> None:
        super().__init__(**place)
        self.guard = StillnessGuard(clock)
        self._shown_step = ""

    def __init_subclass__(cls, *, bare: bool = False, **options: Any) -> None:
        """``bare``: a base of screens, which has no keys of its own to hand down."""
        if bare:
            super().__init_subclass__(**options)
            return
        verbs = (
            *cls.VERBS,
            *(verb for verb in everywhere_commands() if not _taken(verb, cls.VERBS)),
        )
        cls._verbs_here = verbs
        own: list[BindingType] = list(cls.__dict__.get("BINDINGS", ()))
        cls.BINDINGS = [*own, *(verb.binding() for verb in verbs)]
        super().__init_subclass__(**options)

    def verb_standing(self, verb: type[Command]) -> Standing:
        """Cost, lock and visibility of a verb in the present state."""
        return READY

    def show_notice(self, text: str, severity: str = "information") -> None:
        """Say why a key does nothing, or what it did."""
        self.notify(text, markup=False)

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

        working = list(self._working())
        here = [self._help_row(*one) for one in working if not one[0].EVERYWHERE]
        everywhere = [self._help_row(*one) for one in working if one[0].EVERYWHERE]
        self.app.push_screen(
            HelpOverlay(
                [
                    widget_help(self.focused),
                    HelpGroup("This screen", here),
                    HelpGroup("Everywhere", everywhere),
                ]
            )
        )

    def _help_row(self, verb: type[Command], standing: Standing) -> HelpRow:
        from swapdesk.tui.widgets.help_overlay import HelpRow

        return HelpRow(self._shown_key(verb), verb.help(standing))

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
            PaletteEntry(verb.id(), verb.text(), verb.help(standing), self._shown_key(verb))
            for verb, standing in self._working()
            if not standing.locked and verb.id() != "palette"
        ]
        names: list[str] = getattr(self.app, "theme_names", [])
        return verbs + [PaletteEntry(f"{THEME_ENTRY}{name}", f"Theme {name}") for name in names]

    async def _chosen(self, key: str | None) -> None:
        if key is None:
            return
        if key.startswith(THEME_ENTRY):
            app: Any = self.app
            self.show_notice(app.choose_theme(key.removeprefix(THEME_ENTRY)))
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

    def in_footer(self) -> list[tuple[type[Command], Standing]]:
        """The verbs that the footer shows, the main one first."""
        return [(verb, standing) for verb, standing in self._working() if verb.FOOTER]

    def _verb(self, name: str) -> type[Command] | None:
        return next((verb for verb in self._verbs_here if verb.id() == name), None)

    def _hint(self, verb: type[Command], standing: Standing) -> KeyHint:
        return verb.hint(standing, self._configured_key(verb))


def _taken(verb: type[Command], verbs: Sequence[type[Command]]) -> bool:
    """Whether a screen has this verb under its own name (its own ``Back``)."""
    return any(other.id() == verb.id() for other in verbs)
