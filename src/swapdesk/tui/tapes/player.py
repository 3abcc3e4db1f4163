"""Plays a tape (a text file that presses keys) in a desk. Its keys are handled like a person's
keys; between them the player waits until the screen shows the texts that the tape names. In a
terminal ``ctrl+c`` stops it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from rich.color import ColorSystem
from textual import _time, timer
from textual.app import ScreenStackError
from textual.events import Event, Key, Paste
from textual.keys import key_to_character
from textual.pilot import Pilot, WaitForScreenTimeout

from swapdesk.clock import Clock
from swapdesk.tui.base_screen import DeskScreen
from swapdesk.tui.commands.key_names import character_key, shown_key
from swapdesk.tui.glyphs import GlyphSet
from swapdesk.tui.tapes.grammar import Act, Tape
from swapdesk.tui.tapes.recorder import (
    Cast,
    Moment,
    UndrawnDriver,
    moment,
    recording_driver,
    screen_text,
)
from swapdesk.tui.widgets.frame import Caption
from swapdesk.tui.widgets.text_field import PassphraseField

if TYPE_CHECKING:
    from swapdesk.tui.app import DeskApp

LOOK_SECONDS = 0.05
KEY_SECONDS, LETTER_SECONDS = 0.9, 0.09
"""Seconds before each key and before each typed letter, at the pace of a presenter."""
STILL_LOOKS = 200
"""How often the player checks for a still screen before it presses a money key anyway; the desk
then refuses that key."""
SLICE_SECONDS = 0.25
"""Longest single sleep of the player, in seconds, so that it notices soon if the user left the
desk."""
STOP = "ctrl+c"
STOPS = f"{STOP} stops the tape"
ENDS_TOUR = f"{STOP} ends the tour"
OVER = "The tape is over. The desk is yours: ? lists the keys, q quits."


@contextlib.contextmanager
def timers_of(clock: Clock) -> Iterator[None]:
    """Makes Textual's timers use the time and the sleep of ``clock`` while the context is open."""
    timers: Any = timer
    machine, almost = _time.get_time, timers.sleep
    _time.get_time, timers.sleep = clock.monotonic, clock.sleep
    try:
        yield
    finally:
        _time.get_time, timers.sleep = machine, almost


class TapeFailed(Exception):
    """Raised if a tape cannot continue. ``screen`` is the text that the screen showed at that
    moment."""

    def __init__(self, line: int, said: str, screen: str) -> None:
        super().__init__(f"Line {line} {said}")
        self.screen = screen


class NeverCame(TapeFailed):
    """Raised if a text for which a tape waited did not appear on the screen in time."""

    def __init__(self, line: int, text: str, patience: float, screen: str) -> None:
        super().__init__(line, f'waited {patience:g} s for "{text}", which never came.', screen)


class _Over(Exception):
    """Raised to stop playing, because the user left the desk or stopped the tape."""


