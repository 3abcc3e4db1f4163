"""Reads pass phrases and keys from a terminal or a file descriptor, and shows keys on the terminal.

A secret is never an argument of a command. A key is shown on the terminal's second screen, which
keeps no scrollback, until a key is pressed on the keyboard, half a minute has passed, or a signal
ends the program.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import select
import signal
import sys
import termios
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import UNTOUCHED, CommandError, Exit, bad_input, refused_as
from swapdesk.cli.output import safe_line
from swapdesk.paths import without_mark
from swapdesk.secret import Secret

MAX_SECRET = 16 * 1024
_WORD = re.compile(r"[^\W\d_]+")


def read_secret(
    call: CliContext, what: str, descriptor: int | None, option: str, *, words: int = 0
) -> Secret:
    """Returns a secret, read from ``descriptor`` or, if that is None, typed. ``words`` is the least
    number of words of a mnemonic; 0 reads one line. Raises CommandError (exit 2) if nobody can be
    asked."""
    if descriptor is not None:
        return _from_descriptor(descriptor, what, option)
    if not call.interactive:
        raise bad_input(
            "NEEDS_SECRET",
            f"The {what} is asked for at a terminal; else give {option} N.",
            field=option.removeprefix("--"),
        )
    question = f"{what[:1].upper()}{what[1:]}: "
    return Secret(_typed_words(question, words) if words else _typed(question))


def read_passphrase(call: CliContext, what: str = "pass phrase") -> Secret:
    """Returns the wallet's pass phrase, read from a descriptor or typed. Raises CommandError (exit
    2) if nobody can be asked."""
    if call.passphrase is None:
        phrase = read_secret(call, what, call.passphrase_fd, "--passphrase-fd")
        if call.passphrase_fd is None:
            return phrase
        call.passphrase = phrase
    return call.passphrase


def new_passphrase(call: CliContext) -> Secret:
    """Returns a new pass phrase, which is typed twice. Raises CommandError (exit 2) if the two
    differ."""
    typed = call.passphrase_fd is None
    if typed and call.interactive:
        call.output.talk(
            "Nobody can replace a forgotten pass phrase: keys come back from copies of them alone."
        )
    first = read_passphrase(call, "new pass phrase of this wallet")
    if typed and _typed("Once more: ") != first.reveal():
        raise bad_input("PASSPHRASES_DIFFER", "The two are not the same.")
    return first


def _typed(question: str) -> str:
    try:
        typed = getpass.getpass(question, stream=sys.stderr)
    except EOFError:
        typed = ""
    return _required(typed)


def _required(typed: str) -> str:
    if not typed:
        raise CommandError(
            Exit.INTERRUPTED,
            "INTERRUPTED",
            "Nothing was typed.",
            money=UNTOUCHED,
            next="you: give the command again",
        )
    return typed


def _typed_words(question: str, least: int) -> str:
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        terminal = os.dup(sys.stdin.fileno())
    try:
        return _required(typed_lines(terminal, question, least))
    finally:
        os.close(terminal)


PASTED_WITHIN = 0.3
"""If another line arrives within this many seconds, it belongs to the same pasted text."""


def typed_lines(terminal: int, question: str, least: int) -> str:
    """Returns the lines that a person types or pastes unseen: up to an empty line, or ``least``
    words. Later input is dropped, so that no word of a secret answers the next question."""
    read = b""
    try:
        with terminal_without(termios.ECHO, terminal, termios.TCSADRAIN):
            os.write(terminal, question.encode())
            while line := os.read(terminal, MAX_SECRET):
                read += line
                whole = len(_WORD.findall(read.decode("utf-8", "replace"))) >= least
                if not line.strip() or len(read) > MAX_SECRET:
                    break
                if select.select([terminal], [], [], PASTED_WITHIN)[0]:
                    continue
                if whole:
                    break
                os.write(terminal, b"\nMore words, or enter alone: ")
    finally:
        os.write(terminal, b"\n")
    return read.decode("utf-8", "replace").strip()


@contextlib.contextmanager
def terminal_without(flags: int, terminal: int, when: int) -> Iterator[None]:
    """Switches off the terminal modes ``flags``, such as echo, for a ``with`` block. Input not read
    by the end of the block is dropped."""
    before = termios.tcgetattr(terminal)
    changed = termios.tcgetattr(terminal)
    changed[3] &= ~flags
    termios.tcsetattr(terminal, when, changed)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)


def _from_descriptor(descriptor: int, what: str, option: str) -> Secret:
    name = option.removeprefix("--")
    read = bytearray()
    unread = f"The descriptor {descriptor} cannot be read: "
    with refused_as(OSError, "BAD_DESCRIPTOR", unread, field=name):
        while len(read) <= MAX_SECRET and (chunk := os.read(descriptor, 4096)):
            read += chunk
    if len(read) > MAX_SECRET:
        raise bad_input("BAD_SECRET", f"The {what} is longer than {MAX_SECRET} bytes.", field=name)
    try:
        text = without_mark(bytes(read)).decode("utf-8")
    except UnicodeDecodeError:
        raise bad_input("BAD_SECRET", f"The {what} is no text.", field=name) from None
    finally:
        read[:] = bytes(len(read))
    text = text.removesuffix("\n").removesuffix("\r")
    if not text:
        raise bad_input("BAD_SECRET", f"The {what} is empty.", field=name)
    return Secret(text)


# Shown

HIDE_AFTER = 30
"""Seconds for which a secret is shown on the terminal."""

_SECOND_SCREEN, _FIRST_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"
_CLEAR = b"\x1b[H\x1b[2J"
_WITHOUT = ("", "dumb", "unknown")

Wait = Callable[[float], bool]
"""A function that waits for a key, for at most the given seconds; returns True if a key was
pressed."""


def can_show() -> bool:
    """Returns True if a secret can be shown on a second screen, where it leaves no trace."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "") not in _WITHOUT


