"""What the store promises over either database: exact, forward-only, each thing once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from patience import PATIENCE
from service.new_store import announced, changed, found, open_new
from service.orders_fixtures import ALICE, BITCOIN, BOB, ETH, EVERYTHING, START
from swapdesk.service.store import schema
from swapdesk.service.store.database import SchemaError, StoreUnavailable, micros, moment_of
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
    Usage,
)
from swapdesk.service.store.schema import VERSION
from swapdesk.service.store.store import Store
from swapdesk.wire.choices import SortOrder
from swapdesk.wire.orders import OrderSort


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


class FullWindow:
    counted = ALICE.partner_id
    rate_class = "exchange"

    def take(self, known: list[Usage]) -> list[Usage]:
        raise OverflowError


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


async def begun(store: Store, number: int, **changes: str) -> StoredOrder:
    row = order(number, **changes)
    await store.quotes.save([quote(number, partner_id=row.partner_id)])
    await store.orders.begin(row)
    return row


async def test_what_is_saved_comes_back_digit_for_digit(store: Store) -> None:
    saved = replace(quote(1), **TERMS, filtered=True, requires_refund_address=True)
    await store.quotes.save([saved])
    assert await store.quotes.get(ALICE.partner_id, saved.quote_id) == saved
    row = replace(order(1), **TERMS)
    await store.orders.begin(row)
    assert await store.orders.get(ALICE.partner_id, row.service_id) == row
    consumed = await store.quotes.get(ALICE.partner_id, saved.quote_id)
    assert consumed == replace(saved, consumed_by=row.service_id)


async def test_a_quote_becomes_one_order(store: Store) -> None:
    first = await begun(store, 1)
    second = replace(first, service_id="other", record_id="f" * 24)
    with pytest.raises(QuoteConsumed) as refused:
        await store.orders.begin(second)
    assert refused.value.service_id == first.service_id
    assert await store.orders.get(ALICE.partner_id, "other") is None
    assert await store.orders.of_quote(ALICE.partner_id, first.quote_id) == first


async def test_an_order_is_read_by_its_partner_alone(store: Store) -> None:
    row = await begun(store, 1)
    assert await store.orders.get(ALICE.partner_id, row.service_id) == row
    assert await store.orders.get(BOB.partner_id, row.service_id) is None
    assert await store.orders.version(BOB.partner_id, row.service_id) is None
    assert await store.orders.of_quote(BOB.partner_id, row.quote_id) is None
    assert await store.quotes.get(BOB.partner_id, row.quote_id) is None


async def test_of_many_ids_those_are_known_that_one_by_one_are_read(store: Store) -> None:
    rows = [await begun(store, number) for number in range(3)]
    names = [row.service_id for row in rows]
    theirs = (await begun(store, 3, partner_id=BOB.partner_id)).service_id
    asked = [*names, theirs, "no order", '"]']
    unpaid = {"service_id": names[1]}
    await store.database.write(
        lambda db: db.run("UPDATE orders SET told = FALSE WHERE service_id = :service_id", unpaid)
    )
    assert await store.orders.known(ALICE.partner_id, asked, START) == {names[0], names[2]}
    assert await store.orders.known(BOB.partner_id, asked, START) == {theirs}
    later = START + timedelta(microseconds=1)
    assert await store.orders.known(ALICE.partner_id, asked, later) == set()


async def test_one_refusal_does_not_sink_its_neighbours(store: Store) -> None:
    """Whether it comes before a change, or after some that are then undone."""
    numbers = range(1, 151)
    await store.quotes.save([quote(n) for n in numbers if n % 3])
    outcomes = await asyncio.gather(
        *(store.orders.begin(order(n), call=None if n % 7 else FullWindow()) for n in numbers),
        return_exceptions=True,
    )
    for n, outcome in zip(numbers, outcomes, strict=True):
        found = await store.orders.get(ALICE.partner_id, f"order{n:05}")
        if n % 3 == 0:
            assert isinstance(outcome, QuoteGone)
            assert found is None
        elif n % 7 == 0:
            assert isinstance(outcome, OverflowError)
            assert found is None
            unused = await store.quotes.get(ALICE.partner_id, quote(n).quote_id)
            assert unused is not None
            assert unused.consumed_by is None
        else:
            assert outcome is None
            assert found is not None


async def test_a_state_moves_by_compare_and_set_and_never_back(store: Store) -> None:
    row = await begun(store, 1)
    forward = replace(row, status=2, rank=2, display_status="EXCHANGE_IN_PROGRESS")
    assert await store.orders.advance(forward, expected_version=1)
    assert not await store.orders.advance(forward, expected_version=1), "the version was used"
    back = replace(row, status=1, rank=1, display_status="DEPOSIT_DETECTED")
    assert not await store.orders.advance(back, expected_version=2), "the rank would fall"
    now = await store.orders.get(ALICE.partner_id, row.service_id)
    assert now == replace(forward, version=2)
    assert [(r.version, r.status, r.rank) for r in await announced(store)] == [(2, 2, 2)]


async def test_no_step_changes_what_was_asked_for(store: Store) -> None:
    row = await begun(store, 1)
    elsewhere = replace(row, receiver_address="elsewhere", receiver_tag="7", refund_address="there")
    moved = replace(elsewhere, token_out_id="f" * 24, markup=Decimal(4), fixed=True, status=1)
    assert await store.orders.advance(moved, expected_version=1)
    found = await store.orders.current(row.service_id)
    assert found == replace(row, status=1, version=2)


async def test_a_change_that_is_refused_does_not_sink_those_it_is_committed_with(
    store: Store,
) -> None:
    """Every fifth order names the same transaction, which is one order's alone."""
    rows = {n: await begun(store, n) for n in range(1, 41)}
    named = {"sourceChain": "eth", "confirmedHash": "0x" + "ab" * 32}
    moved = await asyncio.gather(
        *(
            store.orders.advance(
                replace(row, rank=row.rank + 1, detail={} if n % 5 else named), expected_version=1
            )
            for n, row in rows.items()
        )
    )
    of_number = dict(zip(rows, moved, strict=True))
    assert all(of_number[n] for n in rows if n % 5)
    assert sum(of_number[n] for n in rows if not n % 5) == 1
    for n, row in rows.items():
        now = await store.orders.current(row.service_id)
        assert now is not None
        assert now.version == 1 + of_number[n]
    assert len(await announced(store)) == sum(moved)