class Player:
    """Plays one tape (a text file that presses keys) in an application. ``failure`` is the error
    that stopped the tape, or None. ``reader`` is True if a person presses keys too."""

    def __init__(self, tape: Tape, *, alone: bool = False, reader: bool = False) -> None:
        self.cast = Cast()
        self.moments: list[Moment] = []
        self.failure: TapeFailed | None = None
        self.left_at: int | None = None
        self._tape = tape
        self._alone = alone
        self._reader = reader
        self._stopped = False
        self._own: list[Event] = []
        self._pressed: set[str] = set()
        self._said = ""

    def attach(self, app: DeskApp) -> Mapping[str, Any]:
        """Prepares ``app`` for the tape: sets its driver, which records what is drawn. Returns the
        keyword arguments for ``app.run``."""
        size = None
        if self._alone:
            size = self._tape.size
            app.driver_class = UndrawnDriver
            # What the environment says of a terminal is not said of a recording.
            app.glyph_set = GlyphSet.UNICODE
            app.draws_links = False
            app.console._color_system = ColorSystem.TRUECOLOR
        self.cast.begin(app.session.clock)
        app.driver_class = recording_driver(app.driver_class, self.cast)
        return {"size": size, "auto_pilot": self._play}

    # keys of the user, asked by the application

    def keeps(self, event: Key | Paste) -> bool:
        """Returns True if the desk must not get the user's key or paste. The desk never gets
        ``ctrl+c``, which stops the tape. It gets other keys and pastes only if the tape has a
        reader."""
        if event in self._own:
            self._own.remove(event)
            return False
        if event.is_forwarded:
            return False
        key = event.key if isinstance(event, Key) else ""
        if key == STOP:
            self._stopped = True
            return True
        self._pressed.add(key)
        return not self._reader

    # the acts

    async def _play(self, pilot: Pilot[Any]) -> None:
        app: Any = pilot.app
        stage = _Stage(app, pilot, self.cast)
        self.cast.size = app.size
        app.player = self
        app.session.played = not self._reader
        try:
            for act in self._tape.acts:
                self.left_at = act.line
                await self._act(stage, act)
            self.left_at = None
        except _Over:
            pass
        except TapeFailed as failure:
            self.failure = failure
        finally:
            self.cast.end()
            app.player = None
            app.session.played = False
        if self._alone or self.failure is not None:
            app.exit()
        elif stage.runs:
            app.show_caption(None)
            app.notify(OVER)

    async def _act(self, stage: _Stage, act: Act) -> None:
        match act.verb:
            case "press":
                for key in act.keys:
                    await self._press(stage, act.line, key)
            case "type":
                for character in act.text:
                    await self._pass(stage, LETTER_SECONDS)
                    self._give(stage, act.line, Key(character_key(character), character))
                await self._settle(stage)
            case "wait":
                await self._see(stage, act.line, act.text, act.seconds)
            case "pause":
                await self._pass(stage, act.seconds)
            case "mark":
                await self._settle(stage)
                self.moments.append(moment(stage.app, act.text))
                self.cast.marked(act.text)
            case "say":
                self._said = act.text
                self._show(stage)
            case "await":
                await self._await(stage, act)

    async def _press(self, stage: _Stage, line: int, key: str) -> None:
        await self._pass(stage, KEY_SECONDS)
        for _ in range(STILL_LOOKS):
            if not stage.moves_under(key):
                break
            await self._pass(stage, LOOK_SECONDS)
        self._give(stage, line, Key(key, key_to_character(key)))
        await self._settle(stage)

    async def _await(self, stage: _Stage, act: Act) -> None:
        (key,) = act.keys
        if not self._reader:
            await self._press(stage, act.line, key)
            if act.text:
                await self._see(stage, act.line, act.text, act.seconds)
            return
        self._show(stage, shown_key(key))
        self._pressed.clear()
        there = act.text in stage.text
        # What another way leads to is seen as well; what was there before is not.
        await self._until(
            stage,
            lambda: (key in self._pressed or not there) and act.text in stage.text,
        )
        self._show(stage)

    def _give(self, stage: _Stage, line: int, event: Key) -> None:
        """Sends the key ``event`` to the application. If the key would be typed into the field of a
        pass phrase, raises TapeFailed with the line number ``line``."""
        if isinstance(stage.app.focused, PassphraseField) and event.is_printable:
            said = "would write into the field of a pass phrase, and no tape does."
            raise TapeFailed(line, said, stage.text)
        event.set_sender(stage.app)
        self._own.append(event)
        stage.app.post_message(event)

    async def _settle(self, stage: _Stage) -> None:
        await self._until(stage, lambda: not self._own and stage.app.keys.at_rest)
        await stage.rest(LOOK_SECONDS)

    async def _see(self, stage: _Stage, line: int, text: str, patience: float) -> None:
        until = stage.clock.monotonic() + patience

        def seen() -> bool:
            if text in stage.text:
                return True
            # A reader may be elsewhere, and comes back.
            if not self._reader and stage.clock.monotonic() > until:
                raise NeverCame(line, text, patience, stage.text)
            return False

        await self._until(stage, seen)
        await self._settle(stage)

    async def _until(self, stage: _Stage, condition: Callable[[], bool]) -> None:
        while True:
            await stage.clock.sleep(LOOK_SECONDS)
            self._go_on(stage)
            if condition():
                return

    async def _pass(self, stage: _Stage, seconds: float) -> None:
        end = stage.clock.monotonic() + seconds
        while (left := end - stage.clock.monotonic()) > 0:
            await stage.clock.sleep(min(left, SLICE_SECONDS))
            self._go_on(stage)

    def _go_on(self, stage: _Stage) -> None:
        if self._stopped or not stage.runs:
            raise _Over

    def _show(self, stage: _Stage, key: str = "") -> None:
        ends = "" if self._alone else ENDS_TOUR if self._reader else STOPS
        stage.app.show_caption(Caption(self._said, key, ends))


class _Stage(Struct):
    app: DeskApp
    pilot: Pilot[Any]
    cast: Cast
    _read: tuple[int, str] = (-1, "")
    """The screen's text, with the number of frames drawn when it was read."""

    @property
    def runs(self) -> bool:
        return self.app.is_running and not self.app._exit

    @property
    def clock(self) -> Clock:
        return self.app.session.clock

    async def rest(self, seconds: float) -> None:
        """Waits until the application has handled its messages, then ``seconds`` more. Returns
        early if the user leaves the desk."""
        # A desk that is left meanwhile has no screen.
        with contextlib.suppress(ScreenStackError, WaitForScreenTimeout):
            await self.pilot.pause(seconds)

    @property
    def text(self) -> str:
        if self._read[0] != self.cast.frames and self.app.screen_stack:
            self._read = self.cast.frames, screen_text(self.app)
        return self._read[1]

    def moves_under(self, key: str) -> bool:
        """Returns True if ``key`` would move money and the desk would refuse it now, because the
        screen has just changed."""
        page = self.app.screen
        if not isinstance(page, DeskScreen):
            return False
        verbs = page.verbs
        moves = any(verb.money and key in verbs.keys(verb) for verb, _ in verbs.working())
        return moves and page.guard.refusal(page.guard.step) is not None
