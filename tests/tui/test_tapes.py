"""Tapes: refused line by line or read as written, and played in the real application."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from textual.events import Key, Paste
from textual.pilot import Pilot

from corpus.texts import control_texts, invisible_texts
from flows.support.test_case_file import PHRASES, PLANTED
from swapdesk.clock import Clock, ManualClock
from swapdesk.paths import Home
from swapdesk.sandbox.repeatable import repeatable_clock, run_repeatable
from swapdesk.settings import load_settings
from swapdesk.tui.app import DeskApp
from swapdesk.tui.session import PLAYED, StartFailed
from swapdesk.tui.tapes.grammar import (
    MOST_BYTES,
    MOST_LINES,
    Act,
    Mistake,
    Tape,
    TapeRefused,
    read_tape,
)
from swapdesk.tui.tapes.player import NeverCame, Player, timers_of
from swapdesk.tui.tapes.recorder import Cast, UndrawnDriver, moments_text, read_moments
from swapdesk.tui.widgets.text_field import PassphraseField
from tui.screen_text import screen_text

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


def mistakes(content: bytes | str) -> tuple[Mistake, ...]:
    """Of what may be a tape."""
    try:
        read_tape(content.encode() if isinstance(content, str) else content)
    except TapeRefused as error:
        return tuple(error.mistakes)
    return ()


def refused(content: bytes | str) -> list[str]:
    return list(map(str, mistakes(content)))


def test_each_act_is_read_with_its_line() -> None:
    assert refused(WHOLE) == ["line 12: A time is a number with s or ms, as 1.5s."]
    tape = read_tape(WHOLE.replace("1m", "1.5s\r").encode())
    assert tape == Tape(
        (
            Act(5, "press", keys=("n", "ctrl+p", "question_mark")),
            Act(6, "type", "0.5 btc  ½ €"),
            Act(7, "wait", "usable routes", seconds=5.0),
            Act(8, "pause", seconds=0.25),
            Act(9, "mark", "one-2"),
            Act(10, "say"),
            Act(11, "await", "done", ("enter",), 5.0),
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
        assert act.text.isprintable()
        assert len(act.text) <= 200


User = Callable[[DeskApp, Clock], Awaitable[None]]


async def nobody(app: DeskApp, clock: Clock) -> None:
    """The user of most tapes."""


def play(home: Path, tape: str, *, user: User = nobody, **player: bool) -> Player:
    """The player after its tape; ``user`` acts beside it, and the desk is left after both."""
    playing = Player(read_tape(tape.encode()), **{"alone": True, **player})

    async def desk() -> Player:
        clock = repeatable_clock()

        async def never() -> Mapping[str, Any]:
            raise StartFailed("It is not wanted here.")

        app = DeskApp(load_settings({}, Home.at(home)), never, clock=clock)
        # A terminal's place is taken by nothing, also where a person sits at it.
        app.driver_class = UndrawnDriver
        run_with = playing.attach(app)

        async def act() -> None:
            try:
                await user(app, clock)
            except BaseException:
                app.exit()
                raise

        async def both(pilot: Pilot[Any]) -> None:
            acting.append(asyncio.create_task(act()))
            await run_with["auto_pilot"](pilot)
            await asyncio.wait(acting)
            app.exit()

        acting: list[asyncio.Task[None]] = []
        with timers_of(clock):
            await app.run_async(size=(100, 30), auto_pilot=both)
        await acting[0]
        return playing

    return run_repeatable(desk)


def press(app: DeskApp, key: str) -> None:
    """As the terminal of a person says it."""
    event = Key(key, key if len(key) == 1 else None)
    event.set_sender(app)
    app.post_message(event)


def test_moments_are_what_stood_there_and_the_cast_is_an_asciicast(tmp_path: Path) -> None:
    played = play(
        tmp_path,
        "wait It is not wanted\nsay Look.\ntype 0.5 btc\nmark typed\npress escape\nmark gone\n",
    )
    assert played.failure is None
    assert played.left_at is None
    typed, gone = played.moments
    assert "Look." in typed.text
    assert "0.5 btc " in typed.text
    assert "0.5 btc  " not in gone.text.replace("0.5 btc eth", "")
    assert typed.picture.startswith("<svg")
    assert read_moments(moments_text(played.moments).encode()) == {
        "typed": typed.text,
        "gone": gone.text,
    }
    head, *events = map(json.loads, played.cast.lines("a tape"))
    assert head["version"] == 2
    assert (head["width"], head["height"], head["title"]) == (100, 30, "a tape")
    times = [at for at, _, _ in events]
    assert times == sorted(times)
    assert [data for _, kind, data in events if kind == "m"] == ["typed", "gone"]
    drawn = "".join(data for _, kind, data in events if kind == "o")
    assert "Look." in drawn
    # Places, colours and erasing are all that it asks of a terminal, the cursor hidden once.
    asked = re.findall(r"\x1b(?!\[[0-9;]*[HGmJK])", drawn.removeprefix("\x1b[?25l"))
    assert asked == []
    assert not re.search(r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]", drawn)


def test_clipboard_links_titles_and_modes_are_not_part_of_a_cast() -> None:
    cast = Cast()
    cast.begin(ManualClock())
    for data in (
        "\x1b]52;c;aGVsbG8=\x07",
        "a\x1b]8;;http://x\x1b\\b",
        "\x1b]22;default\x1b\\\x1b[?1049h",
        "\x1bPq1\x1b\\\x9b2J\x1b[6n\x1bc",
        "\x1b[2;3Hc\x1b[38;2;1;2;3md",
        "\x1b]0;unended",
    ):
        cast.drawn(data)
    _, *events = map(json.loads, cast.lines("a tape"))
    kept = [data for _, _, data in events[1:]]
    assert kept == ["ab", "2J", "\x1b[2;3Hc\x1b[38;2;1;2;3md"]


def test_a_text_that_does_not_come_ends_it_after_its_patience(tmp_path: Path) -> None:
    began = time.monotonic()
    played = play(tmp_path, "patience 60s\nwait no such text\nmark never\n")
    assert isinstance(played.failure, NeverCame)
    assert str(played.failure) == 'Line 2 waited 60 s for "no such text", which never came.'
    assert "What do you want to swap?" in played.failure.screen
    assert played.moments == []
    assert time.monotonic() - began < 60


def test_keys_that_leave_the_desk_end_it(tmp_path: Path) -> None:
    played = play(tmp_path, "press q\npause 1s\nmark never\n")
    assert (played.left_at, played.failure, played.moments) == (1, None, [])


def test_no_pass_phrase_is_typed_and_nothing_of_it_is_recorded(tmp_path: Path) -> None:
    async def ask(app: DeskApp, clock: Clock) -> None:
        field = PassphraseField()
        await app.screen.mount(field)
        field.focus()

    for act in ("type hunter2", "press x"):
        played = play(tmp_path, f"pause 1s\nmark asked\n{act}\n", user=ask)
        assert "would write into the field of a pass phrase" in str(played.failure)
        assert "hunter2" not in "".join(played.cast.lines("a tape"))


def test_nothing_keeps_a_pasted_key_or_phrase(tmp_path: Path) -> None:
    """No cast, no picture, no journal, no log and no other file of the home."""
    secrets = [*PLANTED.values(), *PHRASES]
    home = tmp_path / "home"

    async def paste(app: DeskApp, clock: Clock) -> None:
        for number, secret in enumerate(secrets):
            while "Paste whatever names" not in screen_text(app):
                await clock.sleep(0.1)
            app.focused.post_message(Paste(f"Order {number} is stuck. {secret}"))
            while "Paste whatever names" in screen_text(app):
                await clock.sleep(0.1)

    acts = [f"press i\nwait was not searched\nmark at-{number}\n" for number in range(len(secrets))]
    played = play(home, "".join(acts), user=paste)
    assert played.failure is None
    kept = [*played.cast.lines("a tape"), moments_text(played.moments)]
    kept += [one.picture for one in played.moments]
    kept += [file.read_bytes().decode("latin-1") for file in home.rglob("*") if file.is_file()]
    said = [re.findall("holds a (private key|seed phrase)", one.text) for one in played.moments]
    assert said == [*[["private key"]] * len(PLANTED), *[["seed phrase"]] * len(PHRASES)]
    for secret in secrets:
        for text in kept:
            assert secret not in text
            assert json.dumps(secret)[1:-1] not in text


def test_files_and_clipboard_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "payees.csv"
    file.write_text("no such row\n")
    copied: list[str] = []

    async def copy(app: DeskApp, clock: Clock) -> None:
        await clock.sleep(1)
        app.copy_value("address", "0xabc")
        copied.append(app.clipboard)

    played = play(
        tmp_path,
        f"press b\nwait file\ntype {file}\npress enter\npause 1s\nmark batch\n",
        user=copy,
    )
    assert played.failure is None
    assert PLAYED[:40] in played.moments[0].text
    assert "no such row" not in played.moments[0].text
    assert copied == [""]


def test_keys_of_the_user_wait_and_ctrl_c_stops_the_tape(tmp_path: Path) -> None:
    seen: list[str] = []

    async def user(app: DeskApp, clock: Clock) -> None:
        await clock.sleep(2)
        press(app, "q")
        await clock.sleep(2)
        assert app.is_running
        assert app.player is not None
        press(app, "ctrl+c")
        await clock.sleep(2)
        assert app.player is None
        press(app, "t")
        await clock.sleep(2)
        seen.append(app.screen.id or type(app.screen).__name__)

    played = play(tmp_path, "pause 60s\nmark never\n", user=user, alone=False)
    assert (played.left_at, played.moments) == (1, [])
    assert seen == ["TokensScreen"]


def test_a_tour_waits_for_the_key_and_takes_any_other(tmp_path: Path) -> None:
    captions: list[tuple[str, str]] = []

    async def user(app: DeskApp, clock: Clock) -> None:
        for key in ("p", "n", "t", "escape", "question_mark"):
            await clock.sleep(2)
            captions.append((app.caption.text, app.caption.key))
            press(app, key)
        await clock.sleep(2)
        assert app.player is None

    tape = "say To the tokens.\nawait t Symbol\nsay And back.\nawait escape\nsay Help.\nawait ?\n"
    played = play(tmp_path, tape, user=user, alone=False, reader=True)
    assert played.left_at is None
    assert captions == [
        *[("To the tokens.", "t")] * 3,
        ("And back.", "esc"),
        ("Help.", "?"),
    ]


def test_a_tour_goes_on_where_another_way_led_and_not_where_it_was(tmp_path: Path) -> None:
    async def user(app: DeskApp, clock: Clock) -> None:
        await clock.sleep(1)
        press(app, "t")
        await clock.sleep(1)
        assert app.caption.text == "Second."
        await clock.sleep(60)
        assert app.player is not None
        press(app, "ctrl+c")

    tape = "await n Symbol\nsay Second.\nawait enter Symbol\n"
    played = play(tmp_path, tape, user=user, alone=False, reader=True)
    assert played.left_at == 3
