"""Every rule of the diagnosis has a case made from facts. Whatever a service says in whatever
combination, an order has one cause, one owner, and a place of its money that the facts allow.

The facts are all products of the fields that decide. Which places they allow is worked out here
from the contract (8.4 to 8.16) alone, without the table that is under test.

A reply is sent as it is, so the words themselves are held here: none of the trade, no promise, no
second payment, and once that nobody asks for a key or a phrase.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from itertools import islice, product
from typing import Any

import pytest
from msgspec.structs import replace

from flows.orders import DEPOSIT, NOW, order
from flows.support.cases import (
    ACT,
    AHEAD,
    CASES,
    COIN,
    DEX,
    DONE,
    EXCHANGING,
    FAILED,
    HASH,
    OVERLAYS,
    PAYMENTS,
    REFUND,
    REQUEST,
    SILENT,
    SITUATIONS,
    WITH_COIN,
    Case,
    case_of,
    paid,
    place_of,
    rule_of,
    sent,
)
from rows import each_row
from swapdesk.flows.intents.intent import DepositRelease
from swapdesk.flows.notation import iso, short_address
from swapdesk.flows.orders import situations
from swapdesk.flows.orders.situations import Certainty
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.support.order_search import (
    NO_SECRETS,
    NamedTransaction,
    not_found_escalation,
    not_found_reply,
)
from swapdesk.flows.support.pasted_text import read_pasted
from swapdesk.flows.support.support_case import (
    CaseFacts,
    DeskFacts,
    Diagnosis,
    Owner,
    diagnose,
    escalation,
    reply_to,
)
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order

UNSAID = {"withheld foreign"}
"""Codes of situations that support never sees."""


@each_row("case", CASES, ids=rule_of)
def test_each_rule_decides_its_case(case: Case) -> None:
    found = case.diagnosis()
    assert (found.rule, found.owner, place_of(found.money)) == (case.rule, case.owner, case.place)
    for part in (found.cause, found.money, found.acts, found.by):
        assert part.endswith("."), part
        assert "{" not in part, part
        assert ".." not in part, part
        assert part is found.acts or not part[0].islower(), part
    assert found.facts
    assert found.certainty in Certainty
    # "You" is whoever helps, and has none of the customer's money; a batch is paid from here.
    if not case.tracked.get("in_batch"):
        for part in (found.cause, found.money):
            assert not re.search("your wallet|you sent|you confirmed|you pay", part), part
        if found.owner == "you":
            assert found.acts.startswith("you: ")
            assert case.whole.service_id in found.acts
            assert REQUEST in found.acts
            assert "request" not in case.diagnosis(request_id=None).acts
    # A wrong clock is said beside every cause.
    wrong = case.diagnosis(known=AHEAD)
    assert "clock is 5m ahead" in wrong.cause
    assert case.known or (wrong.rule, wrong.owner, wrong.money) == (
        found.rule, found.owner, found.money,
    )  # fmt: skip


def test_every_rule_of_the_tables_has_a_case_and_a_reply() -> None:
    told = {case.rule for case in (*SITUATIONS, *PAYMENTS)}
    assert told == {code.replace(" ", "-") for code in situations.SITUATIONS.keys() - UNSAID}
    assert all(row.reply for row in situations.SITUATIONS.values())


@each_row("case", OVERLAYS, ids=rule_of)
def test_what_comes_on_top_goes_with_its_fact(case: Case) -> None:
    plain = replace(case, known=DeskFacts(), now=NOW + timedelta(minutes=6), route="standard")
    assert plain.diagnosis().rule == "exchanging"
    top, below = case.diagnosis(), plain.diagnosis()
    assert (top.money, top.certainty is Certainty.CERTAIN) == (below.money, False)
    assert below.cause.removesuffix(".") in top.cause


def test_facts_name_field_and_time() -> None:
    held = case_of("held")
    found = held.diagnosis(seen=((NOW, "read", held.whole.order),))
    assert "It has been so since 14:02:11 UTC." in found.cause
    assert found.by == "No deadline is known."
    facts = found.facts
    assert "displayStatus EXCHANGE_IN_PROGRESS, read 14:02:11 UTC" in facts
    assert "leg state 8, read 14:02:11 UTC" in facts
    assert "expires 14:32:11 UTC" in facts
    shown = case_of("payment-too-little").diagnosis().facts
    assert f"chain: 0.4 BTC on Bitcoin, 2 confirmations, 14:05:11 UTC, {HASH}" in shown
    old = replace(held, now=NOW + timedelta(hours=49)).diagnosis().facts
    assert any("48 hours" in fact for fact in old)
    assert any("20 Nov" in fact for fact in old)


def test_money_that_reached_the_second_exchange_is_not_with_the_first() -> None:
    middle = case_of("at-middle").diagnosis()
    assert middle.money == "With the second exchange."
    assert middle.acts.startswith("the second exchange:")


# Every combination

DISPLAYS = (None, "TELEPORTING", *(one.value for one in DisplayStatus))
LEGS = (None, 77, *(one.value for one in LegStatus))
ROUTES = (
    *(("standard", None),),
    *(("dex", None),),
    *(("private", second) for second in LEGS),
)
FLAGS = tuple(product((None, True), repeat=3))
STRIDE = 23
"""A sample takes so few: no axis has a multiple of 23 values."""

BEFORE, AFTER = NOW + timedelta(minutes=6), NOW + timedelta(minutes=50)


Facts = tuple[Order, bool, bool]
"""An order, whether its deadline has passed, and whether the chain shows its deposit."""


def state(
    display: str | None, first: int | None, second: int | None, route: str, **flags: Any
) -> Order:
    update = {
        "display_status": display,
        "in_status": first,
        "out_status": second,
        "anonymous": route == "private",
        "is_dex": route == "dex",
        "deposit_address": None if route == "dex" else DEPOSIT,
        **flags,
    }
    return _WAITING.model_copy(update=update)


def diagnosis(one: Order, over: bool = False, seen: bool = False) -> Diagnosis:
    payments = (_PAYMENT,) if seen else ()
    tracked = TrackedOrder(one, None, None, False, NOW, "read", payments=payments)
    return diagnose(CaseFacts(AFTER if over else BEFORE, tracked))


def was_paid(one: Order) -> bool:
    """Whether the service says that the deposit came: by a state behind it, by a leg that had it,
    by a second leg that was paid from it, or by asking for somebody to recover it."""
    legs = {2, 3, 4, 5, 7, 8, 10}
    return (
        one.display_status in _BEHIND
        or one.in_status in legs
        or one.out_status in {*legs, 6, 9}
        or bool(one.action_required)
    )


_WAITING = order(in_token=COIN, in_token_id=COIN.id, status=None)
_PAYMENT = paid()
_BEHIND = {
    "DEPOSIT_DETECTED",
    "EXCHANGE_IN_PROGRESS",
    "SENDING_TO_INTERMEDIARY",
    "REACHED_INTERMEDIARY",
    "INITIATING_SECOND_EXCHANGE",
    "SECOND_EXCHANGE_IN_PROGRESS",
    "SENDING_TO_RECEIVER",
    "SWAP_COMPLETED",
    "REFUNDED",
}
_ENDED = {"SWAP_COMPLETED", "REFUNDED", "EXPIRED", "FAILED", "DELETED"}


def every_facts(stride: int) -> Iterator[Facts]:
    axes = product(DISPLAYS, LEGS, ROUTES, FLAGS, (None, REFUND), (False, True), (False, True))
    for place in islice(axes, 0, None, stride):
        display, first, (route, second), (act, lost, rerouted), refund, over, seen = place
        one = state(
            display, first, second, route, action_required=act, non_refundable=lost,
            rerouted=rerouted, refund_address=refund, fixed=lost,
            refund_amount=Decimal("0.4") if refund and rerouted else None,
        )  # fmt: skip
        yield one, over, seen


def allowed_places(one: Order, seen: bool) -> set[str]:
    display, paid, legs = one.display_status, was_paid(one), (one.in_status, one.out_status)
    if display == "SWAP_COMPLETED":
        return {"recipient"} if one.refund_amount is None else {"recipient", "back"}
    if display == "REFUNDED":
        return {"back"}
    if seen and not paid and not one.is_dex:
        return {"to the service"}
    if display is None:
        return {"not known"}
    if not paid:
        # A failure does not say whether the deposit came before it; what was not executed on a
        # chain is in the wallet.
        places = {"wallet, if unsent", "either", *(["wallet"] if one.is_dex else [])}
    else:
        places = {"service"}
        if 7 in legs and display not in _ENDED:
            places.add("back")
        if 10 in legs or display == "SENDING_TO_RECEIVER":
            places.add("to the recipient")
        if display in ("WAITING_FOR_DEPOSIT", "DEPOSIT_DETECTED"):
            places.add("to the service")
    if display == "TELEPORTING":
        places.add("not known")
    return places


def allowed_owners(one: Order, over: bool, seen: bool) -> set[Owner]:
    """Who can act at all: the customer only before the deposit came or after all is over, support
    where the service asks for somebody or stands still, nobody only at the end."""
    display, paid, marked = one.display_status, was_paid(one), bool(one.action_required)
    if display in ("SWAP_COMPLETED", "REFUNDED"):
        return {"you" if marked and display == "SWAP_COMPLETED" else "nobody"}
    if display in _ENDED:
        if paid:
            waits = one.refund_address is not None and not marked and not one.non_refundable
            return {"the service"} if waits and display != "DELETED" else {"you"}
        if seen and not one.is_dex:
            return {"you"}
        return {"nobody", "the customer", "you"}
    if display is not None and (8 in (one.in_status, one.out_status) or marked):
        return {"you"}
    owners: set[Owner] = {"the service", "the chain"}
    if paid or display == "TELEPORTING":
        # Far over its time; an unknown state is under way.
        return owners | ({"you"} if over else set())
    if not over and not seen and not one.is_dex:
        owners.add("the customer")
    return owners


def test_every_combination_has_one_cause_one_owner_and_a_possible_place(
    pytestconfig: pytest.Config,
) -> None:
    rules: set[str] = set()
    for one, over, seen in every_facts(1 if pytestconfig.getoption("--full") else STRIDE):
        found = diagnosis(one, over, seen)
        assert place_of(found.money) in allowed_places(one, seen), (one, over, seen, found)
        assert found.owner in allowed_owners(one, over, seen), (one, over, seen, found)
        assert found.cause.endswith("."), (one, found)
        assert found.acts.endswith("."), (one, found)
        assert "{" not in found.cause + found.money + found.acts + found.by, (one, found)
        rules.add(found.rule)
    assert len(rules) >= 40


BY_NUMBERS = {
    -2: "WAITING_FOR_DEPOSIT",
    -1: "WAITING_FOR_DEPOSIT",
    0: "WAITING_FOR_DEPOSIT",
    1: "DEPOSIT_DETECTED",
    4: "SWAP_COMPLETED",
    5: "EXPIRED",
    6: "FAILED",
    7: "REFUNDED",
    8: "DELETED",
}
"""The displayed state by ``status`` alone (contract 8.6); 2 and 3 take the legs."""
FIRST_LEG = {4: "SENDING_TO_RECEIVER", None: "EXCHANGE_IN_PROGRESS"}
SECOND_LEG = {
    0: "REACHED_INTERMEDIARY",
    1: "REACHED_INTERMEDIARY",
    2: "INITIATING_SECOND_EXCHANGE",
    3: "SECOND_EXCHANGE_IN_PROGRESS",
    4: "SENDING_TO_RECEIVER",
    8: "SECOND_EXCHANGE_IN_PROGRESS",
}


def test_a_state_in_numbers_alone_means_the_same() -> None:
    told = [(status, display, leg, None) for status, display in BY_NUMBERS.items() for leg in LEGS]
    told += [(2, display, leg or 3, None) for leg, display in FIRST_LEG.items()]
    told += [(3, display, 5, second) for second, display in SECOND_LEG.items()]
    for status, display, first, second in told:
        whole = state(display, first, second, "standard" if second is None else "private")
        numbers = whole.model_copy(update={"display_status": None, "status": status})
        one, other = diagnosis(numbers), diagnosis(whole)
        assert (one.rule, one.owner, one.money) == (other.rule, other.owner, other.money), told


# What its customer is told, and the service

OF_THE_TRADE = (
    "api", "block", "blockchain", "bundle", "catalogue", "confirmations", "deposit", "desk", "dex",
    "display", "endpoint", "evm", "fallback", "gas", "http", "intermediary", "journal", "leg",
    "mempool", "nonce", "payout", "reroute", "rerouted", "revert", "reverted", "smart account",
    "status", "utxo", "venue", "verifying", "404", "webhook",
)  # fmt: skip
PROMISES = (
    "guarantee", "promise", "certainly", "definitely", "soon", "shortly", "will arrive",
    "will be paid", "will be refunded", "will get", "will receive", "you get your money",
    "please", "no problem",
    "don't worry", "do not worry", "sorry", "hours", "minutes", "tomorrow", "today",
)  # fmt: skip
SEND_AGAIN = (
    "send again", "pay again", "send it again", "pay it again", "send once more", "resend", "retry",
    "try again", "send the rest", "pay the rest", "pay the difference", "second payment",
)  # fmt: skip
PLACES = {
    "wallet": r"your wallet|wallet that sent it|with us",
    "wallet, if unsent": r"(in|stays in|of) your wallet|your wallet's|to the address of your order",
    "either": r"in your wallet; else it is with the exchange service",
    "smart account": "payment is on its way|money is with us",
    "back": "went back|on its way back",
    "recipient": "arrived at 0x",
    "to the recipient": "on its way to 0x",
    "to the service": (
        "was seen|is on its way|arrived at the address|arrived after the time"
        "|at the address of the order"
    ),
    "service": "with the exchange service|is being exchanged by|holds the money",
    "not known": "do not know",
}
TO_ACT = {
    "the customer": "[Dd]o not|[Yy]ou can|[Ll]ook at|is in (your wallet|the wallet)",
    "you": "We pass this on|send us|We keep an eye|We ask the exchange service",
}
LONGEST = 420
"""Characters of a reply before its closing sentence: it is read on a telephone."""


def body_of(case: Case) -> str:
    """The reply without the id of its order and its closing sentence, each of which is there
    once."""
    reply = reply_to(case.facts(), case.diagnosis())
    assert reply.count(NO_SECRETS) == 1
    head, line, rest = reply.partition("\n")
    assert (head, line) == (f"Order {case.whole.service_id}", "\n")
    body, empty, closing = rest.partition("\n\n")
    assert (empty, closing) == ("\n\n", NO_SECRETS)
    return body


def has(words: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(words)}\b", text, re.IGNORECASE) is not None


@each_row("case", CASES, ids=rule_of)
def test_a_reply_speaks_plainly_and_promises_nothing(case: Case) -> None:
    body = body_of(case)
    assert [words for words in (*OF_THE_TRADE, *PROMISES) if has(words, body)] == []
    # Of a second payment only that it is not to be made.
    for words in (*SEND_AGAIN, "pay twice", "second time"):
        for found in re.finditer(words, body):
            assert re.search(r"(?:not|before you|nothing) (?:\w+ ){0,3}$", body[: found.start()]), (
                body
            )
    assert not has("key", body)
    assert not has("phrase", body)
    assert "{" not in body
    assert "None" not in body
    assert len(body) <= LONGEST
    assert body[0].isupper() or body[0].isdigit()
    assert body.splitlines()[0].endswith((".", "!"))
    assert "  " not in body
    assert ".." not in body.replace("…", "")


@each_row("case", CASES, ids=rule_of)
def test_a_reply_says_where_the_money_is_how_much_and_asks_for_none_twice(case: Case) -> None:
    """What was asked for is told as that; what was paid as a chain shows it, or not at all."""
    body = body_of(case)
    place = place_of(case.diagnosis().money)
    if case.rule != "last-heard":
        assert re.search(PLACES[place], body), (place, body)
    order, shown = case.whole.order, case.paid
    sums = {order.out_amount, order.refund_amount}
    if shown is not None and not shown.missing and not shown.failed:
        sums.add(shown.amount)
    if order.is_dex:
        sums.add(order.in_amount)
    for found in re.finditer(r"(\d[\d.,]*) (?:BTC|ETH|LTC|X)\b", body):
        before = body[: found.start()]
        asked = before.endswith(("order over ", "asked for ", "waiting for your payment of "))
        assert asked or Decimal(found[1]) in sums, body
    if shown is not None and shown.moved and shown.amount is not None and not order.is_dex:
        assert f"{shown.amount} {shown.symbol}" in body
    if case.rule in ("payment-wrong-chain", "payment-wrong-token"):
        assert "asked for 0.5 BTC on Bitcoin" in body
    # Only an order that waits, and of which no chain shows a payment, may ask to be paid.
    asks = has("pay exactly", body) or has("you can sign it", body)
    assert asks is (case.rule in ("waiting", "not-signed-yet")), body
    if not asks and place in ("to the service", "service"):
        assert re.search("[Dd]o not (pay|send|need to do)", body), body
    # Who is to act is told so.
    owner = case.diagnosis().owner
    assert re.search(TO_ACT.get(owner, ""), body), body
    assert owner != "nobody" or not has("we pass this on", body), body


@each_row(
    ("changes", "why"),
    [
        ({}, "The exchange service gives no reason."),
        ({"refund_amount": None}, "the exchange service does not say how much, and gives no"),
        ({"refund_amount": Decimal("0.2")}, "the order asked for 0.5 BTC. The exchange service gi"),
    ],
)
def test_a_refund_is_told_with_its_transaction_to_whom_and_why_as_far_as_anybody_says(
    changes: dict[str, object], why: str
) -> None:
    case = case_of("refunded")
    body = body_of(replace(case, order={**case.order, **changes}))
    assert why in body
    assert HASH in body
    assert short_address(REFUND) in body
    assert f"{changes.get('refund_amount', '0.4999')} BTC" in body or "the BTC went back" in body


def test_a_refund_of_what_came_late_or_was_something_else_says_so() -> None:
    case = case_of("refunded")
    expired = case.whole.order.model_copy(update={"display_status": "EXPIRED"})
    seen = ((NOW, "read", expired), (NOW, "read", case.whole.order))
    assert "came after the time to pay" in reply_to(case.facts(seen=seen), case.diagnosis())
    late = replace(case, paid=paid(at=NOW + timedelta(minutes=50)), order={**case.order, **TO_PAY})
    assert "came after the time to pay" in body_of(late)
    short = replace(case, paid=paid("0.2"), order={**case.order, **TO_PAY})
    assert body_of(short).startswith("You sent 0.2 BTC; your order asked for 0.5 BTC. The exchange")
    assert "it was not what the order asked for" in body_of(short)


TO_PAY = {"in_token": COIN, "in_token_id": COIN.id}
PAYOUT = "0x" + "d" * 64


@each_row("rule", [case.rule for case in SITUATIONS if case.place == "recipient"])
def test_who_was_paid_gets_the_transaction_and_its_page(rule: str) -> None:
    case = case_of(rule)
    told = replace(case, order={**case.order, "in_transaction_out_hash": PAYOUT, "out_token": COIN})
    page = f"https://mempool.space/tx/{PAYOUT}"
    assert body_of(told).splitlines()[1:3] == [f"Transaction: {PAYOUT}", page]
    # The service names the explorer: a page of a stranger does not reach a customer.
    chain = COIN.chain_data.model_copy(update={"hash_url": "https://evil.example/{txHash}"})
    strange = COIN.model_copy(update={"chain_data": chain})
    body = body_of(replace(told, order={**told.order, "out_token": strange}))
    assert f"Transaction: {PAYOUT}" in body.splitlines()
    assert "evil" not in body


def test_a_bundle_that_failed_is_the_cause() -> None:
    case = case_of("with-batch")
    failed = "The bundle failed. The service says: out of gas."
    payment = replace(case.tracked["batch_payment"], problem=failed)
    told = replace(case, tracked={**case.tracked, "batch_payment": payment})
    assert told.diagnosis().cause.startswith(failed)
    assert "That payment was not carried out." in body_of(told)
    assert "carried out" not in body_of(case)


OTHER = "0x" + "8f2c" * 16
NAMED = {
    "on no chain": (
        NamedTransaction(OTHER, ("Ethereum", "Base")),
        f"None of the networks that we can ask knows the transaction {OTHER}.",
        "on no chain that was asked (Ethereum, Base)",
    ),
    "to somebody else": (
        NamedTransaction(OTHER, ("Bitcoin",), paid(hash=OTHER, to="bc1qelse")),
        f"Your transaction {OTHER} on Bitcoin paid 0.5 BTC to ",
        "0.5 BTC on Bitcoin, 2 confirmations, to bc1qelse",
    ),
    "failed": (
        NamedTransaction(OTHER, ("Bitcoin",), paid(hash=OTHER, failed=True, to="")),
        f"Your transaction {OTHER} was executed on Bitcoin and failed.",
        "a transaction on Bitcoin that failed",
    ),
    "not looked for": (
        NamedTransaction(OTHER),
        f"You name the transaction {OTHER}; we ask the exchange service about it.",
        "no chain could be asked for it",
    ),
}


@each_row("named", NAMED)
def test_a_hash_that_was_given_is_not_asked_for_again(named: str) -> None:
    one, words, said = NAMED[named]
    for case in SITUATIONS:
        found = case.diagnosis()
        asks = "the transaction hash" in body_of(case)
        reply = reply_to(case.facts(named=(one,)), found)
        assert "the transaction hash" not in reply
        assert (words in reply) is asks, case.rule
        text = escalation(case.facts(named=(one,)), found)
        assert f"The customer names transaction {OTHER}: {said}" in text


def test_an_address_that_was_given_is_not_asked_for_again() -> None:
    stuck = Case("", "you", "", {**FAILED, **ACT})
    reply = reply_to(stuck.facts(addresses=("bc1qmine",)), stuck.diagnosis())
    assert "Is bc1qmine the address of yours that a refund should go to?" in reply
    assert "Tell us the address" not in reply


@each_row(
    ("text", "asked"),
    [
        (f"order {'h8Kq2PdT5mXcVbN3wRtY7z'}", "If you have paid, send us the transaction hash"),
        (f"I paid, see {OTHER}", "Send us the order id."),
        (f"order h8Kq2PdT5mXcVbN3wRtY7z, paid by {OTHER}", ""),
        ("order h8Kq2P", "Send us the whole order id or the transaction hash of your payment."),
        ("I sent 0.5 BTC", "Send us the order id or the transaction hash of your payment."),
    ],
)
def test_where_nothing_was_found_only_what_is_missing_is_asked_for(text: str, asked: str) -> None:
    pasted = read_pasted(text, is_symbol=lambda word: word == "BTC")
    hashes = (NamedTransaction(OTHER, ("Base",)),) if OTHER in text else ()
    reply = not_found_reply(pasted, hashes)
    assert asked in reply
    assert ("Send us" in reply or "send us" in reply) is bool(asked)
    given = [word for word in ("h8Kq2PdT5mXcVbN3wRtY7z", OTHER) if word in text]
    assert all(word in reply for word in given)
    assert ("We pass this on" in reply) is bool(given)
    assert "Do not pay again" in reply
    assert reply.endswith(NO_SECRETS)
    told = not_found_escalation(pasted, hashes, [("the lists", "none of 4, 1 read")], NOW)
    assert all(word in told for word in given)
    assert "  the lists: none of 4, 1 read" in told.splitlines()


@each_row("stuck", [{**FAILED, **ACT}, {"display_status": "EXPIRED", "in_status": 9, **ACT}])
def test_only_who_left_no_refund_address_is_asked_for_one(stuck: dict[str, object]) -> None:
    asked = Case("", "you", "", stuck)
    assert "ell us the address" in body_of(asked)
    known = Case("", "you", "", {**stuck, "refund_address": REFUND})
    assert "ell us the address" not in body_of(known)
    assert "no address" not in body_of(known)


@each_row(
    ("facts", "shown", "said"),
    [
        ({}, None, "Your payment arrived."),
        ({"out_amount": Decimal("12")}, None, "Your payment arrived."),
        ({"in_amount": None}, None, "Your payment arrived."),
        ({}, "0.4", "You sent 0.4 BTC; your order asked for 0.5 BTC. Your 0.4 BTC"),
    ],
)
def test_an_amount_that_may_not_be_what_came_is_not_said_to_have_come(
    facts: dict[str, object], shown: str | None, said: str
) -> None:
    held = Case("held", "you", "service", {**EXCHANGING, "in_status": 8, **facts})
    told = replace(held, paid=paid(shown) if shown is not None else None)
    assert body_of(told).startswith(said)


@each_row(
    ("case", "said", "unsaid"),
    [
        # A swap on a chain is not told as a payment to an address.
        (
            Case("chain-awaited", "the chain", "wallet", {**WITH_COIN, **DEX}, paid=paid()),
            "",
            "address",
        ),
        # An order that is not private is not asked to be paid.
        (
            Case("not-private", "you", "", {"anonymous": False}, route="private"),
            "Do not pay this order",
            "pay exactly",
        ),
    ],
)
def test_what_is_no_plain_order_is_not_told_as_one(case: Case, said: str, unsaid: str) -> None:
    assert case.diagnosis().rule == case.rule
    body = body_of(case)
    assert said in body
    assert unsaid not in body.lower()


def test_a_silent_service_is_told_before_what_was_heard_last() -> None:
    for case in SITUATIONS:
        body = body_of(replace(case, known=SILENT))
        silent = case.diagnosis(known=SILENT).rule == "service-silent"
        # What is over is not held up by it.
        assert not (silent and case.order.get("display_status") == "FAILED"), case.rule
        assert body.startswith("The exchange service does not answer") is silent


@each_row("case", CASES, ids=rule_of)
def test_an_escalation_has_ids_hashes_and_times(case: Case) -> None:
    one = case.whole
    later = NOW + timedelta(minutes=1)
    began = NOW + timedelta(seconds=30)
    change = {"display_status": "DEPOSIT_DETECTED", "order_finished_received": began}
    seen = ((NOW, "read", one.order), (later, "read", one.order.model_copy(update=change)))
    text = escalation(case.facts(seen=seen), case.diagnosis())
    lines = text.splitlines()
    assert lines[0] == f"Order {one.service_id}"
    assert f"Create request {REQUEST}" in lines
    assert "Created 2026-11-20T14:02:11.000Z" in lines or "Created 2026-11-20T14:02:11Z" in lines
    assert f"  {iso(began)} DEPOSIT_DETECTED, seen {iso(later)}" in lines
    assert lines[-1] == f"Written {iso(case.now)}"
    for transaction in case.made:
        assert transaction.hash in text
    if case.paid is not None:
        assert case.paid.hash in text
    if one.order.swap_name:
        assert f"Provider {one.order.swap_name}" in lines
    assert case.rule in text
    assert "{" not in text
    assert "None" not in text
    # The address of an order that must not be paid is hidden here, too; that another desk made the
    # order is no reason.
    hidden = one.withheld is not None and one.standing is not DepositRelease.FOREIGN
    if one.order.deposit_address is not None:
        assert (f"Deposit address {one.order.deposit_address}" in lines) is not hidden


def test_an_escalation_names_what_an_order_knows_of_itself() -> None:
    whole = Case(
        "paid-less", "nobody", "recipient",
        {
            **DONE, "id": "a" * 24, "multi_id": "g" * 22, "in_token": COIN, "refund_hash": "c" * 64,
            "in_transaction_out_hash": PAYOUT, "deposit_tag": "774411",
            "receiver_tag": "20117",
            "refund_address": REFUND,
        },
        made=sent("confirmed"),
    )  # fmt: skip
    text = escalation(whole.facts(request_id=None), whole.diagnosis())
    for told in (
        "Record id " + "a" * 24,
        "Group " + "g" * 22,
        "Payout 0x" + "d" * 64,
        "Refund " + "c" * 64,
        f"Transaction (deposit, confirmed) {HASH}",
        f"Deposit address {whole.whole.order.deposit_address}",
        "Deposit memo 774411",
        "Receiver memo 20117",
        f"Refund address {REFUND}",
        "Create request: not made at this desk",
        "legs 5 finished",
    ):
        assert told in text.replace("State SWAP_COMPLETED, ", ""), (told, text)
