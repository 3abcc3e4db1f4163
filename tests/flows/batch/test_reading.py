"""Files of recipients: which are offered, separators, heads, quotes, encodings, and what is no
batch.

Plans of files against a real service: every problem named, twins kept, groups, limits.
"""

from __future__ import annotations

import csv
import io
import os
import re
import shlex
import stat
from decimal import Decimal
from itertools import count
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from flows.test_recipients import address
from rows import each_row
from sampling import examples
from swapdesk.client.api import PartnerApi
from swapdesk.clock import ManualClock, SystemClock
from swapdesk.flows.batch import reading
from swapdesk.flows.batch.plan import BatchPlan, Means, against_means, plan_of
from swapdesk.flows.batch.planner import STEP, BatchPlanner, RowJudge, arrives_about
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
    template,
    with_decimal_commas,
)
from swapdesk.flows.batch.rows import (
    SEPARATORS,
    WITHOUT_HEADS,
    Row,
    Sheet,
    SheetColumn,
    edited,
    selling,
    skipping,
)
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.orders.order_export import as_written
from swapdesk.flows.payees.address_book import AddressBook, BookEntry
from swapdesk.sandbox.world import find_token
from swapdesk.wire.multi import MultiExchangeRequest
from swapdesk.wire.quotes import Limits, PairLimits
from world import World

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


PLAN_HEAD = "to,amount,token,chain,memo,route,sell,refund\n"


@pytest.fixture
def planner(
    catalog: Catalog, book: AddressBook, clock: ManualClock, journal: Journal
) -> BatchPlanner:
    return BatchPlanner(catalog, book, journal, clock, live=False)


def csv_of(*rows: str, head: str = PLAN_HEAD) -> bytes:
    return (head + "\n".join(rows) + "\n").encode()


async def planned(planner: BatchPlanner, api: PartnerApi, *rows: str) -> BatchPlan:
    plan = await planner.judged(read_sheet("payout.csv", csv_of(*rows)))
    return await planner.with_limits(plan, api)


def found(row: Row) -> list[tuple[str, SheetColumn | None]]:
    return [(one.code, one.column) for one in row.findings]


