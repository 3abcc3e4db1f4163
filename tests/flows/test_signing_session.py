"""What is shown of a swap while it is signed, and what becomes of what the trader says.

A review as a screen writes it: words, counts, and payments drawn together. Only what agrees is
said shorter, and nothing is left out.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from decimal import Decimal
from email.utils import format_datetime
from typing import Any

import pytest
from msgspec.structs import asdict, replace

from flows.orders import NOW
from flows.signing import (
    GROUPED,
    ORDER,
    TRANSACTION,
    document,
    line,
    refused,
    review,
    steps_of,
    swap_intent,
)
from rows import each_row
from swapdesk.acts import State
from swapdesk.client.server_clock import ServerClock
from swapdesk.clock import Clock, ManualClock
from swapdesk.flows.creation.creates import begin_create
from swapdesk.flows.dex.dex_plan import AT_ONCE, SwapPlan
from swapdesk.flows.dex.swap_signing import SWAP, Swap, flow_steps
from swapdesk.flows.failure_messages import Failure
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.signing.review_words import (
    PAID_BELOW,
    SAME,
    Names,
    PaymentRow,
    digest_groups,
    folded,
    match_count,
    match_rows,
    moved,
    unmatched,
)
from swapdesk.flows.signing.signing_session import FlowStep, SigningSession, Stage
from swapdesk.flows.transactions import Agreed, NotAgreed, Outcome
from swapdesk.secret import Secret
from swapdesk.wallet.answers import (
    BalanceChange,
    Match,
    ReviewLine,
    SignedTransaction,
    Simulation,
    TransactionWord,
    objections,
)
from swapdesk.wallet.promise import Purpose
from wallet.words import standing

SwapSession = SigningSession[Swap]
PLAN = SwapPlan(0, ("permit", "order"))
FAILURE = Failure("It broke.", "in your wallet", "you: ask for new quotes")


def opened(
    journal: Journal, clock: Clock, plan: SwapPlan | None = PLAN, *, asked: bool = True
) -> SwapSession:
    intent = swap_intent()
    return SigningSession(
        SWAP, intent.id, Swap(intent, plan), intent.token_in, journal, clock, lambda: None,
        wallet="trading", confirmations=2, asked=asked,
    )  # fmt: skip


@pytest.fixture
def session(journal: Journal, clock: ManualClock) -> SwapSession:
    return opened(journal, clock)


async def asked(session: SwapSession) -> asyncio.Task[Agreed | None]:
    """The flow at its question."""
    task = asyncio.create_task(session.look(review()))
    for _ in range(3):
        await asyncio.sleep(0)
    assert session.review is not None
    return task


async def test_yes_counts_for_the_review_that_is_open(session: SwapSession) -> None:
    task = await asked(session)
    assert session.stage is Stage.REVIEW
    assert session.waits
    assert not session.agree("another")
    assert session.agree("r1", "typed")
    # A second key comes too late to say anything.
    assert not session.refuse("r1")
    assert await task == Agreed("typed")
    assert session.stage is Stage.WORKING
    assert not session.agree("r1")
    task = await asked(session)
    assert session.refuse("r1")
    assert await task is None


async def test_a_clock_that_is_moved_over_its_end_ends_the_question(
    journal: Journal, clock: ManualClock
) -> None:
    """The sandbox's time jumps; the desk hears of it with the next answer of the service."""
    server = ServerClock(clock)
    session = opened(journal, server)
    task = await asked(session)
    assert session.left(clock.now()) == 600
    at = clock.monotonic()
    server.observe(format_datetime(NOW + timedelta(minutes=9), usegmt=True), sent=at, received=at)
    clock.advance(1)
    await asyncio.sleep(0)
    assert not task.done()
    server.observe(format_datetime(NOW + timedelta(minutes=10), usegmt=True), sent=at, received=at)
    clock.advance(1)
    with pytest.raises(NotAgreed, match="quote ended") as ended:
        await task
    assert ended.value.code == "QUOTE_EXPIRED"
    assert session.review is None
    assert not session.agree("r1")


async def test_who_stops_asking_is_asked_no_more(session: SwapSession) -> None:
    task = await asked(session)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert session.review is None
    assert session.stage is Stage.WORKING


