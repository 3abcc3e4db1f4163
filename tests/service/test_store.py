"""The embedded store: durable, grouped, forward-only."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from patience import PATIENCE
from service.new_store import open_new
from service.orders_fixtures import ALICE, BITCOIN, BOB, ETH, EVERYTHING, START
from swapdesk.service.store.database import VERSION, SchemaError, Writer
from swapdesk.service.store.records import (
    BundleUnderWay,
    PayoutsChanged,
    QuoteConsumed,
    QuoteGone,
    RouteChoice,
    StoredBatch,
    StoredBundle,
    StoredGroup,
    StoredOrder,
    StoredQuote,
    StoreUnavailable,
)
from swapdesk.service.store.rows import amount_key, micros, moment_of
from swapdesk.service.store.sqlite import SqliteStore


def quote(number: int, *, partner_id: str = ALICE.partner_id) -> StoredQuote:
    return StoredQuote(
        quote_id=f"{number:024x}",
        partner_id=partner_id,
        purpose="exchange",
        route="private",
        created=START,
        expires=START + timedelta(seconds=60),
        token_in_id=ETH.id,
        token_out_id=BITCOIN.id,
        amount_in=Decimal("0.500000000000000001"),
        amount_out=Decimal("0.0166"),
        amount_in_usd=None,
        amount_out_usd=Decimal("1494.00"),
        minutes=Decimal("12.5"),
        legs=("aa", "bb"),
        middle_token_id=BITCOIN.id,
        middle_amount=Decimal("8.3"),
    )


def order(number: int, *, partner_id: str = ALICE.partner_id, amount: str = "0.5") -> StoredOrder:
    return StoredOrder(
        service_id=f"order{number:05}",
        record_id=f"{number:024x}",
        partner_id=partner_id,
        quote_id=f"{number:024x}",
        request_digest="digest",
        route="standard",
        created=START,
        modified=START,
        expires=START + timedelta(minutes=30),
        status=-2,
        display_status="WAITING_FOR_DEPOSIT",
        rank=0,
        version=1,
        due_at=START + timedelta(seconds=12),
        in_status=0,
        out_status=None,
        token_in_id=ETH.id,
        token_out_id=BITCOIN.id,
        amount_in=Decimal(amount),
        amount_out=Decimal("0.0166"),
        amount_in_usd=Decimal("1500.00"),
        amount_out_usd=None,
        minutes=Decimal(5),
        receiver_address="someone",
        receiver_tag=None,
        refund_address=None,
        refund_tag=None,
        deposit_address=None,
        deposit_tag=None,
        legs=("aa",),
        middle_token_id=None,
        middle_amount=None,
        detail={"rerouted": True, "note": "é 😀 \x00"},
    )


TERMS: dict[str, Any] = {
    "fixed": True,
    "receive": True,
    "markup": Decimal("2.50"),
    "rates": (None, "rate, 1"),
    "payout_wallet": 4,
    "choice": RouteChoice(
        in_included=("aa", "bb"),
        out_excluded=("cc",),
        use_xmr=False,
        rotate_payout_wallets=True,
        deviation_threshold=Decimal("1.25"),
        rotation_lookback=3,
        rotate_fallback=True,
    ),
}


async def begun(store: SqliteStore, number: int, **changes: str) -> StoredOrder:
    row = order(number, **changes)
    await store.save_quotes([quote(number, partner_id=row.partner_id)])
    await store.begin_order(row)
    return row


async def test_what_is_saved_comes_back_digit_for_digit(store: SqliteStore) -> None:
    saved = replace(quote(1), **TERMS, filtered=True, requires_refund_address=True)
    await store.save_quotes([saved])
    assert await store.get_quote(ALICE.partner_id, saved.quote_id) == saved
    row = replace(order(1), **TERMS)
    await store.begin_order(row)
    assert await store.get_order(ALICE.partner_id, row.service_id) == row
    consumed = await store.get_quote(ALICE.partner_id, saved.quote_id)
    assert consumed == replace(saved, consumed_by=row.service_id)


async def test_a_quote_becomes_one_order(store: SqliteStore) -> None:
    first = await begun(store, 1)
    second = replace(first, service_id="other", record_id="f" * 24)
    with pytest.raises(QuoteConsumed) as refused:
        await store.begin_order(second)
    assert refused.value.service_id == first.service_id
    assert await store.get_order(ALICE.partner_id, "other") is None
    assert await store.order_of_quote(ALICE.partner_id, first.quote_id) == first


async def test_an_order_is_read_by_its_partner_alone(store: SqliteStore) -> None:
    row = await begun(store, 1)
    assert await store.get_order(ALICE.partner_id, row.service_id) == row
    assert await store.get_order(BOB.partner_id, row.service_id) is None
    assert await store.order_version(BOB.partner_id, row.service_id) is None
    assert await store.order_of_quote(BOB.partner_id, row.quote_id) is None
    assert await store.get_quote(BOB.partner_id, row.quote_id) is None


async def test_one_refusal_does_not_sink_its_neighbours(store: SqliteStore) -> None:
    numbers = range(1, 151)
    await store.save_quotes([quote(n) for n in numbers if n % 3])
    outcomes = await asyncio.gather(
        *(store.begin_order(order(n)) for n in numbers), return_exceptions=True
    )
    for n, outcome in zip(numbers, outcomes, strict=True):
        found = await store.get_order(ALICE.partner_id, f"order{n:05}")
        if n % 3:
            assert outcome is None
            assert found is not None
        else:
            assert isinstance(outcome, QuoteGone)
            assert found is None


async def test_a_state_moves_by_compare_and_set_and_never_back(store: SqliteStore) -> None:
    row = await begun(store, 1)
    forward = replace(row, status=2, rank=2, display_status="EXCHANGE_IN_PROGRESS")
    assert await store.advance_order(forward, expected_version=1)
    assert not await store.advance_order(forward, expected_version=1), "the version was used"
    back = replace(row, status=1, rank=1, display_status="DEPOSIT_DETECTED")
    assert not await store.advance_order(back, expected_version=2), "the rank would fall"
    now = await store.get_order(ALICE.partner_id, row.service_id)
    assert now == replace(forward, version=2)
    assert [(r.version, r.status, r.rank) for r in await store.read_outbox(0, 10)] == [(2, 2, 2)]


async def test_the_outbox_wakes_and_keeps_the_order_of_commits(store: SqliteStore) -> None:
    rows = [await begun(store, n) for n in range(1, 31)]
    waiting = asyncio.create_task(store.outbox_beyond(0))
    await asyncio.gather(*(store.advance_order(row, expected_version=1) for row in rows))
    await asyncio.wait_for(waiting, PATIENCE)
    told = await store.read_outbox(0, 100)
    assert [row.sequence for row in told] == list(range(1, 31))
    assert {row.service_id for row in told} == {row.service_id for row in rows}
    await asyncio.wait_for(store.outbox_beyond(29), PATIENCE)
    assert await store.drop_outbox(START + timedelta(seconds=1)) == 30
    assert await store.last_outbox() == 30, "numbers are never used again"


async def test_due_orders_are_leased_to_one_owner(store: SqliteStore) -> None:
    for n in range(1, 101):
        await begun(store, n)
    due = START + timedelta(seconds=12)
    assert await store.next_due() == due
    claim = {"lease_until": due + timedelta(seconds=30), "limit": 20}
    early = await store.claim_due(due - timedelta(seconds=1), owner="early", **claim)
    assert early == []
    batches = await asyncio.gather(
        *(store.claim_due(due, owner=f"worker {n}", **claim) for n in range(8))
    )
    claimed = [row.service_id for batch in batches for row in batch]
    assert len(claimed) == len(set(claimed)) == 100
    assert await store.next_due() == due + timedelta(seconds=30), "leases run out"
    later = due + timedelta(seconds=30)
    again = await store.claim_due(
        later, owner="heir", lease_until=later + timedelta(seconds=30), limit=200
    )
    assert len(again) == 100


async def test_only_the_owner_of_a_lease_postpones(store: SqliteStore) -> None:
    row = await begun(store, 1)
    due = START + timedelta(seconds=12)
    await store.claim_due(due, owner="me", lease_until=due + timedelta(seconds=30), limit=1)
    moment = due + timedelta(seconds=90)
    await store.postpone_order(row.service_id, owner="other", due_at=moment, attempt=3)
    assert await store.next_due() == due + timedelta(seconds=30)
    await store.postpone_order(row.service_id, owner="me", due_at=moment, attempt=3)
    assert await store.next_due() == moment
    found = await store.get_order(ALICE.partner_id, row.service_id)
    assert found == replace(row, due_at=moment, attempt=3)


async def test_amounts_sort_exactly_where_doubles_tie(store: SqliteStore) -> None:
    amounts = ["10", "9.000000000000000002", "9.000000000000000001", "0.1", "100000000000000000001"]
    for n, amount in enumerate(amounts, start=1):
        await begun(store, n, amount=amount)
    wanted = replace(EVERYTHING, sort="amount")
    rows, total = await store.list_orders(wanted)
    assert [row.read().amount_in for row in rows] == sorted(map(Decimal, amounts))
    assert total == 5
    rows, total = await store.list_orders(replace(wanted, descending=True, offset=1, limit=2))
    assert [row.read().amount_in for row in rows] == [Decimal(10), Decimal("9.000000000000000002")]
    assert total == 5


@given(
    st.lists(
        st.decimals(min_value=0, max_value=Decimal(10) ** 39, places=40), min_size=2, max_size=2
    )
)
def test_text_order_of_amount_keys_is_numeric_order(pair: list[Decimal]) -> None:
    one, other = pair
    assert (amount_key(one) < amount_key(other)) == (one < other)
    assert (amount_key(one) == amount_key(other)) == (one == other)


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_are_exact_to_the_microsecond(moment: datetime) -> None:
    assert moment_of(micros(moment)) == moment


async def test_expired_quotes_are_dropped_and_their_orders_stay(store: SqliteStore) -> None:
    row = await begun(store, 1)
    await store.save_quotes([replace(quote(2), expires=START + timedelta(hours=1))])
    assert await store.drop_quotes(START + timedelta(seconds=61)) == 1
    assert await store.get_quote(ALICE.partner_id, row.quote_id) is None
    assert await store.get_quote(ALICE.partner_id, f"{2:024x}") is not None
    assert await store.order_of_quote(ALICE.partner_id, row.quote_id) == row
    with pytest.raises(QuoteGone):
        await store.begin_order(replace(row, service_id="again"))


async def test_a_full_disk_is_told_and_survived(store: SqliteStore, tmp_path: Path) -> None:
    await begun(store, 1)
    await store._file.write(lambda db: db.execute("PRAGMA max_page_count = 1").fetchone())
    big = [replace(quote(n), legs=("x" * 4000,)) for n in range(10, 200)]
    with pytest.raises(StoreUnavailable):
        await store.save_quotes(big)
    await store._file.write(lambda db: db.execute("PRAGMA max_page_count = 1000000").fetchone())
    await begun(store, 2)
    assert await store.get_quote(ALICE.partner_id, f"{10:024x}") is None
    with sqlite3.connect(tmp_path / "service.db") as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "closed.db")
    row = await begun(store, 1)
    await store.close()
    with pytest.raises(StoreUnavailable):
        await store.get_order(ALICE.partner_id, row.service_id)
    with pytest.raises(StoreUnavailable):
        await store.save_quotes([quote(2)])


async def test_every_commit_is_flushed_to_disk(store: SqliteStore) -> None:
    async def pragma(name: str) -> object:
        return await store._file.write(lambda db: db.execute(f"PRAGMA {name}").fetchone()[0])

    assert await pragma("journal_mode") == "wal"
    assert await pragma("synchronous") == 2, "FULL: a power cut loses nothing acknowledged"


async def test_nobody_else_on_the_machine_may_read_it(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "service.db")
    await begun(store, 1)
    modes = _modes(tmp_path)
    assert modes == {"service.db": 0o600, "service.db-wal": 0o600, "service.db-shm": 0o600}
    await store.close()


def _modes(directory: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()}


def test_a_damaged_or_newer_file_is_refused(tmp_path: Path) -> None:
    newer = tmp_path / "newer.db"
    with sqlite3.connect(newer) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    db.close()
    with pytest.raises(SchemaError, match="schema"):
        SqliteStore.open(newer)
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"this is no database" * 1000)
    with pytest.raises(SchemaError):
        SqliteStore.open(damaged)


async def test_a_file_of_the_first_release_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "service.db"
    store = SqliteStore.open(path)
    kept = await begun(store, 1)
    finished = replace(
        await begun(store, 2), status=4, detail={"finished": "2026-11-20T23:59:59.999Z"}
    )
    assert await store.advance_order(finished, expected_version=1)
    book = await store.partner_book(ALICE.partner_id)
    await store.close()
    new = ("fixed", "receive", "markup", "rates", "payout_wallet", "choice", "plan")
    with sqlite3.connect(path) as db:
        books = ("day_sums", "commissions")
        accounts = ("partners", "api_keys", "partner_changes")
        once = ("payments", "webhooks")
        made = ("usage", "scans", "groups", "bundles", *once, *books, *accounts)
        tables = ("quotes", "orders", *made)
        wanted = {table: _columns(db, table) for table in tables}
        then = {"orders_by_creation": "created", "orders_by_status": "status, created"}
        for index in (
            "one_order_per_transaction",
            "orders_of_group",
            "orders_finished",
            "orders_by_deposit",
            *then,
        ):
            db.execute(f"DROP INDEX {index}")
        for index, columns in then.items():
            db.execute(f"CREATE INDEX {index} ON orders (partner_id, {columns})")
        for table, columns in (
            ("orders", (*new, "multi_id", "fee_usd", "commission", "told", "deposit_account")),
            ("quotes", (*new, *ONLY_QUOTES)),
        ):
            for column in columns:
                db.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        for table in made:
            db.execute(f"DROP TABLE {table}")
        db.execute("PRAGMA user_version = 1")
    db.close()
    store = SqliteStore.open(path)
    try:
        assert await store.get_order(ALICE.partner_id, kept.service_id) == kept
        found = await store.get_quote(ALICE.partner_id, kept.quote_id)
        assert found == replace(quote(1), consumed_by=kept.service_id)
        assert await store.partner_book(ALICE.partner_id) == book
        assert [each.orders for each in book.days] == [1]
        assert store.partner_changes() == 0
    finally:
        await store.close()
    with sqlite3.connect(path) as db:
        assert {table: _columns(db, table) for table in wanted} == wanted
        assert db.execute("PRAGMA user_version").fetchone() == (VERSION,)
    db.close()


ONLY_QUOTES = ("requires_refund_address", "filtered", "fee_usd")


def _columns(db: sqlite3.Connection, table: str) -> set[tuple[object, ...]]:
    return {tuple(row[1:]) for row in db.execute(f"PRAGMA table_info({table})")}


async def test_the_hot_wallets_of_the_newest_private_orders(store: SqliteStore) -> None:
    for number, (legs, wallet) in enumerate(
        [(("aa", "bb"), 3), (("aa",), None), (("bb", "cc"), None), (("cc", "aa"), 1)], start=1
    ):
        row = replace(
            order(number),
            created=START + timedelta(minutes=number),
            route="private" if len(legs) == 2 else "standard",
            legs=legs,
            payout_wallet=wallet,
        )
        await store.save_quotes([quote(number)])
        await store.begin_order(row)
    asked = ALICE.partner_id, START
    found = await store.recent_payouts(*asked, 10)
    assert found.wallets == (("aa", 1), ("cc", 0), ("bb", 3))
    assert (await store.recent_payouts(*asked, 1)).wallets == (("aa", 1),)
    later = START + timedelta(minutes=4)
    assert (await store.recent_payouts(ALICE.partner_id, later, 10)).wallets == (("aa", 1),)
    assert (await store.recent_payouts(BOB.partner_id, START, 10)).wallets == ()
    # An order whose wallet was chosen by these begins, one chosen by older ones does not.
    row = replace(order(9), created=later, route="private", payout_wallet=0)
    await store.save_quotes([quote(9), quote(8)])
    await store.begin_order(row, payouts=found)
    another = replace(order(8), created=later, route="private", payout_wallet=1)
    with pytest.raises(PayoutsChanged):
        await store.begin_order(another, payouts=found)
    assert await store.order_of_quote(ALICE.partner_id, another.quote_id) is None
    await store.begin_order(another, payouts=await store.recent_payouts(*asked, 10))


# The thread that writes: nobody hears of a change before it is committed


class HeldCommit(sqlite3.Connection):
    """A connection whose commit waits for ``released``, and fails when ``broken``."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.began, self.released = threading.Event(), threading.Event()
        self.broken = False

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if sql == "COMMIT":
            self.began.set()
            assert self.released.wait(PATIENCE)
            if self.broken:
                raise sqlite3.OperationalError("disk I/O error")
        return super().execute(sql, *values)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE paid (units INTEGER)")
    return path


