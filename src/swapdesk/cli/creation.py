"""Creates and pays orders after the same checks as the desk makes. Each command makes one review,
one POST to the service and one printed document.

``Creation`` creates an order with a deposit. ``DexCreation`` swaps on chains with the wallet. With
``--dry-run``, both print what would be posted or signed. If the deposit address of an order must
not be shown, only the order's id is printed; the command then ends with an error that says whether
the address may be shown later. ``fund_order`` pays the deposit of an existing order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import (
    NOT_CREATED,
    UNPAID,
    CommandError,
    Exit,
    bad_input,
    exit_of_refused_create,
    not_confirmed,
    own_refusal,
)
from swapdesk.cli.order_reports import (
    DepositFacts,
    OrderDocument,
    deposit_facts,
    deposit_of,
    find_order,
    order_document,
)
from swapdesk.cli.output import Exact
from swapdesk.cli.quote_options import CreateRequest
from swapdesk.cli.quotes import choose_quote, find_token, read_amount, require_usable
from swapdesk.cli.session import load_catalog, settle
from swapdesk.cli.wallet_session import (
    account_on,
    consent,
    make_ready,
    review_text,
    says_yes,
    unlock,
)
from swapdesk.client.errors import ClientError, OutcomeUnknown
from swapdesk.flows.catalog.catalog import coin_price
from swapdesk.flows.check_line import CheckLine, texts
from swapdesk.flows.creation.confirm_intent import (
    Checked,
    NotLockable,
    lock_for_review,
    needs_refund_address,
)
from swapdesk.flows.creation.creates import open_swaps
from swapdesk.flows.creation.exchange import create_body
from swapdesk.flows.creation.order_verification import (
    Created,
    NotCreated,
    confirmed_least,
)
from swapdesk.flows.deposits.funding import MAYBE
from swapdesk.flows.deposits.wallet_funding import PAID, PAID_BEFORE, WalletFunding, kind_of
from swapdesk.flows.desk import Desk
from swapdesk.flows.dex.dex_plan import NoDexSwap, promise_of
from swapdesk.flows.dex.dex_swap import DexSwapFlow, DryStep, dry_run
from swapdesk.flows.failure_messages import Failure
from swapdesk.flows.intents.intent import (
    SLIPPAGE,
    DepositRelease,
    Intent,
    IntentKind,
    TokenFacts,
    terms_of,
)
from swapdesk.flows.notation import countdown, exact_amount, expected_minutes, grouped_address
from swapdesk.flows.orders.order_fields import shown_order
from swapdesk.flows.orders.order_merge import display_of
from swapdesk.flows.orders.order_status import order_status, withheld_next
from swapdesk.flows.orders.told_transaction import NotThisSwap
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payees.recipients import (
    MemoCheck,
    RecipientCheck,
    challenge_for,
    check_memo_of,
    check_recipient,
    check_refund,
    own_deposits,
    paid_addresses,
    token_contracts,
    without,
)
from swapdesk.flows.quotes.quoting import QuoteResult, find_intermediate_token
from swapdesk.flows.quotes.ranking import RankedQuote
from swapdesk.flows.tracking.open_business import intent_words
from swapdesk.flows.transactions import SAME_AGAIN, Agreed, Outcome
from swapdesk.flows.wallet.chain_links import KINDS, no_node
from swapdesk.settings import Settings
from swapdesk.wallet.accounts import Account
from swapdesk.wallet.answers import Review
from swapdesk.wallet.promise import Promise
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.encoding.numbers import NumberError, parse_amount
from swapdesk.wire.exchanges import PrivateSendRequest
from swapdesk.wire.orders import Order
from swapdesk.wire.tokens import Token

ON_THE_WAY = (
    "The service gave no usable answer. It may have created the order. Nothing was paid."
    " The desk looks for it before anything is tried again."
)


class Funded(Struct, frozen=True):
    """The payment of a deposit by the sandbox's faucet, with the transaction hash."""

    hash: str


