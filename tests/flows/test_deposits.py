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
from swapdesk.flows.failure_messages import Failure
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
from swapdesk.wallet.transactions import TransactionState
from swapdesk.wire.orders import DisplayStatus

WAITING = TrackedOrder(
    order=order(expires=NOW + timedelta(minutes=10)),
    intent=None,
    withheld=None,
    ended=False,
    seen_at=NOW,
    source="create",
)


def test_until_it_is_sent_you_send_it_within_the_deadline() -> None:
    money = deposit_money(WAITING, NOW, sent=False)
    assert (money.where, money.urgent) == ("in your wallet.", False)
    assert money.next == "you: send the deposit within 10:00"
    assert deposit_money(WAITING, NOW + timedelta(minutes=9), sent=False).urgent


def test_once_it_left_it_is_on_its_way_and_nothing_is_asked_of_you() -> None:
    for now in (NOW, NOW + timedelta(minutes=11)):
        money = deposit_money(WAITING, now, sent=True)
        assert "on its way to" in money.where
        assert money.next == "the chain: it confirms the deposit"
        assert not money.urgent


def test_what_the_service_says_later_stands() -> None:
    done = WAITING.order.model_copy(update={"display_status": DisplayStatus.SWAP_COMPLETED.value})
    money = deposit_money(replace(WAITING, order=done, ended=True), NOW, sent=True)
    assert money.next == "nobody: nothing is left to do"


def test_a_hidden_or_expired_address_is_not_to_be_paid() -> None:
    hidden = deposit_money(replace(WAITING, withheld="It differs."), NOW, sent=False)
    assert hidden.next == "you: read why the address is hidden"
    over = deposit_money(WAITING, NOW + timedelta(minutes=11), sent=False)
    assert over.next == "nobody: do not send to its address any more"


def test_an_address_is_drawn_until_its_deadline_and_no_longer() -> None:
    last = WAITING.order.expires - timedelta(milliseconds=1)
    assert deposit_phase(WAITING, last) is DepositPhase.WAITING
    assert deposit_phase(WAITING, WAITING.order.expires) is DepositPhase.EXPIRED
    hidden = replace(WAITING, withheld="It differs.", standing=DepositRelease.DIFFERS)
    assert deposit_phase(hidden, last) is DepositPhase.HIDDEN


@pytest.mark.parametrize(
    ("address", "said"),
    [
        (None, "the service: it sets up the deposit address"),
        (WAITING.order.deposit_address, "the service: it repeats the order"),
    ],
)
def test_until_the_service_gave_and_repeated_the_address_the_service_acts(
    address: str | None, said: str
) -> None:
    new = WAITING.order.model_copy(update={"deposit_address": address})
    one = replace(WAITING, order=new, withheld="Not yet.", standing=DepositRelease.UNREPEATED)
    money = deposit_money(one, NOW, sent=False)
    assert money.where == "in your wallet."
    assert money.next.startswith(said)
    over = deposit_money(one, NOW + timedelta(minutes=11), sent=False)
    assert over.next == "nobody: do not send to its address any more"
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


def test_a_memo_that_no_transfer_carries_is_not_left_out() -> None:
    promise = deposit_promise(waiting(deposit_tag="70417"), account(Kind.EVM, TRADING), None)
    with pytest.raises(NotPayable, match="memo"):
        deposit_payload(promise)


@pytest.mark.parametrize(
    "change",
    [
        {"deposit_address": None},
        {"deposit_address": "0x1234"},
        {"in_amount": None},
        {"in_amount": Decimal("0.0000001")},
        {"expires": None},
    ],
)
def test_an_order_that_does_not_say_all_of_it_is_not_paid(change: dict[str, Any]) -> None:
    with pytest.raises(NotPayable):
        deposit_promise(waiting(**change), account(Kind.EVM, TRADING), None)


def test_an_order_of_somebody_else_is_not_paid() -> None:
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
    ("outcome", "steps"),
    [
        (not_paid("NOT_ENOUGH", "No."), "x check  o sign  o send  o confirmed"),
        (payment_open("AGENT_GONE", "gone"), "~ check  o sign  o send  o confirmed"),
    ],
)
def test_an_end_marks_the_step_it_ended_at(
    session: DepositSigning, outcome: Outcome, steps: str
) -> None:
    session.finish(outcome)
    assert steps_of(session) == steps
    assert session.over is outcome.refused


def test_what_is_not_there_is_offered_by_the_faucet(session: DepositSigning) -> None:
    session.finish(not_paid("NOT_ENOUGH", "Wallet trading has nothing"))
    assert session.outcome.failure == Failure("Wallet trading has nothing.", UNPAID, FAUCET)


def test_a_refused_payment_failed_its_check(session: DepositSigning) -> None:
    session.reviewed(PAYLOAD, refused_deposit())
    session.finish(not_paid("GATE", "It does not pay the order's deposit address."))
    assert steps_of(session) == "x check  o sign  o send  o confirmed"
    failure = session.outcome.failure
    assert failure.cause.startswith("Your wallet refuses to sign this: It does not pay")
    assert (failure.money, failure.next) == (UNPAID, LOOK)


def test_what_was_executed_and_failed_cost_gas(session: DepositSigning) -> None:
    session.seen(signed(TransactionState.FAILED))
    session.finish(not_paid("FAILED", "The transaction failed.", HASH))
    assert steps_of(session) == "+ check  + sign  + send  x confirmed 0 of 2"
    failure = session.outcome.failure
    assert failure.money == "in your wallet, but for the gas it cost"


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


def test_an_order_of_nobody_here_has_no_session(clock: ManualClock) -> None:
    foreign = replace(waiting(), intent=None)
    with pytest.raises(ValueError, match="not confirmed"):
        DepositSigning(foreign, clock, lambda: None, asked=True)


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


def test_a_payment_that_was_begun_is_not_asked_for_by_hand(clock: ManualClock) -> None:
    money = deposit_money(waiting(), clock.now(), sent=False, begun=True)
    assert money.next == "you: f opens the payment; do not pay it by hand"
    assert "or on its way" in money.where


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
