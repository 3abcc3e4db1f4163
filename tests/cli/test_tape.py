"""``tape run`` and ``tour`` without a terminal; the pictures of the documents come from here."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyte
import pytest

from cli.desks import InProcess
from harness import cli
from swapdesk.cli.tape_play import SEED
from swapdesk.palette_files import read_palettes
from swapdesk.sandbox.partner_keys import partner_keys
from swapdesk.sandbox.world import seed_bytes
from swapdesk.tui import tapes
from swapdesk.tui.tapes.recorder import moments_text, read_moments

DOCUMENTS = Path(__file__).parents[2] / "docs"
TAPE = DOCUMENTS / "tapes" / "swap.tape"
PLANTED = {
    "SWAPDESK_API_KEY": "pk-planted-key",
    "SWAPDESK_API_SECRET": "planted-secret-of-the-user",
}
LIVE = 'profile = "live"\n[profiles.live]\nurl = "https://swap.example/v2"\n'


def as_kept(recorded: Path, place: Path, patch: pytest.MonkeyPatch) -> dict[str, str]:
    """The pictures of a recording, which are those of the documents and ask nobody for anything."""
    patch.syspath_prepend(str(DOCUMENTS))
    from draw_pictures import pictures

    kept = pictures(recorded)
    there = {file.name: file.read_text() for file in place.iterdir() if file.is_file()}
    assert kept == there, "run: python docs/draw_pictures.py"
    foreign = re.compile(r"url\((?!#)|@import|(?:href|src)=\"(?!#)")
    assert [name for name, content in kept.items() if foreign.search(content)] == []
    return kept


def test_there_is_a_picture_of_every_theme_as_it_is_today(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    tape = DOCUMENTS / "tapes" / "themes.tape"
    ran = cli(*("tape", "run", str(tape), "--headless", "--record", str(out)), home=tmp_path)
    assert ran.code == 0, ran.stderr
    kept = as_kept(out, DOCUMENTS / "images" / "themes", monkeypatch)
    assert {name.removesuffix(".svg") for name in kept} - {"themes.txt"} == set(read_palettes().own)
    pictures = [content for name, content in kept.items() if name.endswith(".svg")]
    assert len({re.sub(r"terminal-\d+", "", one) for one in pictures}) == len(pictures)


def test_pictures_of_documents_are_what_their_tape_shows_today(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    place = DOCUMENTS / "images"
    ran = cli(
        *("tape", "run", str(TAPE), "--headless", "--json"),
        *("--check", str(place / "swap.txt"), "--record", str(out)),
        home=tmp_path / "home",
        env={**PLANTED, "SWAPDESK_THEME": "beacon", "NO_COLOR": "1", "TERM": "dumb"},
    )
    assert ran.code == 0, ran.stderr
    told = ran.document
    assert told["differ"] == []
    assert sorted(told["files"]) == sorted(str(file) for file in out.iterdir())
    kept = as_kept(out, place, monkeypatch)
    assert "● stream" in kept["swap.txt"]
    cast = (out / "swap.cast").read_text()
    assert {file.stat().st_mode & 0o777 for file in out.iterdir()} == {0o600}

    head, *events = map(json.loads, cast.splitlines())
    assert (head["version"], head["width"], head["height"]) == (2, 100, 30)
    last = max(place for place, (_, kind, _) in enumerate(events) if kind == "m")
    assert events[last][2] == told["moments"][-1] == "completed"
    screen = pyte.Screen(head["width"], head["height"])
    drawn = pyte.Stream(screen)
    for _, kind, data in events[:last]:
        assert kind in ("o", "m")
        if kind == "o":
            drawn.feed(data)
    rows = "\n".join(row.rstrip() for row in screen.display)
    assert rows == read_moments(kept["swap.txt"].encode())["completed"]

    keys = partner_keys(seed_bytes("sandbox key", SEED))
    secrets = [*PLANTED.values(), seed_bytes("token", SEED).hex()]
    secrets += [secret for key in keys for secret in (key.api_key, key.api_secret)]
    recorded = "".join([cast, *kept.values(), ran.stdout, ran.stderr])
    assert [secret for secret in secrets if secret in recorded] == []


def test_the_tour_leads_to_its_end_and_what_differs_there_is_named(tmp_path: Path) -> None:
    shipped = Path(tapes.__file__).with_name("tour.tape").read_text()
    tour = tmp_path / "narrow.tape"
    tour.write_text(f"size 80x24\nwait What do you want\nmark first\n{shipped}mark end\n")
    check = tmp_path / "check.txt"
    check.write_text("== end ==\n SANDBOX  \x1b[31mOther\n\n== gone ==\nx\n")
    ran = cli("tape", "run", "narrow.tape", "--headless", "--check", "check.txt", home=tmp_path)
    assert ran.code == 10, ran.stderr
    assert "Other than expected: first, end, gone." in ran.stderr
    assert "(TAPE_DIFFERS)" in ran.stderr
    assert ran.stderr.startswith("first: not expected\nend, - expected, + shown:\n- SANDBOX ")
    assert "\n+ SANDBOX  Orders  last 48 h" in ran.stderr
    assert "This list" in ran.stderr
    assert "\ngone: never marked\n" in ran.stderr
    assert "\x1b" not in ran.stderr


def test_the_documented_tape_plays_and_a_text_that_never_comes_ends_with_3(
    tmp_path: Path,
) -> None:
    first = (DOCUMENTS / "tapes" / "README.md").read_text().split("```text\n")[1].split("```")[0]
    (tmp_path / "first.tape").write_text(f"{first}patience 2s\nwait no such text\n")
    ran = cli("tape", "run", "first.tape", "--headless", home=tmp_path)
    assert ran.code == 3
    line = first.count("\n") + 2
    screen, _, said = ran.stderr.partition(f'Line {line} waited 2 s for "no such text", which')
    assert "Sell 0.5 BTC on Bitcoin" in screen
    assert "(NEVER_CAME)" in said


@pytest.mark.parametrize("command", [("tape", "run", "t.tape", "--headless"), ("tour",)])
def test_nothing_presses_itself_on_a_live_profile(
    here: InProcess, command: tuple[str, ...]
) -> None:
    (here.home / "t.tape").write_text("press q\n")
    (here.home / "config.toml").write_text(LIVE)
    said = here.refused(9, "TAPE_ON_LIVE", *command)["message"]
    assert said == "Keys that press themselves are for the sandbox alone, and live is live."


def test_what_cannot_be_read_or_written_is_refused_before_it_plays(here: InProcess) -> None:
    (here.home / "t.tape").write_text("press q\n")
    bad = here.home / "bad.tape"
    bad.write_bytes(b"exec sh\nmark ../../x\n" + b"x" * 70_000)
    (here.home / "empty").touch()
    play = ("tape", "run", "--headless")
    assert "65,536 bytes" in json.dumps(here(*play, "bad.tape", "--json").error["fields"])
    bad.write_bytes(b"exec sh\nmark ../../x\n")
    wrong = here.refused(2, "TAPE_REFUSED", *play, "bad.tape")
    assert list(wrong["fields"]) == ["line 1", "line 2"]
    for end, code, *words in (
        (2, "NO_FILE", "no.tape"),
        (2, "NO_FILE", "/dev/zero"),
        (2, "NO_FILE", "t.tape", "--check", "no.txt"),
        (2, "NO_MOMENTS", "t.tape", "--check", "empty"),
        (9, "FILE_UNUSABLE", "t.tape", "--record", "empty/out"),
    ):
        here.refused(end, code, *play, *words)
    here.refused(2, "NO_TERMINAL", "tape", "run", "t.tape")


def test_moments_are_read_as_they_were_written() -> None:
    assert read_moments(moments_text([]).encode()) == {}
    assert read_moments(b"== a ==\n  x\n\n y\n\n== b ==\n\n") == {"a": "  x\n\n y", "b": ""}