class CreatedDocument(Struct, frozen=True):
    """An order that was created. ``foundAgain`` is True if the service's answer was lost and the
    order was found afterwards."""

    PRINTED: ClassVar = {
        "serviceId": "order.service_id", "intentId": "intent.id",
        "foundAgain": "created.found_again", "displayStatus": "display_status",
        "deposit": "deposit", "funded": "funded", "check": "created.check", "money": "money",
        "next": "next", "order": "order",
    }  # fmt: skip

    intent: Intent
    created: Created
    order: Order
    display_status: str | None
    deposit: DepositFacts | None
    funded: Funded | None
    money: str
    next: str


class CreateDryRunDocument(Struct, frozen=True):
    """What would be posted to create an order, and a sentence for each check that was made."""

    PRINTED: ClassVar = {
        "dryRun": "dry_run", "quoteId": "intent.quote_id", "provider": "intent.provider",
        "body": "body", "checks": "checks", "money": "money", "next": "next",
    }  # fmt: skip
    dry_run: ClassVar[bool] = True
    money: ClassVar[str] = "in your wallet; nothing was journaled, created or sent"
    next: ClassVar[str] = "you: leave out --dry-run to create the order"

    intent: Intent
    checks: tuple[str, ...]

    @property
    def body(self) -> PrivateSendRequest:
        return create_body(self.intent)


class SwappedDocument(Struct, frozen=True):
    """An on-chain swap. ``signed`` are the titles of what was signed. ``hash`` is None if the
    wallet itself sent no transaction."""

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


class FundingDocument(Struct, frozen=True):
    """The payment of an order's deposit from ``account``."""

    PRINTED: ClassVar = {
        "serviceId": "tracked.service_id", "account": "account.address", "hash": "hash",
        "amount": "tracked.order.in_amount", "depositAddress": "tracked.order.deposit_address",
        "money": "money", "next": "next", "order": "order",
    }  # fmt: skip
    money: ClassVar[str] = "on its way to the venue; it counts confirmations"
    next: ClassVar[str] = "the venue"

    tracked: TrackedOrder
    account: Account
    hash: str | None
    order: OrderDocument


