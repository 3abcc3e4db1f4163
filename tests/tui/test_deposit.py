"""The deposit card and its code: what is shown when, what a reader reads, what stays hidden."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
import zxingcpp
from msgspec.structs import replace
from textual.geometry import Size

from flows.faulty_network import another_address, another_output
from flows.orders import BTC, ETH, NOW, intent, order
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.flows.deposits.deposit_phase import DepositPhase, deposit_codes, deposit_phase
from swapdesk.flows.intents.intent import Intent, TokenFacts
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payments import begin_payment, end_payment
from swapdesk.tui.glyphs import GlyphSet
from swapdesk.tui.screens.deposit import DepositCodeScreen, DepositScreen
from swapdesk.tui.widgets.deposit_card import DepositState, Payment
from swapdesk.tui.widgets.qr_code import MARGIN, CodeTooLong, QrCode, code_rows, modules_of
from swapdesk.wire.orders import LegStatus
from tui.desk_run import WIDE, DeskRun, Market
from tui.known_orders import Known, prepare
from world import sandbox_goods


async def from_xrp(run: DeskRun) -> DepositScreen:
    await run.to_deposit("2500 xrp eth")
    return run.screen(DepositScreen)


async def test_what_is_to_be_paid_is_copied_exactly_and_found_again_until_the_deadline(
    market: Market,
) -> None:
    async with market.desk() as run:
        screen = await from_xrp(run)
        order = screen.current.order
        assert "30:00 left, until 14:32:11 UTC" in run.text
        assert "for the deposit; the rate may still move" in run.text
        await run.press("m")
        assert f"Copied destination tag {order.deposit_tag}" in run.text
        assert run.app.clipboard == order.deposit_tag
        await run.press("Y")
        assert run.app.clipboard == "2500"
        await run.press("y")
        assert run.app.clipboard == order.deposit_address
        assert "Copied address r" in run.text
        run.advance(61)
        await run.see("28:59 left")
        assert "you: send the deposit within 28:59" in run.text
        # A faucet that is gone is said.
        await run.press_still("f", sees="Nothing was sent: the sandbox cannot be reached")
        assert "Funds in your wallet." in run.text
        await run.press("escape", sees="Waiting for you")
        assert screen.service_id[:6] in run.text
        assert "2500 xrp eth" in run.text
        run.app.push_screen(DepositScreen(run.app.session, screen.service_id))
        await run.see("Send this, once,")
        # After the deadline no address is left anywhere.
        address = order.deposit_address
        assert address[:4] in run.text
        run.app.copy_to_clipboard("")
        run.advance(30 * 60 + 1)
        await run.see("Do not send to this order any more.")
        assert address[:4] not in run.text
        assert "f fund" not in run.text
        await run.press("y", "Y", "m", "f")
        assert run.app.clipboard == ""


async def test_a_deposit_that_left_is_on_its_way_and_the_card_folds_when_it_is_seen(
    market: Market,
) -> None:
    async with market.desk() as run:
        screen = await from_xrp(run)
        assert "Funds in your wallet." in run.text
        ledger = run.app.session.desk.journal.ledger
        payment = begin_payment(ledger, screen.service_id, "faucet", b"{}")
        run.app.tick()
        await run.see("you: send the deposit within")
        end_payment(ledger, payment, None)
        run.app.tick()
        await run.see("Funds on its way to")
        assert "the chain: it confirms the deposit" in run.text
        assert "send the deposit within" not in run.text
        venue = market.venues[0]
        venue.move(venue.keys[0], LegStatus.CONFIRMING)
        market.clock.advance(10)
        await market.parts.worker.step(market.clock.now())
        await run.app.session.desk.link.tracker.read(screen.service_id)
        await run.see("The deposit was seen")
        assert "Address" not in run.text
        assert "y copy" not in run.text
        assert deposit_phase(screen.current, screen.now()) is DepositPhase.SEEN  # type: ignore[arg-type]


def test_a_card_that_hides_its_address_has_none_in_its_data() -> None:
    payment = Payment("XRP Ledger", "2,500 XRP", derive_address("xrp", b"x" * 32))
    waiting = DepositState(DepositPhase.WAITING, "Send this, once", payment=payment)
    with pytest.raises(ValueError, match="only a waiting card"):
        replace(waiting, phase=DepositPhase.HIDDEN)


async def accept(run: DeskRun, asked: str) -> None:
    await run.press_still("c", sees=asked)
    await run.enter("accept", sees="Send this, once, on Bitcoin")


async def test_less_than_confirmed_at_once_or_later_hides_the_address_until_it_is_accepted(
    market: Market,
) -> None:
    async with market.desk() as run:
        market.venues[0].trouble.restate_out = Decimal("14.1")
        await run.to_deposit()
        screen = run.screen(DepositScreen)
        address = screen.current.order.deposit_address or ""
        assert "less than you confirmed." in run.text
        assert address[:9] not in run.text.replace(" ", "")
        assert "f fund" not in run.text
        await run.press("f", "y")
        assert run.app.clipboard == ""
        await accept(run, 'Type "accept"')
        assert address in run.text.replace(" ", "")

        market.network.after = another_output(screen.current.order.out_amount * Decimal("0.95"))
        await run.app.session.desk.link.tracker.read(screen.service_id)
        await run.see("Do not pay before you accept that.")
        assert address[:9] not in run.text.replace(" ", "")
        await run.press("f", "y", "c")
        assert run.app.clipboard == ""
        assert "The screen just changed." in run.text
        await accept(run, "5.00% less than the")
        assert address in run.text.replace(" ", "")


async def test_an_order_that_is_not_what_was_confirmed_is_never_payable(market: Market) -> None:
    other = derive_address("bitcoin", b"x" * 32)
    async with market.desk() as run:
        market.venues[0].trouble.restate_in = Decimal("0.6")
        await run.to_deposit()
        assert "This order is not what you confirmed" in run.text
        assert "Do not pay this order." in run.text
        await run.still()
        await run.press("c", "f", "y")
        assert 'Type "accept"' not in run.text
        assert run.app.clipboard == ""
        await run.press("escape")
        market.venues[0].trouble.restate_in = None
        await run.to_frozen("0.25 btc eth")
        market.network.after = another_address(other)
        await run.press("c", to=DepositScreen)
        assert "the service repeats another deposit address" in " ".join(run.text.split())
        assert other[:9] not in run.text.replace(" ", "")


SCALE = 4
SMALL = (80, 24)


def read_cells(widget: QrCode) -> str:
    """What a camera would read from the widget: its cells as painted, halves as pixels."""
    size = widget.size
    pixels: list[bytearray] = []
    for y in range(size.height):
        upper, lower = bytearray(), bytearray()
        for segment in widget.render_line(y):
            ink, paper = _shades(segment.style)
            for char in segment.text:
                assert char in "█▀▄ ", repr(char)
                upper += bytes([ink if char in "█▀" else paper]) * SCALE
                lower += bytes([ink if char in "█▄" else paper]) * SCALE
        pixels += [upper] * SCALE + [lower] * SCALE
    picture = memoryview(b"".join(pixels)).cast("B", (len(pixels), len(pixels[0])))
    found = zxingcpp.read_barcodes(picture)
    return found[0].text if found else ""


def _shades(style: object) -> tuple[int, int]:
    colour = getattr(style, "color", None)
    ground = getattr(style, "bgcolor", None)
    shade = {"#000000": 0, "#ffffff": 255}
    return shade[colour.name if colour else "#000000"], shade[ground.name if ground else "#ffffff"]


CODE = re.compile("[█▀▄]")


async def to_code(run: DeskRun, line: str = "2500 xrp eth") -> DepositCodeScreen:
    await run.to_deposit(line)
    await run.press("v")
    return run.screen(DepositCodeScreen)


def to_be_paid(market: Market, amount: str, symbol: str, chain: str) -> Known:
    """An order that waits for its deposit, for the other one of BTC and ETH."""
    now = market.clock.now()
    tokens = {(one.symbol, one.chain): one for one in sandbox_goods(now)["tokens"]}
    token = tokens[symbol, chain]
    confirmed = intent(
        token_in=TokenFacts.of(token),
        token_out=BTC if symbol in ("ETH", "SOL") else ETH,
        amount_in=Decimal(amount),
    )
    made = order(
        confirmed,
        service_id=symbol.ljust(22, "d"),
        created=now,
        expires=now + timedelta(minutes=30),
        deposit_address=derive_address(token.chain_data.kind, symbol.encode().ljust(32, b"d")),
        deposit_tag="104882716" if symbol == "XRP" else None,
    )
    return Known([made], confirmed)


SENT = (
    ("2500", "XRP", "xrp"),
    ("30", "SOL", "solana"),
)


async def test_a_reader_reads_from_the_cells_what_the_screen_says(
    market: Market, subtests: pytest.Subtests
) -> None:
    known = [to_be_paid(market, *sent) for sent in SENT]
    prepare(market, known)
    async with market.ready_desk(SMALL) as run:
        for size in (SMALL, WIDE):
            await run.pilot.resize_terminal(*size)
            for one in known:
                with subtests.test(symbol=one.states[0].in_symbol, size=size):
                    screen = DepositCodeScreen(run.app.session, one.id)
                    await run.app.push_screen(screen)
                    await run.see("v next:")
                    codes = screen.codes()
                    assert [code.name for code in codes] == ["payment link", "address only"]
                    for _ in codes:
                        assert is_read(run, screen) or size == SMALL
                        await run.press("v")
                await run.press("escape")


def is_read(run: DeskRun, screen: DepositCodeScreen) -> bool:
    """Whether the code in view is read from its cells; else the screen says that it is too
    small."""
    code = next((one for one in screen.codes() if one.text == screen.shown), None)
    if code is None:
        assert "Make the window larger" in " ".join(run.text.split())
        return False
    assert read_cells(screen.query_one(QrCode)) == code.text
    assert screen.current.order.deposit_address in code.text
    return True


async def test_a_code_says_what_is_inside_can_be_hidden_and_goes_when_a_deposit_is_seen(
    market: Market,
) -> None:
    async with market.desk() as run:
        screen = await to_code(run)
        tag = screen.current.order.deposit_tag
        assert screen.shown.startswith("xrpl://")
        await run.press("v")
        assert screen.shown == screen.current.order.deposit_address
        assert f"tag {tag}" in run.text
        await run.press("m")
        assert run.app.clipboard == tag
        await run.press("v")
        await run.pilot.resize_terminal(140, 44)
        await run.settle(lambda: CODE.search(run.text), "the code")
        await run.press("f9", sees="Hidden; f9 shows the code.")
        assert not CODE.search(run.text)
        assert screen.shown
        await run.press("f9")
        await run.settle(lambda: CODE.search(run.text), "the code")
        assert read_cells(screen.query_one(QrCode)) == screen.shown
        venue = market.venues[0]
        venue.move(venue.keys[0], LegStatus.CONFIRMING)
        market.clock.advance(10)
        await market.parts.worker.step(market.clock.now())
        await run.app.session.desk.link.tracker.read(screen.service_id)
        await run.see("The code is gone.")
        assert screen.shown == ""
        await run.press("escape")
        assert "█" not in run.text


async def test_a_code_is_drawn_where_there_is_room_only_and_goes_away_at_the_deadline(
    market: Market,
) -> None:
    async with market.desk((120, 36)) as run:
        await run.to_deposit("2500 xrp eth")
        card = run.screen(DepositScreen)
        assert read_cells(card.query_one(QrCode)).startswith("xrpl://")
        assert "Scan  tag, amount, address" in run.text
        assert "Do not send after the deadline." in run.text
        for less in ((119, 36), (120, 35)):
            await run.pilot.resize_terminal(*less)
            await run.settle(lambda: "Scan" not in run.text, "no code")
        await run.pilot.resize_terminal(120, 36)
        await run.see("Scan")
        # A terminal that is too small says so and keeps the copies.
        await run.pilot.resize_terminal(60, 16)
        await run.press("v")
        screen = run.screen(DepositCodeScreen)
        await run.see("The code with")
        said = " ".join(run.text.split())
        assert "The code with the payment link needs 37 x 19 cells" in said
        assert screen.shown == ""
        await run.press("y")
        assert run.app.clipboard
        # Without half blocks it is drawn in colours of the ground.
        run.app.glyph_set = GlyphSet.ASCII
        await run.pilot.resize_terminal(*WIDE)
        widget = screen.query_one(QrCode)
        await run.settle(lambda: widget.size == Size(74, 37), "the code")
        assert {segment.text for y in range(37) for segment in widget.render_line(y)} == {"  "}
        rows = [[_shades(segment.style)[1] for segment in widget.render_line(y)] for y in range(37)]
        assert rows == [[0 if dark else 255 for dark in row] for row in modules_of(screen.shown)]
        run.app.glyph_set = GlyphSet.UNICODE
        await run.pilot.resize_terminal(100, 30)
        await run.settle(lambda: CODE.search(run.text), "the code in half blocks")
        assert read_cells(widget) == screen.shown
        run.app.copy_to_clipboard("")
        run.advance(30 * 60 + 1)
        await run.see("The code is gone.")
        assert screen.shown == ""
        assert "█" not in run.text
        assert "Do not send to this order any more." in run.text
        await run.press("v", "y", "m", "Y")
        assert run.app.clipboard == ""


def known(asked: Intent | None, withheld: str | None = None, **changes: Any) -> TrackedOrder:
    return TrackedOrder(order(asked or intent(), **changes), asked, withheld, False, NOW, "create")


def test_there_is_no_code_for_what_may_not_be_paid() -> None:
    names = [one.name for one in deposit_codes(known(intent()), NOW, "memo")]
    assert names == ["payment link", "address only"]
    for gone in (
        known(intent(), expires=NOW),
        known(intent(), deposit_address=None),
        known(intent(), display_status="DEPOSIT_DETECTED", status=1),
        known(intent(), withheld="The service has not repeated this order yet."),
        known(None),
    ):
        assert deposit_codes(gone, NOW, "memo") == ()


def test_the_link_asks_for_what_is_to_be_sent_in_whole_units() -> None:
    noisy = known(intent(), in_amount=Decimal("0.30000000000000004"))
    link = deposit_codes(noisy, NOW, "memo")[0]
    assert link.text.endswith("?amount=0.3")
    assert link.holds == (("amount", True), ("address", True))
    assert link.by_hand == ()


def test_the_margin_is_two_white_modules_and_every_code_is_level_l() -> None:
    modules = modules_of("bitcoin:" + derive_address("bitcoin", b"q" * 32) + "?amount=0.5")
    assert len(modules) == len(modules[0])
    edges = [*modules[:MARGIN], *modules[-MARGIN:]]
    assert not any(dark for row in edges for dark in row)
    assert not any(dark for row in modules for dark in (*row[:MARGIN], *row[-MARGIN:]))
    assert all(modules[MARGIN][MARGIN : MARGIN + 7])
    # Both bits of the error level in the format information, masked with 101: L is 01.
    first, second = modules[MARGIN + 8][MARGIN], modules[MARGIN + 8][MARGIN + 1]
    assert (first, second) == (True, True)
    rows = code_rows("x")
    assert len({len(row) for row in rows}) == 1


def test_what_fits_no_code_is_refused() -> None:
    with pytest.raises(CodeTooLong):
        modules_of("x" * 3000)