async def test_a_pass_phrase_is_handed_over_once_and_kept_nowhere(session: SwapSession) -> None:
    task = asyncio.create_task(session.passphrase("No key opened."))
    await asyncio.sleep(0)
    assert session.stage is Stage.LOCKED
    assert session.waits
    assert session.said == "No key opened."
    assert session.unlock(Secret("open sesame"))
    assert (await task).reveal() == "open sesame"
    assert not session.unlock(Secret("again"))
    assert "sesame" not in repr(vars(session))


FIRST = ("sign order 0", State.DONE, "permit")
SECOND = ("sign order 1", State.DONE, "")
CREATE = ("create", State.SENT, "")


@pytest.mark.parametrize("taken_on", [False, True])
@pytest.mark.parametrize(
    ("plan", "steps", "line"),
    [
        (PLAN, (), "~ allowance  o sign 1 permit  o sign 2 order  o settle  o confirm"),
        (
            PLAN,
            (("sign order 0", State.SENT, "permit"),),
            "+ allowance  ~ sign 1 permit  o sign 2 order  o settle  o confirm",
        ),
        (
            PLAN,
            (FIRST, ("sign order 1", State.PREPARED, "")),
            "+ allowance  + sign 1 permit  ~ sign 2 order  o settle  o confirm",
        ),
        (
            PLAN,
            (FIRST, SECOND, CREATE),
            "+ allowance  + sign 1 permit  + sign 2 order  ~ settle  o confirm",
        ),
        (
            PLAN,
            (FIRST, SECOND, CREATE, ("confirm", State.PREPARED, "")),
            "+ allowance  + sign 1 permit  + sign 2 order  + settle  ~ confirm",
        ),
        (
            PLAN,
            (FIRST, SECOND, CREATE, ("confirm", State.DONE, "")),
            "+ allowance  + sign 1 permit  + sign 2 order  + settle  + confirm",
        ),
        (
            PLAN,
            (("approve", State.REFUSED, ""),),
            "x allowance  o sign 1 permit  o sign 2 order  o settle  o confirm",
        ),
        # Planned without its kind, it has it once it is asked for.
        (
            SwapPlan(0, ("permit", "", "order")),
            (FIRST, ("sign order 1", State.DONE, "permit")),
            "+ allowance  + sign 1 permit  + sign 2 permit  o sign 3 order  o settle  o confirm",
        ),
        (SwapPlan(2), (), "~ 1/2 reset  o 2/2 approve  o send  o confirm"),
        (
            SwapPlan(2),
            (("reset", State.SENT, ""),),
            "~ 1/2 reset  o 2/2 approve  o send  o confirm",
        ),
        (
            SwapPlan(2),
            (("reset", State.DONE, ""),),
            "+ 1/2 reset  ~ 2/2 approve  o send  o confirm",
        ),
    ],
)
def test_the_line_of_steps_follows_the_journal(
    journal: Journal,
    clock: ManualClock,
    taken_on: bool,
    plan: SwapPlan,
    steps: tuple[tuple[str, State, str], ...],
    line: str,
) -> None:
    """The same where it is taken on after a kill, by the plan that stands in the journal."""
    session = opened(journal, clock, None if taken_on else plan, asked=not taken_on)
    ledger = journal.ledger
    begin_create(ledger, session.about.intent, "", asdict(plan) if taken_on else None)
    for name, state, kind in steps:
        part: Any = name.partition(" ")[0]
        if part == "create":
            ledger.move(session.id, state)
        else:
            ledger.begin(part, {"name": name}, parent=session.id, state=state, kind=kind)
    assert steps_of(session) == line


def test_without_a_plan_the_steps_are_those_that_were_seen() -> None:
    assert flow_steps([]) == (
        FlowStep("allowance", State.SENT),
        FlowStep("send"),
        FlowStep("confirm"),
    )


def test_on_solana_nothing_is_allowed_before() -> None:
    assert flow_steps([], AT_ONCE, allows=False) == (
        FlowStep("send", State.SENT),
        FlowStep("confirm"),
    )


def test_what_is_reviewed_names_its_place(session: SwapSession) -> None:
    session.reviewed(document(0, 2, "Permit"), review())
    assert session.place == (1, 2)
    session.reviewed(document(1, 2), review())
    assert session.place == (2, 2)
    assert session.refused is None
    session.reviewed(TRANSACTION, refused())
    assert session.place is None
    assert session.refused is not None