async def test_the_outbox_wakes_and_keeps_the_order_of_commits(store: Store) -> None:
    rows = [await begun(store, n) for n in range(1, 31)]
    waiting = asyncio.create_task(store.outbox.beyond(0))
    await asyncio.gather(*(store.orders.advance(row, expected_version=1) for row in rows))
    await asyncio.wait_for(waiting, PATIENCE)
    rows_told = await announced(store)
    numbers = [row.sequence for row in rows_told]
    assert numbers == sorted(numbers)
    assert sorted(row.service_id for row in rows_told) == sorted(row.service_id for row in rows)
    await asyncio.wait_for(store.outbox.beyond(numbers[-1] - 1), PATIENCE)
    assert await store.outbox.after(numbers[-1], 100) == []
    assert await store.outbox.drop(START + timedelta(seconds=1)) == 30
    assert await store.outbox.newest() >= numbers[-1], "numbers are never used again"


async def test_due_orders_are_leased_to_one_owner(store: Store) -> None:
    for n in range(1, 101):
        await begun(store, n)
    due = START + timedelta(seconds=12)
    assert await store.orders.next_due() == due
    claim = {"lease_until": due + timedelta(seconds=30), "limit": 20}
    early = await store.orders.claim_due(due - timedelta(seconds=1), owner="early", **claim)
    assert early == []
    batches = await asyncio.gather(
        *(store.orders.claim_due(due, owner=f"worker {n}", **claim) for n in range(8))
    )
    claimed = [row.service_id for batch in batches for row in batch]
    assert len(claimed) == len(set(claimed)) == 100
    assert await store.orders.next_due() == due + timedelta(seconds=30), "leases run out"
    later = due + timedelta(seconds=30)
    again = await store.orders.claim_due(
        later, owner="heir", lease_until=later + timedelta(seconds=30), limit=200
    )
    assert len(again) == 100


