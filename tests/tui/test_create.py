"""The form and its locked intent: checks while typing, one POST, expiry, every outcome."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from msgspec.structs import replace
from textual.events import Paste

from flows.faulty_network import fail_answer, lose_answer, never_arrives, refuse_connection
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.tui.screens.address_book import AddressBookScreen
from swapdesk.tui.screens.create import CreateScreen
from swapdesk.tui.screens.create_form import CreateForm, IntentFacts, fitting_lines
from swapdesk.tui.screens.deposit import DepositScreen
from swapdesk.tui.screens.order import OrderScreen
from swapdesk.tui.screens.quotes import QuotesScreen
from swapdesk.tui.screens.swap import SwapScreen
from swapdesk.tui.screens.wallets import WalletsScreen
from swapdesk.tui.spans import line_of, plain_text
from swapdesk.tui.widgets.detail_rows import DetailRows, Fact
from swapdesk.tui.widgets.overlay import TypedConfirm
from swapdesk.tui.widgets.text_field import TextField
from swapdesk.wallet.accounts import Kind
from tui.desk_run import Market
from tui.quote_rows import FIXED, fixed_are
from wallet.agents import CHEAP

ME = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"


async def test_a_hundred_presses_behind_a_still_screen_are_one_order(market: Market) -> None:
    """To somebody in the address book: nothing is asked about."""
    async with market.desk() as run:
        await run.to_form()
        assert "f1 keys" in run.text
        await run.type("@bob")
        assert "enter lock intent" in run.text
        await run.press("f1", sees="Everywhere")
        await run.press("escape", "enter", "c")
        assert "? keys" in run.text
        assert "The screen just changed." in run.text
        assert market.network.posts() == 0
        await run.still()
        # The step is another one, and the footer was not drawn for it yet.
        screen = run.screen(CreateScreen)
        step = screen.guard.step
        screen.guard.changed("another quote")
        await run.press_still("c")
        assert market.network.posts() == 0
        screen.step_changed(step)
        await run.still()
        await run.press(*["c"] * 100, to=DepositScreen)
        await run.press(*["c"] * 10)
        assert market.network.posts() == 1
        assert len(run.app.session.desk.journal.orders.ids()) == 1


async def test_a_name_that_means_another_address_meanwhile_locks_nothing(
    market: Market,
) -> None:
    """What is shown is what is posted, also when the address book was edited in between."""
    async with market.desk() as run:
        await run.to_frozen()
        screen = run.screen(CreateScreen)
        book = run.app.session.desk.book
        before = book.entry("bob")
        await run.press("@", to=AddressBookScreen)
        book.remove("bob")
        book.add(replace(before, address=derive_address("evm", b"another bob".ljust(32))))
        await run.press("escape")
        await run.settle(lambda: run.app.screen is screen, "the form")
        assert screen.state.step == "open"
        assert "A name means another address now. Nothing was created." in run.text
        assert market.network.posts() == 0
        await run.press("c")
        assert screen._form.values == ("@bob",), "a key of the intent is no letter of a field"
        await run.press("enter")
        await run.press_still("c", to=DepositScreen)
        (made,) = run.app.session.desk.journal.orders.each()
        assert made.order.receiver_address == book.entry("bob").address  # type: ignore[union-attr]


async def test_the_place_of_a_wrong_character_is_marked(market: Market) -> None:
    async with market.desk() as run:
        await run.to_form("2 eth btc")
        await run.type("bc1qar0srrr7xfkvy5l643oydnw9re59gtzzwf5mdq")
        assert 'character 23 is "o"' in run.text
        field = run.app.screen.focused
        assert isinstance(field, TextField)
        assert field._marked == frozenset({22})


async def test_a_paste_fills_the_field_and_tab_walks_the_names_of_the_chain(
    market: Market,
) -> None:
    """What a paste left out is said."""
    async with market.desk() as run:
        await run.to_form()
        field = run.app.screen.focused
        assert isinstance(field, TextField)
        field.post_message(Paste(f" {ME[:20]}\u200b{ME[20:]}\n"))
        await run.see("1 invisible character left out of the paste.")
        assert "0x 5aAe b605 3F3E 94C9 b9A0 9f33 6694 35E7 Ef1B eAed" in run.text
        assert "checksum correct" in run.text

        await run.press("ctrl+u", "at", "tab")
        assert "@bob" in run.text
        assert "@cold" not in run.text
        await run.press("x", "tab")
        assert "No name for Ethereum begins with @bobx." in run.text


async def test_own_accounts_are_named_on_routes_of_exchanges_too(market: Market) -> None:
    """As recipient and as refund address, on chains that the wallet can see."""
    market.chains = [
        {"shortName": name, "kind": "evm", "chainId": number, "rpc": "http://127.0.0.1:9"}
        for name, number in (("ethereum", 1), ("base", 8453))
    ]
    async with market.ready_desk((120, 40)) as run:
        desk = run.app.session.desk
        await run.to_form("0.5 btc eth.arbitrum")
        assert desk.wallet.known is None, "nothing of a wallet that has no key is started"
        desk.wallet._program = CHEAP
        await desk.wallet.prepare_sandbox()
        await run.press("escape")
        await run.to_form("0.5 btc eth.arbitrum")
        assert "Own accounts" not in run.text, "the wallet has no node there"
        await run.press("escape")
        await run.to_form("0.5 btc eth")
        await run.see("Own accounts, Ethereum")
        assert run.text.count("your own account") == 1, "the one on the chain that is paid"
        await run.press("at", "tab", "tab", sees="▌ @trading")
        await run.see("Your own wallet trading.")
        checked = run.screen(CreateScreen).query_one(CreateForm).checked
        (account,) = [
            one for one in (await desk.wallet.accounts()).accounts if one.kind is Kind.EVM
        ]
        assert checked.recipient.address == account.address
        assert checked.recipient.ok

        # What is filled in of itself is complete, until somebody types: then it never comes back.
        await run.press("escape")
        await run.to_form("0.5 btc eth")
        form = run.screen(CreateScreen)._form
        form.own((account,), account)
        asking = [one for one in run.app.workers if one.group == "wallet"]
        await run.settle(lambda: all(one.is_finished for one in asking), "the form's opening")
        payer = run.screen(CreateScreen).state
        payer.own_balance = Decimal(3)
        # Locked before the form has told that it filled in the account: that unlocks nothing.
        run.screen(CreateScreen)._lock()
        await run.settle(lambda: payer.own_balance is None, "the balance of now, which nobody sees")
        await run.settle(lambda: form.values == (account.address,), "the account")
        assert run.screen(CreateScreen).state.step == "ready"
        assert form.complete
        await run.press("e")
        await run.press("backspace")
        assert not form.complete
        await run.press("ctrl+u")
        form.own((account,), account)
        assert form.values == ("",)
        assert not form.complete

        market.network.after = fixed_are(FIXED)
        await run.press("escape")
        await run.to_quotes("5 eth btc")
        await run.press("f", sees="fixed and floating")
        board = run.screen(QuotesScreen).result
        fixed = next(row for row in board.ranking.rows if row.quote.fixed)
        run.screen(QuotesScreen)._table.move_to(fixed.quote_id)
        await run.press("enter", sees="Refund address")
        assert "Own accounts" not in run.text, "none on Bitcoin"
        await run.press("down", sees="Own accounts, Ethereum")
        await run.type("@trading", sees="Your own wallet trading.")
        refund = run.screen(CreateScreen).query_one(CreateForm).checked.refund
        assert (refund.ok, refund.address) == (True, account.address)


async def test_a_tag_or_its_waiver_has_a_whole_word_from_the_form_to_the_order(
    market: Market,
) -> None:
    async with market.desk() as run:
        await run.to_form("0.5 btc xrp")
        assert "Destination tag" in run.text
        await run.type("rEb8TK3gBgk5auZkwc6sHnwrGVJH8DuaLh")
        await run.press("enter", "enter")
        screen = run.screen(CreateScreen)
        assert screen.state.step == "open"
        assert 'Type "NO MEMO" if this wallet has none.' in run.text
        await run.type("12")
        await run.pilot.resize_terminal(80, 24)
        await run.press("enter")
        await run.still()
        assert screen.state.step == "ready"
        assert re.search("Tag +12", run.text), run.text
        await run.press("e", "down")
        await run.retype("NO MEMO")
        await run.press("enter")
        await run.still()
        assert re.search("Tag +none, as you typed", run.text), run.text
        assert "Destinat " not in run.text
        await run.press("c")
        await run.compare()
        await run.on(DepositScreen)
        await run.still()
        run.app.navigation.open_order(run.screen(DepositScreen).service_id)
        await run.on(OrderScreen)
        facts = {fact.label: fact for fact in run.screen(OrderScreen).query_one(DetailRows).facts}
        assert plain_text(line_of(facts["With tag"].value)) == "none, as you typed"


async def test_another_tag_than_that_of_the_name_is_agreed_to(market: Market) -> None:
    """The tag of a name comes and leaves with the name."""
    said = "This is not the tag of @rita: 20117."
    async with market.desk() as run:
        await run.to_form("0.1 btc xrp")
        form = run.screen(CreateScreen)._form
        await run.type("@rita")
        assert form.values == ("@rita", "20117")
        await run.press(*["backspace"] * 5)
        assert form.values == ("", "")
        await run.type("@rita")
        await run.still()
        assert said not in run.text
        await run.press("enter")
        await run.retype("20118")
        await run.see(said)
        await run.press("enter")
        await run.still()
        assert "c asks you to agree first" in run.text
        await run.press("c", sees="Before this order is created")
        assert market.network.posts() == 0
        await run.enter("yes", to=DepositScreen)
        assert market.network.posts() == 1


async def test_an_end_keeps_the_fields_and_r_shows_what_changed_and_stays_locked(
    market: Market,
) -> None:
    async with market.desk() as run:
        await run.to_frozen()
        screen = run.screen(CreateScreen)
        before = screen.state.row.key
        run.advance(70)
        await run.see("This quote ended at 14:03.")
        assert "r new quote, 1 quote" in run.text
        assert "c create" not in run.text
        assert "enter" not in run.text.split("\n")[-1]
        await run.press("c")
        assert market.network.posts() == 0
        # What is typed beside the fields ends in none of them, and the keys of everywhere work.
        assert "e edit" not in run.text
        await run.type("ecd")
        assert screen._form.values == ("@bob",)
        await run.press("w", to=WalletsScreen)
        await run.press("escape")
        assert run.app.screen is screen
        market.venues[0]._spread *= 4
        await run.press("enter", "r", sees="was 14.5")
        await run.settle(lambda: screen.state.step == "ready", "the new quote, locked")
        assert "@bob" in run.text
        assert screen.state.row.key < before
        assert "less than you confirmed. Nothing was created." in run.text
        for key in ("enter", "x", "r", "tab"):
            await run.press(key)
        assert screen.state.step == "ready"
        assert screen._form.values == ("@bob",)
        await run.press("e")
        await run.type("by")
        assert screen._form.values == ("@bobby",)
        assert "c create" not in run.text
        await run.press("backspace", "backspace", "enter")
        await run.press_still("c", to=DepositScreen)
        assert market.network.posts() == 1


async def test_an_expired_quote_names_its_key_in_a_field_and_a_gone_route_is_not_replaced(
    market: Market,
) -> None:
    async with market.desk() as run:
        await run.to_form()
        await run.type("@bo")
        run.advance(70)
        await run.see("Next you: ctrl+r asks for a new quote, 1 quote")
        assert "ctrl+r new quote" in run.text
        screen = run.screen(CreateScreen)
        before = screen.state.row.quote_id
        await run.press("r", "ctrl+r")
        await run.settle(lambda: screen.state.row.quote_id != before, "a quote")
        assert "@bor" in run.text
        await run.press("backspace")
        await run.type("b")
        assert screen._form.values == ("@bob",), "the field has the keys still"

        await run.press("enter")
        await run.still()
        assert screen.state.step == "ready"
        run.advance(70)
        market.venues[0].trouble.no_quotes = True
        await run.press("r")
        await run.later("This route is gone.", 0.1)
        assert "c create" not in run.text
        await run.press("escape")
        board = run.screen(QuotesScreen).result
        assert all(row.quote.swap != "aa" for row in board.ranking.rows)


async def test_a_lost_answer_is_looked_up_and_never_sent_again(
    market: Market, subtests: pytest.Subtests
) -> None:
    """A bad gateway is no answer either."""
    async with market.desk() as run:
        for orders, lose in enumerate((lose_answer, fail_answer), 1):
            await run.to_frozen()
            with subtests.test(lose.__name__):
                market.network.after = lose
                await run.press("c", sees="The service did not answer.")
                market.network.after = None
                await run.later("The order exists:")
                run.screen(DepositScreen)
                assert market.network.posts() == orders


async def test_what_created_nothing_ends_in_words_and_can_be_asked_anew(market: Market) -> None:
    """A server error after the request, then a request that never left."""
    async with market.desk() as run:
        await run.to_frozen()
        screen = run.screen(CreateScreen)
        market.network.before = never_arrives
        await run.press("c", sees="The service did not answer.")
        await run.later("The service shows no such")
        assert screen.state.step == "failed"
        assert len(run.app.session.desk.journal.orders.ids()) == 0

        await run.press("r")
        await run.settle(lambda: screen.state.step == "ready", "a new quote")
        await run.still()
        market.network.before = refuse_connection
        await run.press("c")
        await run.later("The service cannot be reached.", 0.2)
        assert screen.state.step == "failed"
        assert "in your wallet" in run.text
        market.network.before = None
        await run.press("r")
        await run.settle(lambda: screen.state.step == "ready", "a new quote")
        await run.press_still("c", to=DepositScreen)
        assert market.network.posts() == 1


async def test_an_order_that_no_venue_takes_is_shown_as_failed(market: Market) -> None:
    async with market.desk() as run:
        await run.to_frozen()
        for venue in market.venues:
            venue.trouble.reject = True
        await run.press("c")
        await run.later("The service never gave a deposit address", 0.5)
        run.screen(DepositScreen)
        assert "Next you: ask for new quotes" in run.text
        assert "Y copy" not in run.text
        assert market.network.posts() == 1


async def test_leaving_cancels_no_create_and_a_second_one_waits_for_it(market: Market) -> None:
    async with market.desk() as run:
        await run.to_frozen()
        market.venues[0].trouble.hang = True
        await run.press("c", sees="asked at 14:02:11")
        assert "esc back" in run.text
        await run.press("escape", "escape")
        run.screen(SwapScreen)
        await run.press("escape")
        await run.to_frozen("0.6 btc eth")
        await run.press("c")
        assert "Another order is being created." in run.text
        assert market.network.posts() == 1
        market.venues[0].trouble.released.set()
        await run.settle(lambda: run.app.creates.creating is None, "the first outcome")
        await run.see("is open. Send 0.5 BTC")
        assert market.network.posts() == 1
        assert len(run.app.session.desk.journal.orders.ids()) == 1


async def test_the_first_payment_to_a_pasted_address_asks_for_what_is_hidden(
    market: Market,
) -> None:
    """An address that was swapped on the clipboard is caught by the question."""
    other = derive_address("evm", b"t" * 32)
    async with market.desk() as run:
        # The user copied ME; what was pasted is another address, and the user reads ME elsewhere.
        await run.to_frozen(recipient=other)
        await run.press("c", sees="First payment to this address")
        question = run.screen(TypedConfirm).question
        group = int(re.search(r"group (\d+)", question.what[1])[1])  # type: ignore[index]
        await run.enter(ME[2:][(group - 1) * 4 : group * 4])
        assert "Those are not its characters." in run.text
        assert market.network.posts() == 0

        await run.press("escape", "e")
        await run.retype(ME)
        await run.press("enter")
        await run.still()
        assert "▲ Never paid before." in run.text
        assert ME in run.text.replace(" ", "").replace("\n", "")
        await run.press("c", sees="First payment to this address")
        asked = run.screen(TypedConfirm).question
        assert asked.phrase not in run.text
        assert "••••" in run.text
        await run.press("escape")
        assert "••••" not in run.text
        assert run.screen(CreateScreen).state.step == "ready"

        await run.press("e", "home")
        await run.enter("ethereum:")
        await run.still()
        assert f"ethereum:{ME}" in run.text
        await run.press("c", sees="First payment to this address")
        asked = run.screen(TypedConfirm).question
        assert asked.phrase not in run.text, "it can be read in the link"
        await run.press("escape")
        await run.press_still("c")
        await run.compare()
        await run.on(DepositScreen)
        assert market.network.posts() == 1


async def test_c_is_locked_until_the_frozen_intent_is_seen_whole(market: Market) -> None:
    async with market.desk((60, 15)) as run:
        await run.to_form("0.5 btc xrp")
        await run.type("@rita")
        await run.press("enter", "enter")
        await run.still()
        assert "more rows: enlarge the window" in run.text
        assert "enlarge the window" in run.text.split("\n")[-1]
        await run.press("c")
        run.screen(CreateScreen)
        assert market.network.posts() == 0
        await run.pilot.resize_terminal(80, 24)
        await run.see("c creates the order")
        await run.press("c")
        assert "The screen just changed." in run.text
        assert market.network.posts() == 0
        await run.press_still("c", to=DepositScreen)
        assert market.network.posts() == 1


def test_markup_stays_where_rate_and_fees_go() -> None:
    labels = ("You send", "Route", "Rate", "Fees", "Markup", "Takes", "To")
    state = IntentFacts([Fact(label, "x") for label in labels])
    for height in (9, 8, 7, 6, 5, 1):
        rows = fitting_lines(state, 34, height)
        text = "\n".join("".join(span.text for span in row) for row in rows)
        assert all(label in text for label in ("You send", "Route", "Markup", "To")), height
        assert len(rows) <= height or ("Rate" not in text and "Fees" not in text)
