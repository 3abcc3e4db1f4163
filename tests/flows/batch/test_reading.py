"""Files of recipients: separators, heads, quotes, encodings, and what is no batch."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampling import examples
from swapdesk.flows.batch.planned import (
    WITHOUT_HEADS,
    InputRow,
    Separator,
    Sheet,
    SheetColumn,
    edited,
)
from swapdesk.flows.batch.reading import (
    MOST_BYTES,
    MOST_ROWS,
    STEP_ROWS,
    UnreadableFile,
    read_bytes,
    read_sheet,
    reading,
    with_decimal_commas,
)

HEAD = b"to,amount,token,sell\n"
TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=0, max_size=12
)


def refused(content: bytes) -> UnreadableFile:
    with pytest.raises(UnreadableFile) as caught:
        read_sheet("payout.csv", content)
    assert caught.value.reason
    assert caught.value.do
    return caught.value


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_the_separator_is_found_with_and_without_a_head(mark: str) -> None:
    head = mark.join(["to", "amount", "token", "sell"])
    row = mark.join(["@bob", "1.5", "ETH.base", "USDC.ethereum"])
    sheet = read_sheet("a.csv", f"{head}\n{row}\n".encode())
    assert (sheet.separator, sheet.headed) == (Separator(mark), True)
    assert sheet.rows[0].cell(SheetColumn.SELL) == "USDC.ethereum"
    bare = mark.join(["@bob", "1.5", "ETH", "base", "", "private", "USDC.ethereum"])
    sheet = read_sheet("a.csv", f"{bare}\n{bare}\n".encode())
    assert (sheet.separator, sheet.headed, len(sheet.rows)) == (Separator(mark), False, 2)
    assert sheet.columns == WITHOUT_HEADS
    assert sheet.rows[1].cell(SheetColumn.ROUTE) == "private"


ROW = {
    SheetColumn.TO: "@rita",
    SheetColumn.SELL_AMOUNT: "250",
    SheetColumn.SELL: "USDC.ethereum",
    SheetColumn.BUY: "XRP",
    SheetColumn.CHAIN: "xrp",
    SheetColumn.MEMO: "20117",
    SheetColumn.ROUTE: "standard",
}


@pytest.mark.parametrize(
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
    assert [row.cell(SheetColumn.SELL_AMOUNT) for row in sheet.rows] == [
        one.strip() for one in amounts
    ]
    read = with_decimal_commas(sheet)
    found = [row.cell(SheetColumn.SELL_AMOUNT) for row in read.rows]
    assert found == ["1.5", "1.234", "20", "0.5", "abc", "1,2,3"]
    assert (sheet.said, read.said) == ("semicolon, header", "semicolon, header, decimal comma")
    assert with_decimal_commas(read_sheet("a.csv", HEAD + b"@bob,3,ETH,USDC\n")).decimal_comma


def test_a_point_beside_decimal_commas_is_never_guessed() -> None:
    row = InputRow(1, 7, {SheetColumn.SELL_AMOUNT: "1.234"})
    with pytest.raises(UnreadableFile) as caught:
        with_decimal_commas(Sheet("a.csv", Separator.SEMICOLON, True, (), (row,)))
    assert (caught.value.code, caught.value.line) == ("DECIMAL_COMMA", 7)


def test_decimal_commas_between_semicolons_stay_in_their_cell() -> None:
    sheet = read_sheet("a.csv", b"to;amount;token;sell\n@bob;1,5;ETH;USDC\n@cy;2,5;ETH;USDC\n")
    assert sheet.separator is Separator.SEMICOLON
    assert [row.cell(SheetColumn.SELL_AMOUNT) for row in sheet.rows] == ["1,5", "2,5"]


def test_a_mark_of_bytes_spellings_and_line_ends_do_not_matter() -> None:
    content = "\ufeffRecipient, AMOUNT ,Buys,Destination Tag,From,Note\r\n@bob,1,ETH,7,USDC,hi\r\n"
    sheet = read_sheet("a.csv", content.encode())
    assert sheet.columns == (
        SheetColumn.TO,
        SheetColumn.SELL_AMOUNT,
        SheetColumn.BUY,
        SheetColumn.MEMO,
        SheetColumn.SELL,
    )
    assert sheet.unused == ("Note",)
    assert sheet.rows[0].cell(SheetColumn.MEMO) == "7"


def test_rows_know_their_line_past_quoted_line_breaks_and_blank_lines() -> None:
    content = HEAD + b'@bob,1,"ETH\nbase",USDC\n\n,,,\n@cy,2,ETH,USDC\n'
    sheet = read_sheet("a.csv", content)
    assert [(row.number, row.line) for row in sheet.rows] == [(1, 2), (2, 6)]
    assert sheet.rows[0].cell(SheetColumn.BUY) == "ETH\nbase"


def test_cells_beyond_the_last_column_are_kept_to_be_told() -> None:
    sheet = read_sheet("a.csv", HEAD + b"@bob,1,5,ETH,USDC\n@cy,2,ETH,USDC\n")
    assert sheet.rows[0].extra == ("USDC",)
    assert sheet.rows[1].extra == ()


@pytest.mark.parametrize(
    ("content", "code", "line"),
    [
        (b"", "EMPTY", None),
        (b"\n \n\n", "EMPTY", None),
        (b"\xef\xbb\xbf", "EMPTY", None),
        (HEAD, "EMPTY", None),
        (HEAD + b",,,\n", "EMPTY", None),
        ("to,amount\n".encode("utf-16"), "ENCODING", 1),
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
        (b"a" * (MOST_BYTES + 1), "TOO_LARGE", None),
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
    steps = list(reading("a.csv", HEAD + b"@bob,1,ETH,USDC\n" * (4 * STEP_ROWS)))
    assert len(steps) == 5


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.tuples(TEXT, TEXT, TEXT, TEXT), min_size=1, max_size=8),
    st.sampled_from(list(Separator)),
)
def test_what_a_csv_writer_wrote_is_read_cell_by_cell(
    rows: list[tuple[str, str, str, str]], separator: Separator
) -> None:
    kept = [row for row in rows if any(cell.strip() for cell in row)]
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator.value, quoting=csv.QUOTE_ALL)
    writer.writerow(["to", "amount", "token", "memo"])
    writer.writerows(rows)
    content = out.getvalue().encode()
    if not kept:
        assert refused(content).code == "EMPTY"
        return
    sheet = read_sheet("a.csv", content)
    assert sheet.separator is separator
    columns = (SheetColumn.TO, SheetColumn.SELL_AMOUNT, SheetColumn.BUY, SheetColumn.MEMO)
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
    after = edited(sheet, 1, SheetColumn.SELL_AMOUNT, "3")
    assert after.rows[0].cell(SheetColumn.SELL_AMOUNT) == "3"
    assert after.rows[0].extra == ()
    assert after.rows[0].changed == {SheetColumn.SELL_AMOUNT}
    assert after.rows[1] is sheet.rows[1]
    assert sheet.rows[0].cell(SheetColumn.SELL_AMOUNT) == "1"
    for number in (0, 3):
        with pytest.raises(KeyError):
            edited(sheet, number, SheetColumn.SELL_AMOUNT, "3")
