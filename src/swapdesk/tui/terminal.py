"""The base of the applications: what is written to the terminal, and what is read from it.

Nothing hostile is written to the terminal, and no secret to a crash report. The desk ends if its
terminal is gone: the kernel signals only the leader of a session, so a desk that is not that leader
would read the end of a closed terminal for ever.

Copying uses OSC 52, to which terminals send no answer, so the desk goes by the terminal's name.
Inside tmux and screen the sequence is also written in a wrapped form. tmux accepts the bare form
only with ``set-clipboard on``, the wrapped one only with ``allow-passthrough on``.

Links (OSC 8) are drawn only on terminals that are known to support them; others may print the
sequence. ``chain.addresses.explorers`` decides which links are allowed.

A paste is never read as keys. Textual 8 stops reading a bracketed paste at the first unknown escape
character and treats the rest as keys; here no escape character of a paste reaches its parser.
"""

from __future__ import annotations

import base64
import codecs
import os
import re
import select
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar, Literal

from rich.cells import cell_len
from rich.segment import Segment
from rich.text import Text
from textual import on
from textual._xterm_parser import XTermParser
from textual.app import App, ReturnType
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.driver import Driver
from textual.filter import LineFilter, Monochrome
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer, TimerCallback

from swapdesk.flows.notation import address_groups
from swapdesk.palette_files import DEFAULT_THEME, stamp_of
from swapdesk.toml_document import ConfigProblem
from swapdesk.tui.crash_report import crash_report
from swapdesk.tui.glyphs import GlyphSet, automatic_set
from swapdesk.tui.themes import HUELESS, NoColorButInk, chosen_theme, hueless_theme, load_palettes
from swapdesk.tui.widgets.frame import NoticeLog
from swapdesk.wire.encoding.text import filter_line

LOOK_SECONDS = 1.0
EXIT_CODE = 129
"""The exit code that a shell reports for a program that was ended by a hangup of its terminal."""


def has_hung_up(fileno: int) -> bool:
    """Returns True if the terminal behind ``fileno`` is closed, and False if it is open or
    unknown."""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    # No event is asked for: a hangup and an error are told all the same.
    poll.register(fileno, 0)
    return bool(poll.poll(0))


# These terminals ignore the clipboard sequence (OSC 52) and would leave an old value in place.
_WITHOUT = {"TERM": ("linux", "dumb"), "TERM_PROGRAM": ("Apple_Terminal",)}
_SCREEN_PIECE = 76
"""Number of bytes of an escape sequence that GNU screen passes on at once. A longer sequence is
split."""


Way = Literal["direct", "tmux", "screen", "none"]
"""How a copied text gets to the clipboard: directly, through tmux, through screen, or not at
all."""


def way_of(environ: Mapping[str, str] | None = None) -> Way:
    """Returns how a copied text gets from this terminal to the clipboard. Inside tmux or screen the
    result names that program."""
    known = os.environ if environ is None else environ
    if known.get("TMUX"):
        return "tmux"
    if known.get("STY") or known.get("TERM", "").startswith("screen"):
        return "screen"
    if any(known.get(name) in values for name, values in _WITHOUT.items()):
        return "none"
    return "direct"


def wrapped_copy(value: str, way: Way) -> str:
    """Returns the escape sequence that copies ``value`` through tmux or screen. It is sent in
    addition to the plain sequence. Empty if ``way`` is neither of these programs."""
    encoded = base64.b64encode(value.encode()).decode()
    bare = f"\x1b]52;c;{encoded}\x07"
    if way == "tmux":
        # Inside a passthrough every escape is written twice.
        return f"\x1bPtmux;{bare.replace(chr(27), chr(27) * 2)}\x1b\\"
    if way == "screen":
        pieces = [bare[at : at + _SCREEN_PIECE] for at in range(0, len(bare), _SCREEN_PIECE)]
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    return ""


def copied_notice(label: str, value: str, way: Way = "direct") -> str:
    """Returns the notice that ``value`` was copied, as ``Copied address rEb8 … uaLh``. If the value
    has several words, the notice has only the label."""
    groups = address_groups(value)
    said = f"Copied {label} {value}"
    if len(value.split()) > 1:
        said = f"Copied the {label}"
    elif len(value) > 20 and len(groups) >= 4:
        first = " ".join(groups[:2]) if groups[0] == "0x" else groups[0]
        said = f"Copied {label} {first} … {value[-4:]}"
    if way in ("tmux", "screen"):
        return f"{said}. {way} may keep it to itself: compare what you paste."
    return said