@pytest.fixture
def held(path: Path) -> HeldCommit:
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=HeldCommit)


@pytest.fixture
def writer(held: HeldCommit) -> Iterator[Writer]:
    made = Writer(held, lambda: None)
    yield made
    held.released.set()
    made.close()


def insert(connection: sqlite3.Connection) -> str:
    connection.execute("INSERT INTO paid VALUES (7)")
    return "written"


def kept(path: Path) -> list[int]:
    with closing(sqlite3.connect(path)) as connection:
        return [units for (units,) in connection.execute("SELECT units FROM paid")]


async def committing(writer: Writer, held: HeldCommit) -> asyncio.Task[str]:
    """Something that is written, at the moment at which its commit has begun."""
    task = asyncio.create_task(writer.submit(insert))
    await asyncio.to_thread(held.began.wait, PATIENCE)
    # What the thread handed over before has its turn now.
    for _ in range(3):
        await asyncio.sleep(0)
    return task


async def test_an_answer_follows_the_commit(writer: Writer, held: HeldCommit, path: Path) -> None:
    task = await committing(writer, held)
    assert not task.done()
    assert kept(path) == []
    held.released.set()
    assert await task == "written"
    assert kept(path) == [7]


async def test_what_was_not_committed_is_not_told_as_done(
    writer: Writer, held: HeldCommit, path: Path
) -> None:
    task = await committing(writer, held)
    held.broken = True
    held.released.set()
    with pytest.raises(StoreUnavailable):
        await task
    assert kept(path) == []


