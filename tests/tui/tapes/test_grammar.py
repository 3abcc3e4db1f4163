"""Tapes of friends are read as written, and those of others are refused line by line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.texts import control_texts, invisible_texts
from swapdesk.tui.tapes.grammar import (
    MOST_BYTES,
    MOST_LINES,
    Await,
    Mark,
    Mistake,
    Pause,
    Press,
    Say,
    Tape,
    TapeRefused,
    Type,
    Wait,
    read_tape,
)

WHOLE = """
# A comment.
size 80x24
patience 5s
press n ctrl+p ?
type 0.5 btc  ½ €
wait usable routes
pause 250ms
mark one-2
say
await enter done
patience 1m
"""


def refused(content: bytes | str) -> list[str]:
    written = content.encode() if isinstance(content, str) else content
    with pytest.raises(TapeRefused) as caught:
        read_tape(written)
    return [str(mistake) for mistake in caught.value.mistakes]


def mistakes(content: bytes) -> tuple[Mistake, ...]:
    """Of what may be a tape."""
    try:
        read_tape(content)
    except TapeRefused as error:
        return tuple(error.mistakes)
    return ()


def test_each_act_is_read_with_its_line() -> None:
    assert refused(WHOLE) == ["line 12: A time is a number with s or ms, as 1.5s."]
    tape = read_tape(WHOLE.replace("1m", "1.5s\r").encode())
    assert tape == Tape(
        (
            Press(5, ("n", "ctrl+p", "question_mark")),
            Type(6, "0.5 btc  ½ €"),
            Wait(7, "usable routes", 5.0),
            Pause(8, 0.25),
            Mark(9, "one-2"),
            Say(10, ""),
            Await(11, "enter", "done", 5.0),
        ),
        (80, 24),
    )


WRONG = {
    "": "The tape is empty.",
    "# nothing\n\n": "The tape is empty.",
    "exec rm -rf /": 'There is no act "exec".',
    "include other.tape": 'There is no act "include".',
    "PRESS n": 'There is no act "PRESS".',
    "прess n": 'There is no act "прess".',
    "press": "Name 1 to 20 keys.",
    "press " + "n " * 21: "Name 1 to 20 keys.",
    "press nn": 'There is no key "nn".',
    "press н": 'There is no key "н".',
    "press ctrl+z": "A tape does not press ctrl+z",
    "press CTRL+Z": "A tape does not press ctrl+z",
    "await ctrl+z": "A tape does not press ctrl+z",
    "type": "A text of 1 to 200 characters belongs here.",
    "type " + "x" * 201: "A text of 1 to 200 characters",
    "type a\x1b[31mb": "It has a character that cannot be seen.",
    "type a\x00b": "It has a character that cannot be seen.",
    "say a\u202eb": "It has a character that cannot be seen.",
    "say a\u2028b": "It has a character that cannot be seen.",
    "type a\rb": "It has a character that cannot be seen.",
    "say " + "x" * 69: "A text of 0 to 68 characters",
    "say " + "x" * 400: "A line has at most 300 characters.",
    "mark ../../.ssh/authorized_keys": "A moment has a name of lower-case letters",
    "mark /etc/passwd": "A moment has a name of lower-case letters",
    "mark .": "A moment has a name of lower-case letters",
    "mark Con": "A moment has a name of lower-case letters",
    "mark a\nmark a": "There is a moment a already.",
    "pause 0s": "A time here is at most 60s, and not 0.",
    "pause 61s": "A time here is at most 60s, and not 0.",
    "pause -1s": "A time is a number",
    "pause 1e9s": "A time is a number",
    "pause nans": "A time is a number",
    "pause ٣s": "A time is a number",
    "patience 601s": "A time here is at most 600s",
    "press n\nsize 80x24": "The size stands before every other act.",
    "size 10000x10000": "A size is columns x rows",
    "size 999x999": "A size is between 60x15 and 200x60.",
    "patience 600s\n" + "wait never\n" * 4: "The tape waits 2,400 s in all",
    "pause 60s\n" * 31: "The tape waits 1,860 s in all",
    "\n" * MOST_LINES + "press n": "A tape has at most 1,000 lines.",
    "#" * (MOST_BYTES + 1): "A tape has at most 65,536 bytes.",
}


def test_what_is_no_tape_is_refused_in_a_sentence() -> None:
    said = {content: refused(content) for content in WRONG}
    wrong = {
        content[:60]: said[content]
        for content, sentence in WRONG.items()
        if not any(sentence in mistake for mistake in said[content])
    }
    assert wrong == {}
    assert refused(b"press n\n\xff\xfe") == ["line 2: It is not UTF-8."]
    assert refused("press n\nfoo\nbar")[0].startswith("line 2: ")
    assert len(refused("press n\nfoo\nbar")) == 2


def test_no_mistake_says_what_a_terminal_would_obey() -> None:
    for text in (*control_texts(), *invisible_texts()):
        for verb in ("", "press ", "type ", "say ", "mark ", "await ", "size "):
            found = mistakes(f"{verb}{text}\n".encode(errors="surrogatepass"))
            assert all(mistake.said.isprintable() for mistake in found)


@given(
    st.one_of(
        st.binary(max_size=300),
        st.text(max_size=300).map(lambda text: text.encode(errors="surrogatepass")),
        st.lists(
            st.tuples(
                st.sampled_from(["press", "type", "wait", "pause", "mark", "say", "await", "size"]),
                st.one_of(st.text(max_size=20), st.sampled_from(["n", "1s", "a", "80x24"])),
            ).map(" ".join),
            max_size=8,
        ).map(lambda lines: "\n".join(lines).encode(errors="surrogatepass")),
    )
)
def test_any_bytes_are_a_tape_within_its_bounds_or_are_refused(content: bytes) -> None:
    if found := mistakes(content):
        assert all(mistake.line >= 1 and mistake.said.isprintable() for mistake in found)
        return
    tape = read_tape(content)
    lines = [act.line for act in tape.acts]
    assert lines == sorted(set(lines))
    for act in tape.acts:
        written = act.text if isinstance(act, Type | Wait | Say | Await) else ""
        assert written.isprintable()
        assert len(written) <= 200