class Creation:
    """Creates the order that a command line asks for, and prints it."""

    def __init__(self, call: CliContext, request: CreateRequest) -> None:
        self._call = call
        self._request = request
        self._desk = call.desk
        self._output = call.output

    async def run(self) -> int:
        """Creates the order and prints it. With ``--fund``, also pays the order's deposit. Returns
        the exit code."""
        request, call = self._request, self._call
        if request.fund and call.desk.settings.live:
            raise bad_input("SANDBOX_ONLY", "--fund pays in the sandbox only.", field="fund")
        await load_catalog(call)
        await settle(call)
        sold = find_token(request.sell, self._desk, field="from")
        intent, checks, warned = await self._chosen(sold)
        if request.dry_run:
            self._print_body(intent, (*warned, *checks.lines))
            return Exit.DONE
        self._confirm(intent, checks, warned)
        created = self._accepted(intent, await self._post(intent))
        tracked = call.link.tracker.adopt(created.order.service_id)
        if tracked is None:
            raise _lost_from_journal(created)
        if created.withheld is not None:
            # Without where to pay: its id must not be lost.
            self._output.say(
                f"Order {tracked.service_id}",
                document=order_document(tracked, self._desk.service_clock.now()),
            )
            raise withheld_error(tracked, created.withheld, missing=created.missing)
        paid = None
        if request.fund:
            assert call.link.faucet is not None  # of every sandbox
            paid = await call.link.faucet.pay(tracked)
        funded = Funded(paid.hash) if paid is not None and paid.hash is not None else None
        self._print(intent, created, tracked, funded)
        if paid is not None and not paid.done:
            raise _not_funded(tracked, paid)
        return Exit.DONE

    async def _chosen(self, sold: Token) -> tuple[Intent, Checked, list[CheckLine]]:
        desk, request, bought = self._desk, self._request, sold
        if request.buy is not None:
            bought = find_token(request.buy, desk, field="to")
        warned = self._usable_lines(sold, bought)
        amount = read_amount(request.amount, bought if request.receive else sold)
        receiver = require_payees(desk, request, sold, bought)
        if request.on_chain:
            request = replace(request, receiver=receiver)
        result, row = await choose_quote(self._call, request, sold, bought, amount)
        checks = read_payees(desk, request, result, row)
        try:
            return self._lock(result, row, checks, request.sender), checks, warned
        except (NotLockable, NoDexSwap, NumberError) as error:
            raise own_refusal("NOT_CONFIRMABLE", f"This cannot be confirmed: {error}.") from None

    def _lock(
        self, result: QuoteResult, row: RankedQuote, checks: Checked, sender: str | None
    ) -> Intent:
        """Returns the intent, which fixes everything that the user confirms. ``sender`` is the
        address that makes an on-chain swap."""
        private_send = self._request.buy is None
        dex = None
        if sender is not None:
            chain, asked = result.token_in.chain_data, result.request.slippage
            dex = terms_of(
                row.quote,
                sender,
                coin_price(self._desk.catalog, chain.short_name),
                SLIPPAGE if asked is None else asked,
                kind=chain.kind,
            )
        intent = lock_for_review(
            IntentKind.PRIVATE_SEND if private_send else IntentKind.EXCHANGE,
            row,
            result,
            checks.recipient,
            checks.memo,
            checks.refund if dex is None else None,
            self._desk.clock,
            intermediate=checks.intermediate,
            dex=dex,
        )
        if dex is not None:
            promise_of(intent)
        return intent

    def _review(
        self,
        intent: Intent,
        checks: Iterable[CheckLine],
        hidden: frozenset[int] = frozenset(),
    ) -> list[str]:
        return review_lines(intent, checks, self._desk.settings, self._desk.clock.now(), hidden)

    def _usable_lines(self, *tokens: Any) -> list[CheckLine]:
        accepted = self._request.accept_warnings or not self._request.yes
        lines: list[CheckLine] = []
        for token in {token.id: token for token in tokens}.values():
            lines += require_usable(token, self._desk, accepted=accepted)
        return lines

    def _accepted(self, intent: Intent, created: Created) -> Created:
        """Asks the user to accept an order that pays out less than confirmed. After a refusal its
        deposit address stays hidden."""
        out, least = created.order.out_amount, self._request.min_out
        if created.verdict.standing is not DepositRelease.LOWER or out is None:
            return created
        less = (
            f"The order gives {out:f} {intent.token_out.symbol},"
            f" {created.check.lower_by:.2f}% less than its quote."
        )
        if least is not None and out >= parse_amount(least):
            self._output.talk(f"{less} That is not below --min-out.")
        elif self._request.yes or not says_yes(self._output, f"{less} Accept it?"):
            return created
        return self._call.link.exchange.accept_lower(created)

    def _confirm(self, intent: Intent, checks: Checked, warned: list[CheckLine]) -> None:
        lines = (*warned, *checks.lines)
        if self._request.yes:
            self._output.talk(*texts(lines, "warn"))
            return
        challenge = challenge_for(checks.recipient, intent.id)
        hidden = challenge.hidden if challenge is not None else frozenset[int]()
        self._output.talk(*self._review(intent, lines, hidden))
        if challenge is not None:
            self._output.talk(*challenge.question)
            if not challenge.passed(self._output.ask("Four characters:") or ""):
                raise not_confirmed(
                    "Those are not its characters. Compare the whole address. Nothing was created."
                )
        if not says_yes(self._output, "Create this order?"):
            raise not_confirmed("Not confirmed. Nothing was created.")

    async def _post(self, intent: Intent) -> Created:
        outcome = await self._call.link.exchange.create(
            intent, on_waiting=lambda: self._output.talk(ON_THE_WAY)
        )
        if isinstance(outcome, Created):
            if outcome.found_again:
                self._output.talk(
                    f"The order exists: {outcome.order.service_id}. It was not created twice."
                )
            return outcome
        if isinstance(outcome, NotCreated):
            raise _not_created(outcome)
        failure = outcome.failure
        ids = ", ".join(order.service_id for order in outcome.candidates)
        alike = f" Orders like it: {ids}." if ids else ""
        raise CommandError(
            Exit.UNKNOWN,
            "OUTCOME_UNKNOWN",
            f"{failure.cause} Intent {outcome.intent_id} is in the journal.{alike}",
            failure.money,
            failure.next,
        )

    # Printing

    def _print(
        self, intent: Intent, created: Created, tracked: TrackedOrder, funded: Funded | None
    ) -> None:
        output, order, now = self._output, tracked.order, self._desk.service_clock.now()
        status = order_status(tracked, now)
        paid = funded is not None
        if funded is not None:
            output.hint(f"The deposit was paid from the faucet: {funded.hash}.")
        facts = [("Order", order.service_id)]
        plain = [*facts, *(() if paid else deposit_facts(tracked, now, grouped=False))]
        output.facts(
            [*facts, *(() if paid else deposit_facts(tracked, now))],
            plain=[f"{label} {value}." for label, value in plain if value],
            document=CreatedDocument(
                intent,
                created,
                order=shown_order(order, withheld=tracked.withheld),
                display_status=display_of(order),
                deposit=deposit_of(tracked, now),
                funded=funded,
                money="on its way to the exchange." if paid else status.money,
                next="the chain" if paid else status.next,
            ),
        )
        if created.check.provider_changed:
            output.hint(f"The provider changed to {order.swap_name or order.in_}.")
        output.hint(f"Watch it: swapdesk orders watch {order.service_id}")

    def _print_body(self, intent: Intent, checks: Sequence[CheckLine]) -> None:
        document = CreateDryRunDocument(intent, tuple(line.text for line in checks))
        self._output.say(*self._review(intent, checks), document=document)
        self._output.hint(f"The money is {document.money}.")


