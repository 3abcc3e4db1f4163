"""Files of recipients: which are offered, separators, heads, quotes, encodings, and what is no
batch."""

from __future__ import annotations

import csv
import io
import os
import re
import shlex
import stat
from itertools import count
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rows import each_row
from sampling import examples
from swapdesk.clock import SystemClock
from swapdesk.flows.batch import reading
from swapdesk.flows.batch.reading import (
    KEPT,
    MOST_BYTES,
    MOST_ROWS,
    STEP_ROWS,
    RecentFiles,
    UnreadableFile,
    completed,
    offered,
    path_of,
    read_bytes,
    with_decimal_commas,
)
from swapdesk.flows.batch.rows import (
    SEPARATORS,
    WITHOUT_HEADS,
    Row,
    Sheet,
    edited,
)
from swapdesk.flows.orders.order_export import as_written

HEAD = b"to,amount,token,sell\n"
TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=0, max_size=12
)


def with_rests(content: bytes, name: str = "a.csv") -> tuple[Sheet, int]:
    """The whole file at once, and how often its reading rested."""
    work = reading.read_sheet(name, content, SystemClock())
    for rests in count():
        try:
            work.send(None)
        except StopIteration as over:
            return over.value, rests
    raise AssertionError


def read_sheet(name: str, content: bytes) -> Sheet:
    return with_rests(content, name)[0]


def refused(content: bytes) -> UnreadableFile:
    with pytest.raises(UnreadableFile) as caught:
        read_sheet("payout.csv", content)
    assert str(caught.value).count(". ")
    return caught.value


@each_row("mark", [",", ";", "\t"])
def test_the_separator_is_found_with_and_without_a_head(mark: str) -> None:
    head = mark.join(["to", "amount", "token", "sell"])
    row = mark.join(["@bob", "1.5", "ETH.base", "USDC.ethereum"])
    sheet = read_sheet("a.csv", f"{head}\n{row}\n".encode())
    assert (sheet.separator, sheet.headed) == (mark, True)
    assert sheet.rows[0].cell("sell") == "USDC.ethereum"
    bare = mark.join(["@bob", "1.5", "ETH", "base", "", "private", "USDC.ethereum"])
    sheet = read_sheet("a.csv", f"{bare}\n{bare}\n".encode())
    assert (sheet.separator, sheet.headed, len(sheet.rows)) == (mark, False, 2)
    assert sheet.columns == WITHOUT_HEADS
    assert sheet.rows[1].cell("route") == "private"


ROW = {
    "to": "@rita",
    "sell_amount": "250",
    "sell": "USDC.ethereum",
    "buy": "XRP",
    "chain": "xrp",
    "memo": "20117",
    "route": "standard",
}


@each_row(
    ("content", "plain"),
    [
        (
            "to,sell_amount,sell,buy,chain,memo,route\n"
            "@rita,250,USDC.ethereum,XRP,xrp,20117,standard\n",
            True,
        ),
        (
            "Recipient,Sell amount,From,Buys,Network,Tag,Route\n"
            "@rita,250,USDC.ethereum,XRP,xrp,20117,standard\n",
            True,
        ),
        (
            "to,amount,token,chain,memo,route,sell\n"
            "@rita,250,XRP,xrp,20117,standard,USDC.ethereum\n",
            False,
        ),
        (
            "to,value,symbol,chain,memo,route,sell\n"
            "@rita,250,XRP,xrp,20117,standard,USDC.ethereum\n",
            False,
        ),
        ("@rita,250,XRP,xrp,20117,standard,USDC.ethereum\n", False),
    ],
)
def test_heads_of_every_version_mean_the_same_cells(content: str, plain: bool) -> None:
    """Only the present heads say that the amount counts what is sold."""
    sheet = read_sheet("a.csv", content.encode())
    (row,) = sheet.rows
    assert (row.cells, sheet.plain) == (ROW, plain)


def test_decimal_commas_are_read_as_points_only_when_asked_for() -> None:
    amounts = ("1,5", "1,234", "20", "0,5 ", "abc", "1,2,3")
    content = "".join(f"@bob;{amount};ETH;USDC\n" for amount in amounts)
    sheet = read_sheet("a.csv", HEAD.replace(b",", b";") + content.encode())
    assert [row.cell("sell_amount") for row in sheet.rows] == [one.strip() for one in amounts]
    read = with_decimal_commas(sheet)
    found = [row.cell("sell_amount") for row in read.rows]
    assert found == ["1.5", "1.234", "20", "0.5", "abc", "1,2,3"]
    assert (sheet.said, read.said) == ("semicolon, header", "semicolon, header, decimal comma")
    assert with_decimal_commas(read_sheet("a.csv", HEAD + b"@bob,3,ETH,USDC\n")).decimal_comma


def test_a_point_beside_decimal_commas_is_never_guessed() -> None:
    row = Row(1, 7, {"sell_amount": "1.234"})
    with pytest.raises(UnreadableFile) as caught:
        with_decimal_commas(Sheet("a.csv", ";", True, (), (row,)))
    assert (caught.value.code, caught.value.line) == ("DECIMAL_COMMA", 7)


