"""What is shown of a deposit while it is paid from the wallet, who can pay, and what is said."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest
from msgspec.structs import replace

from flows.deposits import (
    HASH,
    PAYLOAD,
    deposit_review,
    refused_deposit,
    signed,
    waiting,
)
from flows.orders import NOW, order
from flows.signing import steps_of
from swapdesk.client.sandbox_control import SandboxControl
from swapdesk.clock import ManualClock
from swapdesk.flows.deposits.deposit_phase import deposit_money
from swapdesk.flows.deposits.deposit_signing import FAUCET, LOOK, UNPAID, DepositSigning, lack_of
from swapdesk.flows.deposits.deposit_ways import DepositWays, PayBy
from swapdesk.flows.deposits.funding import MAY_BE_PAID, SENT_BEFORE, SandboxFaucet
from swapdesk.flows.deposits.wallet_funding import not_paid, payment_open
from swapdesk.flows.dex.swap_account import SwapAccount
from swapdesk.flows.failure_messages import Failure
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.outgoing_writes import WALLET_PAYMENT
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.signing.signing_session import Stage
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.flows.transactions.transactor import NotAgreed
from swapdesk.secret import Secret
from swapdesk.wallet.accounts import Account, ChainLink, KeyOrigin, Kind
from swapdesk.wallet.transactions import TransactionState

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
