"""One verb is one class: its key, its words, its help.

A screen lists its commands; the framework derives the binding (with an id for keymaps), the
footer entry, the palette entry and the help row, and calls ``do_<name>`` of the screen.
"""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct

if TYPE_CHECKING:
    from textual.binding import Binding


class KeyHint(Struct, frozen=True):
    """One key as shown: ``r`` ``refresh`` ``1 quote``.

    ``cost`` and ``locked`` follow the verb after a comma; a locked verb is drawn without accent.
    """

    key: str
    verb: str
    cost: str = ""
    locked: str = ""

    @property
    def text(self) -> str:
        after = self.locked or self.cost
        return f"{self.verb}, {after}" if after else self.verb


class CommandState(Struct, frozen=True):
    """Whether a verb works now: ``cost`` stands beside it, ``locked`` says why it does not.

    ``hidden`` verbs have no key at this moment. ``key`` is the one of its keys that works now.
    """

    cost: str = ""
    locked: str = ""
    hidden: bool = False
    verb: str = ""
    key: str = ""


READY = CommandState()
HIDDEN = CommandState(hidden=True)


class Command:
    """Subclass with a docstring (the help sentence), ``KEY`` and ``VERB``."""

    KEY: ClassVar[str] = ""
    """Textual's key name; several joined by commas, the first one is shown."""
    VERB: ClassVar[str] = ""
    """Two or three words for the footer: ``copy address``."""
    SHOWN_KEY: ClassVar[str] = ""
    """How the key is written when it is not its name: ``?``."""
    FOOTER: ClassVar[bool] = True
    MONEY: ClassVar[bool] = False
    """Counts only on a still screen and for the step that was shown."""
    WRITES: ClassVar[bool] = False
    """Creates, signs or spends, or leads where only that is done: absent on a desk that only
    reads."""
    SANDBOX_ONLY: ClassVar[bool] = False
    """Whether a live desk has no such verb."""
    WHEN_TOO_SMALL: ClassVar[bool] = False
    """Works also while the terminal is too small to show what would happen."""
    EVERYWHERE: ClassVar[bool] = False
    """Works on every screen; listed apart in the help and never in the footer."""

    @classmethod
    @cache
    def id(cls) -> str:
        """The name in keymaps: ``copy-address`` for ``CopyAddress``."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower()

    @classmethod
    def method(cls) -> str:
        """The method of the screen that does it: ``do_copy_address``."""
        return f"do_{cls.id().replace('-', '_')}"

    @classmethod
    def help(cls, standing: CommandState = READY) -> str:
        """The help sentence: the first line of the docstring, and what it costs now."""
        text = inspect.cleandoc(cls.__doc__ or cls.VERB).splitlines()[0]
        return f"{text.rstrip('.')}; {standing.cost}." if standing.cost else text

    @classmethod
    def shown_key(cls) -> str:
        return cls.SHOWN_KEY or cls.KEY.split(",")[0]

    @classmethod
    def text(cls) -> str:
        """The palette entry: the verb, its first letter large."""
        return cls.VERB[:1].upper() + cls.VERB[1:]

    @classmethod
    def binding(cls) -> Binding:
        # Imported here: a keymap is checked without a screen toolkit.
        from textual.binding import Binding

        return Binding(
            cls.KEY, f"command('{cls.id()}')", cls.VERB, show=False, id=cls.id(), tooltip=cls.help()
        )

    @classmethod
    def hint(cls, standing: CommandState = READY, key: str = "") -> KeyHint:
        """The footer entry in its present state; ``key`` when a keymap changed it."""
        return KeyHint(
            key or standing.key or cls.shown_key(),
            standing.verb or cls.VERB,
            standing.cost,
            standing.locked,
        )


class EverywhereCommand(Command):
    """A verb of every screen. With ``OPENS`` it opens a page, else the application has a method
    of its name. To define the class, in any module of this folder, is to register it."""

    EVERYWHERE = True
    FOOTER = False
    PLACE: ClassVar[int] = 0
    """Its place in help and palette, in steps of ten."""
    OPENS: ClassVar[str] = ""
    """The page's class with its module, which is imported when the key is pressed."""
    BEFORE_OPENED: ClassVar[bool] = False
    """Whether the page opens while the desk is still starting."""
