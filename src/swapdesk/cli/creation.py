"""Creating an order from a command line: the checks of the desk, one POST, one document.

``Creation`` locks the intent, shows it as lines to read, asks, posts it once and prints the
order. With ``--dry-run`` it prints what would be posted. An order without an address to pay at
is printed by its id, and the command ends in an error that says whether that can change.
Recipient, memo and refund address are checked as the desk checks them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

from msgspec import Struct

from swapdesk.cli.command_error import (
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
    deposit_facts,
    deposit_of,
    order_document,
)
from swapdesk.cli.output import Exact, Output
from swapdesk.cli.quote_options import CreateRequest
from swapdesk.cli.quotes import choose_quote, find_token, read_amount, require_usable
from swapdesk.cli.session import CommandSession
from swapdesk.cli.wallet_session import says_yes
from swapdesk.client.errors import OutcomeUnknown
from swapdesk.flows.check_line import CheckLine
from swapdesk.flows.creation.confirm_intent import (
    NotLockable,
    lock_for_review,
    needs_refund_address,
)
from swapdesk.flows.creation.exchange import create_body
from swapdesk.flows.creation.order_verification import (
    Created,
    NotCreated,
    OrderCheck,
    confirmed_least,
)
from swapdesk.flows.desk import Desk
from swapdesk.flows.intents.intent import DepositRelease, Intent, IntentKind, TokenFacts
from swapdesk.flows.notation import countdown, exact_amount, expected_minutes, grouped_address
from swapdesk.flows.orders.order_fields import shown_order
from swapdesk.flows.orders.order_merge import display_of
from swapdesk.flows.orders.order_status import order_status, withheld_next
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
from swapdesk.flows.transactions import Outcome
from swapdesk.wire.orders import Order, PrivateSendRequest
from swapdesk.wire.tokens import Token

ON_THE_WAY = (
    "The service gave no usable answer. It may have created the order. Nothing was paid."
    " The desk looks for it before anything is tried again."
)


class Funded(Struct, frozen=True):
    """The deposit is on its way."""

    hash: str


class CreatedDocument(Struct, frozen=True, rename="camel"):
    """An order that was created. ``foundAgain``: its answer was lost, and the order was found."""

    service_id: str
    intent_id: str
    found_again: bool
    display_status: str | None
    deposit: DepositFacts | None
    funded: Funded | None
    check: OrderCheck
    money: str
    next: str
    order: Order


class CreateDryRunDocument(Struct, frozen=True, rename="camel"):
    """What would be posted: ``body``. ``checks`` are sentences."""

    dry_run: bool
    quote_id: str
    provider: str | None
    body: PrivateSendRequest
    checks: tuple[str, ...]
    money: str
    next: str


class Creation:
    """One order, from the words of the command line to its document."""

    def __init__(self, session: CommandSession, request: CreateRequest) -> None:
        self._session = session
        self._request = request
        self._desk = session.desk
        self._output = session.call.output

    async def run(self) -> int:
        """Create, print, and with ``--fund`` pay. Raises CommandError."""
        request, session = self._request, self._session
        if request.fund and session.settings.live:
            raise bad_input("SANDBOX_ONLY", "--fund pays in the sandbox only.", field="fund")
        await session.load_catalog()
        await session.settle()
        token_in = find_token(request.sell, self._desk, field="from")
        token_out = token_in
        if request.buy is not None:
            token_out = find_token(request.buy, self._desk, field="to")
        warned = self._usable_lines(token_in, token_out)
        stated = token_out if request.receive else token_in
        amount = read_amount(request.amount, stated)
        least = request.min_out and read_amount(request.min_out, token_out, "min-out")
        require_payees(self._desk, request, token_in, token_out)
        board, row = await choose_quote(session, request, token_in, token_out, amount)
        payees = read_payees(self._desk, request, board, row)
        intent = self._lock(board, row, payees)
        if request.dry_run:
            lines = self._review(intent, payees, warned)
            print_dry_run(self._output, intent, lines, (*warned, *payees.lines))
            return Exit.DONE
        self._confirm(intent, payees, warned)
        created = self._accepted(intent, await self._post(intent), least or None)
        tracked = session.link.tracker.adopt(created.order.service_id)
        if tracked is None:
            raise _lost_from_journal(created)
        if created.withheld is not None:
            # Without where to pay: its id must not be lost.
            document = order_document(tracked, self._desk.service_clock.now())
            self._output.say(f"Order {tracked.service_id}", document=document)
            raise withheld_error(tracked, created.withheld, missing=created.missing)
        paid = None
        if request.fund:
            assert session.link.faucet is not None  # of every sandbox
            paid = await session.link.faucet.pay(tracked)
        hash_ = None if paid is None else paid.hash
        funded = None if hash_ is None else Funded(hash_)
        self._print(intent, created, tracked, funded)
        if paid is not None and not paid.done:
            raise _not_funded(tracked, paid)
        return Exit.DONE

    def _lock(self, board: QuoteResult, row: RankedQuote, payees: Payees) -> Intent:
        private_send = self._request.buy is None
        kind = IntentKind.PRIVATE_SEND if private_send else IntentKind.EXCHANGE
        clock = self._desk.clock
        try:
            return lock_for_review(
                kind,
                row,
                board,
                payees.recipient,
                payees.memo,
                payees.refund,
                clock,
                intermediate=payees.intermediate,
            )
        except NotLockable as error:
            raise own_refusal("NOT_CONFIRMABLE", f"This cannot be confirmed: {error}.") from None

    def _review(
        self,
        intent: Intent,
        payees: Payees,
        warned: list[CheckLine],
        hidden: frozenset[int] = frozenset(),
    ) -> list[str]:
        return review_lines(
            intent,
            (*warned, *payees.lines),
            live=self._session.settings.live,
            profile=self._session.settings.profile.value,
            now=self._desk.clock.now(),
            hidden=hidden,
        )

    def _usable_lines(self, *tokens: Any) -> list[CheckLine]:
        """What is to be said of both tokens; a person who reads the review consents to it."""
        accepted = self._request.accept_warnings or not self._request.yes
        lines: list[CheckLine] = []
        for token in dict.fromkeys(token.id for token in tokens):
            found = next(t for t in tokens if t.id == token)
            lines += require_usable(found, self._desk, accepted=accepted)
        return lines

    def _accepted(self, intent: Intent, created: Created, least: Decimal | None) -> Created:
        """Less output than confirmed is taken down to ``--min-out``, or when a person says so."""
        out = created.order.out_amount
        if created.verdict.standing is not DepositRelease.LOWER or out is None:
            return created
        given = f"The order gives {out:f} {intent.token_out.symbol}"
        less = f"{given}, {created.check.lower_by:.2f}% less than its quote."
        if least is not None and out >= least:
            self._output.talk(f"{less} That is not below --min-out.")
        elif self._request.yes or not says_yes(self._output, f"{less} Accept it?"):
            return created
        return self._session.link.exchange.accept_lower(created)

    def _confirm(self, intent: Intent, payees: Payees, warned: list[CheckLine]) -> None:
        challenge = None
        if not self._request.yes:
            challenge = challenge_for(payees.recipient, intent.id)
        hidden = challenge.hidden if challenge is not None else frozenset[int]()
        lines = self._review(intent, payees, warned, hidden)
        if self._request.yes:
            notes = [line.text for line in (*warned, *payees.lines) if line.level == "warn"]
            self._output.talk(*notes)
            return
        self._output.talk(*lines)
        if challenge is not None:
            self._output.talk(*challenge.question)
            if not challenge.passed(self._output.ask("Four characters:") or ""):
                said = "Those are not its characters. Compare the whole address."
                raise not_confirmed(f"{said} Nothing was created.")
        if not says_yes(self._output, "Create this order?"):
            raise not_confirmed("Not confirmed. Nothing was created.")

    async def _post(self, intent: Intent) -> Created:
        outcome = await self._session.link.exchange.create(
            intent, on_waiting=lambda: self._output.talk(ON_THE_WAY)
        )
        if isinstance(outcome, Created):
            if outcome.found_again:
                name = outcome.order.service_id
                self._output.talk(f"The order exists: {name}. It was not created twice.")
            return outcome
        if isinstance(outcome, NotCreated):
            raise _not_created(outcome)
        failure = outcome.failure
        ids = [order.service_id for order in outcome.candidates]
        found = f" Orders like it: {', '.join(ids)}." if ids else ""
        raise CommandError(
            Exit.UNKNOWN,
            "OUTCOME_UNKNOWN",
            f"{failure.cause} Intent {outcome.intent_id} is in the journal.{found}",
            failure.money,
            failure.next,
        )

    # Printing

    def _print(
        self, intent: Intent, created: Created, tracked: TrackedOrder, funded: Funded | None
    ) -> None:
        now = self._desk.service_clock.now()
        order, summary = tracked.order, order_status(tracked, now)
        paid = funded is not None
        if funded is not None and not self._output.json:
            self._output.talk(f"The deposit was paid from the faucet: {funded.hash}.")
        facts = [("Order", order.service_id)]
        plain = [*facts, *(() if paid else deposit_facts(tracked, now, grouped=False))]
        self._output.facts(
            [*facts, *(() if paid else deposit_facts(tracked, now))],
            plain=[f"{label} {value}." for label, value in plain if value],
            document=CreatedDocument(
                service_id=order.service_id,
                intent_id=intent.id,
                found_again=created.found_again,
                display_status=display_of(order),
                deposit=deposit_of(tracked, now),
                funded=funded,
                check=created.check,
                money="on its way to the exchange." if paid else summary.money,
                next="the chain" if paid else summary.next,
                order=shown_order(order, withheld=tracked.withheld),
            ),
        )
        if self._output.json:
            return
        if created.check.provider_changed:
            self._output.talk(f"The provider changed to {order.swap_name or order.in_}.")
        self._output.talk(f"Watch it: swapdesk orders watch {order.service_id}")


def _not_funded(tracked: TrackedOrder, outcome: Outcome) -> CommandError:
    """Exit 9 where the deposit did not leave, 8 where it did or may have."""
    said = "may have been paid" if outcome.open else "was not paid"
    return CommandError(
        Exit.UNKNOWN if outcome.open else Exit.OWN_REFUSAL,
        "NOT_FUNDED",
        f"The order was created. Its deposit {said}: {outcome.cause}",
        "in your wallet, or on its way to the deposit address"
        if outcome.open
        else "in your wallet; no deposit was paid",
        f"you: swapdesk orders show {tracked.service_id} tells how it stands",
    )


def _not_created(outcome: NotCreated) -> CommandError:
    error, failure = outcome.error, outcome.failure
    status = getattr(error, "status", None)
    said = getattr(error, "message", "") if not isinstance(error, OutcomeUnknown) else ""
    fields = getattr(error, "fields", {})
    return CommandError(
        exit_of_refused_create(outcome.code, error),
        outcome.code,
        f"{failure.cause} {said}".strip(),
        failure.money,
        failure.next,
        status,
        getattr(error, "request_id", None),
        {name: {"message": problem.message} for name, problem in fields.items()},
    )


def _lost_from_journal(created: Created) -> CommandError:
    name = created.order.service_id
    return own_refusal(
        "NO_JOURNAL",
        f"Order {name} was created but the journal does not hold it: {created.withheld}",
        money=UNPAID,
        next=f"you: write down {name} and do not pay it from here",
    )


UNTOUCHED = "in your wallet; nothing was journaled, created or sent"


def print_dry_run(
    output: Output, intent: Intent, review: Sequence[str], checks: Iterable[CheckLine]
) -> None:
    """The body of the create and what the checks say. The service was asked for quotes alone."""
    document = CreateDryRunDocument(
        dry_run=True,
        quote_id=intent.quote_id,
        provider=intent.provider,
        body=create_body(intent),
        checks=tuple(line.text for line in checks),
        money=UNTOUCHED,
        next="you: leave out --dry-run to create the order",
    )
    output.say(*review, document=document)
    if not output.json:
        output.talk(f"The money is {UNTOUCHED}.")


def withheld_error(tracked: TrackedOrder, reason: str, *, missing: bool = False) -> CommandError:
    """Exit 9. One that the service has only to repeat differs in nothing, and can be paid then.
    Exit 8 for one that is ``missing``: whether there is an order is not known."""
    if missing:
        return CommandError(
            Exit.UNKNOWN,
            "ORDER_NOT_KNOWN",
            f"The service answered with order {tracked.service_id}. {reason}",
            next=f"the desk: it asks again; swapdesk orders show {tracked.service_id} asks now",
        )
    if tracked.being_confirmed:
        code, (actor, due) = "NOT_REPEATED", withheld_next(tracked)
        next = f"{actor}: {due}; swapdesk orders show {tracked.service_id} asks again"
    else:
        code, next = "ORDER_DIFFERS", ""
    message = f"Order {tracked.service_id}: {reason}"
    return own_refusal(code, message, next=next)


_MARKS = {"ok": "  ", "note": "  ", "warn": "! ", "refuse": "x "}


def review_lines(
    intent: Intent,
    checks: Iterable[CheckLine],
    *,
    live: bool,
    profile: str,
    now: datetime,
    hidden: frozenset[int] = frozenset(),
) -> list[str]:
    """Everything that will be posted and what was compared, the address whole, in groups;
    ``hidden`` places of it are asked for and drawn as dots."""
    seconds = (intent.valid_until - now).total_seconds()
    gets = _side(exact_amount(intent.net_amount_out), intent.token_out)
    rows = [
        ("Profile", f"LIVE {profile}: this is real money" if live else "SANDBOX"),
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
    lines = [f"{label:<12}{value}" for label, value in rows if value]
    return lines + [f"{_MARKS[check.level]}{check.text}" for check in checks]


def _least(intent: Intent) -> str:
    """The least that can arrive, and who stands for it."""
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


class Payees(Struct, frozen=True):
    """``refund`` has an empty address when none was given and none is needed."""

    recipient: RecipientCheck
    memo: MemoCheck
    refund: RecipientCheck
    intermediate: RecipientCheck | None = None

    @property
    def lines(self) -> tuple[CheckLine, ...]:
        middle = self.intermediate.lines if self.intermediate is not None else ()
        return (*self.recipient.lines, *self.memo.lines, *self.refund.lines, *middle)


def require_payees(desk: Desk, request: CreateRequest, token_in: Token, token_out: Token) -> str:
    """The recipient's address. Exit 2 and 9 as :func:`read_payees`, for what no route could
    change: before a quote is spent on it."""
    recipient = _read_recipient(desk, request, token_out, on_chain=request.on_chain)[0]
    _read_refund(desk, request, token_in, required=False)
    return recipient.address


def read_payees(desk: Desk, request: CreateRequest, board: QuoteResult, row: RankedQuote) -> Payees:
    """Exit 2 for what is no address of that chain or lacks its memo, 9 for one that imitates
    a known address or belongs to an order, and for an address or memo that is doubted, unless a
    person reads the review or the warning was accepted."""
    recipient, memo = _read_recipient(
        desk,
        request,
        board.token_out,
        on_chain=row.on_chain,
        arrives=board.amount if board.wish.receive else row.key,
    )
    refund = _read_refund(desk, request, board.token_in, required=needs_refund_address(row))
    return Payees(recipient, memo, refund, _read_middle(desk, request, board, row))


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
    own = None if request.memo_waived else recipient.memo
    memo = check_memo_of(
        recipient,
        request.memo if request.memo is not None else own,
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


def _require_consent(request: CreateRequest, code: str, doubt: str | None, what: str) -> None:
    if doubt is not None and request.yes and not request.accept_warnings:
        raise own_refusal(code, doubt, next=f"you: add --accept-warnings if you mean this {what}")


def _read_middle(
    desk: Desk,
    request: CreateRequest,
    board: QuoteResult,
    row: RankedQuote,
) -> RecipientCheck | None:
    """The refund address of the middle, on its chain; None when none was given."""
    if request.middle_refund is None:
        return None
    token = find_intermediate_token(desk.catalog, board, row)
    if token is None:
        message = "This route has no middle that could be refunded: it is not private over XMR."
        raise bad_input("BAD_OPTION", message, field="middle-refund")
    paid = paid_addresses(desk.journal)
    check = check_refund(
        request.middle_refund, token, required=False, book=desk.book, paid=paid, memo=""
    )
    if not check.ok:
        raise _refused(check, "middle-refund", "BAD_REFUND_ADDRESS")
    _require_consent(request, "ADDRESS_WARNING", check.doubt, "refund address of the middle")
    return check


def _read_refund(
    desk: Desk, request: CreateRequest, token: Token, *, required: bool
) -> RecipientCheck:
    """The refund address with its memo: the one given, else that which comes with it."""
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
        raise _refused(address, "refund", "BAD_REFUND_ADDRESS")
    if request.refund_memo and not address.address:
        message = "A refund memo needs a refund address."
        raise bad_input("BAD_REFUND_MEMO", message, field="refund-memo")
    refund = check(memo=request.refund_memo)
    if not refund.ok:
        raise bad_input("BAD_REFUND_MEMO", refund.problem or "", field="refund-memo")
    _require_consent(request, "ADDRESS_WARNING", refund.doubt, "refund address")
    _require_consent(request, "MEMO_WARNING", refund.memo_doubt, refund.memo_label)
    return refund


def _refused(check: RecipientCheck, field: str, code: str) -> CommandError:
    message = check.problem or "This address cannot be used."
    if check.address:
        # It is an address of that chain, and one the desk does not send to.
        kind = "LOOKALIKE_ADDRESS" if check.lookalike is not None else "ADDRESS_REFUSED"
        return own_refusal(kind, message)
    return bad_input(code, message, field=field)