async def test_only_the_owner_of_a_lease_postpones(store: Store) -> None:
    row = await begun(store, 1)
    due = START + timedelta(seconds=12)
    await store.orders.claim_due(due, owner="me", lease_until=due + timedelta(seconds=30), limit=1)
    moment = due + timedelta(seconds=90)
    await store.orders.postpone(row.service_id, owner="other", due_at=moment, attempt=3)
    assert await store.orders.next_due() == due + timedelta(seconds=30)
    await store.orders.postpone(row.service_id, owner="me", due_at=moment, attempt=3)
    assert await store.orders.next_due() == moment
    found = await store.orders.get(ALICE.partner_id, row.service_id)
    assert found == replace(row, due_at=moment, attempt=3)


async def test_amounts_sort_exactly_where_doubles_tie(store: Store) -> None:
    amounts = ["10", "9.000000000000000002", "9.000000000000000001", "0.1", "100000000000000000001"]
    for n, amount in enumerate(amounts, start=1):
        await begun(store, n, amount=amount)
    *whose, everything = EVERYTHING
    wanted = everything.model_copy(update={"sort_by": OrderSort.AMOUNT})
    rows, total = await store.orders.page(*whose, wanted)
    assert [row.read().amount_in for row in rows] == sorted(map(Decimal, amounts))
    assert total == 5
    last = {"sort_order": SortOrder.DESC, "page": 2, "page_size": 2}
    rows, total = await store.orders.page(*whose, wanted.model_copy(update=last))
    assert [str(row.read().amount_in) for row in rows] == amounts[1:3]
    assert total == 5


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_are_exact_to_the_microsecond(moment: datetime) -> None:
    assert moment_of(micros(moment)) == moment


async def test_expired_quotes_are_dropped_and_their_orders_stay(store: Store) -> None:
    row = await begun(store, 1)
    await store.quotes.save([replace(quote(2), expires=START + timedelta(hours=1))])
    assert await store.quotes.drop(START + timedelta(seconds=61)) == 1
    assert await store.quotes.get(ALICE.partner_id, row.quote_id) is None
    assert await store.quotes.get(ALICE.partner_id, f"{2:024x}") is not None
    assert await store.orders.of_quote(ALICE.partner_id, row.quote_id) == row
    with pytest.raises(QuoteGone):
        await store.orders.begin(replace(row, service_id="again"))


@pytest.mark.usefixtures("engine")
async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = open_new(tmp_path / "closed.db")
    row = await begun(store, 1)
    await store.close()
    with pytest.raises(StoreUnavailable):
        await store.orders.get(ALICE.partner_id, row.service_id)
    with pytest.raises(StoreUnavailable):
        await store.quotes.save([quote(2)])
    unused = open_new(tmp_path / "closed.db")
    await unused.close()
    with pytest.raises(StoreUnavailable):
        await unused.quotes.save([quote(2)])


async def test_the_hot_wallets_of_the_newest_private_orders(store: Store) -> None:
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
        await store.quotes.save([quote(number)])
        await store.orders.begin(row)
    asked = ALICE.partner_id, START
    found = await store.orders.recent_payouts(*asked, 10)
    assert found.wallets == (("aa", 1), ("cc", 0), ("bb", 3))
    assert (await store.orders.recent_payouts(*asked, 1)).wallets == (("aa", 1),)
    later = START + timedelta(minutes=4)
    assert (await store.orders.recent_payouts(ALICE.partner_id, later, 10)).wallets == (("aa", 1),)
    assert (await store.orders.recent_payouts(BOB.partner_id, START, 10)).wallets == ()
    # An order whose wallet was chosen by these begins, one chosen by older ones does not.
    row = replace(order(9), created=later, route="private", payout_wallet=0)
    await store.quotes.save([quote(9), quote(8)])
    await store.orders.begin(row, payouts=found)
    another = replace(order(8), created=later, route="private", payout_wallet=1)
    with pytest.raises(PayoutsChanged):
        await store.orders.begin(another, payouts=found)
    assert await store.orders.of_quote(ALICE.partner_id, another.quote_id) is None
    await store.orders.begin(another, payouts=await store.orders.recent_payouts(*asked, 10))


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