BAD_ROWS: list[tuple[str, str, SheetColumn | None, str]] = [
    (",100,ETH,base,,,USDC.ethereum,", "NO_RECIPIENT", "to", "No recipient"),
    ("@nobody,100,ETH,base,,,USDC.ethereum,", "BAD_ADDRESS", "to", "address book"),
    ("@cold,100,ETH,base,,,USDC.ethereum,", "BAD_ADDRESS", "to", "Bitcoin"),
    (
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD,100,ETH,base,,,USDC.ethereum,",
        "BAD_ADDRESS",
        "to",
        "checksum",
    ),
    # Nobody is paid at the contract of a token.
    (
        f"{find_token('base', 'USDC').address},100,ETH,base,,,USDC.ethereum,",
        "BAD_ADDRESS",
        "to",
        "contract",
    ),
    ("@bob,,ETH,base,,,USDC.ethereum,", "NO_AMOUNT", "sell_amount", "No amount"),
    (
        '@bob,"1,5",ETH,base,,,USDC.ethereum,',
        "BAD_AMOUNT",
        "sell_amount",
        "write 1.5",
    ),
    (
        '@bob,"1,000",ETH,base,,,USDC.ethereum,',
        "BAD_AMOUNT",
        "sell_amount",
        "1.000 or 1000",
    ),
    ("@bob,0,ETH,base,,,USDC.ethereum,", "BAD_AMOUNT", "sell_amount", "above 0"),
    ("@bob,1e3,ETH,base,,,USDC.ethereum,", "BAD_AMOUNT", "sell_amount", "exponent"),
    (
        "@bob,1.1234567,ETH,base,,,USDC.ethereum,",
        "BAD_AMOUNT",
        "sell_amount",
        "6 decimals",
    ),
    ("@bob,=1+1,ETH,base,,,USDC.ethereum,", "BAD_AMOUNT", "sell_amount", '"="'),
    ("@bob,100,NOPE,base,,,USDC.ethereum,", "TOKEN_NOT_FOUND", "buy", "NOPE"),
    ("@bob,100,,base,,,USDC.ethereum,", "NO_TOKEN", "buy", "recipient"),
    ("@bob,100,ETH,base,,,,", "NO_TOKEN", "sell", "to sell"),
    ("@bob,100,ETH,,,,USDC.ethereum,", "AMBIGUOUS_TOKEN", "buy", "ETH.base"),
    ("@bob,100,ETH,base,,,USDC,", "AMBIGUOUS_TOKEN", "sell", "USDC."),
    ("@bob,100,ETH,atlantis,,,USDC.ethereum,", "NO_CHAIN", "chain", "atlantis"),
    (
        "@bob,100,ETH.base,ethereum,,,USDC.ethereum,",
        "OTHER_CHAIN",
        "chain",
        "Ethereum",
    ),
    ("@bob,100,ETH,base,,dex,USDC.ethereum,", "BAD_ROUTE", "route", "on chains"),
    ("@bob,100,ETH,base,,fast,USDC.ethereum,", "BAD_ROUTE", "route", "fast"),
    ("@bob,100,ETH,base,hello,,USDC.ethereum,", "BAD_MEMO", "memo", "no memos"),
    ("@rita,100,XRP,xrp,99999999999,,USDC.ethereum,", "BAD_MEMO", "memo", ""),
    ("@bob,100,USDC,ethereum,,,USDC.ethereum,", "SAME_TOKEN", "buy", "private"),
    ("@bob,100,ETH,base,,,USDC.ethereum,nonsense", "BAD_REFUND", "refund", ""),
    ("@bob,0.0001,ETH,base,,,USDC.ethereum,", "LIMITS", "sell_amount", "smallest"),
    ("@bob,90000000,ETH,base,,,USDC.ethereum,", "LIMITS", "sell_amount", "largest"),
    ("@bob,100,ETH,base,,,USDC.ethereum,,x", "TOO_MANY_CELLS", None, "x"),
    ("@bob,1,000.50,ETH,base,,standard,USDC.ethereum,", "TOO_MANY_CELLS", None, '"000.50"'),
    ("@bob,-5,ETH,base,,,USDC.ethereum,", "BAD_AMOUNT", "sell_amount", "no sign"),
    (
        "@bob," + "1" * 600 + ",ETH,base,,,USDC.ethereum,",
        "TOO_LONG",
        "sell_amount",
        "600",
    ),
]


async def test_a_bad_row_names_column_reason_and_what_to_do(
    planner: BatchPlanner, api: PartnerApi
) -> None:
    good = "@bob,100,ETH,base,,,USDC.ethereum,"
    plan = await planned(planner, api, good, *(row for row, *_ in BAD_ROWS))
    problems = [[(one.code, one.column) for one in row.problems] for row in plan.rows]
    assert problems == [[], *([(code, column)] for _, code, column, _ in BAD_ROWS)]
    for row, (_, _, _, says) in zip(plan.rows[1:], BAD_ROWS, strict=True):
        assert (row.state, says in row.problems[0].reason) == ("problem", True), row
        assert row.problems[0].do, row
    assert not plan.creatable
    assert [one.number for group in plan.groups for one in group.rows] == [1]


async def test_disabled_and_malicious_tokens_are_never_planned(
    planner: BatchPlanner, api: PartnerApi, catalog: Catalog
) -> None:
    disabled = next(row for row in catalog.rows if not row.enabled and row.kind == "evm")
    malicious = next(row for row in catalog.rows if row.enabled and row.verdict == "malicious")
    to = address("evm", "somebody")
    plan = await planned(
        planner,
        api,
        f"{to},1,{disabled.id},,,,USDC.ethereum,",
        f"{to},1,{malicious.id},,,,USDC.ethereum,",
        f"{to},1,ETH.base,,,,{malicious.id},",
    )
    assert found(plan.rows[0])[0] == ("TOKEN_DISABLED", "buy")
    assert ("TOKEN_REFUSED", "buy") in found(plan.rows[1])
    assert ("TOKEN_REFUSED", "sell") in found(plan.rows[2])
    assert plan.groups == ()