def sent(word: TransactionWord, confirmations: int = 0) -> SignedTransaction:
    state, code = standing(word)
    return SignedTransaction(
        "0x12", "i", Purpose.SWAP, "ethereum", "0x70", state, 1, None, confirmations, None, NOW,
        code=code,
    )  # fmt: skip


def test_what_goes_on_is_told(session: SwapSession) -> None:
    assert session.doing == "The desk asks the service what comes next."
    session.seen(sent("sent"))
    assert session.doing == "Sent. Ethereum has not executed it yet."
    session.seen(sent("mined", 1))
    assert session.doing == "Executed on Ethereum, 1 of 2 confirmations."
    session.seen(sent("succeeded", 2))
    assert session.transaction is None


def test_what_stopped_can_be_gone_on_with(session: SwapSession) -> None:
    session.finish(Outcome(State.REFUSED, "SPENDER_UNKNOWN", FAILURE))
    assert session.over
    session.finish(Outcome(State.UNKNOWN, "WALLET", FAILURE))
    assert session.stage is Stage.STOPPED
    assert not session.over
    session.started()
    assert session.stage is Stage.WORKING


@each_row(
    ("plan", "words"),
    [
        (PLAN, ("allowance ok", "sign 1/2 permit", "sign 2/2 order", "settle", "confirm")),
        (SwapPlan(1), ("approve", "send", "confirm")),
        (SwapPlan(2), ("1/2 reset", "2/2 approve", "send", "confirm")),
        (SwapPlan(0, ("permit",)), ("allowance ok", "sign 1/1 permit", "send", "confirm")),
        (AT_ONCE, ("send", "confirm")),
    ],
)
def test_the_plan_in_words(plan: SwapPlan, words: tuple[str, ...]) -> None:
    assert plan.words == words


def test_a_deadline_is_told_in_seconds(session: SwapSession, clock: ManualClock) -> None:
    assert session.left(clock.now()) is None
    session.review = review(clock.now() + timedelta(seconds=48))
    assert session.left(clock.now()) == 48


NAMES = Names("trading", "is", "Isthmus", "ETH", "Ethereum")


def test_a_promise_that_repeats_is_said_shorter() -> None:
    rows = {one.field: one for one in match_rows(review(), NAMES)}
    shorter = {
        "Paid to": "wallet trading",
        "You sell": "the same",
        "Chain": "node and key agree",
        "Contract": "a contract of Isthmus",
        "You get": "0.300331 WETH less 0.50%",
        "Nonce": "the next unused one",
    }
    assert {field: rows[field].promised for field in shorter} == shorter
    assert rows["Chain"].signed == "Ethereum, id 1337000001"


def test_a_version_stands_with_its_name() -> None:
    named = line("Signed for", "Isthmus Settlement", "as the contract says")
    version = line("Version", "2", "as the contract says")
    (row,) = match_rows(review(lines=(named, version)), NAMES)
    assert row.signed == "Isthmus Settlement, version 2"
    said = match_count(review(lines=(named, version)))
    assert said == "1 of 1 field agrees. None contradicts the quote.", "as many as are drawn"
    other = line("Version", "3", "as the contract says", Match.DIFFERS)
    assert len(match_rows(review(lines=(named, other)), NAMES)) == 2


def test_only_what_is_equal_is_said_shorter() -> None:
    row = next(one for one in match_rows(refused(), NAMES) if one.field == "Paid to")
    assert row.match is Match.DIFFERS
    assert row.promised == GROUPED
    assert row.signed != GROUPED


def test_an_own_account_is_called_by_its_name_where_the_promise_names_it() -> None:
    smart = "0x 8EC8 F69f B2fF 0284 f75a 2652 9dc1 7cF5 c5f8 6FFc"
    mint = "EPjF Wdd5 Aufq SSqe M2qN 1xzy bapC 8G4w EGGk ZwyT Dt1v"
    whose = f"the smart account of {GROUPED}"
    lines = (line("Paid to", smart, whose), line("Token sold", mint, f"USDC {mint}"))
    rows = match_rows(review(lines=lines), NAMES)
    assert [one.promised for one in rows] == ["the smart account of trading", "USDC"]
    (differs,) = match_rows(review(lines=(line("Paid to", smart, whose, Match.DIFFERS),)), NAMES)
    assert differs.promised == whose


