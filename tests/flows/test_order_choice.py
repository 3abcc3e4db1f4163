"""Choosing orders: the filter language with its errors, sequences, the spoken line, exports.

The transactions of an order: those this desk sent and the deposit that the service named, kept
with the order, and told wherever it is told. Of no other transaction anything is said.
"""

from __future__ import annotations

import csv
import io
import json
import os
import stat
from datetime import timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus import load
from flows import orders
from flows.orders import BTC, DEPOSIT, ETH, NOW, RECIPIENT, intent, order, tracked
from flows.support.cases import BACK, DONE, EXCHANGING, EXPIRED, WITH_COIN, paid
from rows import each_row
from swapdesk.chain.addresses.display import grouped, short
from swapdesk.cli.order_reports import order_document, order_facts, order_row
from swapdesk.cli.output import members
from swapdesk.clock import ManualClock
from swapdesk.flows.intents.intent import DepositRelease, TokenFacts
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import State
from swapdesk.flows.notation import grouped_address
from swapdesk.flows.orders.deposit_destination import ON_ITS_WAY, deposit_destination
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
from swapdesk.flows.orders.order_merge import linked_deposit
from swapdesk.flows.orders.order_sentence import order_sentence
from swapdesk.flows.orders.order_status import order_status
from swapdesk.flows.orders.order_transactions import Fate, OrderTransaction, PaidOnChain, Sender
from swapdesk.flows.orders.situations import LAST_HEARD, SITUATIONS, STRANDED
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payments import By, begin_payment, commit_signed, end_payment
from swapdesk.paths import Home
from swapdesk.wire.chains import Chain
from swapdesk.wire.encoding.text import safe_text
from swapdesk.wire.orders import Order
from swapdesk.wire.tokens import Token

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


ID = order().service_id
HASH = "8f2c91d04b1e77ab" * 4
OTHER = "ab" * 32
with_memo = partial(orders.tracked, intent(), deposit_tag="4711")


def token(of: TokenFacts, explorer: str) -> Token:
    chain = Chain(id="1", name=of.chain, short_name=of.chain, kind=of.kind, explorer_url=explorer)
    return Token(id=of.id, chain=of.chain, chain_data=chain, decimals=8, symbol=of.symbol, name="")


def deposit(hash_: str, fate: Fate, by: Sender = "wallet") -> OrderTransaction:
    return OrderTransaction("deposit", hash_, fate, by)


OWN = deposit(OTHER, "sent")
NAMED = deposit(HASH, "seen", "service")
PAID: dict[str, Any] = {
    "in_token": token(BTC, "https://mempool.space/tx/{txHash}"),
    "out_token": token(ETH, "https://etherscan.io/tx/{txHash}"),
    "hash_url": f"https://mempool.space/tx/{HASH}",
    **EXCHANGING,
}
ALIKE = {"out_token": token(ETH, "https://mempool.space/tx/{txHash}")}


@each_row(
    ("changes", "told"),
    [
        (ALIKE, True),
        ({"display_status": "SWAP_COMPLETED"}, True),
        ({"display_status": "SWAP_COMPLETED", **ALIKE}, False),
        ({"display_status": "SWAP_COMPLETED", "out_token": None}, False),
        ({"in_transaction_out_hash": HASH}, False),
        ({"refund_hash": HASH}, False),
        ({"hash_url": f"https://etherscan.io/tx/{OTHER}"}, False),
        ({"hash_url": f"https://mempool.space/tx/{HASH}?a=<b>"}, False),
        ({"hash_url": "https://mempool.space/tx/"}, False),
        ({"hash_url": None}, False),
        ({"in_token": None}, False),
        ({"in_token": token(BTC, "https://mempool.space/")}, False),
    ],
)
def test_what_may_be_another_transaction_is_not_called_the_deposit(
    changes: dict[str, Any], told: bool
) -> None:
    assert (linked_deposit(order(**{**PAID, **changes})) == HASH) is told