async def test_twins_are_flagged_and_kept_in_whatever_spelling(
    planner: BatchPlanner, api: PartnerApi, book: AddressBook, bob: BookEntry
) -> None:
    plan = await planned(
        planner,
        api,
        "@bob,100,ETH,base,,,USDC.ethereum,",
        f"{bob.address.lower()},100.0,ETH.base,,,standard,USDC.ethereum,",
        "@bob,101,ETH,base,,,USDC.ethereum,",
    )
    assert [row.state for row in plan.rows] == ["ready", "look", "ready"]
    assert ("DUPLICATE", None) in found(plan.rows[1])
    assert plan.creatable
    assert plan.totals[0].amount == Decimal(301)
    assert len(plan.groups[0].rows) == 3


XRP = "rDsbeomae4FXwgQTJp9Rs64Qg9vDiTCdBv"
XLM = "GDRXE2BQUC3AZNPVFSCEZ76NJ3WWL25FYFK6RGZGIEKWE4SOOHSUJUJ6"


@each_row(
    ("first", "second", "same"),
    [
        (f"{XRP},100,XRP,xrp,7", f"{XRP},100,XRP,xrp,7", True),
        (f"{XRP},100,XRP,xrp,7", f"{XRP},100.00,XRP.xrp,xrp,007", True),
        ("@rita,100,XRP,xrp,", "@rita,100,XRP,xrp,20117", True),
        (f"{XRP},100,XRP,xrp,7", f"{XRP},100,XRP,xrp,8", False),
        (f"{XRP},100,XRP,xrp,7", f"{XRP},100,XRP,xrp,NO MEMO", False),
        # No tags, as a spreadsheet made both of another one.
        (f"{XRP},100,XRP,xrp,1.1E+05", f"{XRP},100,XRP,xrp,1.2E+05", False),
        (f"{XRP},100,XRP,xrp,1.1E+05", f"{XRP},100,XRP,xrp,1.1E+05", False),
        (f"{XRP},100,XRP,xrp,", f"{XRP},100,XRP,xrp,", False),
        (f"{XLM},100,XLM,stellar,1.1E+05", f"{XLM},100,XLM,stellar,1.2E+05", False),
        (f"{XLM},100,XLM,stellar,7", f"{XLM},100,XLM,stellar,007", False),
        (f"{XLM},100,XLM,stellar, seven", f"{XLM},100,XLM,stellar,seven\u00a0", True),
        ("@bob,100,ETH,base,", "@bob,100,ETH,arbitrum,", False),
        ("@bob,100,ETH,base,", "@bob,100,USDC,base,", False),
        ("@bob,100,ETH,base,", "@bob,100.000001,ETH,base,", False),
    ],
)
async def test_rows_are_called_the_same_where_the_same_is_paid(
    planner: BatchPlanner, api: PartnerApi, first: str, second: str, same: bool
) -> None:
    plan = await planned(planner, api, *(f"{row},,USDC.ethereum," for row in (first, second)))
    assert found(plan.rows[0]).count(("DUPLICATE", None)) == 0
    assert (("DUPLICATE", None) in found(plan.rows[1])) == same


@each_row(
    ("row", "codes"),
    [
        (
            ',"1,5",NOPE,,,dex,USDC,',
            {"NO_RECIPIENT", "BAD_AMOUNT", "TOKEN_NOT_FOUND", "BAD_ROUTE", "AMBIGUOUS_TOKEN"},
        ),
        # A formula is data.
        (
            f"{address('xrp', 'an exchange')},100,XRP,xrp,+7,,USDC.ethereum,",
            {"FORMULA", "BAD_MEMO"},
        ),
    ],
)
async def test_all_that_is_wrong_with_a_row_is_told_at_once(
    planner: BatchPlanner, api: PartnerApi, row: str, codes: set[str]
) -> None:
    assert {code for code, _ in found((await planned(planner, api, row)).rows[0])} == codes


async def test_the_memo_of_the_book_goes_with_its_address(
    planner: BatchPlanner, api: PartnerApi
) -> None:
    plan = await planned(
        planner,
        api,
        "@rita,100,XRP,xrp,,,USDC.ethereum,",
        "@rita,100,XRP,xrp,4,,USDC.ethereum,",
        f"{address('xrp', 'a wallet')},100,XRP,xrp,NO MEMO,,USDC.ethereum,",
        f"{address('xrp', 'another')},100,XRP,xrp,,,USDC.ethereum,",
    )
    first, other, waived, missing = plan.rows
    assert (first.state, first.order.memo) == ("ready", "20117")
    assert found(other) == [("MEMO_WARNING", "memo")]
    assert (waived.state, waived.order.memo) == ("look", None)
    assert found(missing) == [("NO_MEMO", "memo")]
    (said,) = missing.findings
    assert said.do.endswith("into the cell memo, or NO MEMO if the wallet has none.")


