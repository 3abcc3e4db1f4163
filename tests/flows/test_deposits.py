"""The deposit of an order: where it is, what is promised and shown of it while the wallet pays, who
can pay, and what is said; and where the funds are when no single order is spoken of.

Paying from the faucet: once for an order, whatever the network, a restart or a twin does.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from client.rude_server import Behaviour, RudeServer, answer, raw, reset
from flows.deposits import (
    HASH,
    PAYLOAD,
    PLACE,
    deposit_intent,
    deposit_review,
    refused_deposit,
    signed,
    waiting,
)
from flows.orders import NOW, intent, order, tracked
from flows.signing import TRADING, USDC, steps_of
from rows import each_row
from swapdesk.acts import State
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.client.errors import Unreachable
from swapdesk.client.sandbox_control import SandboxControl
from swapdesk.clock import ManualClock, SystemClock
from swapdesk.flows.deposits.deposit_phase import DepositPhase, deposit_money, deposit_phase
from swapdesk.flows.deposits.funding import (
    MAY_BE_PAID,
    SENT_BEFORE,
    DepositWays,
    SandboxFaucet,
    settle_payments,
)
from swapdesk.flows.deposits.funding import not_paid as faucet_unpaid
from swapdesk.flows.deposits.funding import payment_open as faucet_open
from swapdesk.flows.deposits.funds_location import AT_HOME, NOT_READ, funds_now
from swapdesk.flows.deposits.wallet_funding import (
    DEPOSIT,
    FAUCET,
    LOOK,
    UNPAID,
    DepositSession,
    PaymentEntry,
    WalletFunding,
    begin_deposit,
    check_payable,
    deposit_payload,
    deposit_promise,
    lack_of,
    not_paid,
    on_screen,
    payment_open,
    signed_transfer,
)
from swapdesk.flows.dex.swap_account import SwapAccount
from swapdesk.flows.intents.intent import DepositRelease, TokenFacts
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import ClaimTaken
from swapdesk.flows.orders.order_status import order_status
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payments import begin_payment, payment_of, unanswered, waits_for_signature
from swapdesk.flows.signing.signing_session import RunningSignings, SigningSession, Stage
from swapdesk.flows.transactions import Agreed, NotAgreed, NotSignable, Outcome, Pace, Watch
from swapdesk.secret import Secret
from swapdesk.wallet.accounts import Account, ChainLink, KeyOrigin, Kind
from swapdesk.wallet.answers import Review, SignedTransaction
from swapdesk.wallet.promise import DepositPromise, Promise
from swapdesk.wire.orders import DisplayStatus, LegStatus
from wallet.test_solana_deposits import COINS, SOL, Payer, paying

WAITING = TrackedOrder(
    order=order(expires=NOW + timedelta(minutes=10)),
    intent=None,
    withheld=None,
    ended=False,
    seen_at=NOW,
    source="create",
)


DONE = WAITING.order.model_copy(update={"display_status": DisplayStatus.SWAP_COMPLETED.value})
UNPLACED = WAITING.order.model_copy(update={"deposit_address": None})
DIFFERS = replace(WAITING, withheld="It differs.", standing=DepositRelease.DIFFERS)
UNREPEATED = replace(WAITING, withheld="Not yet.", standing=DepositRelease.UNREPEATED)
HOME, MOVING = "in your wallet.", "on its way to Halyard."
CONFIRMS = "the chain: it confirms the deposit"
OVER = "nobody: do not send to its address any more"


@pytest.mark.parametrize(
    ("tracked", "minutes", "left", "where", "next_"),
    [
        (WAITING, 0, "", HOME, "you: send the deposit within 10:00"),
        (WAITING, 9, "", HOME, "you: send the deposit within 1:00"),
        (WAITING, 11, "", HOME, OVER),
        (WAITING, 0, "sent", MOVING, CONFIRMS),
        (WAITING, 11, "sent", MOVING, CONFIRMS),
        (
            WAITING,
            0,
            "begun",
            "in your wallet, or on its way to the deposit address",
            "you: f opens the payment; do not pay it by hand",
        ),
        # What the service says later stands.
        (
            replace(WAITING, order=DONE, ended=True),
            0,
            "sent",
            "14.524108 ETH arrived at the recipient.",
            "nobody: nothing is left to do",
        ),
        (DIFFERS, 0, "", HOME, "you: read why the address is hidden"),
        # Until the service gave and repeated the address, the service acts.
        (
            UNREPEATED,
            0,
            "",
            HOME,
            "the service: it repeats the order, then the address is shown",
        ),
        (UNREPEATED, 11, "", HOME, OVER),
        (
            replace(UNREPEATED, order=UNPLACED),
            0,
            "",
            HOME,
            "the service: it sets up the deposit address",
        ),
        (replace(UNREPEATED, order=UNPLACED), 11, "", HOME, OVER),
    ],
)
def test_where_the_money_of_a_deposit_is_and_who_acts(
    journal: Journal, tracked: TrackedOrder, minutes: int, left: str, where: str, next_: str
) -> None:
    ledger, begun = journal.ledger, None
    if left:
        act = begin_payment(ledger, tracked.service_id, "wallet", b"{}")
        ledger.move(act.id, State.SENT)
        if left == "sent":
            ledger.move(act.id, State.DONE)
        begun = ledger.get(act.id)
    now = NOW + timedelta(minutes=minutes)
    money = deposit_money(tracked, now, begun)
    assert (money.where, money.next) == (where, next_)
    assert money.urgent is (next_ == "you: send the deposit within 1:00")


def test_an_address_is_drawn_until_its_deadline_and_no_longer() -> None:
    last = WAITING.order.expires - timedelta(milliseconds=1)
    assert deposit_phase(WAITING, last) is DepositPhase.WAITING
    assert deposit_phase(WAITING, WAITING.order.expires) is DepositPhase.EXPIRED
    assert deposit_phase(DIFFERS, last) is DepositPhase.HIDDEN
    for one in (UNREPEATED, replace(UNREPEATED, order=UNPLACED)):
        assert deposit_phase(one, NOW) is DepositPhase.HIDDEN
        assert deposit_phase(one, NOW + timedelta(minutes=11)) is DepositPhase.EXPIRED


SOLANA_COIN = TokenFacts("6689b73ec90e45f3b3e51790", "SOL", "solana", "Solana", "sol", None, 9)
SOLANA_TRADER = derive_address("sol", b"t" * 32)
VENUE = derive_address("sol", b"v" * 32)


def account(kind: Kind, address: str) -> Account:
    return Account(address, kind, "trading", "sandbox", KeyOrigin.CREATED, None, NOW)


def on_solana(**changes: Any) -> TrackedOrder:
    """2.5 SOL for ether, at an exchange whose deposits carry a memo."""
    confirmed = intent(token_in=SOLANA_COIN, amount_in=Decimal("2.5"))
    made = order(confirmed, **{"deposit_address": VENUE, "deposit_tag": "70417", **changes})
    return TrackedOrder(made, confirmed, None, ended=False, seen_at=NOW, source="create")


def test_the_memo_and_the_amount_of_the_order_are_promised() -> None:
    tracked = on_solana(in_amount=Decimal("2.50001"))
    promise = deposit_promise(tracked, account(Kind.SOLANA, SOLANA_TRADER), Decimal(150))
    assert promise.deposit == DepositPromise(
        tracked.service_id, VENUE, "70417", 2_500_010_000, tracked.order.expires, None
    )
    assert (promise.account, promise.sell_units) == (SOLANA_TRADER, 2_500_000_000)
    check_payable(promise)


def test_a_token_is_paid_to_the_deposit_address_of_the_order() -> None:
    tracked = waiting(in_amount=Decimal("1000.05"))
    promise = deposit_promise(tracked, account(Kind.EVM, TRADING), None)
    payload = deposit_payload(promise)
    assert (payload.to, payload.value) == (promise.sell.contract, 0)
    assert payload.data[10:74].endswith(PLACE[2:].lower())
    assert int(payload.data[74:], 16) == 1_000_050_000


@each_row(
    "change",
    [
        {"deposit_address": None},
        {"deposit_address": "0x1234"},
        {"in_amount": None},
        {"in_amount": Decimal("0.0000001")},
        {"expires": None},
        # No transfer carries it, and it is not left out.
        {"deposit_tag": "70417"},
    ],
)
def test_an_order_that_does_not_say_all_of_it_is_not_paid(change: dict[str, Any]) -> None:
    with pytest.raises(NotAgreed, match="memo" if "deposit_tag" in change else None):
        deposit_payload(deposit_promise(waiting(**change), account(Kind.EVM, TRADING), None))


def test_an_order_of_somebody_else_is_not_paid(clock: ManualClock) -> None:
    with pytest.raises(ValueError, match="not confirmed"):
        begin_deposit(RunningSignings(SimpleNamespace(), print), replace(waiting(), intent=None))
    with pytest.raises(NotAgreed, match="not confirmed at this desk"):
        deposit_promise(replace(waiting(), intent=None), account(Kind.EVM, TRADING), None)


NODE = ChainLink("ethereum", Kind.EVM, 1_337_000_001, "http://127.0.0.1:9", 2)
SOLANA = ChainLink("solana", Kind.SOLANA, None, "http://127.0.0.1:9", 1)


@pytest.fixture
def session(journal: Journal, clock: ManualClock) -> DepositSession:
    tracked = waiting()
    assert tracked.intent is not None
    return SigningSession(
        DEPOSIT, tracked.service_id, tracked, tracked.intent.token_in, journal, clock, lambda: None,
        coin="ETH", confirmations=2,
    )  # fmt: skip


def test_the_steps_of_a_payment(session: DepositSession) -> None:
    assert steps_of(session) == "~ check  o sign  o send  o confirmed"
    session.says("The faucet sends USDC to wallet trading.", wallet="trading")
    assert session.doing == "The faucet sends USDC to wallet trading."
    session.says("")
    session.reviewed(PAYLOAD, deposit_review())
    assert steps_of(session) == "+ check  ~ sign  o send  o confirmed"
    assert session.kind.whereabouts(session) == "in your wallet"
    session.signing(deposit_review())
    assert session.doing == "The wallet looks once more, and signs."
    session.seen(signed("signed"))
    assert steps_of(session) == "+ check  + sign  ~ send  o confirmed"
    assert session.doing == "Signed and written down. The desk sends it."
    assert HASH in session.kind.whereabouts(session)
    session.seen(signed("sent"))
    assert steps_of(session) == "+ check  + sign  + send  ~ confirmed 0 of 2"
    session.seen(signed("mined", 1))
    assert steps_of(session) == "+ check  + sign  + send  ~ confirmed 1 of 2"
    assert session.doing == "Executed on Ethereum, 1 of 2 confirmations."
    session.seen(signed("succeeded", 2))
    session.finish(Outcome(hash=HASH))
    assert steps_of(session) == "+ check  + sign  + send  + confirmed"
    assert session.stage is Stage.ENDED
    assert session.kind.whereabouts(session) == f"at the deposit address, by transaction {HASH}"


@pytest.mark.parametrize(
    ("before", "outcome", "steps", "failure"),
    [
        # What is not there is offered by the faucet.
        (
            None,
            not_paid("NOT_ENOUGH", "Wallet trading has nothing"),
            "x check  o sign  o send  o confirmed",
            ("Wallet trading has nothing.", UNPAID, FAUCET),
        ),
        (
            None,
            payment_open("AGENT_GONE", "gone"),
            "~ check  o sign  o send  o confirmed",
            (
                "The payment is not confirmed yet. Gone.",
                "on its way to the deposit address, or still in your wallet",
                "you: r goes on with it",
            ),
        ),
        (
            refused_deposit(),
            not_paid("GATE", "It does not pay the order's deposit address."),
            "x check  o sign  o send  o confirmed",
            ("Your wallet refuses to sign this: It does not pay", UNPAID, LOOK),
        ),
        (
            signed("failed"),
            not_paid("FAILED", "The transaction failed.", HASH),
            "+ check  + sign  + send  x confirmed 0 of 2",
            ("The transaction failed", "in your wallet, but for the gas it cost", ""),
        ),
    ],
)
def test_an_end_marks_the_step_it_ended_at_and_says_where_the_money_is(
    session: DepositSession,
    before: Review | SignedTransaction | None,
    outcome: Outcome,
    steps: str,
    failure: tuple[str, str, str],
) -> None:
    if isinstance(before, Review):
        session.reviewed(PAYLOAD, before)
    elif before is not None:
        session.seen(before)
    session.finish(on_screen(outcome, session.id, faucet=True))
    assert steps_of(session) == steps
    assert session.over is outcome.refused
    told = session.outcome.failure
    assert (told.cause.startswith(failure[0]), told.money) == (True, failure[1]), told
    assert told.next.startswith(failure[2])


def test_what_was_never_signed_is_not_told_to_be_on_its_way() -> None:
    """The wallet is gone while its review is read."""
    stopped = on_screen(payment_open("AGENT_GONE", "gone"), "o1", faucet=True, unsigned=True)
    assert stopped.open
    assert stopped.cause == "Nothing was signed. Gone."
    assert (stopped.failure.money, stopped.failure.next) == (UNPAID, "you: r goes on with it")


class Asked:
    """The agent of a desk that signed nothing under any intent."""

    def __init__(self, *, read_only: bool) -> None:
        self.accounts = SimpleNamespace(read_only=read_only)

    async def transactions(self, intent_id: str) -> tuple[SignedTransaction, ...]:
        return ()

    async def review(self, payload: object, promise: Promise) -> Review:
        return deposit_review()


@pytest.mark.parametrize("read_only", [False, True])
async def test_a_desk_killed_between_asking_and_signing_left_nothing_on_its_way(
    journal: Journal, clock: ManualClock, read_only: bool
) -> None:
    """While its next run shows the review again; another desk that has the wallet may sign."""
    one, states = waiting(), []
    entry = PaymentEntry(journal.ledger, one.service_id, TRADING, None)
    entry.begin()
    entry.asks()

    async def look(review: Review) -> Agreed | None:
        states.append(waits_for_signature(payment_of(journal.ledger, one.service_id)))
        return None

    funding = WalletFunding(Asked(read_only=read_only), journal, clock, look, lambda _: one)
    await funding.fund(one, account(Kind.EVM, TRADING), None)
    assert states == [not read_only]


async def test_an_order_that_ends_takes_the_question_back(
    session: DepositSession, clock: ManualClock
) -> None:
    task = asyncio.create_task(session.look(deposit_review()))
    for _ in range(3):
        await asyncio.sleep(0)
    assert session.stage is Stage.REVIEW
    clock.advance(25 * 60)
    with pytest.raises(NotAgreed, match="order ended before you signed") as ended:
        await task
    assert ended.value.code == "NOT_PAYABLE"


# Who pays


def ways(
    journal: Journal, clock: ManualClock, *nodes: ChainLink, faucet: bool = True
) -> DepositWays:
    control = SandboxControl("http://127.0.0.1:9/sandbox", Secret("not asked here"))
    tap = SandboxFaucet(control, clock, journal.ledger) if faucet else None
    return DepositWays(lambda: nodes, lambda: tap, clock, journal.ledger, live=not faucet)


@each_row(
    ("nodes", "faucet", "lacks", "by", "simulated"),
    [
        ((NODE, SOLANA), True, "", "wallet", False),
        ((SOLANA,), True, "", "faucet", True),
        ((), True, "", "faucet", True),
        ((), False, "", None, False),
        # What the wallet lacks is paid by the faucet where there is one.
        ((NODE,), True, "Wallet trading has nothing.", "faucet", False),
        ((NODE,), False, "Wallet trading has nothing.", "wallet", False),
    ],
)
def test_the_wallet_pays_where_a_node_is_known(
    journal: Journal,
    clock: ManualClock,
    nodes: tuple[ChainLink, ...],
    faucet: bool,
    lacks: str,
    by: str | None,
    simulated: bool,
) -> None:
    one, here = waiting(), ways(journal, clock, *nodes, faucet=faucet)
    if lacks:
        here.lacks(one.service_id, lacks)
    assert (here.of(one), here.simulated(one)) == (by, simulated)
    assert by or here.missing(one) == "no node of Ethereum is configured"


def test_nobody_pays_twice(journal: Journal, clock: ManualClock) -> None:
    one, here = waiting(), ways(journal, clock, NODE)
    assert here.refusal(one) is None
    entry, ledger = PaymentEntry(journal.ledger, one.service_id, "0xme", None), journal.ledger
    entry.begin()
    assert here.under_way(one)
    assert here.refusal(one) is None, "the same payment goes on"
    assert here.payment(one.service_id).state is State.PREPARED
    assert _money(here, one) == "in your wallet; nothing was signed"
    entry.asks()
    assert here.payment(one.service_id).left
    assert _money(here, one) == "in your wallet, or on its way to the deposit address"
    with pytest.raises(ClaimTaken):
        begin_payment(ledger, one.service_id, "faucet", b"{}")
    entry.unsigned()
    assert here.payment(one.service_id).state is State.PREPARED
    with pytest.raises(ClaimTaken):
        begin_payment(ledger, one.service_id, "faucet", b"{}")
    entry.asks()
    entry.signed("0xsigned")
    assert here.payment(one.service_id).left
    entry.unsigned()
    assert here.payment(one.service_id).left, "what was signed is never unsigned"
    entry.done("0xsigned")
    assert payment_of(ledger, one.service_id).hash == "0xsigned"
    assert not here.under_way(one)
    assert here.payment(one.service_id).state is State.DONE
    assert here.refusal(one) == SENT_BEFORE
    other = waiting(service_id="r3Tz9W8mLqKjHgFdSaPoIu")
    begin_payment(ledger, other.service_id, "faucet", b"{}")
    assert not here.under_way(other)
    assert here.refusal(other) == MAY_BE_PAID


def _money(here: DepositWays, one: TrackedOrder) -> str:
    return deposit_money(one, NOW, here.payment(one.service_id)).where


# What it lacks

TRADER = Account("0x" + "7" * 40, Kind.EVM, "trading", "sandbox", KeyOrigin.CREATED, None, NOW)
HELD = SwapAccount(
    TRADER, TRADER, (TRADER,), read_only=False, balance=Decimal(2000), coin=Decimal(1)
)


IN_COINS = deposit_intent(token_in=replace(USDC, symbol="ETH", contract=None, decimals=18))


@each_row(
    ("facts", "coins", "said"),
    [
        ({}, False, None),
        ({"balance": Decimal(1000)}, False, None),
        (
            {"balance": Decimal("999.5")},
            False,
            "Wallet trading has 999.5 USDC on Ethereum and is short of 0.5 USDC:"
            " the order asks for 1,000 USDC.",
        ),
        (
            {"coin": Decimal(0)},
            False,
            "Wallet trading has no ETH on Ethereum to pay the gas with.",
        ),
        (
            {"unread": "it does not answer", "balance": None},
            False,
            "Ethereum could not be read: it does not answer.",
        ),
        (
            {"balance": None},
            False,
            "How much USDC wallet trading has on Ethereum could not be read.",
        ),
        ({}, True, None),
        (
            {"balance": Decimal(1000)},
            True,
            "Wallet trading has exactly 1,000 ETH on Ethereum and nothing more for gas.",
        ),
    ],
)
def test_what_is_missing_is_said_exactly(
    facts: dict[str, Any], coins: bool, said: str | None
) -> None:
    one = waiting()
    if coins:
        one = replace(one, intent=IN_COINS, order=order(IN_COINS))
    assert lack_of(replace(HELD, **facts), one, "ETH") == said


Look = Callable[[Review], Awaitable[Agreed | None]]


def payable() -> str | None:
    """The order waits for its deposit."""
    return None


@pytest.fixture
async def payer(tmp_path: Path) -> AsyncIterator[Payer]:
    async with paying(tmp_path) as made:
        yield made


class Trader:
    """Answers each review; ``before`` is what happens while it is looked at."""

    def __init__(self, before: Callable[[int], None]) -> None:
        self._before = before
        self.seen: list[Review] = []

    async def look(self, review: Review) -> Agreed | None:
        self.seen.append(review)
        self._before(len(self.seen))
        return Agreed()


async def transfer(
    payer: Payer,
    promise: Promise,
    look: Look,
    *,
    refusal: Callable[[], str | None] = payable,
    clock: SystemClock | None = None,
) -> SignedTransaction:
    return await signed_transfer(
        payer.agent, clock or SystemClock(), promise, look, refusal, Pace(look=0), Watch()
    )


async def test_what_grew_too_old_is_shown_once_more_and_paid_once(payer: Payer) -> None:
    promise = payer.promise("slow", SOL)
    trader = Trader(lambda looks: payer.world.time.pass_blocks(140) if looks < 3 else None)
    signed = await transfer(payer, promise, trader.look)
    digests = [one.digest for one in trader.seen]
    assert len(digests) == len(set(digests)) == 3
    await payer.agent.broadcast(signed.hash)
    assert await payer.world.client.balance(promise.deposit.address) == COINS
    assert [one.hash for one in await payer.agent.transactions("slow")] == [signed.hash]


async def test_a_review_that_ended_is_not_an_order_that_did(payer: Payer) -> None:
    """The session takes the question back when the review ends; the order goes on waiting."""
    clock = SystemClock()
    promise = payer.promise("asleep", SOL)
    looks = 0

    async def look(review: Review) -> Agreed | None:
        nonlocal looks
        looks += 1
        if looks == 1:
            left = review.valid_until - clock.now()
            clock.advance_to(clock.offset + left.total_seconds() + 1)
            raise NotAgreed("The order ended before you signed.", "NOT_PAYABLE")
        return Agreed()

    await transfer(payer, promise, look, clock=clock)
    assert looks == 2


async def test_an_order_that_ended_meanwhile_is_not_asked_about_again(payer: Payer) -> None:
    promise = payer.promise("ended", SOL)
    trader = Trader(lambda _: payer.world.time.pass_blocks(140))
    with pytest.raises(NotAgreed, match="It ended") as ended:
        await transfer(payer, promise, trader.look, refusal=lambda: "It ended.")
    assert ended.value.code == "NOT_PAYABLE"
    assert len(trader.seen) == 1
    no = Trader(lambda _: None)

    async def refuse(review: Review) -> None:
        await no.look(review)

    with pytest.raises(NotAgreed) as refused:
        await transfer(payer, promise, refuse)
    assert refused.value.code == "NOT_CONFIRMED"
    assert len(no.seen) == 1
    assert await payer.agent.transactions("ended") == ()


async def test_what_the_gate_refuses_is_not_made_again(payer: Payer) -> None:
    promise = payer.promise("poor", SOL, units=COINS * 10)
    trader = Trader(lambda _: None)
    with pytest.raises(NotSignable) as refused:
        await transfer(payer, promise, trader.look)
    assert refused.value.code == "DEPOSIT_ABOVE"
    assert trader.seen == []


EXCHANGING = {
    "display_status": DisplayStatus.EXCHANGE_IN_PROGRESS.value,
    "in_status": LegStatus.EXCHANGING.value,
}


STUCK_ONE, STUCK_TWO = "in 1 order that needs you", "in 2 orders that need you"
LOOKS = "An order may exist: the desk looks."


@each_row(
    ("orders", "counts", "where", "short"),
    [
        # What waits for its deposit holds nothing.
        ([tracked(), tracked()], (0,), ".", ""),
        ([tracked(), tracked(**EXCHANGING)], (0,), ", and in 1 open order", "1 order"),
        ([tracked(**EXCHANGING)] * 2, (0,), ", and in 2 open orders", "2 orders"),
        # An order that ended with its money stuck holds it.
        ([], (1,), f", and {STUCK_ONE}", STUCK_ONE),
        ([], (2,), f", and {STUCK_TWO}", STUCK_TWO),
        (
            [tracked(**EXCHANGING)],
            (1,),
            f", in 1 open order and {STUCK_ONE}",
            "in 2 orders; 1 needs you",
        ),
        (
            [tracked(**EXCHANGING)] * 2,
            (3,),
            ", in 2 open orders and in 3 orders that need you",
            "in 5 orders; 3 need you",
        ),
        # So may a create without an answer, and what cannot be read.
        ([], (0, 1), f". {LOOKS}", LOOKS),
        ([tracked(**EXCHANGING)], (0, 2), "in 1 open order", "2 orders may exist: the desk looks."),
        ([], (0, 0, 1), ". 1 order of the service cannot be read.", "cannot be read."),
        (
            [tracked(**EXCHANGING)],
            (0, 1, 2),
            LOOKS,
            f"also in 1 order. {LOOKS} 2 orders of the service cannot be read.",
        ),
    ],
)
def test_where_the_funds_are(
    orders: list[TrackedOrder], counts: tuple[int, ...], where: str, short: str
) -> None:
    found = funds_now(orders, None, *counts)
    assert found.where.startswith("in your wallet")
    assert where in found.where
    assert short in (found.short or "")
    assert (found == AT_HOME) is (where == ".")


def test_before_the_service_was_asked_an_open_order_may_hold_them(journal: Journal) -> None:
    assert funds_now(None, None) == NOT_READ
    assert funds_now(None, journal.orders) == AT_HOME
    journal.orders.record([(order(), "list", False)])
    found = funds_now(None, journal.orders)
    assert found.where == "in your wallet or in 1 open order, not asked yet."
    assert funds_now([], journal.orders) == AT_HOME, "the service was asked"
    again = [(order(service_id=f"m{number:021}"), "list", False) for number in range(1_199)]
    journal.orders.record(again)
    assert funds_now(None, journal.orders).short == "in your wallet or in 1,200 open orders."


def test_a_journal_that_cannot_be_read_tells_of_no_funds(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    journal = Journal.open(path, ManualClock(NOW))
    with sqlite3.connect(path) as other:
        other.execute("ALTER TABLE orders RENAME TO lost")
    other.close()
    assert funds_now(None, journal.orders) == NOT_READ
    journal.close()


PAID = answer(200, {"hash": "f" * 64})
UNPAID_ORDER = TrackedOrder(
    order=order(), intent=None, withheld=None, ended=False, seen_at=NOW, source="create"
)
LOST = {
    "reset": reset,
    "closed without a word": raw(b""),
    "cut": raw(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"),
    "503": answer(503, {"code": "NODE_UNAVAILABLE", "message": "no answer to faucet_pay"}),
    "no JSON": answer(200, b"paid"),
    "without a hash": answer(200, {}),
    "redirect": answer(307, b""),
}


def over(answers: Callable[[httpx2.Request], Awaitable[httpx2.Response]]) -> SandboxControl:
    """A control over a network that answers so."""
    transport = httpx2.MockTransport(answers)
    return SandboxControl("http://127.0.0.1:1/sandbox", Secret("token"), transport=transport)


def refusing(error: type[httpx2.HTTPError]) -> SandboxControl:
    async def refuse(request: httpx2.Request) -> httpx2.Response:
        raise error("no", request=request)

    return over(refuse)


def state_of(journal: Journal) -> State | None:
    found = payment_of(journal.ledger, UNPAID_ORDER.service_id)
    return found.state if found is not None else None


@asynccontextmanager
async def faucet_of(
    journal: Journal, clock: ManualClock, *behaviours: Behaviour
) -> AsyncIterator[tuple[SandboxFaucet, RudeServer]]:
    """A faucet over a sandbox that behaves so, one request after the other."""
    async with RudeServer(*behaviours) as server:
        control = SandboxControl(f"http://127.0.0.1:{server.port}/sandbox", Secret("token"))
        yield SandboxFaucet(control, clock, journal.ledger), server
        await control.close()


def faucet_ways(journal: Journal, clock: ManualClock) -> DepositWays:
    return DepositWays(lambda: (), lambda: None, clock, journal.ledger, live=False)


async def test_an_order_is_paid_once(journal: Journal, clock: ManualClock) -> None:
    async with faucet_of(journal, clock, PAID) as (faucet, server):
        assert payment_of(journal.ledger, UNPAID_ORDER.service_id) is None
        assert await faucet.pay(UNPAID_ORDER) == Outcome(hash="f" * 64)
        assert state_of(journal) is State.DONE
        assert await faucet.pay(UNPAID_ORDER) == faucet_open("NOT_FUNDED", SENT_BEFORE)
        assert payment_of(journal.ledger, UNPAID_ORDER.service_id).state is State.DONE
        assert faucet.refusal(UNPAID_ORDER) == SENT_BEFORE
        assert len(server.requests) == 1


async def test_a_refusal_that_comes_after_the_deposit_arrived_frees_nothing(
    journal: Journal, clock: ManualClock
) -> None:
    """The order has its deposit while the faucet still owes its answer, which is then a refusal."""
    there = replace(UNPAID_ORDER, order=order(display_status="DEPOSIT_DETECTED", status=1))
    asked = []

    async def refuse(request: httpx2.Request) -> httpx2.Response:
        asked.append(state_of(journal))
        settle_payments(journal.ledger, lambda _: there)
        body = httpx2.ByteStream(b'{"code": "CONFLICT", "message": "no"}')
        return httpx2.Response(409, stream=body, request=request)

    faucet = SandboxFaucet(over(refuse), clock, journal.ledger)
    assert await faucet.pay(UNPAID_ORDER) == faucet_open("NOT_FUNDED", SENT_BEFORE)
    assert state_of(journal) is State.DONE
    assert await faucet.pay(UNPAID_ORDER) == faucet_open("NOT_FUNDED", SENT_BEFORE)
    assert asked == [State.SENT], "in the journal before it leaves"


@pytest.mark.parametrize(
    "leg", [LegStatus.CONFIRMING, LegStatus.VERIFYING, LegStatus.FAILED, LegStatus.FALLBACK]
)
async def test_an_order_whose_leg_is_further_than_its_state_is_not_paid(
    leg: LegStatus, journal: Journal, clock: ManualClock
) -> None:
    """Somebody may have paid it from elsewhere, before the state of the order says so."""
    ahead = replace(UNPAID_ORDER, order=order(in_status=leg))
    assert not order_status(ahead, NOW).payable
    async with faucet_of(journal, clock, PAID) as (faucet, server):
        told = await faucet.pay(ahead)
        assert told == faucet_unpaid("NOT_FUNDED", "The order is not waiting for a deposit.")
        assert faucet_ways(journal, clock).refusal(ahead) == told.cause
        assert not server.requests


@pytest.mark.parametrize("name", LOST)
async def test_a_lost_answer_is_never_followed_by_a_second_payment(
    name: str, journal: Journal, clock: ManualClock, tmp_path: Path
) -> None:
    async with faucet_of(journal, clock, LOST[name], PAID) as (faucet, server):
        paid = await faucet.pay(UNPAID_ORDER)
        assert "Nothing was sent" not in paid.cause
        assert MAY_BE_PAID in paid.cause
        assert paid.open
        assert state_of(journal) is State.UNKNOWN
        # A second process, or this one after a restart.
        other = Journal.open(tmp_path / "journal.db", clock)
        again = await SandboxFaucet(faucet._control, clock, other.ledger).pay(UNPAID_ORDER)
        assert again == faucet_open("NOT_FUNDED", MAY_BE_PAID)
        other.close()
        assert len(server.requests) == 1


async def test_a_crash_between_sending_and_the_answer_forbids_a_second_payment(
    journal: Journal, clock: ManualClock
) -> None:
    begin_payment(journal.ledger, UNPAID_ORDER.service_id, "faucet", b"{}")
    async with faucet_of(journal, clock, PAID) as (faucet, server):
        assert await faucet.pay(UNPAID_ORDER) == faucet_open("NOT_FUNDED", MAY_BE_PAID)
        assert server.requests == []
        assert payment_of(journal.ledger, UNPAID_ORDER.service_id).left


@pytest.mark.parametrize(
    ("error", "left"),
    [
        (httpx2.ConnectError, False),
        (httpx2.ConnectTimeout, False),
        (httpx2.PoolTimeout, False),
        (httpx2.ReadTimeout, True),
        (httpx2.WriteError, True),
        (httpx2.ReadError, True),
    ],
)
async def test_only_what_found_no_connection_may_be_tried_again(
    error: type[httpx2.HTTPError], left: bool, journal: Journal, clock: ManualClock
) -> None:
    paid = await SandboxFaucet(refusing(error), clock, journal.ledger).pay(UNPAID_ORDER)
    assert paid.open is left
    assert paid.cause.startswith("Nothing was sent") is not left
    async with faucet_of(journal, clock, PAID) as (faucet, _):
        again = faucet_open("NOT_FUNDED", MAY_BE_PAID) if left else Outcome(hash="f" * 64)
        assert await faucet.pay(UNPAID_ORDER) == again


async def test_a_definite_refusal_frees_the_payment(journal: Journal, clock: ManualClock) -> None:
    refused = answer(422, {"code": "REFUSED", "message": "the faucet holds no such token"})
    async with faucet_of(journal, clock, refused, PAID) as (faucet, _):
        paid = await faucet.pay(UNPAID_ORDER)
        assert "the faucet holds no such token" in paid.cause
        assert faucet.refusal(UNPAID_ORDER) is None
        assert await faucet.pay(UNPAID_ORDER) == Outcome(hash="f" * 64)


async def test_without_a_journal_nothing_is_paid(journal: Journal, clock: ManualClock) -> None:
    journal.close()
    async with faucet_of(journal, clock, PAID) as (faucet, server):
        assert (await faucet.pay(UNPAID_ORDER)).refused
        assert server.requests == []


async def test_a_closed_control_sent_nothing() -> None:
    control = refusing(httpx2.ConnectError)
    await control.close()
    with pytest.raises(Unreachable):
        await control.deposit("a")


@pytest.mark.parametrize(
    ("seen", "settled"),
    [
        ({}, False),
        ({"status": 5, "display_status": "EXPIRED"}, False),
        ({"in_status": 2}, True),
        ({"status": 1, "display_status": "DEPOSIT_DETECTED"}, True),
        ({"status": 4, "display_status": "SWAP_COMPLETED"}, True),
    ],
)
def test_a_payment_that_was_killed_is_settled_by_the_order_that_has_it(
    journal: Journal, clock: ManualClock, seen: dict[str, object], settled: bool
) -> None:
    begin_payment(journal.ledger, UNPAID_ORDER.service_id, "faucet", b"{}")
    now = replace(UNPAID_ORDER, order=order(**seen))
    settle_payments(journal.ledger, {UNPAID_ORDER.service_id: now}.get)
    assert (not unanswered(journal.ledger)) is settled
    # It is never paid again, either way.
    paid = payment_of(journal.ledger, UNPAID_ORDER.service_id)
    assert paid.state is (State.DONE if settled else State.SENT)


def test_the_call_that_created_an_order_is_no_payment_of_it(journal: Journal) -> None:
    created = order()
    call = journal.ledger.begin("call", {"path": "/exchanges"}, state=State.SENT)
    journal.call_created(call.id, created, status=200)
    assert payment_of(journal.ledger, created.service_id) is None
    begin_payment(journal.ledger, created.service_id, "faucet", b"{}")
    (left,) = unanswered(journal.ledger)
    assert (left.kind, left.body["by"], left.subject) == ("deposit", "faucet", created.service_id)