@pytest.mark.parametrize(
    ("by", "end", "fate"),
    [
        ("wallet", "sent", "sent"),
        ("wallet", "done", "confirmed"),
        ("wallet", "FAILED", "failed"),
        ("wallet", "ABANDONED", None),
        ("wallet", "REPLACED", None),
        ("faucet", "done", "sent"),
    ],
)
def test_a_payment_keeps_its_transaction(
    journal: Journal, by: By, end: str, fate: Fate | None
) -> None:
    payment = begin_payment(journal.ledger, ID, by, b"{}")
    assert journal.orders.transactions_of(ID) == ()
    commit_signed(journal.ledger, payment.id, HASH)
    if end == "done":
        # A higher fee has another hash, and that one counts.
        end_payment(journal.ledger, payment, OTHER)
    elif end != "sent":
        journal.ledger.move(payment.id, State.REFUSED, code=end, hash=OTHER)
    hash_ = HASH if end == "sent" else OTHER
    expected = () if fate is None else (deposit(hash_, fate, by),)
    assert journal.orders.transactions_of(ID) == expected


def seen(journal: Journal, **changes: Any) -> None:
    journal.orders.record([(order(**{**PAID, **changes}), "stream", False)])


def test_the_deposit_that_the_service_named_outlives_its_link(journal: Journal, path: Path) -> None:
    paid_out = {
        "hash_url": f"https://etherscan.io/tx/{OTHER}",
        "in_transaction_out_hash": OTHER,
        "display_status": "SWAP_COMPLETED",
    }
    seen(journal)
    seen(journal, **paid_out)
    journal.close()
    again = Journal.open(path, ManualClock(NOW))
    (told,) = again.orders.transactions_of(ID)
    assert told == NAMED
    over = TrackedOrder(again.orders.get(ID).order, None, None, True, NOW, "journal")
    assert dict(order_facts(over, NOW, (told,)))["Deposit hash"] == HASH
    assert members(order_document(over, NOW, (told,)))["depositHash"] == HASH
    (row,) = export_rows([over], NOW, again.orders.transactions())
    assert (row["depositHash"], row["payoutHash"]) == (HASH, OTHER)


def test_the_transactions_of_a_swap_on_chains_are_told_each_by_its_name() -> None:
    reset, approve, failed, swap = (
        OrderTransaction(role, f"0x{digit * 64}", fate, "wallet")
        for role, digit, fate in (
            ("reset", "1", "confirmed"),
            ("approve", "2", "confirmed"),
            ("swap", "3", "failed"),
            ("swap", "4", "sent"),
        )
    )
    made = (reset, approve, failed, swap)
    of = with_memo(is_dex=True, deposit_address=None)
    facts = order_facts(of, NOW, made)
    assert ("Reset hash", reset.hash) in facts
    assert ("Approval hash", approve.hash) in facts
    assert ("Swap hash", f"{failed.hash}, failed and moved nothing but its gas") in facts
    assert ("Swap hash", f"{swap.hash}, sent") in facts
    assert ("Deposit hash", "") in facts
    document = members(order_document(of, NOW, made))
    assert document["transactions"][2] == {
        "for": "swap", "hash": failed.hash, "state": "failed", "by": "wallet",
    }  # fmt: skip
    assert (document["depositHash"], document["paidTo"]) == (None, None)
    (row,) = export_rows([of], NOW, {ID: made})
    assert (row["approveHash"], row["swapHash"]) == (f"{reset.hash} {approve.hash}", swap.hash)
    assert swap.hash in export_bytes([of], NOW, "csv", {ID: made}).decode()


def test_the_service_may_name_another_deposit_than_was_sent() -> None:
    facts = dict(order_facts(with_memo(**EXCHANGING), NOW, (OWN, NAMED)))
    assert (facts["Deposit hash"], facts["Service names"]) == (OTHER, HASH)
    alike = deposit("0x" + "AB" * 32, "seen", "service")
    own = deposit("0x" + "ab" * 32, "confirmed")
    assert dict(order_facts(with_memo(**EXCHANGING), NOW, (own, alike)))["Service names"] == ""