def no_clipboard_notice(label: str) -> str:
    return f"This terminal has no clipboard. Select the {label} with the mouse."


_PROGRAMS = frozenset(
    {"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "mintty", "rio"}
)
_TERMS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour")
_OWN = ("WT_SESSION", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "ALACRITTY_WINDOW_ID")
_VTE_FROM = 5001
"""The number of the first VTE version that draws links safely. Version 0.50.0 crashed on links."""
_TMUX_FROM = (3, 4)


def draws_links(environ: Mapping[str, str]) -> bool:
    """Returns True if the terminal is known to draw links (OSC 8). The variable ``FORCE_HYPERLINK``
    overrides this with ``0`` (False) or ``1`` (True)."""
    said = environ.get("FORCE_HYPERLINK", "")
    if said in ("0", "1"):
        return said == "1"
    term, program = environ.get("TERM", ""), environ.get("TERM_PROGRAM", "")
    if term in ("", "dumb", "linux") or environ.get("STY"):
        return False
    if environ.get("TMUX") or program == "tmux":
        return program == "tmux" and _version(environ.get("TERM_PROGRAM_VERSION")) >= _TMUX_FROM
    if program in _PROGRAMS or term.startswith(_TERMS):
        return True
    if any(environ.get(name) for name in _OWN):
        return True
    vte = environ.get("VTE_VERSION", "")
    return vte.isascii() and vte.isdigit() and int(vte[:9]) >= _VTE_FROM


def _version(text: str | None) -> tuple[int, ...]:
    found = re.match(r"(\d{1,4})\.(\d{1,4})", text or "")
    return (int(found[1]), int(found[2])) if found else (0, 0)


START = "\x1b[200~"
END = "\x1b[201~"
ESCAPE = "\x1b"
STAND_IN = "\x7f"
"""The character that replaces each escape character in a paste. Text fields leave this character
out and say so."""


class PasteGuard:
    """Replaces escape characters inside a paste, so that the pasted text cannot act as keys. The
    input may come in pieces of any size."""

    def __init__(self) -> None:
        self._inside = False
        self._passed = ""
        """The end of the input outside a paste, which may begin a paste's start sequence."""
        self._held = ""
        """The end of the input inside a paste, which may begin its end sequence."""

    def take(self, data: str) -> str:
        """Returns ``data``, the next input, with every escape character inside a paste replaced by
        :data:`STAND_IN`. An unfinished end sequence waits for the next call."""
        out: list[str] = []
        data = self._held + data
        self._held = ""
        while data:
            part, data = self._within(data) if self._inside else self._before(data)
            out.append(part)
        return "".join(out)

    def _before(self, data: str) -> tuple[str, str]:
        seen = self._passed + data
        at = seen.find(START)
        if at < 0:
            self._passed = seen[-(len(START) - 1) :]
            return data, ""
        self._inside, self._passed = True, ""
        cut = at + len(START) - (len(seen) - len(data))
        return data[:cut], data[cut:]

    def _within(self, data: str) -> tuple[str, str]:
        """Splits ``data``, which begins inside a paste, after its first escape character or after
        the sequence that ends the paste. Returns the first part, with that escape character
        replaced, and the rest."""
        head, escape, rest = data.partition(ESCAPE)
        tail = escape + rest
        if not escape:
            return head, ""
        if tail.startswith(END):
            after = tail[len(END) :]
            if _ends_again(after):
                return head + STAND_IN, rest
            self._inside = False
            return head + END, after
        if END.startswith(tail):
            self._held = tail
            return head, ""
        return head + STAND_IN, rest


def _ends_again(data: str) -> bool:
    """Returns True if ``data``, the input after the end sequence of a paste, has a second end
    sequence before the next paste starts."""
    return END in data.partition(START)[0]


class GuardedParser(XTermParser):
    """Textual's parser of terminal input, with a :class:`PasteGuard` in front of it."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._guard = PasteGuard()

    def feed(self, data: str) -> Iterable[Message]:
        if not data:
            yield from super().feed(data)
            return
        safe = self._guard.take(data)
        if safe:
            yield from super().feed(safe)


def _tolerant_decoder(encoding: str) -> Callable[[], codecs.IncrementalDecoder]:
    return partial(codecs.getincrementaldecoder(encoding), "replace")


_CELLS = "swapdesk-cells"


def _fill_cells(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "?" * cell_len(error.object[error.start : error.end]), error.end


codecs.register_error(_CELLS, _fill_cells)


@lru_cache(8)
def guarded_driver(base: type[Driver]) -> type[Driver]:
    """Returns a subclass of ``base`` that reads through :class:`GuardedParser` and draws on
    standard output."""
    thread: Any = getattr(base, "run_input_thread", None)
    if thread is None or "XTermParser" not in thread.__code__.co_names:
        return base
    names = {
        **thread.__globals__,
        "XTermParser": GuardedParser,
        "getincrementaldecoder": _tolerant_decoder,
    }
    # The same code with another parser: the driver offers no other place to put one in.
    guarded = FunctionType(thread.__code__, names, thread.__name__, thread.__defaults__)

    def begin(driver: Any, *arguments: Any, **options: Any) -> None:
        base.__init__(driver, *arguments, **options)
        # Textual draws on standard error. Where that is a file, as in ``swapdesk 2>err.log``, the
        # desk would be invisible and take keys all the same; that standard output is a terminal
        # was asked before.
        if (drawn := sys.__stdout__) is not None:
            driver._file = os.fdopen(
                drawn.fileno(), "w", encoding=drawn.encoding, errors=_CELLS, closefd=False
            )

    members = {"__init__": begin, "run_input_thread": guarded}
    return type(f"Guarded{base.__name__}", (base,), members)


TERMINAL_THEME = "terminal"
_NO_COLOUR = NoColorButInk()


class ControlFilter(LineFilter):
    """The last filter before the terminal, which replaces control and format characters by
    U+FFFD."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        if all(text.isprintable() for text, _, _ in segments):
            return segments
        return [Segment(filter_line(text), style, None) for text, style, _ in segments]


class FilterChain(LineFilter):
    """Applies several filters as one filter, so that Textual consults its cache only once per
    line."""

    def __init__(self, filters: tuple[LineFilter, ...]) -> None:
        super().__init__()
        self._filters = filters

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        for one in self._filters:
            segments = one.apply(segments, background)
        return segments


_chained = lru_cache(8)(FilterChain)
"""Returns the same :class:`FilterChain` for the same filters, as Textual's cache needs."""


class SafeApp(App[ReturnType]):
    """The base of the desk's Textual applications: palettes, no animations, no markup in messages,
    and crash reports free of secrets."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "help_quit", "how to leave", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", "to the shell", show=False, priority=True),
    ]

    def __init__(
        self,
        *,
        theme: str = DEFAULT_THEME,
        user_themes: Path | None = None,
        theme_file: Path | None = None,
        glyph_set: GlyphSet | None = None,
        driver_class: type[Driver] | None = None,
    ) -> None:
        self._user_themes, self._theme_file = user_themes, theme_file
        self._palettes = load_palettes(user_themes, theme_file)
        self._stamp = stamp_of(user_themes)
        self.glyph_set = glyph_set or automatic_set()
        self.keymap: dict[str, str] = {}
        self.notices = NoticeLog()
        self.draws_links = draws_links(os.environ)
        super().__init__(driver_class=driver_class)
        self.animation_level = "none"
        for palette in self._palettes.themes.values():
            self.register_theme(palette)
        self.register_theme(hueless_theme(self._palettes.themes[TERMINAL_THEME]))
        # A variable without a value does not count (https://no-color.org).
        self.no_color = self.no_color and bool(os.environ.get("NO_COLOR"))
        # Greys are colours too: without hues the terminal's own two are all there is.
        own = [line_filter for line_filter in self._filters if type(line_filter) is not Monochrome]
        self._filters = [*own, *([_NO_COLOUR] if self.no_color else []), ControlFilter()]
        # Without its watcher, which would parse and apply the whole stylesheet a second time.
        name = HUELESS if self.no_color else chosen_theme(theme, self._palettes)
        self.set_reactive(App.theme, name)
        self.stylesheet.set_variables(self.get_css_variables())
        self._refresh_truecolor_filter(self.ansi_theme)

    def on_mount(self) -> None:
        if not self.is_headless and sys.__stdin__ is not None and sys.__stdin__.isatty():
            self.set_interval(LOOK_SECONDS, self._end_without_terminal)

    def set_timer(
        self,
        delay: float,
        callback: TimerCallback | None = None,
        *,
        name: str | None = None,
        pause: bool = False,
    ) -> Timer:
        """Starts a timer that always fires. Textual's own timer never fires if its time passes
        before the timer begins to wait."""
        timer = super().set_timer(delay, callback, name=name, pause=pause)
        timer._skip = False
        return timer

    @on(Driver.SignalResume)
    def _repaint(self) -> None:
        self.screen.refresh(layout=True)

    def _end_without_terminal(self) -> None:
        if sys.__stdin__ is not None and has_hung_up(sys.__stdin__.fileno()):
            self.exit(return_code=EXIT_CODE)

    @property
    def _background_screens(self) -> list[Screen[Any]]:
        opaque = self.screen.styles.background.a == 1
        return [] if opaque else super()._background_screens

    def get_driver_class(self) -> type[Driver]:
        return guarded_driver(super().get_driver_class())

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(self._palettes.defaults)

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [_chained(tuple(super().get_line_filters()))]

    # palettes

    @property
    def palette_problems(self) -> tuple[ConfigProblem, ...]:
        return self._palettes.problems

    @property
    def theme_names(self) -> list[str]:
        return sorted(self._palettes.themes)

    def palettes_changed(self) -> bool:
        """Returns True if one of the user's palette files changed since the last call."""
        if self._user_themes is None:
            return False
        stamp = stamp_of(self._user_themes)
        changed = stamp != self._stamp
        self._stamp = stamp
        return changed

    def reload_palettes(self) -> None:
        """Reads all palettes again and redraws the application in the chosen theme. If that theme
        is gone, the default theme is used."""
        before, self._palettes = self._palettes, load_palettes(self._user_themes, self._theme_file)
        for palette in self._palettes.themes.values():
            self.register_theme(palette)
        if self.theme not in {*self._palettes.themes, HUELESS}:
            self.theme = DEFAULT_THEME
        elif before.themes.get(self.theme) != self._palettes.themes.get(self.theme):
            self.mutate_reactive(App.theme)
        for name in before.themes.keys() - self._palettes.themes.keys():
            self.unregister_theme(name)

    def choose_theme(self, name: str) -> str:
        """Draws the desk in the theme ``name`` and returns a notice for the user."""
        self.theme = name
        return f"Theme {name}."

    # keys

    def use_keymap(self, keymap: dict[str, str]) -> None:
        """Sets the user's keys by command id. ``commands.keymap`` must have checked the keys. They
        apply to screens that are opened afterwards."""
        self.keymap = dict(keymap)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: Literal["information", "warning", "error"] = "information",
        timeout: float | None = None,
        markup: bool = False,
        keep: bool = True,
    ) -> None:
        """Shows ``message`` as a notice, without interpreting markup. ``keep`` adds the notice to
        the log of notices."""
        show = getattr(self.screen, "show_notice", None) if self.screen_stack else None
        if show is not None:
            show(message, severity, keep=keep)
            return
        if keep:
            self.notices.add(None, severity, message)
        super().notify(message, title=title, severity=severity, timeout=timeout, markup=False)

    def tell_problems(self, problems: Sequence[ConfigProblem | str]) -> None:
        """Shows the first problem of the user's files and how many more there are. All problems are
        added to the log of notices."""
        if not problems:
            return
        for problem in problems:
            self.notices.add(None, "warning", str(problem))
        first, *rest = problems
        said = first if isinstance(first, str) else first.brief
        more = f" And {len(rest)} more: g shows them." if rest else ""
        self.notify(f"{said}.{more}", severity="warning", keep=False)

    def copy_value(self, label: str, value: str) -> str:
        """Copies ``value`` to the clipboard and returns the notice about it. Without a clipboard, a
        panel shows the value for selecting."""
        way = way_of()
        if way == "none":
            said = no_clipboard_notice(label)
            from swapdesk.tui.widgets.overlay import ReadingOverlay, exact_lines

            self.push_screen(ReadingOverlay(partial(exact_lines, label, value)))
            return said
        self.copy_to_clipboard(value)
        wrapped = wrapped_copy(value, way)
        if wrapped and self._driver is not None:
            self._driver.write(wrapped)
        said = copied_notice(label, value, way)
        self.notify(said)
        return said

    def action_help_quit(self) -> None:
        """Shows a notice that ``q`` quits. Textual calls it at ``ctrl+c`` and ``ctrl+q``, which do
        not quit the desk."""
        self.notify("q quits. Orders go on without the desk.")

    def _fatal_error(self) -> None:
        """Prints a crash report without local variables."""
        error: Any = sys.exc_info()[1] or self._exception
        report = crash_report(error) if error is not None else "The desk stopped by a defect."
        self.bell()
        self._exit_renderables.append(Text(report))
        self._close_messages_no_wait()