async def test_a_row_to_what_only_a_program_can_spend_from_is_agreed_to(
    planner: BatchPlanner, api: PartnerApi
) -> None:
    vault = "5Q544fKrFoe6tsEbD7S8EmxGTJYAKtTVhAW5Q5pge4j1"
    plan = await planned(
        planner,
        api,
        f"{vault},100,SOL,solana,,,USDC.ethereum,",
        "@sol,100,SOL,solana,,,USDC.ethereum,",
        f"@bob,5,ETH,base,,,SOL.solana,{vault}",
    )
    paid, named, refunded = plan.rows
    assert found(paid)[0] == ("ADDRESS_WARNING", "to")
    assert found(refunded) == [("ADDRESS_WARNING", "refund")]
    assert [number for number, _ in plan.doubted] == [paid.number, refunded.number]
    assert not [one for one in named.findings if one.level == "consent"]


async def test_groups_have_one_chain_and_at_most_fifty_rows(
    planner: BatchPlanner, api: PartnerApi
) -> None:
    rows = [f"@bob,{100 + at},ETH,base,,,USDC.ethereum," for at in range(51)]
    rows.insert(3, "@bob,1,ETH,base,,private,SOL.solana,")
    rows.insert(9, "@bob,1,ETH,base,,,BTC.bitcoin,")
    plan = await planned(planner, api, *rows)
    assert [(one.chain, len(one.rows), one.paid) for one in plan.groups] == [
        ("ethereum", 50, "bundle"),
        ("ethereum", 1, "bundle"),
        ("solana", 1, "solana"),
    ]
    assert found(plan.rows[9]) == [("NO_BUNDLER", "sell")]
    assert (plan.calls.create, plan.calls.submit) == (3, 2)
    assert plan.routes == {"standard": 51, "private": 1}
    assert {one.token.symbol: one.amount for one in plan.totals} == {
        "USDC": Decimal(sum(range(100, 151))),
        "SOL": Decimal(1),
    }
    for group in plan.groups:
        MultiExchangeRequest(orders=[order.request() for order in group.orders])


async def test_what_a_live_wallet_cannot_pay_together_is_a_problem_of_the_plan(
    catalog: Catalog, book: AddressBook, clock: ManualClock, api: PartnerApi, tmp_path: Path
) -> None:
    journal = Journal.open(tmp_path / "journal.db", clock)
    live = BatchPlanner(catalog, book, journal, clock, live=True)
    plan = await planned(
        live,
        api,
        "@bob,100,ETH,base,,,USDC.ethereum,",
        "@bob,1,ETH,base,,private,SOL.solana,",
        "@bob,1,ETH,base,,,BTC.bitcoin,",
    )
    bundled, solana, alone = plan.rows
    assert found(bundled) == [("NO_SMART_ACCOUNTS", "sell")]
    (said,) = bundled.findings
    assert "pays no bundles on Ethereum" in said.reason
    assert "by itself" in said.do
    assert solana.state == "ready"
    assert found(alone) == [("NO_BUNDLER", "sell")]
    assert not plan.creatable
    assert [(one.chain, one.paid) for one in plan.groups] == [("solana", "solana")]
    journal.close()