# Of any number of submissions of a bundle, one counts (contract 17.2)


def bundle(
    number: int, *service_ids: str, state: Any = "pending", paid: bool = False, **more: Any
) -> Any:
    """Of ``group-NUMBER``; ``more`` is what its one batch has besides."""
    batch = StoredBatch(
        service_ids=service_ids or (f"order-{number}",),
        operation={"sender": "0x00", "nonce": "0x0"},
        hash=f"0x{number:064x}",
        entry_point="0x00",
        version="0.7",
        paid=paid,
        **more,
    )
    return StoredBundle(
        number=0,
        multi_id=f"group-{number}",
        partner_id="one",
        chain="ethereum",
        created=START,
        modified=START,
        expires=START + timedelta(minutes=30),
        state=state,
        owner="0x00",
        batches=(batch,),
    )


@pytest.mark.proves("code ALREADY_SUBMITTED")
async def test_each_bundle_is_claimed_once_over_several_connections(tmp_path: Path) -> None:
    """As processes have them: each connection writes in a thread of its own."""
    first = open_new(tmp_path / "service.db")
    stores = [first, *(SqliteStore.open(first.path) for _ in range(3))]
    await asyncio.gather(*(first.save_bundle(bundle(number)) for number in range(50)))
    won: dict[str, list[str]] = {}

    async def claim(store: SqliteStore, signature: str, group: str) -> None:
        (pending,) = await store.bundles_of_group("one", group)
        signed = replace(pending.batches[0], signature=signature)
        submitted = replace(pending, state="submitted", batches=(signed,))
        if await store.move_bundle(submitted, expected="pending"):
            won.setdefault(group, []).append(signature)

    groups = [f"group-{number}" for number in range(50)]
    claims = [(store, f"0x0{n}", group) for group in groups for n, store in enumerate(stores)]
    await asyncio.gather(*(claim(*each) for each in claims))
    kept = {each.multi_id: [each.batches[0].signature] for each in await first.bundles_under_way()}
    assert kept == won, "each once, none twice, by whoever was told so"
    assert kept.keys() == set(groups), "none forgotten"
    for store in stores:
        await store.close()


