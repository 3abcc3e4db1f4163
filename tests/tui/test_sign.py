"""The page that signs: what its keys do, what is left of a pass phrase, payments in whole rows."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace
from rich.cells import cell_len
from textual.widget import Widget

from flows.signing import DIGEST, GROUPED, MOVES, ORDER, document, line, review
from swapdesk.flows.dex.swap_signing import Swap
from swapdesk.flows.signing.review_words import Names, PaymentRow, match_rows
from swapdesk.flows.signing.signing_session import SigningSession
from swapdesk.flows.transactions import Agreed
from swapdesk.secret import Secret
from swapdesk.tui.commands.sign import SIGN
from swapdesk.tui.screens.sign import READ_FIRST, SignScreen
from swapdesk.tui.screens.swap import SwapScreen
from swapdesk.tui.spans import plain_text
from swapdesk.tui.widgets.match_lines import match_table, payment_lines
from swapdesk.tui.widgets.text_field import PassphraseField
from swapdesk.wallet.answers import Review
from tui.desk_run import DeskRun, Market
from tui.scenes.sign import opened, waiting

PHRASE = "SIGN WHAT IS NOT IN THE QUOTE"
LONG = tuple(replace(ORDER[0], field=f"Field {at}") for at in range(56))


class Asked:
    """The flow at its question, and what it was answered."""

    def __init__(self, run: DeskRun, signing: SigningSession[Swap]) -> None:
        self.run, self.signing = run, signing
        self.answers: list[Agreed | None] = []

    async def asks(self, asked: Review) -> None:
        self.signing.reviewed(document(), asked)

        async def look() -> None:
            self.answers.append(await self.signing.look(asked))

        self.run.app.run_worker(look(), group="swap", exit_on_error=False)
        await self.run.settle(lambda: self.signing.review is not None, "the question")
        if not isinstance(self.run.app.screen, SignScreen):
            self.run.app.signing.open(self.signing)
        await self.run.see("sign or refuse in")


async def asked(run: DeskRun, review_: Review) -> Asked:
    one = Asked(run, await opened(run))
    await one.asks(review_)
    return one


async def test_only_s_on_a_still_screen_signs_x_refuses_and_a_review_that_ended_is_not_signed(
    market: Market,
) -> None:
    async with market.desk() as run:
        one = await asked(run, review())
        await run.press("s", sees="The screen just changed.")
        assert one.answers == []
        await run.still()
        await run.press("enter", "space")
        assert one.answers == []
        await run.press("s")
        await run.settle(lambda: one.answers == [Agreed(None)], "the answer")
        # What was typed for one review signs no other.
        await one.asks(review(id="r2"))
        await run.press("s")
        assert len(one.answers) == 1
        assert one.signing.review is not None
        await run.press_still("x")
        await run.settle(lambda: one.answers == [Agreed(None), None], "the answer")
        await one.asks(review(id="r3"))
        await run.still()
        market.clock.advance(601)
        await run.settle(lambda: one.signing.review is None, "the end of the review")
        await run.press("s")
        assert one.answers == [Agreed(None), None]


async def test_what_was_not_read_to_its_end_or_not_drawn_yet_is_not_signed(market: Market) -> None:
    async with market.desk((80, 24)) as run:
        one = await asked(run, review(lines=LONG))
        await run.press_still("s", sees="read to the end first")
        assert one.answers == []
        for key in ("space", "end", "pagedown"):
            before = run.text
            assert "space pgdn end read on" in run.text.split("\n")[-1]
            await run.press(key)
            await run.settle(lambda before=before: run.text != before, "the next page")
            # What is signed, and what its columns are called, stays where it is read.
            assert review().title in run.text
            assert "You sign" in run.text
        await run.see("Digest")
        await run.settle(lambda: "read to the end" not in run.text.split("\n")[-1], "the end")
        await run.press_still("s")
        await run.settle(lambda: one.answers == [Agreed(None)], "the answer")
        # The work asks whenever it is ready, also while the screen looks at what stood before.
        screen = run.app.screen
        assert isinstance(screen, SignScreen)
        long = review(id="r2", lines=LONG)
        one.signing.reviewed(document(), long)
        await run.still()
        asking = asyncio.create_task(one.signing.look(long))
        await asyncio.sleep(0)
        assert one.signing.review is long
        screen._see_end()
        assert screen.standing_of(SIGN).locked == READ_FIRST
        await run.see("sign or refuse in")
        assert screen.standing_of(SIGN).locked == READ_FIRST
        one.signing.refuse(long.id)
        assert await asking is None


async def test_what_weighs_more_than_a_label_asks_for_words_and_what_moves_keeps_every_digit(
    market: Market,
) -> None:
    heavy = tuple(replace(one, weight=True) if one.field == "App data" else one for one in ORDER)
    # More digits than Python computes with unless it is told.
    many = replace(MOVES.changes[0], decimals=18, units=-(10**30) - 1)
    async with market.desk((120, 40)) as run:
        one = await asked(run, review(lines=heavy, phrase=PHRASE))
        await run.press_still("s", sees="It is not in the quote.")
        await run.enter("sign it", sees="Not the same")
        assert one.answers == []
        await run.retype(PHRASE)
        await run.press("enter")
        await run.settle(lambda: one.answers == [Agreed(PHRASE)], "the answer")
        await one.asks(review(id="r2", simulation=replace(MOVES, changes=(many,))))
        assert "−1,000,000,000,000.000000000000000001" in run.text


async def test_leaving_keeps_the_question_and_home_leads_back(market: Market) -> None:
    async with market.desk() as run:
        one = await asked(run, review())
        await run.press("escape")
        run.screen(SwapScreen)
        await run.see("waits for your signature")
        await run.press("s")
        run.screen(SignScreen)
        await run.see("sign or refuse in")
        await run.press("J", sees="sellAmount")
        await run.press("escape", "y")
        assert DIGEST in str(getattr(run.app, "_clipboard", "")) or "digest" in run.text.lower()
        assert one.signing.review is not None
        await run.press("escape", "q", sees="q quits")


async def test_a_pass_phrase_is_drawn_as_dots_and_kept_nowhere(market: Market) -> None:
    async with market.desk() as run:
        signing = await opened(run)
        given: list[Secret] = []

        async def ask() -> None:
            given.append(await signing.passphrase("No key opened with that pass phrase."))

        run.app.run_worker(ask(), group="swap", exit_on_error=False)
        await run.settle(lambda: signing.waits, "the question")
        run.app.signing.open(signing)
        await run.see("No key opened with that pass phrase.")
        await run.type("open sesame")
        assert "•" * 11 in run.text
        assert "sesame" not in run.text
        await run.press("enter")
        await run.settle(lambda: given, "the pass phrase")
        assert given[0].reveal() == "open sesame"
        field = run.app.screen.query_one(PassphraseField)
        assert field.value == ""
        held = [vars(one) for one in run.app.screen.walk_children(Widget)]
        assert "sesame" not in repr(held)
        assert "sesame" not in repr(vars(signing))


async def test_plus_asks_for_a_higher_fee_and_c_for_a_cancellation(market: Market) -> None:
    """The wallet knows of no such transaction, and each key is told so in its own words."""
    async with market.desk() as run:
        await waiting.reach(run)
        await run.press("+", sees="No higher fee was sent")
        await run.press("c", sees="No cancellation was sent")


EVM = "0x d502 5181 635c 6707 50c7 ED7F df05 B972 3497 4e69"
SOLANA = "7xKX tg2C W87d 97TX JSDp bD5j BkhE TQbs pKuN KcRT gAsU"
PAYMENTS = [
    PaymentRow("1,000.25 USDC", EVM, "order b7o4FU4zQmN9UtNGyGQMjz"),
    PaymentRow("5 USDC", SOLANA, "order 5XSNaNriKHN4XKJoe62ZKu"),
]


@pytest.mark.parametrize("width", [56, 76, 96, 116, 196])
def test_addresses_and_amounts_are_never_cut(width: int) -> None:
    rows = [plain_text(line) for line in payment_lines(PAYMENTS, width)]
    assert all(cell_len(row) <= width for row in rows), rows
    said = "".join("".join(rows).split())
    for payment in PAYMENTS:
        assert payment.amount.replace(" ", "") in said
    for address in (EVM, SOLANA):
        groups = address.split()
        found = [group for row in rows[1:] for group in row.split()]
        assert [group for group in found if group in groups][: len(groups)] == groups
    assert "2 payments" in rows[0]


@pytest.mark.parametrize(
    ("width", "named"), [(76, "b7o4FU"), (96, "order b7o4FU"), (196, PAYMENTS[0].promised)]
)
def test_the_order_is_named_whole_where_there_is_room(width: int, named: str) -> None:
    rows = [plain_text(line).rstrip() for line in payment_lines(PAYMENTS, width)]
    assert rows[1].endswith(named)


def test_without_payments_there_is_nothing() -> None:
    assert payment_lines([], 96) == []


def test_on_the_narrowest_whole_screen_a_payment_is_one_row() -> None:
    evm = [PaymentRow("1,000 USDC", EVM, PAYMENTS[0].promised)] * 50
    assert len(payment_lines(evm, 76)) == 51


def test_what_a_batch_of_three_signs_fits_a_screen_of_30_rows() -> None:
    """Of 30 rows 22 are for a review: two of heading, four below the fields, 16 of fields."""
    rows = [
        line("Chain", "id 1337008453", "base, id 1337008453, node and key agree"),
        line("EntryPoint 0.7", EVM, "the EntryPoint that everybody uses"),
        line("Smart account", EVM, f"the smart account of {GROUPED}"),
        line("Made by", EVM, EVM),
        line("Made for", GROUPED, GROUPED),
        line("Nonce", "0 of its key", "the next one of group oAHTiTcUW7qPiEGnL43dRy"),
        line("Gas", "at most 0.0000065 ETH", "0.006040361696858408 ETH at most"),
    ]
    for at in (1, 2, 3):
        rows += [
            line(f"Token ({at})", EVM, f"USDC {EVM}"),
            line(f"You pay ({at})", f"{at} USDC", f"{at} USDC"),
            line(f"Paid to ({at})", EVM, f"order {at} {EVM}"),
        ]
    fields = match_rows(review(lines=tuple(rows)), Names("trading", chain="Base"))
    drawn = [plain_text(one) for one in match_table(fields, 96)]
    assert len(drawn) <= 16, "\n".join(drawn)


def test_an_address_of_solana_is_one_row_on_a_screen_of_100_columns() -> None:
    fields = match_rows(review(lines=(line("Pays the fee", SOLANA, "wallet solana"),)), Names())
    (drawn,) = match_table(fields, 96)
    assert SOLANA in plain_text(drawn)
    assert plain_text(drawn).endswith("wallet solana")
