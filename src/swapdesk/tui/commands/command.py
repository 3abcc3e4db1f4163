"""A verb: a command with its key, its words and its help. A page lists its verbs and has a method
``do_<id>`` for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.tui.commands.key_names import shown_key, split_keys

if TYPE_CHECKING:
    from textual.binding import Binding


class CommandState(Struct, frozen=True):
    """How a verb (a command with a key) appears in the footer now. A ``hidden`` verb has no entry,
    and its key does nothing."""

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
    """The method to call, without ``do_``; empty to use ``id``."""
    given: tuple[object, ...] = ()
    """The arguments for the method, such as the direction of a step or the kind of routes to
    keep."""
    current: bool = False
    """True if the verb's method gets ``current``, such as the row under the cursor. The verb is
    hidden while that is None."""
    footer: bool = True
    money: bool = False
    """True if the key moves money, so that it waits for the screen to be still for 0.3 s."""
    writes: bool = False
    """True if a read-only desk must leave the verb out."""
    sandbox_only: bool = False
    """True if only a desk in the sandbox has the verb."""
    when_too_small: bool = False
    """True if the verb works even while the terminal is too small for the page to be drawn."""
    place: int = 0
    """The position in help and palette if the verb works on every page; otherwise 0."""
    opens: str = ""
    """The import path of the page that the verb opens; empty if it calls a method."""
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
        return f"do_{self.act or self.id.replace('-', '_')}"

    @property
    def shown_key(self) -> str:
        return self.shown or shown_key(split_keys(self.key)[0])

    @property
    def text(self) -> str:
        return self.words[:1].upper() + self.words[1:]

    def help(self, standing: CommandState = READY) -> str:
        """Returns the help sentence of the verb. The sentence includes the verb's cost unless the
        verb is locked."""
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
        """Returns the footer entry of the verb. ``key`` is the key that the user configured; if it
        is empty, the usual key is shown."""
        return replace(
            standing,
            key=key or standing.key or self.shown_key,
            verb=standing.verb or self.words,
        )