PARTS = tuple(
    line(f"Permit signature {part}", signed, "the permit that you signed for this swap")
    for part, signed in (("v", "28"), ("r", "0x d676"), ("s", "0x 253d"))
)
UNTIL = line("Permit until", "15:04:33, 19m 25s", "24h at most")


def test_a_permit_that_was_signed_before_is_one_row() -> None:
    rows = match_rows(review(lines=(ORDER[0], UNTIL, *PARTS, ORDER[1])), NAMES)
    (permit,) = (one for one in rows if one.field == "Permit")
    assert permit.signed == "the one you signed for this swap, until 15:04:33"
    assert (permit.match, permit.promised) == (Match.EQUAL, "24h at most")
    assert [one.field for one in rows] == [ORDER[0].field, "Permit", ORDER[1].field]
    said = match_count(review(lines=(ORDER[0], UNTIL, *PARTS, ORDER[1])))
    assert said.startswith("3 of 3 fields agree")
    # Where nothing had to be permitted that is said, and what is of no permit keeps its fields.
    empty = tuple(replace(one, promised="none: you allowed the token before") for one in PARTS)
    (row,) = match_rows(review(lines=empty), NAMES)
    assert (row.signed, row.promised) == ("none", "you allowed the token before")
    forged = (PARTS[0], replace(PARTS[1], match=Match.DIFFERS), PARTS[2])
    assert len(match_rows(review(lines=(*forged, UNTIL)), NAMES)) == 4


def test_the_coin_of_the_chain_has_its_name() -> None:
    gas = line("Gas", "at most 0.1 of the chain's coin", "0.2 of the chain's coin at most")
    (row,) = match_rows(review(lines=(gas,)), NAMES)
    assert (row.signed, row.promised) == ("at most 0.1 ETH", "0.2 ETH")


def test_fields_are_counted_and_named() -> None:
    said = match_count(review())
    assert said == ("10 of 11 fields agree, 1 is not in the quote: App data. None contradicts it.")
    assert unmatched(review()) == ("App data",)
    assert match_count(refused()).endswith(
        "1 is not in the quote: App data. Paid to contradicts it."
    )
    (said,) = objections(refused().findings)
    assert said == "It pays another address than yours. Rule RECIPIENT_DIFFERS."


def test_what_moves_is_told_by_holder() -> None:
    yours, other = moved(review(), NAMES)
    assert yours.yours
    assert [f"{amount:f} {symbol}" for amount, symbol in yours.amounts] == [
        "-1000 USDC",
        "0.300331 WETH",
    ]
    assert not other.yours
    assert moved(review(simulation=None), NAMES) == ()


def test_the_coin_that_moves_is_told_in_whole_coins() -> None:
    fee = BalanceChange(review().account, "?", None, None, -46_968_337_726_439)
    (yours,) = moved(review(simulation=Simulation(1, (fee,), 21_000)), NAMES)
    ((amount, symbol),) = yours.amounts
    assert (f"{amount:f}", symbol) == ("-0.000046968337726439", "ETH")
    unknown = BalanceChange(review().account, "?", "0x" + "1" * 40, None, 7)
    (yours,) = moved(review(simulation=Simulation(1, (unknown,), 21_000)), NAMES)
    assert yours.amounts == ((Decimal(7), "units of ?"),)


def test_a_digest_stands_whole_in_two_rows() -> None:
    first, second = digest_groups(review().digest)
    assert f"{first} {second}".replace(" ", "") == review().digest
    assert len(first.split()) == 9


def test_fields_of_several_payments_are_named_once() -> None:
    lines = [line(f"Decimals ({at})", "6", "", Match.UNMATCHED) for at in (1, 2, 3)]
    lines += [line("Memo (4)", "x", "", Match.UNMATCHED), line("App data", "", "", Match.UNMATCHED)]
    said = match_count(review(lines=tuple(lines)), "group")
    assert "5 are not in the group: Decimals (3 times), Memo (4), App data." in said


