"""The deposit of an order: where it is, what is promised and shown of it while the wallet pays, who
can pay, and what is said."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from flows.deposits import (
    HASH,
    PAYLOAD,
    PLACE,
    deposit_review,
    refused_deposit,
    signed,
    waiting,
)
from flows.orders import NOW, intent, order
from flows.signing import TRADING, steps_of
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.client.sandbox_control import SandboxControl
from swapdesk.clock import ManualClock
from swapdesk.flows.deposits.deposit_phase import DepositPhase, deposit_money, deposit_phase
from swapdesk.flows.deposits.deposit_signing import FAUCET, LOOK, UNPAID, DepositSigning, lack_of
from swapdesk.flows.deposits.deposit_ways import DepositWays, PayBy
from swapdesk.flows.deposits.funding import MAY_BE_PAID, SENT_BEFORE, SandboxFaucet
from swapdesk.flows.deposits.wallet_funding import (
    NotPayable,
    check_payable,
    deposit_payload,
    deposit_promise,
    not_paid,
    payment_open,
)
from swapdesk.flows.dex.swap_account import SwapAccount
from swapdesk.flows.intents.intent import DepositRelease, TokenFacts
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.outgoing_writes import WALLET_PAYMENT
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.signing.signing_session import Stage
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.flows.transactions.transactor import NotAgreed
from swapdesk.secret import Secret
from swapdesk.wallet.accounts import Account, ChainLink, KeyOrigin, Kind
from swapdesk.wallet.promise import DepositPromise
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import SignedTransaction, TransactionState
from swapdesk.wire.orders import DisplayStatus

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
AT_HOME, MOVING = "in your wallet.", "on its way to Halyard."
CONFIRMS = "the chain: it confirms the deposit"
OVER = "nobody: do not send to its address any more"


@pytest.mark.parametrize(
    ("tracked", "minutes", "left", "where", "next_"),
    [
        (WAITING, 0, "", AT_HOME, "you: send the deposit within 10:00"),
        (WAITING, 9, "", AT_HOME, "you: send the deposit within 1:00"),
        (WAITING, 11, "", AT_HOME, OVER),
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
        (DIFFERS, 0, "", AT_HOME, "you: read why the address is hidden"),
        # Until the service gave and repeated the address, the service acts.
        (
            UNREPEATED,
            0,
            "",
            AT_HOME,
            "the service: it repeats the order, then the address is shown",
        ),
        (UNREPEATED, 11, "", AT_HOME, OVER),
        (
            replace(UNREPEATED, order=UNPLACED),
            0,
            "",
            AT_HOME,
            "the service: it sets up the deposit address",
        ),
        (replace(UNREPEATED, order=UNPLACED), 11, "", AT_HOME, OVER),
    ],
)
def test_where_the_money_of_a_deposit_is_and_who_acts(
    tracked: TrackedOrder, minutes: int, left: str, where: str, next_: str
) -> None:
    now = NOW + timedelta(minutes=minutes)
    money = deposit_money(tracked, now, sent=left == "sent", begun=left == "begun")
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


SOL = TokenFacts("6689b73ec90e45f3b3e51790", "SOL", "solana", "Solana", "sol", None, 9)
SOLANA_TRADER = derive_address("sol", b"t" * 32)
VENUE = derive_address("sol", b"v" * 32)


def account(kind: Kind, address: str) -> Account:
    return Account(address, kind, "trading", "sandbox", KeyOrigin.CREATED, None, NOW)


def on_solana(**changes: Any) -> TrackedOrder:
    """2.5 SOL for ether, at an exchange whose deposits carry a memo."""
    confirmed = intent(token_in=SOL, amount_in=Decimal("2.5"))
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


@pytest.mark.parametrize(
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
    with pytest.raises(NotPayable, match="memo" if "deposit_tag" in change else None):
        deposit_payload(deposit_promise(waiting(**change), account(Kind.EVM, TRADING), None))


def test_an_order_of_somebody_else_is_not_paid(clock: ManualClock) -> None:
    with pytest.raises(ValueError, match="not confirmed"):
        DepositSigning(replace(waiting(), intent=None), clock, lambda: None, asked=True)
    with pytest.raises(NotPayable, match="not confirmed at this desk"):
        deposit_promise(replace(waiting(), intent=None), account(Kind.EVM, TRADING), None)


NODE = ChainLink("ethereum", Kind.EVM, 1_337_000_001, "http://127.0.0.1:9", 2)
SOLANA = ChainLink("solana", Kind.SOLANA, None, "http://127.0.0.1:9", 1)


@pytest.fixture
def session(clock: ManualClock) -> DepositSigning:
    return DepositSigning(
        waiting(), clock, lambda: None, asked=True, faucet=True, coin="ETH", confirmations=2
    )


def test_the_steps_of_a_payment(session: DepositSigning) -> None:
    assert steps_of(session) == "~ check  o sign  o send  o confirmed"
    session.account("trading", filling="USDC")
    assert session.doing == "The faucet sends USDC to wallet trading."
    session.account("trading")
    session.reviewed(PAYLOAD, deposit_review())
    assert steps_of(session) == "+ check  ~ sign  o send  o confirmed"
    assert session.whereabouts == "in your wallet"
    session.signing(deposit_review())
    assert session.doing == "The wallet looks once more, and signs."
    session.seen(signed(TransactionState.SIGNED))
    assert steps_of(session) == "+ check  + sign  ~ send  o confirmed"
    assert session.doing == "Signed and written down. The desk sends it."
    assert HASH in session.whereabouts
    session.seen(signed(TransactionState.SENT))
    assert steps_of(session) == "+ check  + sign  + send  ~ confirmed 0 of 2"
    session.seen(signed(TransactionState.MINED, 1))
    assert steps_of(session) == "+ check  + sign  + send  ~ confirmed 1 of 2"
    assert session.doing == "Executed on Ethereum, 1 of 2 confirmations."
    session.seen(signed(TransactionState.SUCCEEDED, 2))
    session.finish(Outcome(hash=HASH))
    assert steps_of(session) == "+ check  + sign  + send  + confirmed"
    assert session.stage is Stage.ENDED
    assert session.whereabouts == f"at the deposit address, by transaction {HASH}"


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
            signed(TransactionState.FAILED),
            not_paid("FAILED", "The transaction failed.", HASH),
            "+ check  + sign  + send  x confirmed 0 of 2",
            ("The transaction failed", "in your wallet, but for the gas it cost", ""),
        ),
    ],
)
def test_an_end_marks_the_step_it_ended_at_and_says_where_the_money_is(
    session: DepositSigning,
    before: Review | SignedTransaction | None,
    outcome: Outcome,
    steps: str,
    failure: tuple[str, str, str],
) -> None:
    if isinstance(before, Review):
        session.reviewed(PAYLOAD, before)
    elif before is not None:
        session.seen(before)
    session.finish(outcome)
    assert steps_of(session) == steps
    assert session.over is outcome.refused
    told = session.outcome.failure
    assert (told.cause.startswith(failure[0]), told.money) == (True, failure[1]), told
    assert told.next.startswith(failure[2])


async def test_an_order_that_ends_takes_the_question_back(
    session: DepositSigning, clock: ManualClock
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
    tap = SandboxFaucet(control, clock, journal.calls) if faucet else None
    return DepositWays(lambda: nodes, lambda: tap, clock, journal.calls, live=not faucet)


def test_the_wallet_pays_where_a_node_is_known(journal: Journal, clock: ManualClock) -> None:
    one = waiting()
    assert ways(journal, clock, NODE, SOLANA).of(one) is PayBy.WALLET
    assert not ways(journal, clock, NODE).simulated(one)
    assert ways(journal, clock, SOLANA).of(one) is PayBy.FAUCET
    assert ways(journal, clock).simulated(one)
    live = ways(journal, clock, faucet=False)
    assert live.of(one) is None
    assert live.missing(one) == "no node of Ethereum is configured"
    assert not live.simulated(one)


def test_what_the_wallet_lacks_is_paid_by_the_faucet_where_there_is_one(
    journal: Journal, clock: ManualClock
) -> None:
    one = waiting()
    sandbox, live = ways(journal, clock, NODE), ways(journal, clock, NODE, faucet=False)
    for here in (sandbox, live):
        here.lacks(one.service_id, "Wallet trading has nothing.")
    assert sandbox.of(one) is PayBy.FAUCET
    assert live.of(one) is PayBy.WALLET


def test_nobody_pays_twice(journal: Journal, clock: ManualClock) -> None:
    one, here = waiting(), ways(journal, clock, NODE)
    assert here.refusal(one) is None
    call = journal.calls.add_payment(one.service_id, b"{}", path=WALLET_PAYMENT)
    assert here.under_way(one)
    assert here.refusal(one) is None, "the same payment goes on"
    journal.calls.mark_done(call, status=200, request_id=None)
    assert not here.under_way(one)
    assert here.paid(one)
    assert here.refusal(one) == SENT_BEFORE
    other = waiting(service_id="r3Tz9W8mLqKjHgFdSaPoIu")
    journal.calls.add_payment(other.service_id, b"{}")
    assert not here.under_way(other)
    assert here.refusal(other) == MAY_BE_PAID


# What it lacks

TRADER = Account("0x" + "7" * 40, Kind.EVM, "trading", "sandbox", KeyOrigin.CREATED, None, NOW)
HELD = SwapAccount(
    TRADER, TRADER, (TRADER,), read_only=False, balance=Decimal(2000), coin=Decimal(1)
)


def test_what_is_missing_is_said_exactly() -> None:
    usdc = waiting()
    coins = in_coins()

    def said(tracked: TrackedOrder = usdc, **changes: object) -> str | None:
        return lack_of(replace(HELD, **changes), tracked, "ETH")  # type: ignore[arg-type]

    assert said() is None
    assert said(balance=Decimal(1000)) is None
    assert said(balance=Decimal("999.5")) == (
        "Wallet trading has 999.5 USDC on Ethereum and is short of 0.5 USDC:"
        " the order asks for 1,000 USDC."
    )
    assert said(coin=Decimal(0)) == "Wallet trading has no ETH on Ethereum to pay the gas with."
    unread = said(unread="it does not answer", balance=None)
    assert unread == "Ethereum could not be read: it does not answer."
    assert said(balance=None) == "How much USDC wallet trading has on Ethereum could not be read."
    assert said(coins) is None
    assert said(coins, balance=Decimal(1000)) == (
        "Wallet trading has exactly 1,000 ETH on Ethereum and nothing more for gas."
    )


def in_coins() -> TrackedOrder:
    """The same order in the chain's coin."""
    one = waiting()
    token = replace(one.intent.token_in, symbol="ETH", contract=None, decimals=18)
    confirmed = replace(one.intent, token_in=token)
    return replace(one, intent=confirmed, order=order(confirmed))
