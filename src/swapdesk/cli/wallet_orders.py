"""Orders that the wallet pays: a swap on chains, from its quote through what is signed, and the
deposit of an order that exists.

``--dry-run``, and ``sign``, print the unsigned payloads and the gate's verdict.
"""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.cli.command_error import (
    NOT_CREATED,
    CommandError,
    Exit,
    bad_input,
    exit_of_refused_create,
    own_refusal,
)
from swapdesk.cli.creation import Creation
from swapdesk.cli.order_reports import OrderDocument, find_order, order_document
from swapdesk.cli.quote_options import CreateRequest
from swapdesk.cli.quotes import find_token
from swapdesk.cli.session import CommandSession
from swapdesk.cli.wallet_session import account_on, consent, make_ready, review_text, unlock
from swapdesk.flows.catalog.catalog import coin_price
from swapdesk.flows.check_line import CheckLine
from swapdesk.flows.creation.confirm_intent import Checked
from swapdesk.flows.creation.creates import open_swaps
from swapdesk.flows.deposits.funding import MAYBE
from swapdesk.flows.deposits.wallet_funding import PAID, PAID_BEFORE, WalletFunding, kind_of
from swapdesk.flows.dex.dex_plan import promise_of
from swapdesk.flows.dex.dex_swap import DexSwapFlow, DryRun, DryStep, dry_run
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.notation import exact_amount
from swapdesk.flows.orders.order_merge import display_of
from swapdesk.flows.orders.told_transaction import NotThisSwap
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.tracking.open_business import intent_words
from swapdesk.flows.transactions import SAME_AGAIN, Agreed, Outcome
from swapdesk.flows.wallet.chain_links import KINDS, no_node
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.wallet.accounts import Account
from swapdesk.wallet.answers import Review
from swapdesk.wallet.promise import Promise
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.orders import Order
from swapdesk.wire.tokens import Token


class SwappedDocument(Struct, frozen=True):
    """A swap on chains that was made. ``signed`` are the titles of what was signed, ``hash`` is
    None where the venue settles it."""

    PRINTED: ClassVar = {
        "serviceId": "order.service_id", "intentId": "intent.id",
        "displayStatus": "display_status", "provider": "intent.provider",
        "account": "promise.account", "recipient": "intent.recipient", "hash": "hash",
        "signed": "signed", "leastOut": "promise.least", "money": "money", "next": "next",
        "order": "order",
    }  # fmt: skip
    next: ClassVar[str] = "the venue"

    intent: Intent
    promise: Promise
    order: Order
    display_status: str | None
    hash: str | None
    signed: list[str]

    @property
    def money(self) -> str:
        venue, promise = self.intent.provider_name or self.intent.provider, self.promise
        return f"with {venue}; at least {promise.least:f} {promise.buy.symbol} arrives"