PAYEES = ("0x d502 5181", "0x 440b 2dcf", "0x D51A 6783")
CHAIN = ReviewLine("Chain", "Base, id 1337008453", "node and key agree", Match.EQUAL)


def of_bundle(number: int) -> list[ReviewLine]:
    """As an operation names one payment."""
    return [
        ReviewLine(f"Paid to {number}", PAYEES[number - 1], f"of order order{number}", Match.EQUAL),
        ReviewLine(f"Amount {number}", f"{99 + number} USDC", SAME, Match.EQUAL),
        ReviewLine(f"Token {number}", "0x 8335 89fC", "USDC", Match.EQUAL),
    ]


def on_solana(number: int) -> list[ReviewLine]:
    """As a transaction of Solana names one payment."""
    payee = PAYEES[number - 1]
    return [
        ReviewLine(f"You pay ({number})", f"{99 + number} USDC", SAME, Match.EQUAL),
        ReviewLine(f"Paid to ({number})", payee, f"{payee} of order order{number}", Match.EQUAL),
        ReviewLine(f"Token program ({number})", "Toke nkeg", "", Match.UNMATCHED),
    ]


@each_row("named", [of_bundle, on_solana])
def test_each_payment_is_one_row_and_what_is_alike_stands_once(named: object) -> None:
    assert callable(named)
    rows = [CHAIN, *named(1), *named(2), *named(3)]
    left, payments = folded(rows)
    assert payments == tuple(
        PaymentRow(f"{100 + at} USDC", PAYEES[at], f"order order{at + 1}") for at in range(3)
    )
    chain, alike = left
    assert chain == CHAIN
    assert alike.field.endswith(", 3 times")
    assert (alike.signed, alike.match) == (rows[3].signed, rows[3].match)


def test_an_account_opened_for_who_is_paid_names_him_where_he_is_paid() -> None:
    opened = [
        ReviewLine(f"Account for ({10 + at})", payee, "one that the payment needs", Match.EQUAL)
        for at, payee in enumerate(PAYEES[:2])
    ]
    other = ReviewLine(
        "Account for (13)", "0x 9999 9999", "one that the payment needs", Match.EQUAL
    )
    left, _ = folded([*opened, other, *on_solana(1), *on_solana(2)])
    assert [(row.field, row.signed) for row in left[:2]] == [
        ("Account for, 2 times", PAID_BELOW),
        ("Account for (13)", "0x 9999 9999"),
    ]


def test_one_payment_keeps_its_fields() -> None:
    rows = [CHAIN, *of_bundle(1)]
    assert folded(rows) == (tuple(rows), ())


@each_row(
    "wrong",
    [
        ReviewLine("Amount 2", "900 USDC", "101 USDC", Match.DIFFERS),
        ReviewLine("Amount 2", "101 USDC", "101 USDC or more", Match.EQUAL),
        ReviewLine("Paid to 2", "0x 9999 9999", "0x 440b 2dcf of order order2", Match.DIFFERS),
        ReviewLine("Token 2", "0x 1111 1111", "USDC", Match.DIFFERS),
        ReviewLine("Token 2", "0x 1111 1111", "", Match.UNMATCHED, weight=True),
        ReviewLine("Spender 2", "0x 1111 1111", "", Match.UNMATCHED, weight=True),
    ],
)
def test_what_objects_keeps_a_row_for_every_field(wrong: ReviewLine) -> None:
    second = [wrong if row.field == wrong.field else row for row in of_bundle(2)]
    if wrong not in second:
        second.append(wrong)
    left, payments = folded([CHAIN, *of_bundle(1), *second, *of_bundle(3)])
    assert [one.promised for one in payments] == ["order order1", "order order3"]
    assert wrong in left
    kept = {"Paid to 2", "Amount 2"}
    assert kept <= {row.field for row in left}


def test_what_says_something_else_once_is_seen() -> None:
    """A token of one payment that is another one than in the rest has its own row."""
    rows = [*of_bundle(1), *of_bundle(2)]
    other = ReviewLine("Token 3", "0x 2222 2222", "USDT", Match.EQUAL)
    rows += [*of_bundle(3)[:2], other]
    left, payments = folded(rows)
    assert [row.field for row in left] == ["Token, 2 times", "Token 3"]
    assert len(payments) == 3
