"""One order: its facts, and the verbs of its page and row."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from flows.orders import BTC, NOW, intent, order
from flows.test_order_choice import token
from service.world import CHAINS
from service.world import ETH as ETHER
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.chain.addresses.payments import short_memo_label
from swapdesk.clock import ManualClock
from swapdesk.flows.intents.intent import TokenFacts
from swapdesk.flows.orders.deposit_destination import ON_ITS_WAY
from swapdesk.flows.orders.order_history import changed_fields, updates_of
from swapdesk.flows.orders.order_status import order_status
from swapdesk.flows.orders.order_transactions import OrderTransaction
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.tui.screens.create import CreateScreen
from swapdesk.tui.screens.deposit import deposit_state
from swapdesk.tui.screens.inspect import InspectScreen
from swapdesk.tui.screens.order import OrderScreen, order_facts, transaction_page
from swapdesk.tui.screens.order_history import OrderHistoryScreen
from swapdesk.tui.screens.orders import OrdersScreen
from swapdesk.tui.screens.quotes import QuotesScreen
from swapdesk.tui.spans import line_of, plain_text
from swapdesk.tui.widgets.detail_rows import Fact
from swapdesk.tui.widgets.order_table import STEP, pair_spans
from swapdesk.tui.widgets.overlay import ReadingOverlay
from swapdesk.tui.widgets.table_layout import Row, Sketch
from swapdesk.wire.orders import DisplayStatus, LegStatus
from tui.desk_run import DeskRun, Market
from tui.known_orders import (
    HASH,
    REFUND,
    XRP,
    Known,
    ended,
    ended_now,
    exchanging,
    held,
    prepare,
    private,
    waiting,
)
from tui.picture import LARGEST, SMALLEST, take
from world import sandbox_goods

LINK = f"https://explorer.example/tx/{HASH}"
PAGE = f"https://ethereum.example/tx/0x{'a' * 63}"
OTHER_PLACE = {"deposit_address": derive_address("bitcoin", b"o" * 32), "deposit_tag": "7741"}


def facts(known: Known, *, live: bool = False, **confirmed: Any) -> dict[str, str]:
    """Label to text."""
    shown = found(known, live=live, **confirmed)
    return {fact.label: "".join(span.text for span in line_of(fact.value)) for fact in shown}


def found(
    known: Known, made: Sequence[OrderTransaction] = (), *, live: bool = False, **confirmed: Any
) -> list[Fact]:
    """The facts of an order as its screen has them."""
    of = replace(known.intent, **confirmed) if known.intent is not None else None
    tracked = TrackedOrder(known.states[-1], of, None, ended_now(known.states[-1]), NOW, "stream")
    return order_facts(tracked, order_status(tracked, NOW), NOW, made, live=live)


def completed(clock: ManualClock, **changes: Any) -> Known:
    return ended(clock, "c5Rf1JzAsDfGhJkLqWeRtY", DisplayStatus.SWAP_COMPLETED, **changes)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (waiting, "1.8 at Halyard, the order says 1.7 ETH"),
        (exchanging, "1.8 at Halyard, the order says 1.7 ETH"),
        (completed, "executed 1.7 ETH"),
    ],
)
def test_what_was_quoted_is_executed_at_the_end_alone(state: Any, said: str) -> None:
    known = state(ManualClock(NOW), out_amount=Decimal("1.7"), quoted_out_amount=Decimal("1.8"))
    quoted = facts(known)["Quoted"]
    assert said in quoted
    assert ("executed" in quoted) == (state is completed)


def test_an_amount_that_is_rounded_above_stands_exactly_among_the_facts() -> None:
    exact = Decimal("0.06934956")
    shown = facts(exchanging(ManualClock(NOW), in_amount=exact))
    assert shown["Asked for"] == "0.06934956 BTC"
    less = exchanging(ManualClock(NOW), in_amount=exact, out_amount=Decimal(12))
    assert facts(less)["Asked for"] == "0.06934956 BTC"
    assert "You sent" not in facts(exchanging(ManualClock(NOW))), "0.5 BTC is exact above"


def test_no_explorer_is_named_for_a_sandbox_transaction() -> None:
    known = exchanging(ManualClock(NOW), hash_url=LINK)
    shown = facts(known)
    assert shown["Link"] == "sandbox transaction, no explorer knows it"
    assert "Deposit tx" not in shown, "nobody says of which transaction it is"
    assert LINK not in shown.values()
    assert facts(known, live=True)["Link"] == LINK


def test_a_payout_stands_once_with_what_is_to_be_said_of_it() -> None:
    known = exchanging(ManualClock(NOW), hash_url=LINK, in_transaction_out_hash=HASH)
    labels = [fact.label for fact in found(known)]
    assert labels.count("Payout tx") == 1
    assert "Deposit tx" not in labels
    (payout,) = (fact for fact in found(known) if fact.label == "Payout tx")
    assert (payout.address, payout.link) == (HASH, "")
    assert payout.below == ("sandbox transaction, no explorer knows it",)
    (payout,) = (fact for fact in found(known, live=True) if fact.label == "Payout tx")
    assert payout.below == ()


def test_the_payout_tag_stands_under_its_word() -> None:
    known = exchanging(ManualClock(NOW), receiver_tag="42")
    assert facts(known)["With memo"] == "42"
    none = exchanging(ManualClock(NOW), out_token=None)
    assert facts(none, token_out=XRP, memo_waived=True)["With tag"] == "none, as you typed"
    assert "With tag" not in facts(none, token_out=XRP)
    assert short_memo_label("memo") == "Memo"


def test_a_refund_without_an_amount_is_told_on_order_and_deposit_card() -> None:
    known = ended(ManualClock(NOW), "r2No5AzAsDfGhJkLqWeRtY", DisplayStatus.REFUNDED)
    assert facts(known)["Refunded"] == "the service does not say how much"
    of = TrackedOrder(known.states[-1], known.intent, None, True, NOW, "stream")
    card = {fact.label: fact for fact in deposit_state(of, NOW).facts}
    said = plain_text(line_of(card["Came back"].value))
    assert said == "the BTC; the service does not say how much"
    assert plain_text(pair_spans(of)) == "0.5 BTC \N{RIGHTWARDS ARROW} the BTC came back"


OTHER = "0x" + "ab" * 32
SENT = OrderTransaction("deposit", HASH, "confirmed", "wallet")


@pytest.mark.parametrize("live", [True, False])
def test_what_this_desk_sent_stands_with_its_page(live: bool) -> None:
    """Also once the order's link is the payout's."""
    known = exchanging(
        ManualClock(NOW),
        in_token=token(BTC, "https://mempool.space/tx/{txHash}"),
        hash_url="https://else.example/1",
    )
    swap = OrderTransaction("swap", OTHER, "failed", "wallet")
    shown = {fact.label: fact for fact in found(known, (SENT, swap), live=live)}
    assert shown["Deposit tx"].copied == HASH
    assert shown["Swap tx"].note == "failed"
    assert shown["Deposit tx"].link == (f"https://mempool.space/tx/{HASH}" if live else "")
    assert bool(shown["Deposit tx"].below) is not live
    assert shown["Went to"].address == known.states[-1].deposit_address


def test_a_deposit_that_is_paid_here_has_no_place_to_pay_to() -> None:
    known = waiting(ManualClock(NOW))
    of = TrackedOrder(known.states[-1], known.intent, None, False, NOW, "stream")
    labels = [fact.label for fact in order_facts(of, order_status(of, NOW), NOW, live=False)]
    assert "Deposit to" in labels
    assert "Send" in labels
    made = (OrderTransaction("deposit", HASH, "sent", "wallet"),)
    shown = {
        fact.label: fact
        for fact in order_facts(of, order_status(of, NOW, made), NOW, made, live=False)
    }
    assert "Deposit to" not in shown
    assert "Send" not in shown
    assert shown["Went to"].below == (ON_ITS_WAY,)
    assert shown["Deposit tx"].note == "sent"


def test_the_deposit_the_service_named_before_is_told_when_its_link_is_another() -> None:
    told = OrderTransaction("deposit", HASH, "seen", "service")
    known = completed(ManualClock(NOW))
    shown = {fact.label: fact for fact in found(known, (told,))}
    assert shown["Deposit tx"].address == HASH
    assert "Deposit tx" not in facts(known)


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


async def test_rows_are_sorted_said_and_diagnosed(market: Market) -> None:
    prepare(market, [waiting(market.clock), exchanging(market.clock), held(market.clock)])
    async with market.desk() as run:
        screen = await run.to_orders()
        await run.press("s", sees="Sorted by newest")
        keys = [row.key[:6] for row in screen._table.rows if row.selectable]
        assert keys == ["m1Xc7D", "h8Kq2P", "w2Bn8L"]
        assert screen._table.cursor_key.startswith("w2Bn8L")
        await run.press("e", to=ReadingOverlay)
        await run.see("Order w2Bn8LxCvBnM4k5j6h7g8f, 0.5 BTC to 14.524108 ETH, standard, stage 3")
        await run.press("escape")
        await run.to_order(held(market.clock).id)
        await run.press("i", to=InspectScreen)
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
        await run.press("P", sees="Put away")
        await run.see("P takes it back")
        assert "Needs you" not in run.text
        assert "needs you" not in screen.funds().where
        assert stuck.id == screen._table.cursor_key
        await run.press("enter", sees="Order id")
        await run.see("P take back")
        await run.press("P", "escape", sees="Needs you")


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
        # From the list, then from the page of the order.
        for keys in (("A",), ("enter", "A")):
            with subtests.test(keys=keys):
                screen._table.move_to(expired.service_id)
                await run.see("A again, 1 quote")
                for key in keys:
                    await run.press(key, sees="Order id" if key == "enter" else "0.25 BTC")
                await run.settle(lambda: run.screen(QuotesScreen).result is not None, "quotes")
                await run.press("enter", to=CreateScreen)
                assert run.screen(CreateScreen)._form.values[0] == "@bob"
            while run.app.screen is not screen:
                await run.press("escape")


async def test_a_filter_that_is_none_is_told_keeps_the_rows_and_is_not_taken(
    market: Market,
) -> None:
    prepare(market, [waiting(market.clock), held(market.clock)])
    async with market.desk() as run:
        screen = await run.to_orders()
        await run.press("slash")
        await run.type("hold", sees="1 of 2")
        await run.type(" >1x", sees="an age is a number with s, m, h or d")
        # What is shown is said where the notice covers it, too.
        screen.clear_notice()
        await run.see("? no filter; shown: hold")
        assert "w2Bn8L" in run.text
        assert "1 of 2" in run.text
        screen.clear_notice()
        await run.press("enter", sees="an age is a number with s, m, h or d")
        assert screen._field.has_focus
        await run.retype("hold")
        await run.press("enter")
        assert not screen._field.has_focus


async def test_what_is_shown_is_exported(market: Market) -> None:
    prepare(market, [waiting(market.clock), held(market.clock), private(market.clock)])
    async with market.desk() as run:
        await run.to_orders()
        await run.press("slash")
        await run.type("hold")
        await run.press("enter", "x", sees="Export 1 order")
        await run.press("enter", sees="1 order written to")
        (csv,) = (market.home / "exports").glob("*.csv")
        rows = csv.read_text(encoding="utf-8").splitlines()
        assert len(rows) == 2
        assert rows[1].startswith("w2Bn8L")
        assert csv.stat().st_mode & 0o777 == 0o600
        while not isinstance(run.app.screen, OrdersScreen):
            await run.press("escape")
        await run.press("escape", "x", sees="Export 3 orders")
        await run.retype(f"/{'n' * 256}/x.csv")
        await run.press("enter", sees=f"✗ /{'n' * 59}")


async def test_the_history_of_an_order(market: Market) -> None:
    known = private(market.clock)
    prepare(market, [known])
    async with market.desk() as run:
        await run.to_order(known.id)
        await run.press("h", to=OrderHistoryScreen)
        await run.see("SECOND_EXCHANGE_IN_PROGRESS")
        # Above the update stands the request that was made since.
        await run.press("right_square_bracket", sees=f"{len(known.states)} of {len(known.states)}")
        await run.press("y")
        assert "Z SECOND_EXCHANGE_IN_PROGRESS; " in run.app.clipboard
        await run.press(
            "left_square_bracket", sees=f"{len(known.states) - 1} of {len(known.states)}"
        )
        await run.press("escape")
        assert isinstance(run.app.screen, OrderScreen)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({}, {}, ("nothing new",)),
        (
            {},
            {
                "in_status": 2,
                "out_amount": Decimal("14.50"),
                "refund_hash": HASH,
                "expires": order().expires + timedelta(minutes=5),
            },
            (
                "expires 14:32:11 to 14:37:11",
                "inStatus 1 to 2",
                "outAmount 14.524108 to 14.50",
                "refundHash set",
            ),
        ),
        # Another address is why an order is hidden: neither may be read off its history.
        ({"deposit_tag": "20117"}, OTHER_PLACE, ("depositAddress changed", "depositTag changed")),
        ({}, OTHER_PLACE, ("depositAddress changed", "depositTag set")),
        ({"deposit_address": None}, {}, ("depositAddress set",)),
        # Whether an explorer knows a page stands with the facts.
        ({"hash_url": f"{PAGE}a"}, {"hash_url": f"{PAGE}b"}, ("hashUrl changed",)),
    ],
)
def test_what_an_update_changed_is_named(
    before: dict[str, Any], after: dict[str, Any], told: tuple[str, ...]
) -> None:
    assert changed_fields(order(**before), order(**after)) == told


def test_the_newest_update_stands_above_what_was_seen_first() -> None:
    first = order()
    newest, oldest = updates_of([(first.created, "list", first), (first.created, "odd", first)])
    assert (oldest.changed, newest.source) == (("first seen",), "odd")


@pytest.mark.parametrize(
    "pattern",
    ["http://x.example/{txHash}", "https://x.example/tx", "javascript:{txHash}", "", None],
)
def test_only_a_safe_page_is_linked_and_the_hash_has_one_of_its_own(pattern: str | None) -> None:
    """``explorerUrl`` is the template; ``hashUrl`` stands where it differs (contract 5.1)."""

    def page(hash_: str, **pages: str | None) -> str:
        chain = CHAINS[0].model_copy(update=pages)
        return transaction_page(ETHER.model_copy(update={"chain_data": chain}), hash_)

    assert page(HASH, hash_url=pattern, explorer_url=pattern or "") == ""
    explorer = "https://etherscan.io/tx/{txHash}"
    assert page("0x1", hash_url=None, explorer_url=explorer) == "https://etherscan.io/tx/0x1"
    safe = "https://x.example/tx/{txHash}?a=1"
    assert (
        page("a/b&c", hash_url=safe, explorer_url=explorer) == "https://x.example/tx/a%2Fb%26c?a=1"
    )
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
        await run.press("end", sees="Deposit seen")
        assert len(screen._table.shown) == count + 1
        # What was in view and is not any more is no older when it comes back.
        await run.press("home")
        sent = last.model_copy(update={"display_status": "SENDING_TO_RECEIVER", "in_status": 4})
        following._apply(sent, "list")
        await following._writes.flush()
        await run.settle(lambda: not screen._changed, "the update")
        await run.press("end", sees="Sending")