PAYEES = (
    "Receiver", "recipient_address", "Payee", "beneficiary", "To address", "Wallet Address",
    "destination",
)  # fmt: skip


@each_row("head", PAYEES)
def test_heads_of_other_payout_files_name_the_recipient(head: str) -> None:
    """As ``token_type,token_address,receiver,amount,id`` of Safe."""
    sheet = read_sheet("a.csv", f"token_type,{head},amount,token,sell\nerc20,@bob,1,A,B\n".encode())
    assert sheet.rows[0].cell("to") == "@bob"
    assert sheet.unused == ("token_type",)


ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32")


@each_row("encoding", ENCODINGS)
@each_row(
    ("text", "separator", "line", "remarks"),
    [
        ("{head}\n{row}\n", ",", 2, ()),
        ("sep=;\r\n{head}\r\n{row}\r\n", ";", 3, ()),
        ('"SEP=;"\n{head}\n{row}\n', ";", 3, ()),
        ("sep=,,,\n\n{head}\n{row}\n", ",", 4, ()),
        ("sep=\t\n{head}\n{row}\n", "\t", 3, ()),
        # It was saved with another one since.
        ("sep=,\n{head}\n{row}\n", ";", 3, ()),
        ("# payroll november\n{head}\n{row}\n", ",", 3, (1,)),
        ('"# payroll, november",,,\n{head}\n{row}\n', ",", 3, (1,)),
        ("// paid\n\n# by Ann\n{head}\n# first\n{row}\n", ";", 6, (1, 3, 5)),
        ("Payroll November\nValue;1 Nov\n{head}\n{row}\n", ";", 4, (1, 2)),
        ("sep=;\n# paid\n{head}\n{row}\n", ";", 4, (2,)),
        # Two files, one behind the other.
        ("{head}\n{row}\n\ufeff{head}\n", "\t", 2, (3,)),
        ("{head}\n#{row}\n{row}\n", ",", 3, (2,)),
        ("{head}\n{row}\nTotal:;1220;;\n;Sum;\n", ";", 2, (3, 4)),
        ("# no heads\n{row}\n#{row}\n", ",", 2, (1, 3)),
    ],
)
def test_marks_of_bytes_named_separators_and_lines_that_are_no_rows_change_no_row(
    encoding: str, text: str, separator: str, line: int, remarks: tuple[int, ...]
) -> None:
    head, row = ("to", "amount", "buy", "sell"), ("@bob", "1.5", "ETH", "USDC")
    whole = text.format(head=separator.join(head), row=separator.join(row))
    sheet = read_sheet("a.csv", whole.encode(encoding))
    assert (sheet.separator, sheet.remarks) == (separator, remarks)
    (only,) = sheet.rows
    assert (only.number, only.line, only.cell("to")) == (1, line, "@bob")
    assert only.cell("sell_amount") == "1.5"


def test_no_row_is_taken_for_a_remark() -> None:
    numbered = b"#,to,amount,buy,sell\n#1,@bob,1,A,B\n#2,@cy,2,A,B\nTotal,@cy,3,A,\n,@cy,3,,\n"
    sheet = read_sheet("a.csv", numbered)
    assert [row.cell("to") for row in sheet.rows] == ["@bob", "@cy", "@cy", "@cy"]
    assert sheet.remarks == ()
    # What stands above the heads has as many cells as a row: it stays one.
    sheet = read_sheet("a.csv", b"@bob,1,A,,,,B\n" + HEAD + b"@cy,1,A,B\n")
    assert (len(sheet.rows), sheet.headed) == (3, False)
    assert sheet.said == "comma, no header"
    assert read_sheet("a.csv", b"# a\n" + HEAD + b"@cy,1,A,B\n").said.endswith("line 1 is no row")


@each_row(
    ("cell", "means"),
    [
        ("'@bob", "@bob"),
        ("''@bob", "'@bob"),
        ("'=1+1", "=1+1"),
        ("' -7", "-7"),
        ("'20117", "'20117"),
        ("it's @bob", "it's @bob"),
        ("a;'=1", "a;=1"),
        ("\u00a020117\u200b", "20117"),
        ("\ufeff @bob\t", "@bob"),
    ],
)
def test_apostrophes_of_a_spreadsheet_and_blanks_around_a_cell_are_no_part_of_it(
    cell: str, means: str
) -> None:
    content = f'to,amount,buy,memo\n{cell},"{cell}",A,"{cell}"\n'.encode()
    (row,) = read_sheet("a.csv", content).rows
    for column in ("to", "memo", "sell_amount"):
        assert row.cell(column) == means


def test_rows_know_their_line_past_quoted_line_breaks_and_blank_lines() -> None:
    content = HEAD + b'@bob,1,"ETH\nbase",USDC\n\n,,,\n@cy,2,ETH,USDC\n'
    sheet = read_sheet("a.csv", content)
    assert [(row.number, row.line) for row in sheet.rows] == [(1, 2), (2, 6)]
    assert sheet.rows[0].cell("buy") == "ETH\nbase"