def show_secret(
    above: Sequence[str],
    secret: bytearray,
    *,
    out: int | None = None,
    wait: Wait | None = None,
    seconds: int = HIDE_AFTER,
) -> None:
    """Shows ``secret`` on the terminal's second screen for ``seconds``, or until a key is pressed.
    Raises ValueError unless the secret is printable ASCII."""
    if not all(0x20 <= byte < 0x7F for byte in secret):
        raise ValueError("a secret that is shown is printable ASCII")
    target = sys.stdout.fileno() if out is None else out
    with contextlib.ExitStack() as held:
        if wait is None:
            # Each key at once and unseen, those that interrupt or stop a program among them.
            flags = termios.ICANON | termios.ECHO | termios.ISIG
            held.enter_context(terminal_without(flags, sys.stdin.fileno(), termios.TCSAFLUSH))
            wait = _key_within
        held.enter_context(_ended_by_signals())
        _write(target, _SECOND_SCREEN)
        try:
            _write(target, _CLEAR)
            for line in above:
                _write(target, safe_line(line).encode() + b"\r\n")
            _write(target, b"\r\n")
            _write(target, secret)
            _write(target, b"\r\n\r\n")
            for left in range(seconds, 0, -1):
                _write(target, b"\rHidden in %d s, or with any key. " % left)
                if wait(1.0):
                    break
        finally:
            _write(target, _CLEAR + _FIRST_SCREEN)


def _write(target: int, data: bytes | bytearray) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(target, rest) :]
    rest.release()


def _key_within(seconds: float) -> bool:
    descriptor = sys.stdin.fileno()
    ready, _, _ = select.select([descriptor], [], [], seconds)
    if ready:
        # What was typed belongs to no question that comes later.
        os.read(descriptor, 1024)
    return bool(ready)


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:

    def end(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {
        signal_number: signal.signal(signal_number, end)
        for signal_number in (signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for signal_number, handler in before.items():
            signal.signal(signal_number, handler)