class DexCreation(Creation):
    """One swap of the profile's wallet, and before it those that an earlier run left open."""

    def __init__(self, session: CommandSession, request: CreateRequest) -> None:
        super().__init__(session, request)
        self._signed: list[str] = []

    async def run(self) -> int:
        """Swap and print, or with ``--dry-run`` print what would be signed. Raises CommandError."""
        await self._session.load_catalog()
        await self._session.settle()
        await make_ready(self._session)
        token_in = find_token(self._request.sell, self._desk, field="from")
        if self._request.dry_run:
            return await self._print_dry_run(await self._account(token_in), token_in)
        if self._desk.wallet.link(token_in.chain_data.short_name) is None:
            # Before the pass phrase, which could not help.
            said = no_node(self._session.settings, token_in.chain_data)
            raise bad_input("NO_NODES", f"{said[:1].upper()}{said[1:]}.", field="rpc")
        account = await self._account(token_in)
        await unlock(self._session)
        link = self._session.link
        flow = DexSwapFlow(
            link.api,
            link.exchange,
            self._desk.journal,
            self._desk.clock,
            await self._desk.wallet.client(),
            self._look,
        )
        await self._take_on(flow)
        intent, checks, warned = await self._of_account(account, token_in)
        self._confirm(intent, checks, warned)
        outcome = await flow.swap(intent)
        if not outcome.done:
            raise _not_swapped(outcome)
        assert outcome.order is not None  # of a swap that is done
        link.tracker.adopt(outcome.order.service_id)
        self._tell(intent, outcome.order, outcome.hash)
        return Exit.DONE

    async def _account(self, token_in: Token) -> Account:
        """The one that was named, else the first of the chain of the token that is sold."""
        chain = token_in.chain_data
        kind = KINDS.get(chain.kind)
        if kind is None:
            message = f"This wallet has no accounts of {chain.name}."
            raise bad_input("NO_SUCH_CHAIN", message, field="from")
        accounts = await self._desk.wallet.accounts()
        return account_on(accounts, kind, chain.name, self._request.account, field="account")

    async def _of_account(
        self, account: Account, token_in: Token
    ) -> tuple[Intent, Checked, list[CheckLine]]:
        """What ``account`` swaps; it is paid itself where nobody else is named."""
        to = self._request.to or account.address
        request = replace(self._request, to=to, sender=account.address)
        return await self._chosen(request, token_in)

    async def _take_on(self, flow: DexSwapFlow) -> None:
        """Nothing new is swapped before what was left open is settled or told."""
        for intent in open_swaps(self._desk.journal.ledger):
            self._output.talk(f"An earlier swap is open: {intent_words(intent)}.")
            outcome = await flow.take_on(intent)
            if outcome is None:
                self._output.talk("Another desk that runs now looks after it.")
            elif outcome.done:
                self._output.talk(f"It went on: order {outcome.order_id}.")
            elif (said := outcome.failure) is not None:
                self._output.talk(f"{said.cause} Money: {said.money}. Next {said.next}.")

    async def _look(self, review: Review) -> Agreed | None:
        """With ``--yes`` what needs no typed phrase is signed; else a person reads it."""
        agreed = consent(self._output, review, yes=self._request.yes)
        if agreed is not None:
            self._signed.append(review.title)
        return agreed

    def _tell(self, intent: Intent, order: Order, hash_: str | None) -> None:
        promise = promise_of(intent)
        self._output.facts(
            [
                ("Order", order.service_id),
                ("Transaction", hash_ or "none: the venue settles it"),
                ("Arrives", f"at least {promise.least:f} {promise.buy.symbol}"),
            ],
            document=SwappedDocument(
                intent, promise, order, display_of(order), hash_, self._signed
            ),
        )
        if not self._output.json:
            self._output.talk(f"Watch it: swapdesk orders watch {order.service_id}")

    async def _print_dry_run(self, account: Account, token_in: Token) -> int:
        """Everything a swap does before its first signature, and nothing of what comes with it.
        Exit 9 when the gate refuses what would be signed."""
        intent, _, _ = await self._of_account(account, token_in)
        try:
            told = await dry_run(self._session.link.api, await self._desk.wallet.client(), intent)
        except NotThisSwap as other:
            raise own_refusal(other.code, f"What would be signed is refused: {other}.") from None
        if self._request.quote_id is None:
            told = replace(told, asked=("GET /quotes", *told.asked))
        if self._output.json:
            self._output.document(told)
        else:
            self._say(told)
        return Exit.OWN_REFUSAL if told.refused else Exit.DONE

    def _say(self, told: DryRun) -> None:
        intent, promise = told.intent, told.promise
        rows = [
            ("Quote", f"{intent.quote_id}, {intent.provider_name or intent.provider}"),
            ("You sell", f"{intent.amount_in:f} {promise.sell.symbol} on {promise.chain}"),
            ("You get", f"at least {promise.least:f} {promise.buy.symbol} on {promise.chain_out}"),
            ("Account", promise.account),
            ("Recipient", promise.recipient),
        ]
        self._output.facts(rows)
        if not told.steps:
            self._output.say("Nothing has to be approved or signed before the order.")
        for place, step in enumerate(told.steps, 1):
            self._output.say(f"Step {place}: {step.name}", *_payload_text(step))
            if step.review is not None:
                self._output.say(*review_text(step.review), _verdict(step.review))
            else:
                self._output.say(f"Not judged. {step.unjudged}")
        self._output.say(*(f"Not known: {one}" for one in told.unknown))
        self._output.talk(f"Asked of the service: {', '.join(told.asked) or 'nothing'}.")
        self._output.talk(f"The money is {told.money}.")


def _not_swapped(outcome: Outcome) -> CommandError:
    end, failure = Exit.OWN_REFUSAL, outcome.failure
    assert failure is not None  # of what is not done
    if outcome.open:
        end = Exit.UNKNOWN
    elif outcome.code == "NOT_CONFIRMED":
        end = Exit.INTERRUPTED
    elif outcome.error is not None or outcome.code in NOT_CREATED:
        end = exit_of_refused_create(outcome.code, outcome.error)
    order = f" Order {outcome.order_id}." if outcome.order_id else ""
    return CommandError(
        end,
        outcome.code,
        f"{failure.cause}{order}",
        failure.money,
        failure.next,
        getattr(outcome.error, "status", None),
        getattr(outcome.error, "request_id", None),
    )


def _verdict(review: Review) -> str:
    if review.refused:
        return "Refused: this would not be signed."
    if review.phrase is not None:
        return f'It would be signed after "{review.phrase}" is typed.'
    return "It would be signed after a yes."


def _payload_text(step: DryStep) -> list[str]:
    payload = step.payload
    if not isinstance(payload.data, str):
        return [encode_json(payload.data).decode()]
    return [f"to {payload.to}", f"value {payload.value}", f"data {payload.data}"]


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
    desk, output = session.desk, session.call.output

    async def look(review: Review) -> Agreed | None:
        return consent(output, review, yes=yes)

    funding = WalletFunding(
        await desk.wallet.client(),
        desk.journal,
        desk.clock,
        look,
        session.link.tracker.get,
        service_clock=desk.service_clock,
    )
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
    made = session.desk.journal.orders.transactions_of(tracked.service_id)
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