class DexCreation(Creation):
    """Makes an on-chain swap with the profile's wallet. Swaps that an earlier run left unfinished
    are finished first."""

    def __init__(self, call: CliContext, request: CreateRequest) -> None:
        super().__init__(call, request)
        self._signed: list[str] = []

    async def run(self) -> int:
        """Makes the swap and prints it; with ``--dry-run``, prints what would be signed. Returns
        the exit code."""
        await load_catalog(self._call)
        await settle(self._call)
        await make_ready(self._call)
        request, link, wallet = self._request, self._call.link, self._desk.wallet
        sold = find_token(request.sell, self._desk, field="from")
        chain = sold.chain_data
        if not request.dry_run and wallet.link(chain.short_name) is None:
            # Before the pass phrase, which could not help.
            problem = no_node(self._desk.settings, chain)
            raise bad_input("NO_NODES", f"{problem[:1].upper()}{problem[1:]}.", field="rpc")
        kind = KINDS.get(chain.kind)
        if kind is None:
            raise bad_input(
                "NO_SUCH_CHAIN", f"This wallet has no accounts of {chain.name}.", field="from"
            )
        account = account_on(
            await wallet.accounts(), kind, chain.name, request.account, field="account"
        )
        # It is paid itself where nobody else is named.
        self._request = replace(request, to=request.to or account.address, sender=account.address)
        if request.dry_run:
            return await self._print_dry_run(sold)
        await unlock(self._call)
        flow = DexSwapFlow(
            link.api,
            link.exchange,
            self._desk.journal,
            self._desk.clock,
            await wallet.client(),
            self._look,
        )
        await self._take_on(flow)
        intent, checks, warned = await self._chosen(sold)
        self._confirm(intent, checks, warned)
        outcome = await flow.swap(intent)
        if not outcome.done:
            raise _not_swapped(outcome)
        assert outcome.order is not None  # of a swap that is done
        link.tracker.adopt(outcome.order.service_id)
        self._tell(intent, outcome.order, outcome.hash)
        return Exit.DONE

    async def _take_on(self, flow: DexSwapFlow) -> None:
        for intent in open_swaps(self._desk.journal.ledger):
            self._output.talk(f"An earlier swap is open: {intent_words(intent)}.")
            outcome = await flow.take_on(intent)
            if outcome is None:
                self._output.talk("Another desk that runs now looks after it.")
            elif outcome.done:
                self._output.talk(f"It went on: order {outcome.order_id}.")
            elif (failure := outcome.failure) is not None:
                self._output.talk(f"{failure.cause} Money: {failure.money}. Next {failure.next}.")

    async def _look(self, review: Review) -> Agreed | None:
        agreed = await consent(self._output, review, yes=self._request.yes)
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
        self._output.hint(f"Watch it: swapdesk orders watch {order.service_id}")

    async def _print_dry_run(self, sold: Token) -> int:
        output = self._output
        intent, _, _ = await self._chosen(sold)
        try:
            run = await dry_run(self._call.link.api, await self._desk.wallet.client(), intent)
        except NotThisSwap as other:
            raise own_refusal(other.code, f"What would be signed is refused: {other}.") from None
        if self._request.quote_id is None:
            run = replace(run, asked=("GET /quotes", *run.asked))
        promise = run.promise
        output.facts(
            [
                ("Quote", f"{intent.quote_id}, {intent.provider_name or intent.provider}"),
                ("You sell", f"{intent.amount_in:f} {promise.sell.symbol} on {promise.chain}"),
                (
                    "You get",
                    f"at least {promise.least:f} {promise.buy.symbol} on {promise.chain_out}",
                ),
                ("Account", promise.account),
                ("Recipient", promise.recipient),
            ],
            document=run,
        )
        if not run.steps:
            output.say("Nothing has to be approved or signed before the order.")
        for place, step in enumerate(run.steps, 1):
            output.say(f"Step {place}: {step.name}", *_payload_text(step), *_judgement(step))
        output.say(*(f"Not known: {unknown}" for unknown in run.unknown))
        output.hint(f"Asked of the service: {', '.join(run.asked) or 'nothing'}.")
        output.hint(f"The money is {run.money}.")
        return Exit.OWN_REFUSAL if run.refused else Exit.DONE