@pytest.mark.usefixtures("engine")
@pytest.mark.proves("code ALREADY_SUBMITTED")
async def test_each_bundle_is_claimed_once_over_several_connections(tmp_path: Path) -> None:
    """As processes have them: each connection writes in a thread of its own."""
    first = open_new(tmp_path / "service.db")
    stores = [first, *(open_new(tmp_path / "service.db") for _ in range(3))]
    await asyncio.gather(*(first.groups.save_bundle(bundle(number)) for number in range(50)))
    won: dict[str, list[str]] = {}

    async def claim(store: Store, signature: str, group: str) -> None:
        (pending,) = await store.groups.bundles("one", group)
        signed = replace(pending.batches[0], signature=signature)
        submitted = replace(pending, state="submitted", batches=(signed,))
        if await store.groups.move_bundle(submitted, expected="pending"):
            won.setdefault(group, []).append(signature)

    groups = [f"group-{number}" for number in range(50)]
    claims = [(store, f"0x0{n}", group) for group in groups for n, store in enumerate(stores)]
    await asyncio.gather(*(claim(*each) for each in claims))
    kept = {
        each.multi_id: [each.batches[0].signature]
        for each in await first.groups.bundles_under_way()
    }
    assert kept == won, "each once, none twice, by whoever was told so"
    assert kept.keys() == set(groups), "none forgotten"
    for store in stores:
        await store.close()


async def test_a_pending_bundle_is_replaced_and_one_under_way_is_not(store: Store) -> None:
    await store.groups.save_bundle(bundle(1, "a", "b"))
    await store.groups.save_bundle(bundle(1, "b", "c"))
    (pending,) = await store.groups.bundles("one", "group-1")
    assert pending.service_ids == {"b", "c"}
    assert not await store.groups.move_bundle(
        replace(pending, partner_id="two", state="submitted"), expected="pending"
    )
    assert await store.groups.move_bundle(replace(pending, state="submitted"), expected="pending")
    assert not await store.groups.move_bundle(
        replace(pending, state="submitted"), expected="pending"
    )
    for wanted in (("c",), ("a", "b")):
        with pytest.raises(BundleUnderWay):
            await store.groups.save_bundle(bundle(1, *wanted))
    await store.groups.save_bundle(bundle(1, "a"))
    newest, older = await store.groups.bundles("one", "group-1")
    assert (newest.state, older.state) == ("pending", "submitted")
    assert newest.number > older.number
    partly = replace(older, state="failed", batches=bundle(1, "b", paid=True).batches)
    assert await store.groups.move_bundle(partly, expected="submitted")
    await store.groups.save_bundle(bundle(1, "a", "c"))
    with pytest.raises(BundleUnderWay):
        await store.groups.save_bundle(bundle(1, "b"))
    assert await store.groups.bundles("two", "group-1") == []


@pytest.mark.usefixtures("engine")
async def test_a_group_and_its_bundles_survive_a_restart(tmp_path: Path) -> None:
    store = open_new(tmp_path / "service.db")
    group = StoredGroup("group-1", "one", START, "ethereum")
    await store.groups.begin(group, [])
    await store.groups.save_bundle(bundle(1, "a"))
    (pending,) = await store.groups.bundles("one", "group-1")
    moved = replace(pending, state="failed", failure_reason="why", tx_hash="0x01", modified=START)
    assert await store.groups.move_bundle(moved, expected="pending")
    await store.close()
    store = open_new(tmp_path / "service.db")
    assert await store.groups.get("one", "group-1") == group
    assert await store.groups.get("two", "group-1") is None
    assert await store.groups.bundles("one", "group-1") == [moved]
    assert await store.groups.bundles_under_way() == []
    await store.close()


# Whose database it is, and which release may use it


async def released_as(store: Store, number: int, serves_from: int) -> None:
    await store.database.write(
        lambda db: db.run(
            "UPDATE schema_version SET number = :number, serves_from = :serves_from",
            {"number": number, "serves_from": serves_from},
        )
    )