async def test_what_the_wallet_has_too_little_for_is_a_problem_of_the_plan(
    planner: BatchPlanner, api: PartnerApi
) -> None:
    plan = await planned(
        planner,
        api,
        "@bob,4000,ETH,base,,,USDC.ethereum,",
        "@rita,50000,XRP,xrp,,,USDC.ethereum,",
        "@bob,6000,ETH,base,,,USDC.ethereum,",
        "@bob,1,ETH,base,,,ETH.ethereum,",
        "@bob,1,ETH,base,,private,SOL.solana,",
        "@rita,3000,XRP,xrp,,,USDC.ethereum,",
    )
    assert plan.creatable
    usdc = plan.totals[0].token
    means = Means("ethereum", "trading", held={usdc.id: Decimal(10_000)})
    short = against_means(plan, [means])
    assert [row.number for row in short.problems] == [2, 6]
    (said,) = short.rows[1].findings
    assert (said.code, said.column) == ("NOT_IN_WALLET", "sell_amount")
    assert said.reason == (
        "Wallet trading has 10,000 USDC on Ethereum, and the rows before take 4,000 USDC of it:"
        " 44,000 USDC are missing."
    )
    assert not short.creatable
    # The total is of all that would be sold, or it would say that nothing is missing.
    assert short.totals == plan.totals
    assert means.missing(short.totals[0]) == 53_000
    assert against_means(short, [means]) is short
    # What a failed bundle left in the smart account is paid from there; the faucet may be late;
    # and what is not known is no problem.
    beside = replace(means, in_smart_account={usdc.id: Decimal(53_000)})
    unread = replace(means, held={usdc.id: None})
    for known in (beside, replace(means, filling=True), unread):
        assert against_means(short, [known]).rows == plan.rows
    assert against_means(short, []).creatable


async def test_a_row_that_is_skipped_is_left_out_of_everything_until_it_is_taken_in_again(
    planner: BatchPlanner, api: PartnerApi
) -> None:
    plan = await planned(
        planner,
        api,
        "@bob,100,ETH,base,,,USDC.ethereum,",
        "@bob,0.0001,ETH,base,,,USDC.ethereum,",
        "@bob,100,ETH,base,,,USDC.ethereum,",
        "@bob,90,BTC,bsc,,,USDC.ethereum,",
        "@rita,1200,XRP,xrp,,,USDC.ethereum,",
        "@bob,1,ETH,base,,,SOL.solana,",
    )
    means = (Means("ethereum", "trading", held={plan.totals[0].token.id: Decimal(1_350)}),)
    plan = against_means(plan, means)
    assert [row.state for row in plan.rows] == [
        "ready",
        "problem",
        "look",
        "look",
        "problem",
        "ready",
    ]

    def without(*numbers: int) -> BatchPlan:
        sheet = skipping(plan.sheet, numbers)
        return against_means(plan_of(sheet, plan.rows, limits_known=True), means)

    assert not without(5).creatable
    some = without(2, 5)
    assert [row.state for row in some.rows] == [
        "ready",
        "skipped",
        "look",
        "look",
        "skipped",
        "ready",
    ]
    assert some.creatable
    assert [one.number for group in some.groups for one in group.rows] == [1, 3, 4, 6]
    assert [(one.amount, one.rows) for one in some.totals] == [(290, 3), (1, 1)]
    assert {one.token.symbol for one in some.arrivals} == {"ETH", "BTC"}
    assert some.routes == {"standard": 4}
    # It is neither somebody's twin nor doubted, and takes nothing out of the wallet.
    others = without(1, 2, 4)
    assert [row.state for row in others.rows] == ["skipped", "skipped", "ready", "skipped"] + [
        "ready"
    ] * 2
    assert others.doubts == ()
    assert len(some.doubts) == 1
    assert others.creatable
    again = skipping(others.sheet, (1, 2, 4))
    assert against_means(plan_of(again, others.rows, limits_known=True), means) == plan
    assert not without(*range(1, 7)).creatable
    with pytest.raises(KeyError):
        without(7)
    # Judged anew, as when a cell is corrected, it stays skipped.
    judged = await planner.with_limits(await planner.judged(some.sheet), api)
    assert against_means(judged, means) == some


async def test_limits_that_cannot_be_asked_lock_their_rows(
    planner: BatchPlanner, world: World
) -> None:
    sheet = read_sheet("a.csv", csv_of("@bob,100,ETH,base,,,USDC.ethereum,"))
    plan = await planner.judged(sheet)
    assert not plan.creatable
    world.network.inner = httpx2.MockTransport(
        lambda request: httpx2.Response(
            404, json={"code": "TOKEN_DISABLED", "message": "to is disabled", "requestId": "1"}
        )
    )
    after = await planner.with_limits(plan, world.api)
    assert [code for code, _ in found(after.rows[0])] == ["LIMITS_UNKNOWN"]
    assert not after.creatable