def test_cells_beyond_the_last_column_are_kept_to_be_told() -> None:
    sheet = read_sheet("a.csv", HEAD + b"@bob,1,5,ETH,USDC\n@cy,2,ETH,USDC\n")
    assert sheet.rows[0].extra == ("USDC",)
    assert sheet.rows[1].extra == ()


@each_row(
    ("content", "code", "line"),
    [
        (b"", "EMPTY", None),
        (b"\n \n\n", "EMPTY", None),
        (b"\xef\xbb\xbf", "EMPTY", None),
        (HEAD, "EMPTY", None),
        (HEAD + b",,,\n", "EMPTY", None),
        (b"\xff\xfe\n\x00", "EMPTY", None),
        (b"\xff\xfe\x00\xd8", "ENCODING", 1),
        (b"sep=|\n" + HEAD.replace(b",", b"|"), "SEPARATOR", 1),
        (HEAD + b"@bob,1,ETH,\xff\n", "ENCODING", 2),
        (HEAD + b"@bob,1,\x00,USDC\n", "ENCODING", 2),
        (b"to|amount|token\n@bob|1|ETH\n", "SEPARATOR", 1),
        (b"hello\nthere\n", "SEPARATOR", 1),
        (HEAD + b'@bob,1,"ETH,USDC\n', "QUOTES", 2),
        (HEAD + b'@bob,1,"ETH"x,USDC\n', "QUOTES", 2),
        (HEAD + b"@bob,1,ETH,USDC\n" + b'@bob,1,"' + b"x" * 140_000 + b'",U\n', "CELL", 3),
        (b"to,to,amount,token\n@bob,@bob,1,ETH\n", "COLUMN_TWICE", 1),
        (b"to,token,sell\n@bob,ETH,USDC\n", "COLUMN_MISSING", 1),
        (HEAD + b"@bob,1,ETH,USDC\n" * (MOST_ROWS + 1), "TOO_MANY_ROWS", MOST_ROWS + 2),
    ],
)
def test_what_is_no_batch_is_refused_with_its_line(
    content: bytes, code: str, line: int | None
) -> None:
    error = refused(content)
    assert (error.code, error.line) == (code, line)


def test_only_plain_files_of_bounded_size_are_read(tmp_path: Path) -> None:
    large = tmp_path / "large.csv"
    large.write_bytes(b"a" * (MOST_BYTES + 1))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, code in (
        (large, "TOO_LARGE"),
        (tmp_path, "NO_FILE"),
        (pipe, "NO_FILE"),
        (tmp_path / "absent.csv", "NO_FILE"),
    ):
        with pytest.raises(UnreadableFile) as caught:
            read_bytes(path)
        assert caught.value.code == code
    fine = tmp_path / "fine.csv"
    fine.write_bytes(HEAD)
    assert read_bytes(fine) == HEAD


def test_reading_rests_while_it_reads() -> None:
    assert with_rests(HEAD + b"@bob,1,ETH,USDC\n" * (4 * STEP_ROWS))[1] == 5


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.tuples(TEXT, TEXT, TEXT, TEXT), min_size=1, max_size=8),
    st.sampled_from(list(SEPARATORS)),
)
def test_what_a_csv_writer_wrote_is_read_cell_by_cell(
    rows: list[tuple[str, str, str, str]], separator: str
) -> None:
    kept = [
        tuple(map(as_written, row))
        for row in rows
        if any(cell.strip() for cell in row) and not row[0].startswith(("#", "//"))
    ]
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, quoting=csv.QUOTE_ALL)
    writer.writerow(["to", "amount", "token", "memo"])
    writer.writerows(rows)
    content = out.getvalue().encode()
    if not kept:
        assert refused(content).code == "EMPTY"
        return
    sheet = read_sheet("a.csv", content)
    assert sheet.separator == separator
    columns = ("to", "sell_amount", "buy", "memo")
    assert [tuple(row.cells[column] for column in columns) for row in sheet.rows] == kept


@settings(max_examples=examples(200), deadline=None)
@given(
    st.one_of(st.binary(max_size=200), TEXT.map(str.encode), TEXT.map(lambda t: HEAD + t.encode()))
)
def test_whatever_is_in_a_file_it_is_read_or_refused(content: bytes) -> None:
    try:
        sheet = read_sheet("a.csv", content)
    except UnreadableFile:
        return
    assert sheet.rows
    assert [row.number for row in sheet.rows] == list(range(1, len(sheet.rows) + 1))


def test_a_cell_is_written_anew_and_nothing_else_changes() -> None:
    sheet = read_sheet("a.csv", HEAD + b"@bob,1,ETH,USDC,more\n@cy,2,ETH,USDC\n")
    after = edited(sheet, 1, "sell_amount", "3")
    assert after.rows[0].cell("sell_amount") == "3"
    assert after.rows[0].extra == ()
    assert after.rows[1] is sheet.rows[1]
    assert sheet.rows[0].cell("sell_amount") == "1"


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


@each_row(
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


@each_row(
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


@each_row("name", FILES)
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


@each_row(
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
