"""One deposit from the wallet: the order as it stands, the review, the payment, and its end."""

from __future__ import annotations

from decimal import Decimal

from msgspec import Struct

from swapdesk.cli.command_error import CommandError
from swapdesk.cli.consent import consent
from swapdesk.cli.exit_codes import Exit
from swapdesk.cli.order_document import OrderDocument, order_document
from swapdesk.cli.order_reports import find_order
from swapdesk.cli.session import CommandSession
from swapdesk.cli.wallet_session import account_on, make_ready, unlock
from swapdesk.flows.catalog.catalog import coin_price
from swapdesk.flows.deposits.wallet_funding import MAYBE, PAID, PAID_BEFORE, WalletFunding, kind_of
from swapdesk.flows.notation import exact_amount
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.transactions.outcome import SAME_AGAIN, Outcome
from swapdesk.flows.transactions.transactor import Agreed
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.wallet.accounts import Account
from swapdesk.wallet.review import Review

HOME = "in your wallet"


class FundingDocument(Struct, frozen=True, rename="camel"):
    """The deposit of an order, paid by ``account``."""

    service_id: str
    account: str
    hash: str | None
    amount: Decimal | None
    deposit_address: str | None
    money: str
    next: str
    order: OrderDocument


async def fund_order(session: CommandSession, order: str, account: str | None, yes: bool) -> None:
    """Pay from ``account``, by name or address, else from the first of the chain, and print. Raises
    CommandError."""
    await session.load_catalog()
    await session.settle()
    tracked = await find_order(session, order)
    await make_ready(session)
    payer = await _account(session.desk.wallet, tracked, account)
    funding = await _funding(session, yes=yes)
    if (paid := await funding.paid_before(tracked)) is not None:
        raise _not_paid(paid)
    await unlock(session)
    chain = tracked.intent.token_in.chain if tracked.intent is not None else ""
    outcome = await funding.fund(tracked, payer, coin_price(session.desk.catalog, chain))
    if outcome.refused:
        raise _not_paid(outcome)
    if outcome.open:
        hash_ = f" Transaction {outcome.hash}." if outcome.hash else ""
        raise CommandError(
            Exit.UNKNOWN,
            outcome.code,
            f"The payment is not confirmed yet. {outcome.cause}{hash_}",
            money=MAYBE,
            next=SAME_AGAIN,
        )
    _tell(session, tracked, payer, outcome)


async def _funding(session: CommandSession, *, yes: bool) -> WalletFunding:
    desk, output = session.desk, session.call.output

    async def look(review: Review) -> Agreed | None:
        return consent(output, review, yes=yes)

    return WalletFunding(
        await desk.wallet.client(),
        desk.journal,
        desk.clock,
        look,
        session.link.tracker.get,
        service_clock=desk.service_clock,
    )


async def _account(wallet: LocalWallet, tracked: TrackedOrder, named: str | None) -> Account:
    """The one that was named, else the first of the chain that is paid on."""
    kind = kind_of(tracked)
    if kind is None:
        chain = "its chain" if tracked.intent is None else tracked.intent.token_in.chain_name
        said = f"This wallet has no accounts of {chain}."
        if tracked.intent is None:
            said = "The order was not created at this desk, so nothing is known to pay for it."
        # Chains that the sandbox does not run are kept in its ledger, where no wallet has keys.
        faucet = "; the sandbox's faucet pays it by f on the deposit card"
        raise CommandError(
            Exit.OWN_REFUSAL,
            "NOT_PAYABLE",
            said,
            money=HOME,
            next=f"you: send it from a wallet of that chain{'' if wallet.live else faucet}",
        )
    accounts = await wallet.accounts()
    chain = tracked.intent.token_in.chain_name if tracked.intent is not None else "its chain"
    return account_on(accounts, kind, chain, named, field="wallet")


def _not_paid(outcome: Outcome) -> CommandError:
    end = Exit.INTERRUPTED if outcome.code == "NOT_CONFIRMED" else Exit.OWN_REFUSAL
    if outcome.code == PAID_BEFORE:
        hash_ = f" Transaction {outcome.hash}." if outcome.hash else ""
        return CommandError(
            end,
            outcome.code,
            f"{outcome.cause}{hash_}",
            money=PAID,
            next="the venue; swapdesk orders show tells how it stands",
        )
    gas = "; gas was paid" if outcome.hash else ""
    return CommandError(
        end,
        outcome.code,
        f"Nothing was paid. {outcome.cause}",
        money=f"{HOME}{gas}",
        next="you: look at the order with swapdesk orders show",
    )


def _tell(
    session: CommandSession, tracked: TrackedOrder, account: Account, outcome: Outcome
) -> None:
    output, order = session.call.output, tracked.order
    made = session.desk.journal.transactions.of(tracked.service_id)
    known = session.link.tracker.get(tracked.service_id) or tracked
    symbol = tracked.symbols[0]
    paid = "" if order.in_amount is None else f"{exact_amount(order.in_amount)} {symbol}"
    output.facts(
        [
            ("Order", tracked.service_id),
            ("Paid", paid),
            ("From", f"{account.name} {account.address}"),
            ("Transaction", outcome.hash or ""),
        ],
        document=FundingDocument(
            service_id=tracked.service_id,
            account=account.address,
            hash=outcome.hash,
            amount=order.in_amount,
            deposit_address=order.deposit_address,
            money="on its way to the venue; it counts confirmations",
            next="the venue",
            order=order_document(known, session.desk.service_clock.now(), made),
        ),
    )
    if not output.json:
        output.talk(f"Watch it: swapdesk orders watch {tracked.service_id}")
