"""Deposits while they are paid from the wallet: new ones, and those left open.

The steps are check, sign, send, confirmed. The account that pays is found and filled first, and
what it lacks is said exactly. The journal and the wallet's records decide what became of a
payment.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec.structs import replace

from swapdesk.acts import State
from swapdesk.flows.catalog.catalog import coin_price
from swapdesk.flows.deposits.funding import LOOK, MAYBE, UNPAID, not_paid, payment_open
from swapdesk.flows.deposits.wallet_funding import WalletFunding, kind_of
from swapdesk.flows.dex.dex_swap import on_its_way, signed_away
from swapdesk.flows.dex.swap_account import NoSwapAccount, SwapAccount, find_account
from swapdesk.flows.failure_messages import IN_WALLET, NO_JOURNAL, Failure
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.payments import payment_of, unanswered
from swapdesk.flows.notation import exact_amount
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.signing.signing_session import (
    ON_ITS_WAY,
    RunningSignings,
    SigningKind,
    SigningSession,
    open_keys,
    promise_ended,
    transaction_brief,
)
from swapdesk.flows.transactions import Outcome, refused
from swapdesk.flows.wallet.wallet_words import MISSING, failure_of_wallet, sentence
from swapdesk.wallet.accounts import Account
from swapdesk.wallet.protocol import WalletError
from swapdesk.wire.encoding.numbers import ROUGH

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk

NOT_ENOUGH = "NOT_ENOUGH"
"""The wallet does not hold what is asked for, or cannot say so."""
ASK_AGAIN = "you: f on the card asks again"
FAUCET = "you: pay it from the faucet, with f on the card"
ELSEWHERE = "you: fill it, or pay from another"


def on_screen(outcome: Outcome, order_id: str, *, faucet: bool, unsigned: bool = False) -> Outcome:
    """The same in the words of the screens, whose keys act next. ``faucet``: the sandbox's pays
    what the wallet does not; ``unsigned``: the wallet was not asked to sign."""
    outcome = replace(outcome, order_id=order_id)
    if outcome.failure is None:
        return outcome
    reason = sentence(outcome.cause)
    if outcome.open:
        cause, money = f"The payment is not confirmed yet. {reason}", MAYBE
        if unsigned:
            cause, money = f"Nothing was signed. {reason}", UNPAID
        return replace(outcome, failure=Failure(cause, money, "you: r goes on with it"))
    money = outcome.failure.money
    match outcome.code:
        case "PAID_BEFORE":
            next_ = outcome.failure.next
        case "NOT_CONFIRMED" | "LOCKED" | "CHAIN_UNREACHABLE" | "READ_ONLY":
            money, next_ = UNPAID, ASK_AGAIN
        case "GATE":
            # What the wallet refuses to pay nobody else is asked to pay.
            reason = f"Your wallet refuses to sign this: {reason}"
            next_ = outcome.failure.next
        case "NOT_ENOUGH" | "WALLET_MISSING":
            money, next_ = UNPAID, FAUCET if faucet else ELSEWHERE
        case "NO_JOURNAL":
            money, next_ = UNPAID, LOOK
        case _:
            next_ = LOOK
    return replace(outcome, failure=Failure(reason, money, next_))


DepositSession = SigningSession[TrackedOrder]


def _intent(session: DepositSession) -> Intent:
    intent = session.about.intent
    assert intent is not None, "it was confirmed here"
    return intent


def _pays(session: DepositSession) -> tuple[Decimal, str]:
    """As the order asks for it."""
    asked = session.about.order.in_amount
    amount = _intent(session).amount_in if asked is None else asked
    return amount, f"order {session.about.short_id}"


def _lapse(session: DepositSession) -> str:
    expires = session.about.order.expires
    if session.token.kind == "sol" and expires is not None and expires > session.clock.now():
        return "it makes a newer one"
    return promise_ended(session)


def _whereabouts(session: DepositSession) -> str:
    signed = session.signed
    if signed is None or signed.state is State.REFUSED:
        return UNPAID if session.outcome is not None else IN_WALLET
    if signed.state is State.DONE:
        return f"at the deposit address, by transaction {signed.hash}"
    sent = transaction_brief(session) == ON_ITS_WAY
    return on_its_way(signed.hash) if sent else signed_away(signed.hash)


OTHER_DESK = "Another desk has the wallet: sign there, or close it."


def lack_of(found: SwapAccount, tracked: TrackedOrder, coin: str) -> str | None:
    """Why this account cannot pay the order, in sentences; None where nothing speaks against
    it. ``coin`` is the symbol of what gas is paid in. The review judges the gas itself."""
    intent, amount = tracked.intent, tracked.order.in_amount
    if intent is None or amount is None:
        return "The order does not say what is to be paid."
    token = intent.token_in
    gas = "gas" if token.kind == "evm" else "fee"
    symbol, chain, wallet = token.symbol, token.chain_name, f"Wallet {found.name}"
    asked = f"{exact_amount(amount)} {symbol}"
    if found.unread is not None:
        return f"{chain} could not be read: {found.unread}."
    if found.balance is None:
        return f"How much {symbol} wallet {found.name} has on {chain} could not be read."
    if found.balance < amount:
        short_of = f"{exact_amount(ROUGH.subtract(amount, found.balance))} {symbol}"
        return (
            f"{wallet} has {exact_amount(found.balance)} {symbol} on {chain} and is short of"
            f" {short_of}: the order asks for {asked}."
        )
    if token.contract is None and found.balance == amount:
        return f"{wallet} has exactly {asked} on {chain} and nothing more for {gas}."
    if not found.coin:
        return f"{wallet} has no {coin or 'coin'} on {chain} to pay the {gas} with."
    return None


_LACKING = frozenset({NOT_ENOUGH, MISSING})
"""Ends after which somebody else has to pay."""


async def _work(desk: Desk, session: DepositSession) -> Outcome | None:
    if not session.wallet:
        session.says("The desk asks the wallet for its account and what it holds.")
    outcome = await _tried(desk, session)
    if outcome is None:
        return None
    outcome = on_screen(
        outcome,
        session.id,
        faucet=desk.link.faucet is not None,
        unsigned=desk.deposit_ways.unsigned(session.about),
    )
    if outcome.refused and outcome.code in _LACKING:
        desk.deposit_ways.lacks(session.id, outcome.cause)
    return outcome


async def _tried(desk: Desk, session: DepositSession) -> Outcome | None:
    try:
        return await _paid(desk, session)
    except JournalUnavailable:
        return refused("NO_JOURNAL", NO_JOURNAL)
    except NoSwapAccount as error:
        return not_paid(NOT_ENOUGH, str(error))
    except WalletError as error:
        # It did not answer, or said no before anything was signed.
        failure = failure_of_wallet(error)
        if desk.deposit_ways.payment(session.id) is not None:
            return payment_open(failure.code, failure.cause)
        return not_paid(failure.code, failure.cause)


async def _paid(desk: Desk, session: DepositSession) -> Outcome | None:
    tracked = session.about = desk.link.tracker.get(session.id) or session.about
    accounts = await desk.wallet.accounts()
    if accounts.read_only and not session.asked:
        return None
    account: Account | Outcome | None
    if payment_of(desk.journal.ledger, session.id) is not None:
        account = accounts.first(kind_of(tracked))
        if account is None:
            return not_paid(NOT_ENOUGH, "This wallet has no account of the chain.")
        session.says("", wallet=account.name or account.address)
    else:
        account = await _looked_into(desk, session)
        if isinstance(account, Outcome):
            return account
    funding = WalletFunding(
        await desk.wallet.client(),
        desk.journal,
        desk.clock,
        session.look,
        desk.link.tracker.get,
        watch=session,
        service_clock=desk.service_clock,
    )
    if (paid := await funding.paid_before(tracked)) is not None:
        return paid
    if not await funding.kept(tracked):
        await open_keys(desk.wallet, account.address, session)
    price = coin_price(desk.catalog, _intent(session).token_in.chain)
    return await funding.fund(tracked, account, price)


async def _looked_into(desk: Desk, session: DepositSession) -> Account | Outcome:
    """The account that pays, or what it lacks."""
    token = desk.catalog.token(_intent(session).token_in.id)
    if token is None:
        return not_paid(NOT_ENOUGH, "The token of the order is not in the desk's list.")
    found: SwapAccount | None = None
    async for found in find_account(desk, token, token):
        fills = f"The faucet sends {token.symbol} to wallet {found.name}." if found.filling else ""
        session.says(fills, wallet=found.name)
    assert found is not None  # it yields once, or raises
    if found.read_only:
        return not_paid("READ_ONLY", OTHER_DESK)
    lack = lack_of(found, session.about, session.coin)
    return found.account if lack is None else not_paid(NOT_ENOUGH, lack)


DEPOSIT = SigningKind[TrackedOrder](
    noun="payment",
    promise="order",
    expired="NOT_PAYABLE",
    done="The deposit is paid. The venue acts next.",
    work=_work,
    pays=_pays,
    whereabouts=_whereabouts,
    order_id=lambda session: session.id,
    lapse=_lapse,
    arrived="at the deposit address",
    rank=1,
)


def begin_deposit(
    running: RunningSignings, tracked: TrackedOrder, *, asked: bool = True
) -> DepositSession:
    """The session of a payment that was asked for, or that an earlier run left open. ValueError for
    an order that was not confirmed here."""
    intent = tracked.intent
    if intent is None:
        raise ValueError("the order was not confirmed at this desk")
    return running.begin(
        DEPOSIT,
        tracked.service_id,
        tracked,
        intent.token_in,
        provider=(intent.provider, intent.provider_name),
        asked=asked,
        notice="is paid. Next: the venue counts confirmations.",
    )


def deposits_left_open(running: RunningSignings) -> list[DepositSession]:
    """Sessions for payments that the journal has open and nobody here works on. Raises
    JournalUnavailable."""
    found = []
    for act in unanswered(running.desk.journal.ledger):
        by_wallet = act.body.get("by") == "wallet"
        if not by_wallet or act.subject is None or running.get(act.subject):
            continue
        tracked = running.desk.link.tracker.get(act.subject)
        if tracked is not None and tracked.intent is not None:
            found.append(begin_deposit(running, tracked, asked=False))
    return found
