"""A queue for keys: each key is given out only after the key before it has had its effect.

Without the queue, keys typed fast would reach the page and the field that were in view before an
earlier key took effect. A key that was pressed while another page was in view is given out only if
a field takes it as text. On an empty line a letter may be a key or the beginning of a word, so it
waits a moment for further letters.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from textual.app import App
from textual.events import Event, Key, Paste
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

if TYPE_CHECKING:
    from swapdesk.clock import Clock

PATIENCE_SECONDS = 1.0
"""Seconds that the queue waits for a key to take effect before it gives out the next."""
LOOK_SECONDS = 0.1
WORD_SECONDS = 1.0
"""Seconds to wait for the next letter after a letter that is a key but may also begin a word. Enter
ends the wait."""


KeyStage = Literal["taken", "said", "opened"]
"""How far a key has come: its widget has handled it (``taken``), the messages that followed were
handled (``said``), or the page that it opened is in view (``opened``)."""


class KeyTaken(Message):
    """Reports that the key with the number ``turn`` has reached ``stage``. By then the widget has
    handled everything that was posted to it earlier."""

    def __init__(self, turn: int, stage: KeyStage) -> None:
        super().__init__()
        self.turn = turn
        self.stage = stage


class KeyInProgress(Struct, frozen=True):
    """A key or paste that was passed to a widget but has not had its full effect yet."""

    turn: int
    event: Event
    page: Screen[Any]
    widget: Widget
    since: float

    def lost(self, now: float) -> bool:
        return not self.widget.is_attached or now - self.since > PATIENCE_SECONDS


class KeyQueue:
    """The queue of keys and pastes. It hands out one key or paste at a time."""

    def __init__(
        self, app: App[Any], clock: Clock, give_out: Callable[[Event], Awaitable[None]]
    ) -> None:
        self._app = app
        self._clock = clock
        self._give_out = give_out
        self._waiting: deque[tuple[Event, Screen[Any]]] = deque()
        """Waiting keys and pastes, each with the page that was then in view."""
        self._turn = 0
        self._given: KeyInProgress | None = None
        self._word_timer: Timer | None = None
        self.word_seconds = WORD_SECONDS

    @property
    def at_rest(self) -> bool:
        given = self._given
        return not self._waiting and (given is None or given.lost(self._clock.monotonic()))

    async def take(self, event: Key | Paste) -> None:
        """Accepts a key or paste from Textual. Puts a new event into the queue. Passes an event
        that a widget did not use to the key bindings."""
        if event.is_forwarded:
            await self._give_out(event)
            given = self._given
            if given is not None and given.event is event:
                # Its binding has run; what that said to the page comes before this.
                self._follow(given.turn, "said")
        else:
            self._waiting.append((event, self._app.screen))
            if self._given is None or self._given.lost(self._clock.monotonic()):
                await self._next()
            elif len(self._waiting) == 1:
                self._app.set_timer(LOOK_SECONDS, self._look)

    async def _next(self, *, waited: bool = False) -> None:
        self._given = None
        if self._word_timer is not None:
            self._word_timer.stop()
            self._word_timer = None
        while self._waiting:
            page = self._app.screen
            written = self._begins_word(page)
            if written is None and not waited and self.word_seconds:
                self._word_timer = self._app.set_timer(self.word_seconds, self._no_word)
                self._say_waiting(page)
                return
            event, meant = self._waiting.popleft()
            if written:
                self._write(page, event)
                continue
            if meant is not page and not self._typed(event):
                while self._waiting and self._waiting[0][1] is not page:
                    self._waiting.popleft()
                continue
            self._turn += 1
            since = self._clock.monotonic()
            self._given = KeyInProgress(self._turn, event, page, self._app.focused or page, since)
            await self._give_out(event)
            self._follow(self._turn, "taken")
            return

    def _begins_word(self, page: Screen[Any]) -> bool | None:
        asked = getattr(page, "begins_word", None)
        if asked is None:
            return False
        text = ""
        for event, meant in self._waiting:
            if meant is not page or not isinstance(event, Key) or not event.is_printable:
                break
            text += event.character or ""
        begins: bool | None = asked(text) if text else False
        return False if begins is None and len(text) < len(self._waiting) else begins

    def _say_waiting(self, page: Screen[Any]) -> None:
        event, say = self._waiting[0][0], getattr(page, "word_waits", None)
        if say is not None and isinstance(event, Key):
            say(event.key)

    @staticmethod
    def _write(page: Screen[Any], event: Event) -> None:
        write = getattr(page, "write_letter", None)
        if write is not None and isinstance(event, Key):
            write(event.character or "")

    async def _no_word(self) -> None:
        if self._given is None:
            await self._next(waited=True)

    def _typed(self, event: Event) -> bool:
        field = self._app.focused
        if isinstance(event, Key):
            return field is not None and field.check_consume_key(event.key, event.character)
        return field is not None and field.check_consume_key("a", "a")

    def _follow(self, turn: int, stage: KeyStage) -> None:
        page = self._app.screen
        widget = page if stage == "opened" else self._app.focused or page
        widget.post_message(KeyTaken(turn, stage))

    async def key_taken(self, event: KeyTaken) -> None:
        event.stop()
        given = self._given
        if given is None or event.turn != given.turn:
            return
        if event.stage == "taken":
            self._follow(event.turn, "said")
        elif event.stage == "said" and self._app.screen is not given.page:
            self._follow(event.turn, "opened")
        else:
            await self._next()

    async def _look(self) -> None:
        if self._given is None or not self._waiting:
            return
        if self._given.lost(self._clock.monotonic()):
            await self._next()
        else:
            self._app.set_timer(LOOK_SECONDS, self._look)