def _judgement(step: DryStep) -> list[str]:
    review = step.review
    if review is None:
        return [f"Not judged. {step.unjudged}"]
    verdict = "It would be signed after a yes."
    if review.refused:
        verdict = "Refused: this would not be signed."
    elif review.phrase is not None:
        verdict = f'It would be signed after "{review.phrase}" is typed.'
    return [*review_text(review), verdict]


def _payload_text(step: DryStep) -> list[str]:
    payload = step.payload
    if not isinstance(payload.data, str):
        return [encode_json(payload.data).decode()]
    return [f"to {payload.to}", f"value {payload.value}", f"data {payload.data}"]


def _not_funded(tracked: TrackedOrder, outcome: Outcome) -> CommandError:
    """Returns the error for an unpaid deposit: exit 8 if the payment may have been sent, otherwise
    9."""
    left = "may have been paid" if outcome.open else "was not paid"
    return CommandError(
        Exit.UNKNOWN if outcome.open else Exit.OWN_REFUSAL,
        "NOT_FUNDED",
        f"The order was created. Its deposit {left}: {outcome.cause}",
        "in your wallet, or on its way to the deposit address"
        if outcome.open
        else "in your wallet; no deposit was paid",
        f"you: swapdesk orders show {tracked.service_id} tells how it stands",
    )


def _not_created(outcome: NotCreated) -> CommandError:
    error = outcome.error
    # Of one without an answer there is no more to say.
    message = "" if isinstance(error, OutcomeUnknown) else getattr(error, "message", "")
    return _refused_create(
        exit_of_refused_create(outcome.code, error), outcome.code, outcome.failure, message, error
    )


def _not_swapped(outcome: Outcome) -> CommandError:
    end, failure, error = Exit.OWN_REFUSAL, outcome.failure, outcome.error
    assert failure is not None  # of what is not done
    if outcome.open:
        end = Exit.UNKNOWN
    elif outcome.code == "NOT_CONFIRMED":
        end = Exit.INTERRUPTED
    elif error is not None or outcome.code in NOT_CREATED:
        end = exit_of_refused_create(outcome.code, error)
    order = f"Order {outcome.order_id}." if outcome.order_id else ""
    return _refused_create(end, outcome.code, failure, order, error)