async def test_a_neighbour_of_a_newer_release_is_worked_beside_and_a_later_one_is_not(
    reopened: Callable[..., Awaitable[Store]], store: Store
) -> None:
    await released_as(store, VERSION + 1, VERSION)
    beside = await reopened()
    assert await beside.orders.next_due() is None
    await beside.close()
    await released_as(store, VERSION + 1, VERSION + 1)
    with pytest.raises(SchemaError, match=f"schema {VERSION + 1}, this release knows {VERSION}"):
        await reopened()


STEP = """
    CREATE TABLE notes (number BIGINT NOT NULL);
    ALTER TABLE orders ADD COLUMN note TEXT;
    ALTER TABLE quotes ADD COLUMN note TEXT;
    ALTER TABLE usage ADD COLUMN note TEXT;
    INSERT INTO notes (number) VALUES (1)
"""


@pytest.fixture
async def next_release(store: Store, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """A release that adds to the tables, and serves beside the one before it."""
    monkeypatch.setattr(schema, "VERSION", VERSION + 1)
    monkeypatch.setattr(schema, "STEPS", {VERSION: STEP})
    yield
    for undone in ("DROP TABLE IF EXISTS notes", *_DROPS):
        with contextlib.suppress(StoreUnavailable):  # not there
            await changed(store, undone)


_DROPS = [f"ALTER TABLE {table} DROP COLUMN note" for table in ("orders", "quotes", "usage")]


async def counted(store: Store, known: list[Usage]) -> None:
    """Count one more call of these windows."""

    class Call:
        counted = ALICE.partner_id
        rate_class = "read"

        def take(self, found: list[Usage]) -> list[Usage]:
            assert found == known
            known[:] = [Usage(ALICE.partner_id, "read", 60, 1, len(known) + 1)]
            return known

    await store.calls.count(Call())


@pytest.mark.usefixtures("next_release")
async def test_a_step_is_taken_once_and_leaves_the_release_before_it_at_work(
    reopened: Callable[..., Awaitable[Store]], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four processes of the next release start together, beside one of this."""
    row = await begun(store, 1)
    known: list[Usage] = []
    await counted(store, known)
    assert (await store.orders.page(*EVERYTHING))[1] == 1

    def process() -> None:
        async def life() -> None:
            await (await reopened()).close()

        asyncio.run(life())

    await asyncio.gather(*(asyncio.to_thread(process) for _ in range(4)))
    assert await found(store, "SELECT number, serves_from FROM schema_version") == [
        (VERSION + 1, schema.SERVES_FROM)
    ]
    assert await found(store, "SELECT number FROM notes") == [(1,)]
    # What was prepared before the step is good for nothing now, and nobody notices.
    assert await store.orders.page(*EVERYTHING) is not None
    assert await store.orders.get(ALICE.partner_id, row.service_id) == row
    await counted(store, known)
    assert await store.orders.advance(row, expected_version=1)
    await begun(store, 2)
    monkeypatch.undo()
    await (await reopened()).close()


@pytest.mark.usefixtures("next_release")
async def test_a_step_is_taken_whole_or_not_at_all(
    reopened: Callable[..., Awaitable[Store]], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await begun(store, 1)
    monkeypatch.setattr(schema, "STEPS", {VERSION: f"{STEP}; DROP TABLE nobody_has_it"})
    with pytest.raises((SchemaError, StoreUnavailable), match="nobody_has_it"):
        await reopened()
    (version,) = await found(store, "SELECT number FROM schema_version")
    assert version == (VERSION,)
    with pytest.raises(StoreUnavailable, match="notes"):
        await found(store, "SELECT number FROM notes")
    monkeypatch.undo()
    again = await reopened()
    await begun(again, 2)
    await again.close()


async def test_two_worlds_do_not_share_a_database(
    reopened: Callable[..., Awaitable[Store]],
) -> None:
    for world in ({"base": "8453"}, {"base": "8453", "ethereum": "1"}, {}):
        await (await reopened(world)).close()
    with pytest.raises(SchemaError, match="ethereum is 1 there, and 5 here"):
        await reopened({"ethereum": "5"})
