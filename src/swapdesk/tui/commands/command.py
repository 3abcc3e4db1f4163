"""A verb: a command with its key, its words and its help.

A page lists its verbs. From them the framework makes the key binding (with an id for the user's
keymap), the entries in footer and palette, and the row in the help. It calls the method ``do_<id>``
of the page.
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
    """How a verb (a command with a key) appears in the footer at present, as in ``r`` ``refresh, 1
    quote``. ``key`` and ``verb`` replace the usual key and words unless they are empty. ``cost``
    follows the words. If ``locked`` is not empty, the verb does not work, and this reason is drawn
    instead of ``cost``. A ``hidden`` verb has no footer entry, and its key does nothing."""

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
"""The present state of each verb. True means that the verb works, False that it is hidden."""


def state_of(standing: CommandState | bool) -> CommandState:
    if isinstance(standing, CommandState):
        return standing
    return READY if standing else HIDDEN


class Verb(Struct, frozen=True, eq=False):
    """A command with its key and its texts. A page lists the commands that it offers."""

    id: str
    """The name in keymaps, as ``copy-address``; the page's method is then ``do_copy_address``."""
    key: str
    """Textual's name of the key. Several keys are joined by commas; the first is shown."""
    words: str
    """Two or three words for the footer, as ``copy address``."""
    sentence: str
    """The sentence for the help and the palette."""
    shown: str = ""
    """How the key is drawn, as ``↑↓``; empty if it is drawn by its name."""
    act: str = ""
    """The method to call, without ``do_``, if several verbs share it: ``step`` calls ``do_step``.
    If it is empty, the method is named after ``id``."""
    given: tuple[object, ...] = ()
    """The arguments for the method, such as the direction of a step or the kind of routes to
    keep."""
    current: bool = False
    """True if the verb acts on the ``current`` of its page, such as the row under the cursor. The
    method gets ``current`` as its first argument, and the verb is hidden while ``current`` is
    None."""
    footer: bool = True
    money: bool = False
    """True if the key moves money. The key works only if the screen has not changed for 0.3 s and
    the footer shows what the key does now."""
    writes: bool = False
    """True if the verb creates, signs or spends, or opens a page that does only that. A desk that
    only reads leaves the verb out."""
    sandbox_only: bool = False
    """True if only a desk in the sandbox has the verb."""
    when_too_small: bool = False
    """True if the verb works even while the terminal is too small for the page to be drawn."""
    place: int = 0
    """The position in help and palette, in steps of ten, if the verb works on every page; 0 for all
    other verbs. The help lists verbs that work on every page in a group of their own, and the
    footer leaves them out."""
    opens: str = ""
    """The import path of the page class that the verb opens, which is imported when the key is
    pressed. It is empty if the verb calls a method instead."""
    before_opened: bool = False
    """True if the page can be opened before the start of the desk is finished."""

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
        """The words of the verb with a capital letter, as the palette shows them."""
        return self.words[:1].upper() + self.words[1:]

    def help(self, standing: CommandState = READY) -> str:
        """Returns the help sentence of the verb, followed by its cost if it has one and is not
        locked. ``standing`` is the present state."""
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
        """Returns the footer entry of the verb. ``standing`` is its present state. ``key`` is the
        key from the user's keymap, as it is drawn; empty for the usual key."""
        return replace(
            standing,
            key=key or standing.key or self.shown_key,
            verb=standing.verb or self.words,
        )
