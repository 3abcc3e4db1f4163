"""One verb is one row: its key, its words, its help.

A page lists its verbs; the framework derives the binding (with an id for keymaps), the footer
entry, the palette entry and the help row, and calls ``do_<name>`` of the page.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.tui.commands.key_names import shown_key, split_keys

if TYPE_CHECKING:
    from textual.binding import Binding


class CommandState(Struct, frozen=True):
    """One key as it is now and as it is shown: ``r`` ``refresh`` ``1 quote``.

    ``key`` is the one of the keys that works now. ``cost``, or ``locked``, why it does not work,
    follows the verb after a comma; a locked verb is drawn without accent. A ``hidden`` verb has no
    key at this moment.
    """

    key: str = ""
    verb: str = ""
    cost: str = ""
    locked: str = ""
    hidden: bool = False

    @property
    def text(self) -> str:
        after = self.locked or self.cost
        return f"{self.verb}, {after}" if after else self.verb


READY = CommandState()
HIDDEN = CommandState(hidden=True)

Standings = Mapping["Verb", CommandState | bool]
"""How verbs stand now: False has no key at this moment, True works."""


def state_of(standing: CommandState | bool) -> CommandState:
    if isinstance(standing, CommandState):
        return standing
    return READY if standing else HIDDEN


class Verb(Struct, frozen=True, eq=False):
    """What one key does on the pages that list it."""

    id: str
    """The name in keymaps, ``copy-address``; a page does it in ``do_copy_address``."""
    key: str
    """Textual's key name; several joined by commas, the first one is shown."""
    words: str
    """Two or three for the footer: ``copy address``."""
    sentence: str
    """What the help says."""
    shown: str = ""
    """How the key is written when it is not its name: ``↑↓``."""
    act: str = ""
    """Of verbs that one method does its name, ``step`` for ``do_step``."""
    given: tuple[object, ...] = ()
    """What the method is called with: the way of a step, the kind of routes to keep."""
    current: bool = False
    """Acts on what the page stands on, its ``current``: absent while that is None, and its method
    is called with it."""
    footer: bool = True
    money: bool = False
    """Counts only on a still screen and for the step that was shown."""
    writes: bool = False
    """Creates, signs or spends, or leads where only that is done: absent on a desk that only
    reads."""
    sandbox_only: bool = False
    """Whether a live desk has no such verb."""
    when_too_small: bool = False
    """Works also while the terminal is too small to show what would happen."""
    place: int = 0
    """Of a verb of everywhere its place in help and palette, in steps of ten: it works on every
    page, is listed apart in the help and never in the footer."""
    opens: str = ""
    """The page that it opens, as its class with its module, which is imported when the key is
    pressed. Without it the application or the page has a method of its name."""
    before_opened: bool = False
    """Whether the page opens while the desk is still starting."""

    @property
    def everywhere(self) -> bool:
        return self.place > 0

    @property
    def in_footer(self) -> bool:
        return self.footer and not self.everywhere

    @property
    def method(self) -> str:
        """The method of the page that does it: ``do_copy_address``."""
        return f"do_{self.act or self.id.replace('-', '_')}"

    @property
    def shown_key(self) -> str:
        return self.shown or shown_key(split_keys(self.key)[0])

    @property
    def text(self) -> str:
        """The entry of the palette: the words with a capital letter."""
        return self.words[:1].upper() + self.words[1:]

    def help(self, standing: CommandState = READY) -> str:
        """The help sentence, and the cost where the verb works now."""
        said, cost = self.sentence, "" if standing.locked else standing.cost
        return f"{said.rstrip('.')}; {cost}." if cost else said

    def binding(self) -> Binding:
        # Imported here: a keymap is checked without a screen toolkit.
        from textual.binding import Binding

        return Binding(
            self.key,
            f"command('{self.id}')",
            self.words,
            show=False,
            id=self.id,
            tooltip=self.help(),
        )

    def hint(self, standing: CommandState = READY, key: str = "") -> CommandState:
        """The entry of the footer in its present state; ``key`` when a keymap changed it."""
        return replace(
            standing,
            key=key or standing.key or self.shown_key,
            verb=standing.verb or self.words,
        )
