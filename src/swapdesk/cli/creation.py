"""Creating an order from a command line: the checks of the desk, one POST, one document."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from swapdesk.cli.amount_argument import read_amount
from swapdesk.cli.command_error import CommandError, bad_input, not_confirmed, own_refusal
from swapdesk.cli.consent import says_yes
from swapdesk.cli.create_dry_run import print_dry_run
from swapdesk.cli.create_request import CreateRequest
from swapdesk.cli.exit_codes import Exit, exit_of_refused_create
from swapdesk.cli.order_document import (
    deposit_facts,
    deposit_json,
    order_json,
)
from swapdesk.cli.output import Form
from swapdesk.cli.payee_arguments import Payees, read_payees
from swapdesk.cli.quote_choice import choose_quote
from swapdesk.cli.review import review_lines
from swapdesk.cli.session import Session, require_key
from swapdesk.cli.token_argument import find_token, require_usable
from swapdesk.cli.withheld_order import print_withheld, withheld_error
from swapdesk.client.errors import OutcomeUnknown
from swapdesk.flows.check_line import CheckLine
from swapdesk.flows.creation.confirm_intent import NotLockable, lock_for_review
from swapdesk.flows.creation.order_verification import Created, NotCreated
from swapdesk.flows.deposits.funding import Funded, NotFunded
from swapdesk.flows.failure_messages import Failure
from swapdesk.flows.intents.deposit_release import DepositRelease
from swapdesk.flows.intents.intent import Intent, IntentKind
from swapdesk.flows.journal.order_merge import display_of
from swapdesk.flows.orders.order_status import order_status
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payees.recipients import challenge_for
from swapdesk.flows.quotes.quoting import QuoteResult
from swapdesk.flows.quotes.ranking import RankedQuote

ON_THE_WAY = (
    "The service gave no usable answer. It may have created the order. Nothing was paid."
    " The desk looks for it before anything is tried again."
)


class Creation:
    """One order, from the words of the command line to its document."""

    def __init__(self, session: Session, request: CreateRequest) -> None:
        self._session = session
        self._request = request
        self._desk = session.desk
        self._output = session.call.output

    async def run(self) -> int:
        """Create, print, and with ``--fund`` pay. Raises CommandError."""
        request, session = self._request, self._session
        if request.fund and session.settings.live:
            raise bad_input("SANDBOX_ONLY", "--fund pays in the sandbox only.", field="fund")
        require_key(session)
        await session.load_catalog()
        await session.settle()
        token_in = find_token(request.sell, self._desk, field="from")
        token_out = token_in
        if request.buy is not None:
            token_out = find_token(request.buy, self._desk, field="to")
        warned = self._usable_lines(token_in, token_out)
        stated = token_out if request.wish.receive else token_in
        amount = read_amount(request.amount, stated)
        least = request.min_out and read_amount(request.min_out, token_out, "min-out")
        board, row = await choose_quote(session, request, token_in, token_out, amount)
        payees = read_payees(self._desk, request, board, row)
        intent = self._freeze(board, row, payees)
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
            print_withheld(self._output, tracked, self._desk.clock.now())
            raise withheld_error(tracked, created.withheld, missing=created.missing)
        paid = await self._fund(tracked) if request.fund else None
        funded = paid.hash if isinstance(paid, Funded) else None
        self._print(intent, created, tracked, funded)
        if isinstance(paid, NotFunded):
            raise _not_funded(tracked, paid)
        return Exit.DONE

    def _freeze(self, board: QuoteResult, row: RankedQuote, payees: Payees) -> Intent:
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
                said = "That is not what stands there. Compare the whole address."
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

    async def _fund(self, tracked: TrackedOrder) -> Funded | NotFunded:
        faucet = self._session.link.faucet
        if faucet is None:
            raise bad_input("SANDBOX_ONLY", "--fund pays in the sandbox only.", field="fund")
        return await faucet.pay(tracked)

    # Printing

    def _print(
        self, intent: Intent, created: Created, tracked: TrackedOrder, funded: str | None
    ) -> None:
        now = self._desk.clock.now()
        order, summary = tracked.order, order_status(tracked, now)
        deposit = deposit_json(tracked, now)
        if self._output.json:
            check = created.check
            self._output.document(
                {
                    "serviceId": order.service_id,
                    "intentId": intent.id,
                    "foundAgain": created.found_again,
                    "displayStatus": display_of(order),
                    "deposit": deposit,
                    "funded": {"hash": funded} if funded is not None else None,
                    "check": {
                        "payable": check.payable,
                        "lowerByPercent": _hundredths(check.lower_by),
                        "providerChanged": check.provider_changed,
                    },
                    "money": summary.money if funded is None else "on its way to the exchange.",
                    "next": summary.next if funded is None else "the chain",
                    "order": order_json(order, withheld=tracked.withheld),
                }
            )
            return
        plain = self._output.form is Form.PLAIN
        facts = [("Order", order.service_id)]
        if funded is None:
            facts += deposit_facts(tracked, now, grouped=not plain)
        else:
            self._output.talk(f"The deposit was paid from the faucet: {funded}.")
        if plain:
            self._output.say(*(f"{label} {value}." for label, value in facts if value))
        else:
            self._output.facts(facts)
        if created.check.provider_changed:
            self._output.talk(f"The provider changed to {order.swap_name or order.in_}.")
        self._output.talk(f"Watch it: swapdesk orders watch {order.service_id}")


def _hundredths(percent: Decimal | None) -> Decimal | None:
    return None if percent is None else percent.quantize(Decimal("0.01"))


def _not_funded(tracked: TrackedOrder, outcome: NotFunded) -> CommandError:
    """Exit 9 where the deposit did not leave, 8 where it did or may have."""
    said = "may have been paid" if outcome.may_have_left else "was not paid"
    return CommandError(
        Exit.UNKNOWN if outcome.may_have_left else Exit.OWN_REFUSAL,
        "NOT_FUNDED",
        f"The order was created. Its deposit {said}: {outcome.reason}",
        "in your wallet, or on its way to the deposit address"
        if outcome.may_have_left
        else "in your wallet; no deposit was paid",
        f"you: swapdesk orders show {tracked.service_id} tells how it stands",
    )


def _not_created(outcome: NotCreated) -> CommandError:
    error, failure = outcome.error, outcome.failure
    told: Failure = failure
    status = getattr(error, "status", None)
    said = getattr(error, "message", "") if not isinstance(error, OutcomeUnknown) else ""
    fields = getattr(error, "fields", {})
    return CommandError(
        exit_of_refused_create(outcome.code, error),
        outcome.code,
        f"{told.cause} {said}".strip(),
        told.money,
        told.next,
        status,
        getattr(error, "request_id", None),
        {name: {"message": problem.message} for name, problem in fields.items()},
    )


def _lost_from_journal(created: Created) -> CommandError:
    name = created.order.service_id
    return own_refusal(
        "NO_JOURNAL",
        f"Order {name} was created but the journal does not hold it: {created.withheld}",
        next=f"you: write down {name} and do not pay it from here",
    )