def test_what_this_desk_paid_is_not_asked_for_again() -> None:
    """The service has not seen it: all it says is that it waits."""
    of = with_memo()
    assert dict(order_facts(of, NOW))["To"] == grouped_address(DEPOSIT)
    for fate in ("sent", "confirmed"):
        own = deposit(OTHER, fate)
        facts = dict(order_facts(of, NOW, (own,)))
        assert "Pay" not in facts
        assert "To" not in facts
        assert facts["Was paid to"] == grouped_address(DEPOSIT)
        assert facts["Paid with memo"] == "4711"
        assert facts["Do not pay again"] == ON_ITS_WAY
        where = "on its way to" if fate == "sent" else "at"
        assert facts["Money"] == f"{where} the deposit address, by transaction {OTHER}."
        assert ("sends the same transaction again" in facts["Next"]) is (fate == "sent")
        document = members(order_document(of, NOW, (own,)))
        assert document["deposit"] is None
        assert document["paidTo"] == {
            "address": DEPOSIT,
            "memo": "4711",
            "chain": "bitcoin",
            "arrived": False,
            "warning": ON_ITS_WAY,
        }
        said = [json.dumps(document, default=str), *order_row(of, NOW, (own,))]
        for one in (*said, order_sentence(of, NOW, (own,))):
            assert "send the deposit within" not in one
    failed = deposit(OTHER, "failed")
    assert "Pay" in dict(order_facts(of, NOW, (failed,)))
    assert members(order_document(of, NOW, (failed,)))["paidTo"] is None


def test_after_the_deadline_the_money_is_where_this_desk_sent_it() -> None:
    late = NOW + timedelta(minutes=31)
    of = with_memo()
    assert dict(order_facts(of, late))["Money"] == "in your wallet, if you sent nothing."
    facts = dict(order_facts(of, late, (OWN,)))
    assert facts["Money"] == f"on its way to the deposit address, by transaction {OTHER}."
    assert facts["State"].startswith("The deadline passed. Do not send to this order any more")
    hidden = dict(order_facts(with_memo("Do not pay it."), NOW, (OWN,)))
    assert hidden["Do not pay"] == "Do not pay it."


BUNDLE = OrderTransaction("bundle", OTHER, "confirmed", "batch", "0xpaidhere")


@each_row(
    ("of", "made", "address"),
    [
        pytest.param(with_memo(), (), None, id="nobody paid"),
        pytest.param(with_memo(), (NAMED,), None, id="it waits all the same"),
        pytest.param(with_memo(**EXCHANGING), (), DEPOSIT, id="paid by hand"),
        pytest.param(with_memo("hidden", **EXCHANGING), (), None, id="hidden"),
        pytest.param(with_memo("hidden", **EXCHANGING), (NAMED,), None, id="hidden, and named"),
        pytest.param(with_memo("hidden", **DONE), (), DEPOSIT, id="hidden, and over"),
        pytest.param(with_memo("of a batch"), (BUNDLE,), "0xpaidhere", id="by its batch"),
        pytest.param(with_memo("hidden"), (OWN,), DEPOSIT, id="hidden, and paid here"),
        pytest.param(with_memo(**EXPIRED), (), None, id="closed without a deposit"),
        pytest.param(with_memo(is_dex=True, **EXCHANGING), (), None, id="a swap has no deposit"),
    ],
)
def test_where_the_deposit_went(
    of: TrackedOrder, made: tuple[OrderTransaction, ...], address: str | None
) -> None:
    place = deposit_destination(of, made)
    assert (place.address if place is not None else None) == address
    document = members(order_document(of, NOW, made))
    assert (document["paidTo"] is None) is (address is None)
    if address is not None:
        assert "do not send to it again" in document["paidTo"]["warning"]
        assert document["deposit"] is None
        # A memo belongs to the place that it was given for.
        assert place.memo == (None if made == (BUNDLE,) else "4711")