def _refused_create(
    end: Exit, code: str, failure: Failure, more: str, error: ClientError | None
) -> CommandError:
    return CommandError(
        end,
        code,
        f"{failure.cause} {more}".strip(),
        failure.money,
        failure.next,
        getattr(error, "status", None),
        getattr(error, "request_id", None),
        {
            name: {"message": problem.message}
            for name, problem in getattr(error, "fields", {}).items()
        },
    )


def _lost_from_journal(created: Created) -> CommandError:
    name = created.order.service_id
    return own_refusal(
        "NO_JOURNAL",
        f"Order {name} was created but the journal does not hold it: {created.withheld}",
        money=UNPAID,
        next=f"you: write down {name} and do not pay it from here",
    )


def withheld_error(tracked: TrackedOrder, reason: str, *, missing: bool = False) -> CommandError:
    """Returns the error for an order whose deposit address stays hidden. Exit 8 if ``missing`` is
    True, because the service no longer knows the order; otherwise 9."""
    if missing:
        return CommandError(
            Exit.UNKNOWN,
            "ORDER_NOT_KNOWN",
            f"The service answered with order {tracked.service_id}. {reason}",
            next=f"the desk: it asks again; swapdesk orders show {tracked.service_id} asks now",
        )
    message = f"Order {tracked.service_id}: {reason}"
    if tracked.being_confirmed:
        actor, due = withheld_next(tracked)
        next_ = f"{actor}: {due}; swapdesk orders show {tracked.service_id} asks again"
        return own_refusal("NOT_REPEATED", message, next=next_)
    return own_refusal("ORDER_DIFFERS", message)


_MARKS = {"ok": "  ", "note": "  ", "warn": "! ", "refuse": "x "}


def review_lines(
    intent: Intent,
    checks: Iterable[CheckLine],
    settings: Settings,
    now: datetime,
    hidden: frozenset[int] = frozenset(),
) -> list[str]:
    """Returns the lines that the user reviews. The recipient's characters at the positions
    ``hidden`` are dots, because the user is asked to type them."""
    seconds = (intent.valid_until - now).total_seconds()
    profile = f"LIVE {settings.profile.value}: this is real money"
    gets = _side(exact_amount(intent.net_amount_out), intent.token_out)
    rows = [
        ("Profile", profile if settings.live else "SANDBOX"),
        ("You send", _side(exact_amount(intent.amount_in), intent.token_in)),
        ("You get", gets if intent.fixed else f"≈ {gets}"),
        ("At least", _least(intent)),
        ("Rate", "fixed" if intent.fixed else "floating"),
        ("Markup", f"{exact_amount(intent.markup)}%, in price" if intent.markup else ""),
        ("Route", f"{intent.route} {intent.provider_name or ''}".strip()),
        ("ETA", expected_minutes(intent.minutes)),
        ("Recipient", grouped_address(without(intent.recipient, hidden))),
        ("", intent.recipient_label or ""),
        ("Memo", Exact(intent.memo or ("none, waived" if intent.memo_waived else ""))),
        ("Refund", grouped_address(intent.refund_address) if intent.refund_address else ""),
        ("Refund memo", Exact(intent.refund_memo or "")),
        ("Middle", grouped_address(intent.intermediate_refund or "")),
        ("Quote", f"{intent.quote_id}, valid {countdown(seconds)}"),
    ]
    return [
        *(f"{label:<12}{value}" for label, value in rows if value),
        *(f"{_MARKS[check.level]}{check.text}" for check in checks),
    ]


def _least(intent: Intent) -> str:
    least = confirmed_least(intent)
    if least is None:
        return "not promised: the rate floats until the deposit is exchanged"
    amount = f"{exact_amount(least)} {intent.token_out.symbol}"
    if intent.dex is not None:
        return f"{amount}, or nothing is swapped (slippage {intent.dex.slippage:f}%)"
    return f"{amount}, by the fixed rate of the service"


def _side(amount: str, token: TokenFacts) -> str:
    contract = f", contract {token.contract}" if token.contract else ""
    return f"{amount} {token.symbol} on {token.chain_name}{contract}"