async def test_a_pending_bundle_is_replaced_and_one_under_way_is_not(store: SqliteStore) -> None:
    await store.save_bundle(bundle(1, "a", "b"))
    await store.save_bundle(bundle(1, "b", "c"))
    (pending,) = await store.bundles_of_group("one", "group-1")
    assert pending.service_ids == {"b", "c"}
    assert not await store.move_bundle(
        replace(pending, partner_id="two", state="submitted"), expected="pending"
    )
    assert await store.move_bundle(replace(pending, state="submitted"), expected="pending")
    assert not await store.move_bundle(replace(pending, state="submitted"), expected="pending")
    for wanted in (("c",), ("a", "b")):
        with pytest.raises(BundleUnderWay):
            await store.save_bundle(bundle(1, *wanted))
    await store.save_bundle(bundle(1, "a"))
    newest, older = await store.bundles_of_group("one", "group-1")
    assert (newest.state, older.state) == ("pending", "submitted")
    assert newest.number > older.number
    partly = replace(older, state="failed", batches=bundle(1, "b", paid=True).batches)
    assert await store.move_bundle(partly, expected="submitted")
    await store.save_bundle(bundle(1, "a", "c"))
    with pytest.raises(BundleUnderWay):
        await store.save_bundle(bundle(1, "b"))
    assert await store.bundles_of_group("two", "group-1") == []


async def test_a_group_and_its_bundles_survive_a_restart(tmp_path: Path) -> None:
    store = open_new(tmp_path / "service.db")
    group = StoredGroup("group-1", "one", START, "ethereum")
    await store.begin_group(group, [])
    await store.save_bundle(bundle(1, "a"))
    (pending,) = await store.bundles_of_group("one", "group-1")
    moved = replace(pending, state="failed", failure_reason="why", tx_hash="0x01", modified=START)
    assert await store.move_bundle(moved, expected="pending")
    await store.close()
    store = SqliteStore.open(tmp_path / "service.db")
    assert await store.get_group("one", "group-1") == group
    assert await store.get_group("two", "group-1") is None
    assert await store.bundles_of_group("one", "group-1") == [moved]
    assert await store.bundles_under_way() == []
    await store.close()
