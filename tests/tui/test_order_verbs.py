"""The verbs of the tracker and of one order: sort, say, export, diagnosis, history, link."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from flows.orders import intent, order
from service.world import CHAINS, ETH
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.flows.intents.intent import TokenFacts
from swapdesk.flows.orders.order_history import changed_fields, updates_of
from swapdesk.tui.screens.create import CreateScreen
from swapdesk.tui.screens.inspect import InspectScreen
from swapdesk.tui.screens.order import OrderScreen, transaction_page
from swapdesk.tui.screens.order_history import OrderHistoryScreen
from swapdesk.tui.screens.orders import OrdersScreen
from swapdesk.tui.screens.quotes import QuotesScreen
from swapdesk.tui.spans import ascii_line, line_of, plain_text
from swapdesk.tui.widgets.order_table import STEP
from swapdesk.tui.widgets.overlay import SpokenOverlay
from swapdesk.tui.widgets.table_layout import Row, Sketch
from swapdesk.wire.orders import DisplayStatus, LegStatus
from tui.desk_run import DeskRun, Market
from tui.known_orders import (
    HASH,
    REFUND,
    Known,
    ended,
    exchanging,
    held,
    prepare,
    private,
    waiting,
)
from tui.picture import LARGEST, SMALLEST, take
from world import sandbox_goods

Golden = Callable[[str, str], None]
BOTH = (SMALLEST, LARGEST)


def unhappy(clock: Any) -> list[Known]:
    """Every way an order can leave its plain course."""

    def failed(name: str, **facts: Any) -> Known:
        return ended(clock, name, DisplayStatus.FAILED, order_finished_received=None, **facts)

    part_way = ended(
        clock, "r1Pf4WzAsDfGhJkLqWeRtY", DisplayStatus.REFUNDED, minutes=20, fixed=True,
        anonymous=True, refund_amount=Decimal("0.5"), refund_address=REFUND,
    )  # fmt: skip
    return [
        failed("f1Be2FzAsDfGhJkLqWeRtY", minutes=10),
        failed("f2Af3DzAsDfGhJkLqWeRtY", minutes=11, action_required=True),
        failed("f3Rp4PzAsDfGhJkLqWeRtY", minutes=12, in_status=3, refund_address=REFUND),
        failed("f4Nr5NzAsDfGhJkLqWeRtY", minutes=13, action_required=True, non_refundable=True),
        failed("f5Ns6UzAsDfGhJkLqWeRtY", minutes=14, deposit_address=None),
        ended(clock, "r2No5AzAsDfGhJkLqWeRtY", DisplayStatus.REFUNDED, minutes=15),
        part_way,
        ended(clock, "c2Fb6PzAsDfGhJkLqWeRtY", DisplayStatus.SWAP_COMPLETED, minutes=16,
              in_status=LegStatus.FALLBACK.value),
        ended(clock, "c3Ex7CzAsDfGhJkLqWeRtY", DisplayStatus.SWAP_COMPLETED, minutes=17,
              refund_amount=Decimal("0.1"), refund_hash=HASH, refund_chain="Bitcoin"),
        ended(clock, "e1La8TzAsDfGhJkLqWeRtY", DisplayStatus.EXPIRED, minutes=18,
              in_status=2, refund_address=REFUND, order_finished_received=None),
        ended(clock, "e2St9KzAsDfGhJkLqWeRtY", DisplayStatus.EXPIRED, minutes=19,
              action_required=True, order_finished_received=None),
        ended(clock, "x1De1LzAsDfGhJkLqWeRtY", DisplayStatus.DELETED, minutes=21),
        exchanging(clock, "s1Sh2RzAsDfGhJkLqWeRtY", out_amount=Decimal("12")),
        exchanging(clock, "s2Re3RzAsDfGhJkLqWeRtY", rerouted=True, swap_name="Cobalt",
                   quoted_out_amount=Decimal("14.524108"), out_amount=Decimal("14.498")),
        waiting(clock, "s3Se4UzAsDfGhJkLqWeRtY", deposit_address=None, deposit_tag=None),
        waiting(clock, "s4Se5DzAsDfGhJkLqWeRtY", in_status=2),
    ]  # fmt: skip


async def test_every_unhappy_order_is_told_on_one_screen(market: Market, golden: Golden) -> None:
    known = unhappy(market.clock)
    prepare(market, known)
    shown: dict[int, list[str]] = {size[0]: [] for size in BOTH}

    async def draw(run: DeskRun, sizes: Sequence[tuple[int, int]]) -> None:
        for size in sizes:
            rows = (await take(run, size)).rows
            assert all(len(row) <= size[0] for row in rows)
            shown[size[0]].append("\n".join(rows[1:]))

    async with market.desk(SMALLEST) as run:
        await run.to_orders()
        await draw(run, BOTH)
        for at, listed in enumerate(known):
            await run.to_order(listed.id)
            # The next order begins at the size at which this one ended.
            await draw(run, BOTH[:: 1 if at % 2 else -1])
    for width, screens in shown.items():
        golden(f"unhappy-{width}", "\n\n".join(screens))


JARGON = re.compile(
    r"[a-z]+(Status|Amount|Address|Hash|Required|Id)\b|[A-Z]+_[A-Z_]+|\b(status|code) \d"
)
"""Field names, names of states and error codes, and bare numbers of states."""


@pytest.mark.parametrize("name", ["order-80", "order-120", "unhappy-80", "unhappy-200"])
def test_no_state_is_told_in_words_of_the_service(name: str) -> None:
    told = (Path(__file__).parent / "goldens" / f"{name}.txt").read_text(encoding="utf-8")
    assert JARGON.findall(told) == []


def test_the_goldens_have_ascii_forms() -> None:
    folder = Path(__file__).parent / "goldens"
    for name in ("scenes/orders-100x30", "order-80", "unhappy-80", "scenes/orders-200x60"):
        for row in (folder / f"{name}.txt").read_text(encoding="utf-8").splitlines():
            shown = plain_text(ascii_line(line_of(row)))
            assert shown.isascii(), row
            assert len(shown) == len(row)


async def test_rows_are_sorted_said_and_diagnosed(market: Market) -> None:
    prepare(market, [waiting(market.clock), exchanging(market.clock), held(market.clock)])
    async with market.desk() as run:
        screen = await run.to_orders()
        keys = [row.key[:6] for row in screen._table.rows if row.selectable]
        assert keys == ["w2Bn8L", "h8Kq2P", "m1Xc7D"]
        await run.press("s")
        await run.see("Sorted by newest")
        keys = [row.key[:6] for row in screen._table.rows if row.selectable]
        assert keys == ["m1Xc7D", "h8Kq2P", "w2Bn8L"]
        assert screen._table.cursor_key.startswith("w2Bn8L")
        await run.press("e")
        await run.settle(lambda: isinstance(run.app.screen, SpokenOverlay), "the sentence")
        await run.see("Order w2Bn8LxCvBnM4k5j6h7g8f, 0.5 BTC to 14.524108 ETH, standard, stage 3")
        await run.press("escape")
        await run.to_order(held(market.clock).id)
        await run.press("i")
        await run.settle(lambda: isinstance(run.app.screen, InspectScreen), "the diagnosis")
        await run.see("rule held, certain")
        await run.press("escape")
        assert isinstance(run.app.screen, OrderScreen)


async def test_what_was_dealt_with_is_put_away_and_taken_back_by_one_key(market: Market) -> None:
    stuck = ended(
        market.clock, "f2Af3DzAsDfGhJkLqWeRtY", DisplayStatus.FAILED, minutes=11,
        action_required=True, order_finished_received=None,
    )  # fmt: skip
    prepare(market, [stuck, exchanging(market.clock)])
    async with market.desk() as run:
        screen = await run.to_orders()
        await run.see("Needs you")
        screen._table.move_to(stuck.id)
        await run.see("P put away")
        await run.press("P")
        await run.see("Put away")
        assert "Needs you" not in run.text
        assert "needs you" not in screen.funds().where
        assert stuck.id == screen._table.cursor_key
        await run.press("enter")
        await run.see("Order id")
        await run.see("P take back")
        await run.press("P", "escape")
        await run.see("Needs you")


async def test_an_expired_order_is_asked_for_again_with_its_input(
    market: Market, subtests: pytest.Subtests
) -> None:
    tokens = sandbox_goods(market.clock.now())["tokens"]
    btc, eth = (
        next(one for one in tokens if (one.symbol, one.chain) == named)
        for named in (("BTC", "bitcoin"), ("ETH", "ethereum"))
    )
    confirmed = intent(
        token_in=TokenFacts.of(btc), token_out=TokenFacts.of(eth), recipient_label="@bob",
        amount_in=Decimal("0.25"),
    )  # fmt: skip
    expired = order(
        confirmed, service_id="z6Yx2QzAsDfGhJkLqWeRtY", display_status="EXPIRED",
        created=market.clock.now() - timedelta(hours=1),
    )  # fmt: skip
    prepare(market, [Known([expired], confirmed), exchanging(market.clock)])
    async with market.desk() as run:
        screen = await run.to_orders()
        assert "again" not in run.text
        for page in (False, True):
            with subtests.test(page=page):
                await again(run, screen, expired.service_id, page=page)
            while run.app.screen is not screen:
                await run.press("escape")


async def again(run: DeskRun, screen: OrdersScreen, expired: str, *, page: bool) -> None:
    """From the list, or from the page of the order."""
    screen._table.move_to(expired)
    await run.see("A again, 1 quote")
    if page:
        await run.press("enter")
        await run.see("Order id")
    await run.press("A")
    await run.see("0.25 BTC")
    await run.settle(lambda: run.screen(QuotesScreen).board is not None, "quotes")
    await run.press("enter")
    await run.settle(lambda: isinstance(run.app.screen, CreateScreen), "the form")
    assert run.screen(CreateScreen)._form.values[0] == "@bob"


async def test_a_filter_that_is_none_is_told_keeps_the_rows_and_is_not_taken(
    market: Market,
) -> None:
    prepare(market, [waiting(market.clock), held(market.clock)])
    async with market.desk() as run:
        screen = await run.to_orders()
        await run.press("slash")
        await run.type("hold")
        await run.see("1 of 2")
        await run.type(" >1x")
        await run.see("an age is a number with s, m, h or d")
        # What is shown is said where the notice covers it, too.
        screen.clear_notice()
        await run.see("? no filter; shown: hold")
        assert "w2Bn8L" in run.text
        assert "1 of 2" in run.text
        await run.press("backspace", "h")
        await run.see("No order matches")
        assert "an age is" not in run.text
        await run.retype(" >zz")
        screen.clear_notice()
        await run.press("enter")
        await run.see("'>zz': an age is a number with s, m, h or d")
        assert screen._field.has_focus
        await run.retype("hold")
        await run.press("enter")
        await run.see("1 of 2")
        assert not screen._field.has_focus


async def test_what_is_shown_is_exported(market: Market) -> None:
    prepare(market, [waiting(market.clock), held(market.clock), private(market.clock)])
    async with market.desk() as run:
        await run.to_orders()
        await run.press("slash")
        await run.type("hold")
        await run.press("enter", "x")
        await run.see("Export 1 order")
        await run.press("enter")
        await run.see("1 order written to")
        (csv,) = (market.home / "exports").glob("*.csv")
        rows = csv.read_text(encoding="utf-8").splitlines()
        assert len(rows) == 2
        assert rows[1].startswith("w2Bn8L")
        assert csv.stat().st_mode & 0o777 == 0o600
        while not isinstance(run.app.screen, OrdersScreen):
            await run.press("escape")
        await run.press("escape", "x")
        await run.see("Export 3 orders")
        await run.retype(str(market.home / "mine.json"))
        await run.press("enter")
        await run.see("3 orders written to")
        document = json.loads((market.home / "mine.json").read_bytes())
        assert [row["serviceId"][:6] for row in document["orders"]] == [
            "w2Bn8L",
            "r3Tz9W",
            "m1Xc7D",
        ]
        while not isinstance(run.app.screen, OrdersScreen):
            await run.press("escape")
        for nowhere in ("/proc/nowhere/x.csv", f"/{'n' * 256}/x.csv"):
            await run.press("x")
            await run.retype(nowhere)
            await run.press("enter")
            await run.see(f"✗ {nowhere[:60]}")
            while not isinstance(run.app.screen, OrdersScreen):
                await run.press("escape")


async def test_the_history_of_an_order(market: Market) -> None:
    known = private(market.clock)
    prepare(market, [known])
    async with market.desk() as run:
        await run.to_order(known.id)
        await run.press("h")
        await run.settle(lambda: isinstance(run.app.screen, OrderHistoryScreen), "the history")
        await run.see("SECOND_EXCHANGE_IN_PROGRESS")
        # Above the update stands the request that was made since.
        await run.press("right_square_bracket")
        await run.see(f"{len(known.states)} of {len(known.states)}")
        await run.press("y")
        assert "Z SECOND_EXCHANGE_IN_PROGRESS; " in run.app.clipboard
        await run.press("left_square_bracket")
        await run.see(f"{len(known.states) - 1} of {len(known.states)}")
        await run.press("escape")
        assert isinstance(run.app.screen, OrderScreen)


def test_what_an_update_changed_is_named() -> None:
    first = order()
    second = order(
        in_status=2,
        out_amount=Decimal("14.50"),
        refund_hash=HASH,
        modified=first.created,
        expires=first.expires + timedelta(minutes=5) if first.expires else None,
    )
    assert changed_fields(first, second) == (
        "expires 14:32:11 to 14:37:11",
        "inStatus 1 to 2",
        "outAmount 14.524108 to 14.50",
        "refundHash set",
    )
    assert changed_fields(first, first) == ("nothing new",)
    newest, oldest = updates_of([(first.created, "list", first), (first.created, "odd", second)])
    assert (oldest.changed, newest.source) == (("first seen",), "odd")


def test_an_update_never_shows_where_to_pay() -> None:
    """Another address is why an order is hidden, and neither may be read off its history."""
    other = derive_address("bitcoin", b"o" * 32)
    moved = order(deposit_address=other, deposit_tag="7741")
    assert changed_fields(order(deposit_tag="20117"), moved) == (
        "depositAddress changed",
        "depositTag changed",
    )
    assert changed_fields(order(), moved)[1] == "depositTag set"
    assert changed_fields(order(deposit_address=None), order()) == ("depositAddress set",)


@pytest.mark.parametrize(
    "pattern",
    ["http://x.example/{txHash}", "https://x.example/tx", "javascript:{txHash}", "", None],
)
def test_only_a_safe_page_is_linked(pattern: str | None) -> None:
    chain = CHAINS[0].model_copy(update={"hash_url": pattern, "explorer_url": pattern or ""})
    token = ETH.model_copy(update={"chain_data": chain})
    assert transaction_page(token, HASH) == ""
    safe = chain.model_copy(update={"hash_url": "https://x.example/tx/{txHash}?a=1"})
    of = ETH.model_copy(update={"chain_data": safe})
    assert transaction_page(of, "a/b&c") == "https://x.example/tx/a%2Fb%26c?a=1"
    assert transaction_page(None, HASH) == ""


async def test_a_long_list_is_laid_out_in_steps(market: Market) -> None:
    """The keys of the screen answer between the steps; what changes meanwhile is drawn after."""
    count = 5 * STEP
    first = exchanging(market.clock)
    prepare(market, [Known(first.states, first.intent)])
    async with market.desk() as run:
        screen = await run.to_orders()
        following = run.app.session.desk.link.tracker
        for number in range(count):
            following._apply(order(service_id=f"m{number:021}"), "list")
        await following._writes.flush()
        await run.see(str(count + 1))
        laid = [row for row in screen._table.rows if isinstance(row, Row)]
        assert len(laid) <= screen._table.size.height
        last = order(service_id=f"m{count - 1:021}", display_status="DEPOSIT_DETECTED", in_status=2)
        following._apply(last, "list")
        await following._writes.flush()
        await run.settle(lambda: not screen._changed, "the update")
        assert "Deposit seen" not in run.text
        # Its cells are not kept from before: there is one version of each order.
        assert isinstance(screen._table.rows[-1], Sketch)
        await run.press("end")
        await run.see("Deposit seen")
        assert len(screen._table.shown) == count + 1
        # What was in view and is not any more is no older when it comes back.
        await run.press("home")
        sent = last.model_copy(update={"display_status": "SENDING_TO_RECEIVER", "in_status": 4})
        following._apply(sent, "list")
        await following._writes.flush()
        await run.settle(lambda: not screen._changed, "the update")
        await run.press("end")
        await run.see("Sending")


def test_a_page_that_changed_is_named_and_not_cut_in_two() -> None:
    paid_in, paid_out = (f"https://ethereum.example/tx/0x{end * 64}" for end in "ab")
    told = changed_fields(order(hash_url=paid_in), order(hash_url=paid_out))
    assert told == ("hashUrl changed",), "whether an explorer knows it stands with the facts"
