"""Whatever is pasted arrives as one paste, and no part of it as a key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.drivers.linux_driver import LinuxDriver

from swapdesk.tui.terminal import END, START, GuardedParser, PasteGuard, guarded_driver

PIECES = st.lists(
    st.sampled_from(["a", "c", "\x1b", "\x1b[", "\x1b[2J", "\x1b[20", "\x1b]0;x\x07", "~", "\r"]),
    max_size=12,
).map("".join)


def parsed(*chunks: str) -> list[events.Event]:
    parser = GuardedParser()
    found = [event for chunk in chunks for event in parser.feed(chunk)]
    return [event for event in found if isinstance(event, (events.Key, events.Paste))]


@given(PIECES.filter(lambda text: END not in text and bool(text)), st.integers(1, 9))
def test_a_paste_is_one_event_and_never_a_key(text: str, size: int) -> None:
    data = f"{START}{text}{END}"
    found = parsed(*[data[at : at + size] for at in range(0, len(data), size)])
    assert [type(event) for event in found] == [events.Paste]


@given(st.text(alphabet="abc\x1b[200~1m", max_size=40), st.integers(1, 9))
def test_outside_a_paste_nothing_changes(text: str, size: int) -> None:
    if START in text:
        return
    guard = PasteGuard()
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    assert "".join(guard.take(chunk) for chunk in chunks) == text


def test_an_end_within_a_paste_does_not_end_it() -> None:
    found = parsed(f"{START}0.5 btc{END}\rc{END}")
    assert [type(event) for event in found] == [events.Paste]


def test_keys_around_a_paste_stay_keys() -> None:
    found = parsed(f"n{START}x{END}\r")
    assert [type(event) for event in found] == [events.Key, events.Paste, events.Key]


@pytest.mark.parametrize("key", ["\x1b", "\x1b[A", "\x1bOP", "\x1b[3~"])
def test_keys_are_passed_at_once(key: str) -> None:
    assert PasteGuard().take(key) == key


def test_the_driver_of_a_terminal_uses_the_guard() -> None:
    driver = guarded_driver(LinuxDriver)
    assert driver is not LinuxDriver
    assert driver.run_input_thread.__globals__["XTermParser"] is GuardedParser
