"""The row of a verb: its key, its words and its help.

A page lists its verbs. From them the framework makes the binding (with an id for keymaps), the
footer entry, the palette entry and the help row, and it calls ``do_<name>`` of the page.
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
    """How a verb appears in the footer at present, as in ``r`` ``refresh, 1 quote``. ``key`` is the
    key that works now, and ``verb`` replaces the usual words of the verb. After the words and a
    comma comes ``cost``, or ``locked``, the reason why the verb does not work; a locked verb is
    drawn without accent. A ``hidden`` verb has no key at this moment."""

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
"""The states of verbs: True if a verb works, False if it has no key at this moment."""


def state_of(standing: CommandState | bool) -> CommandState:
    if isinstance(standing, CommandState):
        return standing
    return READY if standing else HIDDEN


class Verb(Struct, frozen=True, eq=False):
    """What one key does on the pages that list this verb."""

    id: str
    """The name in keymaps, as ``copy-address``; the page's method is then ``do_copy_address``."""
    key: str
    """Textual's name of the key. Several keys are joined by commas; the first is shown."""
    words: str
    """Two or three words for the footer, as ``copy address``."""
    sentence: str
    """The sentence of the help."""
    shown: str = ""
    """How the key is drawn if that differs from its name, as ``↑↓``; empty if it does not."""
    act: str = ""
    """The method to call, without ``do_``, if several verbs share one: ``step`` means ``do_step``.
    If it is empty, the method is named after the verb's id."""
    given: tuple[object, ...] = ()
    """The arguments that the method is called with, such as the direction of a step or the kind of
    routes to keep."""
    current: bool = False
    """True if the verb acts on the page's ``current``. The method is called with it, and the verb
    is hidden while it is None."""
    footer: bool = True
    money: bool = False
    """True if the verb moves money. Its key works only if the screen has not changed for a moment,
    and only for the step that the screen showed."""
    writes: bool = False
    """True if the verb creates, signs or spends, or leads to a page only for that. A desk that only
    reads does not have the verb."""
    sandbox_only: bool = False
    """True if a live desk does not have the verb."""
    when_too_small: bool = False
    """True if the verb works also while the terminal is too small to show what would happen."""
    place: int = 0
    """The place in help and palette, in steps of ten, of a verb that works on every page; 0 for
    other verbs. Verbs that work on every page are listed apart in the help and never in the
    footer."""
    opens: str = ""
    """The import path of the page class that the verb opens; the class is imported when the key is
    pressed. If it is empty, the verb calls a method of the page or of the application instead."""
    before_opened: bool = False
    """True if the page can be opened while the desk is still starting."""

    @property
    def everywhere(self) -> bool:
        return self.place > 0

    @property
    def in_footer(self) -> bool:
        return self.footer and not self.everywhere

    @property
    def method(self) -> str:
        """The name of the method that carries out the verb, as ``do_copy_address``."""
        return f"do_{self.act or self.id.replace('-', '_')}"

    @property
    def shown_key(self) -> str:
        return self.shown or shown_key(split_keys(self.key)[0])

    @property
    def text(self) -> str:
        """The words with a capital letter, for the palette."""
        return self.words[:1].upper() + self.words[1:]

    def help(self, standing: CommandState = READY) -> str:
        """Returns the help sentence, followed by the cost if the verb works now."""
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
        """Returns the footer entry for the state ``standing``. ``key`` replaces the verb's usual
        key if the user's keymap changed it; it is empty if not."""
        return replace(
            standing,
            key=key or standing.key or self.shown_key,
            verb=standing.verb or self.words,
        )