def require_payees(desk: Desk, request: CreateRequest, token_in: Token, token_out: Token) -> str:
    """Checks recipient and refund address before a quote is requested, and returns the recipient's
    address. Raises the errors of :func:`read_payees`."""
    recipient = _read_recipient(desk, request, token_out, on_chain=request.on_chain)[0]
    _read_refund(desk, request, token_in, required=False)
    return recipient.address


def read_payees(
    desk: Desk, request: CreateRequest, result: QuoteResult, row: RankedQuote
) -> Checked:
    """Checks recipient, memo and refund address. Raises CommandError: exit 2 for an address of
    another chain or a missing memo; exit 9 for an imitated payee, a deposit address, or a warning
    not accepted."""
    recipient, memo = _read_recipient(
        desk,
        request,
        result.token_out,
        on_chain=row.on_chain,
        arrives=result.amount if result.request.receive else row.key,
    )
    refund = _read_refund(desk, request, result.token_in, required=needs_refund_address(row))
    middle = None
    if request.middle_refund is not None:
        token = find_intermediate_token(desk.catalog, result, row)
        if token is None:
            raise bad_input(
                "BAD_OPTION",
                "This route has no middle that could be refunded: it is not private over XMR.",
                field="middle-refund",
            )
        middle = _read_refund(
            desk,
            replace(request, refund=request.middle_refund, refund_memo=""),
            token,
            required=False,
            field="middle-refund",
            what="refund address of the middle",
        )
    return Checked(recipient, memo, refund, middle)


def _read_recipient(
    desk: Desk,
    request: CreateRequest,
    token: Token,
    *,
    on_chain: bool,
    arrives: Decimal | None = None,
) -> tuple[RecipientCheck, MemoCheck]:
    recipient = check_recipient(
        request.to,
        token,
        book=desk.book,
        paid=paid_addresses(desk.journal),
        own_deposits=own_deposits(desk.journal),
        contracts=token_contracts(desk.catalog, token),
        arrives=arrives,
    )
    if not recipient.ok:
        raise _refused(recipient, "to", "BAD_RECIPIENT")
    # The memo that comes with the recipient, unless another one was given or it was waived.
    chosen = request.memo is not None or request.memo_waived
    memo = check_memo_of(
        recipient,
        request.memo if chosen else recipient.memo,
        request.memo_waived,
        token,
        on_chain=on_chain,
    )
    if not memo.ok:
        asked = not request.memo and not on_chain
        hint = ' Give it with --memo, or --waive-memo "NO MEMO".' if asked else ""
        raise bad_input("BAD_MEMO", f"{memo.problem}{hint}", field="memo")
    _require_consent(request, "ADDRESS_WARNING", recipient.doubt, "recipient")
    _require_consent(request, "MEMO_WARNING", memo.doubt, memo.label)
    return recipient, memo


def _require_consent(request: CreateRequest, code: str, doubt: str, what: str) -> None:
    if doubt and request.yes and not request.accept_warnings:
        raise own_refusal(code, doubt, next=f"you: add --accept-warnings if you mean this {what}")


def _read_refund(
    desk: Desk,
    request: CreateRequest,
    token: Token,
    *,
    required: bool,
    field: str = "refund",
    what: str = "refund address",
) -> RecipientCheck:
    check = partial(
        check_refund,
        request.refund or "",
        token,
        required=required,
        book=desk.book,
        paid=paid_addresses(desk.journal),
        own_deposits=own_deposits(desk.journal),
        contracts=token_contracts(desk.catalog, token),
    )
    address = check(memo="")
    if not address.ok:
        raise _refused(address, field, "BAD_REFUND_ADDRESS")
    if request.refund_memo and not address.address:
        raise bad_input(
            "BAD_REFUND_MEMO", "A refund memo needs a refund address.", field="refund-memo"
        )
    refund = check(memo=request.refund_memo)
    if not refund.ok:
        raise bad_input("BAD_REFUND_MEMO", refund.problem, field="refund-memo")
    _require_consent(request, "ADDRESS_WARNING", refund.doubt, what)
    _require_consent(request, "MEMO_WARNING", refund.memo_doubt, refund.memo_label)
    return refund


