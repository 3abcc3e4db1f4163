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
from swapdesk.flows.batch.reading import (
    MOST_BYTES,
    MOST_ROWS,
    STEP_ROWS,
    UnreadableFile,
    read_bytes,
    read_sheet,
    reading,
)
from swapdesk.flows.batch.sheet import TEMPLATE, Column, Separator, edited

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
    assert sheet.rows[0].cell(Column.SELL) == "USDC.ethereum"
    bare = mark.join(["@bob", "1.5", "ETH", "base", "", "private", "USDC.ethereum"])
    sheet = read_sheet("a.csv", f"{bare}\n{bare}\n".encode())
    assert (sheet.separator, sheet.headed, len(sheet.rows)) == (Separator(mark), False, 2)
    assert sheet.columns == TEMPLATE
    assert sheet.rows[1].cell(Column.ROUTE) == "private"


def test_decimal_commas_between_semicolons_stay_in_their_cell() -> None:
    sheet = read_sheet("a.csv", b"to;amount;token;sell\n@bob;1,5;ETH;USDC\n@cy;2,5;ETH;USDC\n")
    assert sheet.separator is Separator.SEMICOLON
    assert [row.cell(Column.AMOUNT) for row in sheet.rows] == ["1,5", "2,5"]


def test_a_mark_of_bytes_spellings_and_line_ends_do_not_matter() -> None:
    content = "\ufeffRecipient, AMOUNT ,Buys,Destination Tag,From,Note\r\n@bob,1,ETH,7,USDC,hi\r\n"
    sheet = read_sheet("a.csv", content.encode())
    assert sheet.columns == (
        Column.TO,
        Column.AMOUNT,
        Column.TOKEN,
        Column.MEMO,
        Column.SELL,
    )
    assert sheet.unused == ("Note",)
    assert sheet.rows[0].cell(Column.MEMO) == "7"


def test_rows_know_their_line_past_quoted_line_breaks_and_blank_lines() -> None:
    content = HEAD + b'@bob,1,"ETH\nbase",USDC\n\n,,,\n@cy,2,ETH,USDC\n'
    sheet = read_sheet("a.csv", content)
    assert [(row.number, row.line) for row in sheet.rows] == [(1, 2), (2, 6)]
    assert sheet.rows[0].cell(Column.TOKEN) == "ETH\nbase"


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
    columns = (Column.TO, Column.AMOUNT, Column.TOKEN, Column.MEMO)
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
    after = edited(sheet, 1, Column.AMOUNT, "3")
    assert after.rows[0].cell(Column.AMOUNT) == "3"
    assert after.rows[0].extra == ()
    assert after.rows[0].changed == {Column.AMOUNT}
    assert after.rows[1] is sheet.rows[1]
    assert sheet.rows[0].cell(Column.AMOUNT) == "1"
    for number in (0, 3):
        with pytest.raises(KeyError):
            edited(sheet, number, Column.AMOUNT, "3")
