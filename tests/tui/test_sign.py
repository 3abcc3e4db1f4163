"""The keys that sign: what they do, when they do nothing, and what is left of a pass phrase."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace
from textual.widget import Widget

from flows.signing import DIGEST, MOVES, ORDER, document, review
from swapdesk.flows.dex.swap_signing import SwapSigning
from swapdesk.flows.transactions.transactor import Agreed
from swapdesk.secret import Secret
from swapdesk.tui.commands.sign import SIGN
from swapdesk.tui.screens.sign import READ_FIRST, SignScreen
from swapdesk.tui.screens.swap import SwapScreen
from swapdesk.tui.widgets.text_field import PassphraseField
from swapdesk.wallet.review import Review
from tui.desk_run import DeskRun, Market
from tui.scenes.sign import opened, waiting

PHRASE = "SIGN WHAT IS NOT IN THE QUOTE"
LONG = tuple(replace(ORDER[0], field=f"Field {at}") for at in range(56))


class Asked:
    """The flow at its question, and what it was answered."""

    def __init__(self, run: DeskRun, signing: SwapSigning) -> None:
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
        await run.press("s")
        await run.see("The screen just changed.")
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
        await run.press_still("s")
        await run.see("read to the end first")
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
        assert screen.verb_standing(SIGN).locked == READ_FIRST
        await run.see("sign or refuse in")
        assert screen.verb_standing(SIGN).locked == READ_FIRST
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
        await run.press_still("s")
        await run.see("It is not in the quote.")
        await run.enter("sign it")
        await run.see("Not the same")
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
        await run.press("J")
        await run.see("sellAmount")
        await run.press("escape", "y")
        assert DIGEST in str(getattr(run.app, "_clipboard", "")) or "digest" in run.text.lower()
        assert one.signing.review is not None
        await run.press("escape", "q")
        await run.see("q quits")


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
        await run.press("+")
        await run.see("No higher fee was sent")
        await run.press("c")
        await run.see("No cancellation was sent")