def _refused(check: RecipientCheck, field: str, code: str) -> CommandError:
    message = check.problem or "This address cannot be used."
    if check.address:
        # It is an address of that chain, and one the desk does not send to.
        kind = "LOOKALIKE_ADDRESS" if check.lookalike is not None else "ADDRESS_REFUSED"
        return own_refusal(kind, message)
    return bad_input(code, message, field=field)


# The deposit of an order that exists

HOME = "in your wallet"


async def fund_order(call: CliContext, order: str, account: str | None, yes: bool) -> None:
    """Pays an order's deposit. ``account`` None means the first account that can pay. Raises
    CommandError if the deposit was not paid."""
    await load_catalog(call)
    await settle(call)
    tracked = await find_order(call, order)
    await make_ready(call)
    desk, intent = call.desk, tracked.intent
    if intent is None:
        raise _not_payable(
            desk, "The order was not created at this desk, so nothing is known to pay for it."
        )
    kind = kind_of(tracked)
    chain = intent.token_in.chain_name
    if kind is None:
        raise _not_payable(desk, f"This wallet has no accounts of {chain}.")
    payer = account_on(await desk.wallet.accounts(), kind, chain, account, field="wallet")
    funding = WalletFunding(
        await desk.wallet.client(),
        desk.journal,
        desk.clock,
        partial(consent, call.output, yes=yes),
        call.link.tracker.get,
        service_clock=desk.service_clock,
    )
    if (paid := await funding.paid_before(tracked)) is not None:
        raise _not_paid(paid)
    await unlock(call)
    outcome = await funding.fund(tracked, payer, coin_price(desk.catalog, intent.token_in.chain))
    if not outcome.done:
        raise _not_paid(outcome)
    _tell_paid(call, tracked, payer, outcome.hash)


def _not_payable(desk: Desk, message: str) -> CommandError:
    # Chains that the sandbox does not run are kept in its ledger, where no wallet has keys.
    faucet = "; the sandbox's faucet pays it by f on the deposit card"
    return own_refusal(
        "NOT_PAYABLE",
        message,
        money=HOME,
        next=f"you: send it from a wallet of that chain{'' if desk.wallet.live else faucet}",
    )


def _not_paid(outcome: Outcome) -> CommandError:
    hash_ = f" Transaction {outcome.hash}." if outcome.hash else ""
    if outcome.open:
        message = f"The payment is not confirmed yet. {outcome.cause}{hash_}"
        return CommandError(Exit.UNKNOWN, outcome.code, message, MAYBE, SAME_AGAIN)
    if outcome.code == PAID_BEFORE:
        return own_refusal(
            outcome.code,
            f"{outcome.cause}{hash_}",
            money=PAID,
            next="the venue; swapdesk orders show tells how it stands",
        )
    return CommandError(
        Exit.INTERRUPTED if outcome.code == "NOT_CONFIRMED" else Exit.OWN_REFUSAL,
        outcome.code,
        f"Nothing was paid. {outcome.cause}",
        money=f"{HOME}; gas was paid" if outcome.hash else HOME,
        next="you: look at the order with swapdesk orders show",
    )


def _tell_paid(
    call: CliContext, tracked: TrackedOrder, account: Account, hash_: str | None
) -> None:
    output, amount = call.output, tracked.order.in_amount
    made = call.desk.journal.orders.transactions_of(tracked.service_id)
    latest = call.link.tracker.get(tracked.service_id) or tracked
    output.facts(
        [
            ("Order", tracked.service_id),
            ("Paid", "" if amount is None else f"{exact_amount(amount)} {tracked.symbols[0]}"),
            ("From", f"{account.name} {account.address}"),
            ("Transaction", hash_ or ""),
        ],
        document=FundingDocument(
            tracked,
            account,
            hash_,
            order_document(latest, call.desk.service_clock.now(), made),
        ),
    )
    output.hint(f"Watch it: swapdesk orders watch {tracked.service_id}")
