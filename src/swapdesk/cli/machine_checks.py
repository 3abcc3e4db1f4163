"""What ``doctor`` looks at outside of the home: Python, its packages, the locale, the terminal.

The terminal is asked one thing, how wide it draws a glyph, and only where it is one.
"""

from __future__ import annotations

import locale
import os
import re
import select
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec

from swapdesk.cli.sandbox_lifetime import SANDBOX_PARTS
from swapdesk.flows.doctor.finding import Finding, ok, unchecked, wrong
from swapdesk.flows.doctor.installation import install
from swapdesk.tui.glyphs import DONE, GlyphSet, automatic_set, wanted_set
from swapdesk.wallet.accounts import SIGNING_PACKAGES

DESK_PARTS = ("textual", "httpx2", "pydantic", "websockets", "segno", "Crypto")
ANSWER_SECONDS = 0.1
_ANSWER = re.compile(rb"\x1b\[\d+;(\d+)R")


def check_packages(*, sandbox: bool, signs: bool) -> Iterator[Finding]:
    """The packages of the desk, and of the extras that this profile uses."""
    version = ".".join(map(str, sys.version_info[:3]))
    missing = _missing(DESK_PARTS)
    if missing:
        yield wrong("python", f"Python {version} lacks {missing}.", install())
    else:
        yield ok("python", f"Python {version} has every package of the desk.")
    for extra, parts, used in (
        ("sandbox", dict.fromkeys((*SANDBOX_PARTS, *SIGNING_PACKAGES)), sandbox),
        ("wallet", SIGNING_PACKAGES, signs and not sandbox),
    ):
        missing = _missing(parts)
        if used and missing:
            yield wrong("extras", f"The {extra} needs {missing}.", install(extra))
        elif used:
            yield ok("extras", f"The {extra} has every package.")


def _missing(parts: Iterable[str]) -> str:
    return ", ".join(one for one in parts if find_spec(one) is None)


def check_locale(environ: Mapping[str, str], glyphs: str) -> Finding:
    """Whether texts and glyphs can be written; ``glyphs`` as configured."""
    chosen = next((one for one in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(one)), "LANG")
    mend = f"export {chosen}=C.UTF-8"
    before = locale.setlocale(locale.LC_CTYPE)
    try:
        locale.setlocale(locale.LC_CTYPE, "")
    except locale.Error:
        said = f"This machine has no locale {environ.get(chosen, '')[:40]}."
        return wrong("locale", said, mend)
    finally:
        locale.setlocale(locale.LC_CTYPE, before)
    encoding = sys.stdout.encoding.lower().replace("-", "")
    if encoding != "utf8":
        return wrong("locale", f"Texts leave as {encoding}, not as UTF-8.", mend)
    drawn = "ASCII" if wanted_set(glyphs) is GlyphSet.ASCII else "Unicode glyphs"
    return ok("locale", f"Texts leave as UTF-8, and the desk draws with {drawn}.")


def check_terminal(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Kind, size, colours, glyphs and clipboard of the terminal. Raises ImportError without the
    toolkit that draws there."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield unchecked("terminal", "Input and output are no terminal.")
        return
    term = environ.get("TERM", "")
    if term in ("", "dumb"):
        said = f"The desk cannot draw on this terminal (TERM is {term or 'not set'})."
        yield wrong("terminal", said, "export TERM=xterm-256color")
        return
    from swapdesk.tui.base_screen import LEAST_HEIGHT, LEAST_WIDTH
    from swapdesk.tui.terminal import Way, way_of

    columns, rows = os.get_terminal_size(sys.stdout.fileno())
    if columns < LEAST_WIDTH or rows < LEAST_HEIGHT:
        said = f"The window has {columns} x {rows} cells, and the desk needs"
        mend = "printf '\\033[8;24;80t'" if columns and rows else "stty columns 80 rows 24"
        yield wrong("terminal", f"{said} {LEAST_WIDTH} x {LEAST_HEIGHT}.", mend)
    else:
        yield ok("terminal", f"{columns} x {rows} cells, {_colours(environ)}.")
    if automatic_set() is GlyphSet.UNICODE and (width := _width_drawn(DONE)) is not None:
        if width == 1:
            yield ok("glyphs", "A glyph takes one cell.")
        else:
            said = f"This terminal draws a glyph {width} cells wide, so that lines move."
            yield wrong("glyphs", said, "export LC_ALL=C")
    way = way_of(environ)
    if way is Way.NONE:
        yield ok("clipboard", "This terminal has no clipboard: what is copied is shown instead.")
    elif way is Way.DIRECT:
        yield ok("clipboard", "The terminal is thought to take copies (OSC 52).")
    else:
        yield ok("clipboard", f"A copy arrives if {way.value} passes it to the terminal (OSC 52).")


def _colours(environ: Mapping[str, str]) -> str:
    if environ.get("NO_COLOR"):
        return "no colours (NO_COLOR)"
    if environ.get("COLORTERM", "") in ("truecolor", "24bit"):
        return "16 million colours"
    return "256 colours" if "256" in environ.get("TERM", "") else "16 colours"


def _width_drawn(glyph: str) -> int | None:
    """Cells that the terminal takes for a glyph, by where its cursor is then; None for one that
    does not say."""
    import termios
    import tty

    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)
    answer = b""
    try:
        tty.setcbreak(number, termios.TCSANOW)
        sys.stdout.write(f"\r{glyph}\x1b[6n")
        sys.stdout.flush()
        while _ANSWER.search(answer) is None and len(answer) < 64:
            readable, _, _ = select.select([number], [], [], ANSWER_SECONDS)
            chunk = os.read(number, 64) if readable else b""
            if not chunk:
                break
            answer += chunk
    finally:
        sys.stdout.write("\r\x1b[K")
        sys.stdout.flush()
        termios.tcsetattr(number, termios.TCSANOW, before)
    found = _ANSWER.search(answer)
    return int(found[1]) - 1 if found is not None else None
