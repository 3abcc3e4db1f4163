"""Choosing orders: the filter language with its errors, sequences, the spoken line, exports."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus import load
from flows.orders import DEPOSIT, NOW, RECIPIENT, intent, order, tracked
from flows.support.cases import BACK, WITH_COIN, paid
from rows import each_row
from swapdesk.chain.addresses.display import grouped, short
from swapdesk.flows.intents.intent import DepositRelease
from swapdesk.flows.orders.order_export import (
    COLUMNS,
    FORMULA,
    ExportForm,
    UnknownForm,
    as_written,
    export_bytes,
    export_directory,
    export_name,
    export_rows,
    form_of,
    inert,
    write_export,
    write_export_file,
)
from swapdesk.flows.orders.order_listing import (
    FilterProblem,
    Group,
    Sorting,
    group_of,
    read_filter,
    sort_orders,
    sorting_after,
)
from swapdesk.flows.orders.order_sentence import order_sentence
from swapdesk.flows.orders.order_status import order_status
from swapdesk.flows.orders.order_transactions import PaidOnChain
from swapdesk.flows.orders.situations import (
    LAST_HEARD,
    SITUATIONS,
    STRANDED,
)
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.paths import Home
from swapdesk.wire.encoding.text import safe_text
from swapdesk.wire.orders import Order

LATER = NOW + timedelta(minutes=6)


def kept(text: str, one: TrackedOrder) -> bool:
    return read_filter(text).keeps(one, order_status(one, LATER), LATER)


GROUP: dict[str, Any] = {"multi_id": "kXb7PqLmN4sTvWzYcDfGhJ"}
HELD: dict[str, Any] = {
    "display_status": "EXCHANGE_IN_PROGRESS", "in_status": 8, "created": NOW - timedelta(1),
}  # fmt: skip


@each_row(
    ("text", "facts", "keeps"),
    [
        ("", {}, True),
        ("btc", {}, True),
        ("BTC halyard", {}, True),
        ("private", {}, False),
        ("standard >5m", {}, True),
        (">1h", {}, False),
        ("<10m", {}, True),
        ("<6m", {}, False),
        (">6m", {}, False),
        ("open", {}, True),
        ("finished", {}, False),
        ("h8kq", {}, True),
        ("-private", {}, True),
        ("-btc", {}, False),
        ("route:standard", {}, True),
        ("route:priv", {}, False),
        ("state:waiting", {}, True),
        ("state:hold", {}, False),
        ("send:btc get:eth", {}, True),
        ("send:eth", {}, False),
        ("at:halyard", {}, True),
        (f"to:{RECIPIENT[:8].lower()}", {}, True),
        ("to:@bob", {}, False),
        ("id:h8", {}, True),
        ("-state:hold -late", {}, True),
        (short(RECIPIENT), {}, True),
        (grouped(RECIPIENT), {}, True),
        (short(DEPOSIT), {}, False),
        ("group:kXb7PqLmN4sTvWzYcDfGhJ", GROUP, True),
        ("kxb7", GROUP, True),
        ("group:kXb8", GROUP, False),
        ("group:kXb7", {}, False),
        ("route:dex", {"is_dex": True}, True),
        ("route:standard", {"is_dex": True}, False),
        ("hold >1h", HELD, True),
        ("state:late", HELD, True),
    ],
)
def test_what_a_filter_keeps(text: str, facts: dict[str, Any], keeps: bool) -> None:
    assert kept(text, tracked(**facts)) is keeps


@each_row(
    ("text", "keeps"),
    [
        ("0xFEED", True),
        ("btc 0xfeed standard", True),
        ("0xbeef", False),
        ("-0xbeef", True),
        ("-0xfeed", False),
        ("id:0xfeed", False),
        ("to:@carol", True),
        ("@carol", True),
        ("@bob", False),
    ],
)
def test_journal_and_address_book_name_orders_too(text: str, keeps: bool) -> None:
    """By an address, a hash or a request id; an order of a batch has no name of its own."""
    one = tracked()
    journal = {"0xfeed": {one.service_id}, "0xbeef": {"another"}}
    names = {RECIPIENT.lower(): "@carol"}
    line = read_filter(text).looked_up(lambda word: journal.get(word, set()), names)
    assert line.keeps(one, order_status(one, LATER), LATER) is keeps


def test_who_finds_nothing_is_told_what_was_searched() -> None:
    said = read_filter("0xfeed").nothing(1_200)
    assert said.startswith("No order matches '0xfeed'. Searched in 1,200 orders: ids, tokens,")
    assert said.endswith("all addresses and hashes, and request ids.")
    assert read_filter(">1h").nothing(1) == "No order matches '>1h'. Searched in 1 order."


STUCK = {"display_status": "FAILED", "in_status": 3, "action_required": True}
ENDS: list[tuple[dict[str, Any], Group]] = [
    ({}, Group.OPEN),
    ({"display_status": "EXCHANGE_IN_PROGRESS", "action_required": True}, Group.OPEN),
    (STUCK, Group.NEEDS_YOU),
    ({"display_status": "SWAP_COMPLETED", "action_required": True}, Group.NEEDS_YOU),
    ({"display_status": "EXPIRED", "in_status": 2, "refund_address": None}, Group.NEEDS_YOU),
    ({"display_status": "DELETED", "in_status": 3}, Group.NEEDS_YOU),
    ({"display_status": "EXPIRED", "in_status": 1}, Group.FINISHED),
    ({"display_status": "REFUNDED", "action_required": True}, Group.FINISHED),
    ({"display_status": "SWAP_COMPLETED", "in_status": 5}, Group.FINISHED),
]


@each_row(("changes", "group"), ENDS)
def test_an_order_that_needs_its_owner_is_not_among_the_finished(
    changes: dict[str, Any], group: Group
) -> None:
    one = tracked(**changes)
    assert group_of(one) is group
    assert order_status(one, NOW).yours is (order_status(one, NOW).actor == "you")


@each_row("sorting", get_args(Sorting))
def test_what_needs_its_owner_stands_first_in_every_sequence(sorting: Sorting) -> None:
    orders = [tracked(service_id=f"{at:022}", **ends) for at, (ends, _) in enumerate(ENDS)]
    groups = [group_of(one) for one in sort_orders(orders, sorting)]
    assert groups == [Group.NEEDS_YOU] * 4 + [Group.OPEN] * 2 + [Group.FINISHED] * 3


def test_every_end_that_is_for_support_is_one_that_needs_its_owner() -> None:
    asked = {row for row in SITUATIONS.values() if "write to support" in row.act}
    open_ = {SITUATIONS["held"], SITUATIONS["flagged"], LAST_HEARD}
    assert asked - STRANDED - open_ == {SITUATIONS["failed unclear"]}, "support only if it was paid"
    assert asked >= STRANDED
    assert all(case.actor == "you" for case in STRANDED)


@each_row(
    ("text", "said"),
    [
        (">1x", "'>1x': an age is a number with s, m, h or d, as >1h or <30m."),
        (">", "'>': an age is"),
        ("private <", "'<': an age is"),
        ("state:", "'state:': nothing stands after state:, as in state:hold."),
        ("group:", "'group:': nothing stands after group:, as in group:kXb7."),
        ("routes:private", "'routes:private': there is no field routes:; did you mean route:?"),
        ("zz:top", "'zz:top': there is no field zz:. Fields are route, state, send, get, at, to"),
        ("route:dexx", "'route:dexx': routes are private, standard, dex."),
        ("->1x", "'>1x': an age is"),
    ],
)
def test_what_is_no_filter_is_told_in_words(text: str, said: str) -> None:
    with pytest.raises(FilterProblem) as problem:
        read_filter(text)
    assert str(problem.value).startswith(said)


@given(st.text(max_size=40))
def test_any_line_is_a_filter_or_a_sentence(text: str) -> None:
    said = ""
    try:
        kept(text, tracked())
    except FilterProblem as problem:
        said = str(problem)
    assert not said or said[-1] in ".?"
    assert said == "" or said.startswith(("'", '"'))


def test_sequences_keep_the_groups() -> None:
    def one(name: str, minutes: float, **facts: Any) -> TrackedOrder:
        created = NOW - timedelta(minutes=minutes)
        facts = {"expires": created + timedelta(minutes=30), **facts}
        return tracked(service_id=name, created=created, **facts)

    orders = [
        one("a", 5, in_amount_usd=Decimal(10)),
        one("b", 20, in_symbol="XRP", in_amount_usd=Decimal(900)),
        one("c", 10, display_status="EXCHANGE_IN_PROGRESS", in_status=8, eta=Decimal(1)),
        one("d", 90, display_status="EXPIRED", in_status=9),
        one("e", 60, display_status="SWAP_COMPLETED", in_status=5),
    ]

    def names(by: Sorting) -> str:
        return "".join(found.service_id for found in sort_orders(orders, by))

    assert names("deadline") == "bcaed"
    assert names("newest") == "acbed"
    assert names("oldest") == "bcade"
    assert names("late") == "cbaed"
    assert names("state")[:3] == "cab"
    assert names("pair") == "acbde"
    assert names("amount") == "bacde"
    assert sorting_after("amount") == "deadline"
    # None breaks on an order that says nothing.
    bare = [TrackedOrder(Order(service_id=name), None, None, False, NOW, "list") for name in "ab"]
    for by in get_args(Sorting):
        assert len(sort_orders([*bare, tracked()], by)) == 3


def test_the_line_to_be_spoken() -> None:
    assert order_sentence(tracked(), LATER) == (
        "Order h8Kq2PdT5mXcVbN3wRtY7z, 0.5 BTC to 14.524108 ETH, standard, stage 1 of 5,"
        " 24:00 left: Waiting for the deposit. Money: in your wallet."
        " Next you: send the deposit within 24:00."
    )


def rows_of(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def test_a_csv_is_exact_and_in_utc() -> None:
    of = intent()
    one = tracked(of, in_amount=Decimal("0.500000000000000001"), out_amount=Decimal("1E-8"))
    (row,) = rows_of(export_bytes([one], LATER, "csv", {}))
    assert tuple(row) == COLUMNS
    assert (row["sendAmount"], row["getAmount"]) == ("0.500000000000000001", "0.00000001")
    assert row["created"] == "2026-11-20T14:02:11Z"
    assert (row["state"], row["depositAddress"]) == ("Waiting for you", DEPOSIT)
    assert row["refundAmount"] == row["finished"] == ""
    assert export_bytes([], LATER, "csv", {}).decode().strip() == ",".join(COLUMNS)


def test_a_json_has_numbers_in_their_own_digits() -> None:
    content = export_bytes([tracked(in_amount=Decimal("0.10"))], LATER, "json", {})
    document = json.loads(content, parse_float=Decimal)
    assert document["total"] == 1
    (row,) = document["orders"]
    assert row["sendAmount"] == Decimal("0.10")
    assert row["created"] == "2026-11-20T14:02:11.000Z"
    assert set(row) == set(COLUMNS)


@each_row("form", get_args(ExportForm))
def test_a_hidden_address_is_in_no_export(form: ExportForm) -> None:
    hidden = TrackedOrder(
        order(), None, "Not what you confirmed.", False, NOW, "list", DepositRelease.DIFFERS
    )
    assert DEPOSIT.encode() not in export_bytes([hidden], LATER, form, {})


def test_where_a_deposit_went_is_exported_of_orders_made_elsewhere_too() -> None:
    """It is no address to pay to, and does not stand where one is looked for."""
    done = {"display_status": "SWAP_COMPLETED", "in_status": 5, "deposit_tag": "77"}
    foreign = TrackedOrder(
        order(**done), None, "Not of this desk.", True, NOW, "list", DepositRelease.FOREIGN
    )
    (row,) = rows_of(export_bytes([foreign], LATER, "csv", {}))
    assert (row["depositAddress"], row["paidTo"], row["paidMemo"]) == ("", DEPOSIT, "77")
    assert row["recipient"] == RECIPIENT


FORMULAS = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    " =1",
    "＝1+1",
    "=cmd|' /C calc'!A0",
    '"=1',
    "a=1",
]


@each_row("text", FORMULAS)
def test_no_cell_is_a_formula(text: str) -> None:
    shown = safe_text(text, 60)
    bare = shown.strip()
    one = tracked(swap_name=shown, in_symbol=shown, display_status=bare, refund_chain=bare)
    (row,) = rows_of(export_bytes([one], LATER, "csv", {}))
    for name in ("provider", "sendSymbol", "displayStatus", "refundChain"):
        assert row[name].lstrip()[:1] not in FORMULA, row[name]
    for plain in ("plain", "", "late; next week"):
        assert inert(plain) == plain
    # Behind a semicolon begins a cell where a comma is a decimal sign.
    assert inert("a;=1+1; -2;b") == "a;'=1+1;' -2;b"


@each_row("case", load("markup", "text")[:40], ids=lambda case: case.id)
def test_hostile_text_stays_one_cell(case: Any) -> None:
    text = safe_text(case.text, 60)
    one = tracked(swap_name=text, in_symbol=text, out_symbol=text)
    (row,) = rows_of(export_bytes([one], LATER, "csv", {}))
    assert row["provider"].removeprefix("'") == text
    assert json.loads(export_bytes([one], LATER, "json", {}))["orders"][0]["provider"] == text


def test_a_file_is_new_whole_and_private(tmp_path: Path) -> None:
    first = tmp_path / "exports" / export_name(NOW, "csv")
    assert first.name == "swapdesk-orders-20261120-140211Z.csv"
    one, two = write_export(first, b"one"), write_export(first, b"two")
    assert (one, two.name) == (first, "swapdesk-orders-20261120-140211Z-1.csv")
    assert (one.read_bytes(), two.read_bytes()) == (b"one", b"two")
    assert stat.S_IMODE(one.stat().st_mode) == 0o600
    assert sorted(path.name for path in first.parent.iterdir()) == sorted([one.name, two.name])
    write_export_file(one, b"other")
    assert one.read_bytes() == b"other"
    assert stat.S_IMODE(one.stat().st_mode) == 0o600


def test_a_link_in_the_way_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"mine")
    link = tmp_path / "orders.csv"
    link.symlink_to(target)
    assert write_export(link, b"export") != link
    assert target.read_bytes() == b"mine"


@pytest.mark.skipif(os.name != "posix", reason="no named pipes in a directory")
def test_a_pipe_that_was_named_is_written_into_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "orders.csv"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_export_file(pipe, b"orders")
        assert os.read(reader, 100) == b"orders"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_link_that_was_named_stays_and_leads_to_the_export(tmp_path: Path) -> None:
    target, link = tmp_path / "kept" / "orders.csv", tmp_path / "latest.csv"
    target.parent.mkdir()
    link.symlink_to(target)
    for content in (b"first", b"second"):
        write_export_file(link, content)
        assert link.is_symlink()
        assert target.read_bytes() == content


@each_row(
    ("shown", "kept"),
    [((), None), ((paid("0.5"),), Decimal("0.01")), ((paid("0.7"),), Decimal("0.21"))],
)
def test_kept_of_a_refund_is_what_a_chain_shows_to_have_come(
    shown: tuple[PaidOnChain, ...], kept: Decimal | None
) -> None:
    facts = {**BACK, **WITH_COIN, "in_amount": Decimal("0.5"), "refund_amount": Decimal("0.49")}
    one = TrackedOrder(order(**facts), None, None, False, NOW, "read", payments=shown)
    (row,) = export_rows([one], LATER, {})
    assert row["refundKept"] == kept


def test_where_exports_go(tmp_path: Path) -> None:
    own = Home.at(tmp_path / "own")
    assert export_directory(own, tmp_path) == own.data / "exports"
    apart = Home(tmp_path / "config", tmp_path / "data", tmp_path / "logs")
    assert export_directory(apart, tmp_path) == tmp_path / "data" / "exports"
    (tmp_path / "Downloads").mkdir()
    assert export_directory(apart, tmp_path) == tmp_path / "Downloads"
    assert form_of(Path("a.JSON")) == "json"
    assert form_of(Path("a.csv")) == "csv"


@each_row(
    ("name", "wanted"),
    [("a.jsn", "a.json"), ("a.cvs", "a.csv"), ("a.xlsx", "a.csv"), ("a", "a.csv")],
)
def test_a_name_of_no_form_is_refused_with_the_nearest(name: str, wanted: str) -> None:
    with pytest.raises(UnknownForm, match=f'write "{wanted}"'):
        form_of(Path(name))


@given(st.text("'=+-@;\t a0", max_size=8))
def test_what_was_written_is_read_again_without_its_apostrophes(text: str) -> None:
    written = inert(text)
    assert as_written(written) == text
    assert written.lstrip("'")[:1] not in FORMULA or written != written.lstrip("'")