async def test_rows_are_told_while_they_are_judged(planner: BatchPlanner) -> None:
    rows = ["@bob,bad,ETH,base,,,USDC.ethereum,"] * (3 * STEP)
    seen: list[int] = []
    await planner.judged(
        read_sheet("a.csv", csv_of(*rows)), lambda so_far: seen.append(len(so_far))
    )
    assert seen == [STEP, 2 * STEP, 3 * STEP]


async def test_the_template_is_a_clean_plan_that_sells_what_it_says(
    planner: BatchPlanner, api: PartnerApi, book: AddressBook
) -> None:
    written = template(book)
    assert written.startswith("to,sell_amount,sell,buy,chain,memo,route\n")
    assert "@rita,250,USDC.ethereum,XRP,xrp,20117,standard\n" in written
    plan = await planner.judged(read_sheet("t.csv", written.encode()))
    assert [row.state for row in plan.rows] == ["ready"] * 3
    assert plan.heads_note is None
    rita = plan.rows[2].order
    assert (rita.amount, rita.token_in.symbol, rita.token_out.symbol) == (250, "USDC", "XRP")


async def test_heads_of_before_say_once_how_the_amount_is_read(
    planner: BatchPlanner, api: PartnerApi
) -> None:
    plan = await planned(
        planner,
        api,
        "@bob,100,USDC,ethereum,,private,USDC.ethereum,",
        "@rita,250,XRP,xrp,,,USDC.ethereum,",
        "@bob,100,ETH,base,,,USDC.ethereum,",
    )
    assert plan.heads_note == (
        "The amount counts what is sold: row 2 sells 250 USDC and buys XRP. It does not buy"
        " 250 XRP. The heads sell_amount, sell and buy say so."
    )


async def test_a_plan_says_about_what_arrives_without_a_quote(
    planner: BatchPlanner, api: PartnerApi
) -> None:
    """By prices of the list, and never outside of what the limits state as received."""
    plan = await planned(
        planner,
        api,
        "@rita,250,XRP,xrp,,,USDC.ethereum,",
        "@rita,250,XRP,xrp,,private,USDC.ethereum,",
        "@bob,100,ETH,base,,,USDC.ethereum,",
        "@bob,5,USDC,ethereum,,private,USDC.ethereum,",
        "@bob,bad,ETH,base,,,USDC.ethereum,",
    )
    orders = [row.order for row in plan.rows if row.order is not None]
    assert orders[3].about == Decimal(5)
    assert [(one.token.symbol, one.rows) for one in plan.arrivals] == [
        ("XRP", 2),
        ("ETH", 1),
        ("USDC", 1),
    ]
    assert plan.arrivals[0].about == (orders[0].about or 0) + (orders[1].about or 0)


def limits(**bucket: str) -> PairLimits:
    return PairLimits(cex=Limits(**{name: Decimal(text) for name, text in bucket.items()}))


@each_row(
    ("prices", "stated", "about"),
    [
        (("2", "4"), None, "50"),
        (("2", "4"), limits(min="10", max="1000"), "50"),
        # Prices may be old: what the pair itself states as received bounds them.
        (("2", "4"), limits(min="10", max="100", min_out="4", max_out="40"), "40"),
        (("2", "4"), limits(min="100", max="900", min_out="60", max_out="500"), "60"),
        # The smallest amount loses 1 of its worth of 5, and so does every other.
        (("2", "4"), limits(min="10", max="0", min_out="4", max_out="0"), "49"),
        (("2", "4"), limits(min="10", max="1000", min_out="4", max_out="480"), "49"),
        # An amount that the pair does not take buys neither.
        (("2", "4"), limits(min="200", max="900", min_out="60", max_out="500"), "50"),
        (("2", "4"), limits(min="10", max="90", min_out="4", max_out="40"), "50"),
        # A token without a price: on the line between the two limits.
        ((None, "4"), limits(min="0", max="200", min_out="0", max_out="80"), "40"),
        ((None, "4"), limits(min="50", max="150", min_out="10", max_out="70"), "40"),
        (("2", None), limits(min="100", max="100", min_out="7", max_out="7"), "7"),
        (("2", None), limits(min="10", max="0", min_out="4", max_out="0"), None),
        (("2", None), limits(min="10", max="1000"), None),
        (("2", "0"), None, None),
    ],
)
async def test_what_arrives_is_of_prices_and_limits(
    planner: BatchPlanner,
    api: PartnerApi,
    prices: tuple[str | None, str | None],
    stated: PairLimits | None,
    about: str | None,
) -> None:
    plan = await planned(planner, api, "@rita,100,XRP,xrp,,,USDC.ethereum,")
    order = plan.rows[0].order
    assert order is not None
    sold, bought = (None if one is None else Decimal(one) for one in prices)
    priced = replace(
        order,
        token_in=order.token_in.model_copy(update={"price": sold}),
        token_out=order.token_out.model_copy(update={"price": bought}),
    )
    known = {} if stated is None else {order.pair: stated}
    assert arrives_about(priced, known) == (None if about is None else Decimal(about))


