"""A key that is given out: on the second screen of a terminal for a while, in a file, in a pipe."""

from __future__ import annotations

import os
import pty
import stat
import sys
import termios
from pathlib import Path

import pytest

from harness import cli
from patience import PATIENCE
from swapdesk.cli.secret_input import typed_lines
from swapdesk.cli.wallet_keys import HIDE_AFTER, show_secret
from tui.terminal_window import TerminalWindow

ENTER, LEAVE, CLEAR = b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[H\x1b[2J"
SECRET = bytearray(b"0x" + b"5f" * 32)


def shown(*keys: bool) -> tuple[bytes, int]:
    """What is written when keys come or do not come, and for how many seconds it is there."""
    reading, writing = os.pipe()
    answers, waited = iter(keys), []

    def wait(seconds: float) -> bool:
        waited.append(seconds)
        return next(answers, False)

    show_secret(("The key of main",), SECRET, out=writing, wait=wait)
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        return told.read(), int(sum(waited))


def test_a_secret_is_hidden_after_half_a_minute() -> None:
    written, seconds = shown()
    assert (seconds, HIDE_AFTER) == (30, 30)
    assert written.startswith(ENTER)
    assert written.endswith(CLEAR + LEAVE)
    assert written.count(bytes(SECRET)) == 1


def test_a_key_hides_it_at_once() -> None:
    written, seconds = shown(False, False, True)
    assert seconds == 3
    assert written.endswith(CLEAR + LEAVE)


def test_what_could_steer_a_terminal_is_no_secret() -> None:
    with pytest.raises(ValueError, match="printable"):
        show_secret((), bytearray(b"\x1b[2J"), out=1, wait=lambda _: True)


@pytest.fixture
def account(tmp_path: Path) -> str:
    made = cli("wallet", "new", "--name", "main", "--json", home=tmp_path)
    assert made.code == 0, made
    return str(made.document["account"]["address"])


@pytest.fixture
def terminal(tmp_path: Path, account: str):
    env = {**os.environ, "SWAPDESK_HOME": str(tmp_path), "HOME": str(tmp_path), "TERM": "xterm"}
    windows = []

    def begin(*words: str) -> TerminalWindow:
        command = [sys.executable, "-m", "swapdesk", "wallet", "export", "main", *words]
        windows.append(TerminalWindow(command, env, 120, 30))
        return windows[-1]

    yield begin
    for window in windows:
        window.close()


def test_an_exported_key_leaves_nothing_in_the_scrollback(
    terminal, account: str, tmp_path: Path
) -> None:
    window = terminal()
    window.read_until("Type")
    window.type(f"export {account[-6:]}")
    window.press("\r")
    window.read_until("Hidden in")
    secret = next(line for line in window.text.splitlines() if len(line) == 66)
    window.press("\x03")
    window.until(lambda: b"hidden again" in window.written, "the end")
    assert window.process.wait(PATIENCE) == 0
    before, _, rest = window.written.partition(ENTER)
    inside, _, after = rest.partition(LEAVE)
    assert secret.encode() in inside
    assert inside.endswith(CLEAR)
    assert secret.encode() not in before + after

    key = tmp_path / "main.key"
    phrase = ("--confirm", f"export {account[-6:]}")
    given = cli("wallet", "export", "main", *phrase, "--out", str(key), "--json", home=tmp_path)
    assert given.code == 0, given
    assert secret not in given.stdout + given.stderr
    assert key.read_text().strip() == secret
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    again = cli("wallet", "export", "main", *phrase, "--out", str(key), "--json", home=tmp_path)
    assert (again.code, again.error["code"]) == (2, "FILE_EXISTS")


def test_a_terminal_keeps_no_key_as_plain_output(terminal, account: str) -> None:
    """Asked for as JSON it would stand in the scrollback: nothing is even asked then."""
    window = terminal("--json", "--confirm", f"export {account[-6:]}")
    window.until(lambda: window.process.poll() is not None or "NEEDS_OUT" in window.text, "no")
    assert "NEEDS_OUT" in window.text
    assert window.process.wait(PATIENCE) == 2


PHRASE = "legal winner thank year wave sausage worth useful legal winner thank yellow"


@pytest.mark.parametrize(
    ("pasted", "read"),
    [
        (f"{PHRASE}\n", PHRASE),
        ("".join(f"{at}. {word}\n" for at, word in enumerate(PHRASE.split(), 1)), None),
        (f"{PHRASE}\n{PHRASE}\n", f"{PHRASE}\n{PHRASE}"),
        ("legal winner\n\nnever read\n", "legal winner"),
        ("\n", ""),
    ],
)
def test_a_phrase_is_pasted_in_one_line_or_in_many(pasted: str, read: str | None) -> None:
    ours, theirs = pty.openpty()
    try:
        os.write(ours, pasted.encode())
        echoing = termios.tcgetattr(theirs)
        said = typed_lines(theirs, "Mnemonic: ", 12)
        assert said == (pasted.strip() if read is None else read)
        assert termios.tcgetattr(theirs) == echoing
        # Nothing of it is left for the question or the shell that comes next.
        os.set_blocking(theirs, False)
        with pytest.raises(BlockingIOError):
            os.read(theirs, 100)
    finally:
        os.close(ours)
        os.close(theirs)
