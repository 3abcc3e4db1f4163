"""Files that are offered for a batch: the last ones, and names that complete what is typed."""

from __future__ import annotations

import os
import re
import shlex
import stat
from pathlib import Path
from urllib.parse import quote

import pytest

from swapdesk.flows.batch.reading import KEPT, RecentFiles, completed, offered, path_of


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with tables of two ages, and what is no table."""
    (tmp_path / "lists" / "people").mkdir(parents=True)
    (tmp_path / "lists" / ".hidden").mkdir()
    for age, name in enumerate(("new.csv", "old.TSV", "notes.doc", "bad\n.csv", ".secret.csv")):
        path = tmp_path / "lists" / name
        path.write_text("to,sell_amount\n")
        os.utime(path, (1_000 - age, 1_000 - age))
    monkeypatch.chdir(tmp_path / "lists")
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path / "lists"


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("", ("new.csv", "old.TSV")),
        ("n", ("new.csv",)),
        ("./p", ("./people/",)),
        ("~/lists/o", ("~/lists/old.TSV",)),
        ("~nobody-of-this-name/", ()),
        (".s", (".secret.csv",)),
        ("nowhere/", ()),
        ("people/", ()),
    ],
)
def test_tables_and_directories_complete_what_is_typed(
    here: Path, typed: str, names: tuple[str, ...]
) -> None:
    assert offered(typed, ()) == names


def test_a_name_that_leads_nowhere_hides_no_other(here: Path) -> None:
    (here / "nobody.csv").symlink_to(here / "gone.csv")
    (here / "round.csv").symlink_to("round.csv")
    assert offered("n", ()) == ("new.csv",)
    assert offered("", ()) == ("new.csv", "old.TSV")


def test_last_files_come_first_and_fit_by_any_part(here: Path) -> None:
    last = (
        here.parent / "January.csv",
        here / "people" / "February.csv",
        Path("/elsewhere/pay.csv"),
        here / "old.TSV",
    )
    assert offered("", last) == (
        "~/January.csv",
        "people/February.csv",
        "/elsewhere/pay.csv",
        "old.TSV",
        "new.csv",
    )
    assert offered("jan", last) == ("~/January.csv",)


@pytest.mark.parametrize(
    ("typed", "offers", "whole"),
    [
        ("pa", ("pay/payments.csv", "pay/payouts.csv", "elsewhere/pa.csv"), "pay/pay"),
        ("pa", ("pay.csv",), "pay.csv"),
        ("pay", ("pay", "payments"), "pay"),
        ("x", (), "x"),
        ("x", ("y",), "x"),
    ],
)
def test_completion_goes_as_far_as_all_names_are_alike(
    typed: str, offers: tuple[str, ...], whole: str
) -> None:
    assert completed(typed, offers) == whole


def test_the_last_files_are_kept_in_private_newest_first(here: Path, tmp_path: Path) -> None:
    kept = tmp_path / "profile" / "batch_files.txt"
    files = [here / f"{at}.csv" for at in range(KEPT + 2)]
    for file in files:
        file.write_text("to\n")
        RecentFiles(kept).add(file)
    RecentFiles(kept).add(files[4])
    RecentFiles(kept).add(here / "bad\n.csv")
    again = RecentFiles(kept)
    assert again.newest() == (files[4], *files[:1:-1][:5], *files[3:1:-1])[:KEPT]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    files[4].unlink()
    assert files[4] not in again.newest()
    kept.write_bytes(b"\xff\xfe\nrelative.csv\n/with\x1b[31m.csv\n")
    assert again.newest() == ()
    # Nobody can even ask whether there is one of such a name.
    kept.write_text(f"/{'n' * 300}.csv\n{files[5]}\n")
    assert again.newest() == (files[5],)
    kept.unlink()
    kept.mkdir()
    again.add(files[5])
    assert again.newest() == ()


FILES = ("my files/pay ments.csv", "it's ü.csv", "a%20b.csv", "100%.csv", "'quoted'.csv", "~x.csv")


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_found_however_a_terminal_writes_what_is_dropped_on_it(
    here: Path, name: str
) -> None:
    file = here / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("to\n")
    whole = str(file)
    escaped = re.sub(r"([^\w/.])", r"\\\1", whole)
    double = whole.replace("\\", "\\\\")
    for written in (
        whole,
        shlex.quote(whole),
        f"'{whole}'" if "'" not in whole else shlex.quote(whole),
        f'"{double}"',
        escaped,
        file.as_uri(),
        f"file://localhost{quote(whole)}",
        f"file:{quote(whole)}",
        f"'{file.as_uri()}'",
    ):
        assert path_of(written).samefile(file), written
    assert path_of(f"~/lists/{name}").samefile(file)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("/gone/pay.csv", "/gone/pay.csv"),
        ("'/gone/my pay.csv'", "/gone/my pay.csv"),
        ("file:///gone/my%20pay.csv", "/gone/my pay.csv"),
        ("file://elsewhere/pay.csv", "file:/elsewhere/pay.csv"),
        ("'/gone/my pay.csv", "'/gone/my pay.csv"),
        ("/gone/my pay.csv", "/gone/my pay.csv"),
        ("file://[", "file:/["),
        ("a\0b", "a\0b"),
    ],
)
def test_a_file_that_is_nowhere_is_told_by_its_plain_name(
    here: Path, written: str, told: str
) -> None:
    assert str(path_of(written)) == told