@each_row(
    ("amounts", "offered"),
    [
        (("1,5", "1,234", "20"), True),
        (("1,5", "1.5"), False),
        (("1,5", "-1"), False),
        (("1,5", "1,2,3"), False),
        (("20", "30"), False),
    ],
)
async def test_decimal_commas_are_offered_where_they_are_all_that_is_wrong(
    planner: BatchPlanner, api: PartnerApi, amounts: tuple[str, ...], offered: bool
) -> None:
    rows = [f'@bob,"{amount}",ETH,base,,,ETH.ethereum,' for amount in amounts]
    plan = await planned(planner, api, *rows)
    first = plan.comma_problem
    assert (first is not None) == offered
    other = await planned(planner, api, *rows, "@nobody,1,ETH,base,,,USDC.ethereum,")
    assert other.comma_problem is None
    if first is not None:
        assert first.number == 1
        read = await planner.judged(with_decimal_commas(plan.sheet))
        found = [row.order.amount for row in read.rows if row.order is not None]
        assert found == [Decimal("1.5"), Decimal("1.234"), Decimal(20)]


@pytest.fixture
def tokens(catalog: Catalog, book: AddressBook, clock: ManualClock) -> RowJudge:
    return RowJudge(catalog, clock.now(), book, {}, (), smart_accounts=True)


def row(**cells: str) -> Row:
    return Row(1, 2, dict(cells))


@each_row(
    ("cells", "column", "symbol", "chain"),
    [
        ({"buy": "ETH.base"}, "buy", "ETH", "base"),
        ({"buy": "eth", "chain": "BASE"}, "buy", "ETH", "base"),
        ({"buy": "ETH.base", "chain": "base"}, "buy", "ETH", "base"),
        ({"buy": "btc", "chain": "Bitcoin"}, "buy", "BTC", "bitcoin"),
        # The chain of a row is that of what the recipient gets.
        ({"buy": "ETH", "chain": "base", "sell": "USDC.ethereum"}, "sell", "USDC", "ethereum"),
    ],
)
def test_a_row_names_its_token_in_one_cell_or_two(
    cells: dict[str, str], column: SheetColumn, symbol: str, chain: str, tokens: RowJudge
) -> None:
    token, said = tokens.named(row(**cells), column)
    assert (token.symbol, token.chain_data.short_name, said) == (symbol, chain, ())


def test_a_row_that_sells_nothing_by_name_sells_what_is_said_beside_the_sheet(
    tokens: RowJudge,
) -> None:
    rows = (row(buy="ETH.base"), row(buy="ETH.base", sell="ETH.base"), row(sell=" "))
    sheet = selling(Sheet("a.csv", ",", True, (), rows), "USDC.ethereum")
    sold = [tokens.named(one, "sell") for one in sheet.rows]
    assert [token.symbol for token, _ in sold if token] == ["USDC", "ETH", "USDC"]
    assert selling(sheet, "") is sheet
    none, (finding,) = tokens.named(row(), "sell")
    assert (none, finding.code, finding.column) == (None, "NO_TOKEN", "sell")


@each_row(
    ("cells", "code"),
    [
        ({"buy": "avax"}, "TOKEN_DISABLED"),
        ({"buy": "disabled"}, "TOKEN_NOT_FOUND"),
        ({"buy": "disabled", "chain": "base"}, "TOKEN_NOT_FOUND"),
    ],
)
def test_a_token_is_disabled_by_what_the_list_says_and_not_by_its_name(
    cells: dict[str, str], code: str, tokens: RowJudge
) -> None:
    token, (finding,) = tokens.named(row(**cells), "buy")
    assert (token, finding.code, finding.column) == (None, code, "buy")
