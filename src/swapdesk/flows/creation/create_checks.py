"""The fields of a create, checked against one route, the address book and what was paid before.

What was asked for in an order that came to nothing, to be asked for again with the same input.

Nothing of the order is taken over but what was typed: the quotes are new, every field is checked
again, and it becomes an intent of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.chain.addresses.sol import NO_CHECKSUM
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.catalog.resolution import resolve
from swapdesk.flows.check_line import CheckLine
from swapdesk.flows.creation.confirm_intent import needs_refund_address
from swapdesk.flows.intents.intent import DepositRelease, IntentKind
from swapdesk.flows.journal.order_merge import display_of
from swapdesk.flows.orders.payment_progress import SwapStage
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payees.recipients import (
    NEVER_PAID,
    MemoCheck,
    RecipientCheck,
    check_memo_of,
    check_recipient,
    check_refund,
    own_deposits,
    paid_addresses,
    token_contracts,
)
from swapdesk.flows.quotes.quote_request import QuoteOptions, QuoteRequest
from swapdesk.flows.quotes.quoting import QuoteResult, find_intermediate_token
from swapdesk.flows.quotes.ranking import RankedQuote
from swapdesk.wire.orders import DisplayStatus
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk


class TypedBefore(Struct):
    """The fields as typed, so that going back to the routes loses nothing."""

    recipient: str = ""
    memo: str = ""
    refund: str = ""
    refund_memo: str = ""
    intermediate: str = ""


class Checked(Struct, frozen=True):
    """Every field with its result; ``refund`` is None where the route asks for none, and
    ``intermediate`` where the middle of the route is not known."""

    recipient: RecipientCheck
    memo: MemoCheck
    refund: RecipientCheck | None
    intermediate: RecipientCheck | None = None

    @property
    def problems(self) -> int:
        checks = (self.recipient, self.memo, self.refund, self.intermediate)
        return sum(check is not None and not check.ok for check in checks)

    @property
    def doubts(self) -> tuple[str, ...]:
        """What has to be agreed to before anything is created, in sentences."""
        addresses = [check for check in (self.recipient, self.refund, self.intermediate) if check]
        said = [check.doubt for check in addresses] + [check.memo_doubt for check in addresses]
        return tuple(one for one in (self.memo.doubt, *said) if one)


class CreateChecks:
    """What the fields of one route mean. Nothing is asked of the service.

    ``middle`` is the token between the legs where it is known, ``paid`` counts payments by
    address as they were when the form was opened.
    """

    def __init__(self, desk: Desk, board: QuoteResult, row: RankedQuote) -> None:
        self._book = desk.book
        self.sold, self.bought = board.token_in, board.token_out
        self.paid = paid_addresses(desk.journal)
        self.asks_refund = needs_refund_address(row)
        self.fixed = row.quote.fixed
        self.on_chain = row.on_chain
        self.own: Mapping[str, str] = {}
        """Addresses of this wallet's accounts, with their names."""
        self.middle: Token | None = find_intermediate_token(desk.catalog, board, row)
        self._arrives = board.amount if board.wish.receive else row.key
        self._deposits = own_deposits(desk.journal)
        self._contracts = {
            one.id: token_contracts(desk.catalog, one) for one in (self.bought, self.sold)
        }

    def all(self, typed: TypedBefore) -> Checked:
        """Every field of the route; a refund with its memo."""
        recipient = self.recipient(typed.recipient)
        return Checked(
            recipient,
            check_memo_of(recipient, typed.memo, False, self.bought, on_chain=self.on_chain),
            self.refund(typed.refund, typed.refund_memo) if self.asks_refund else None,
            self._intermediate(typed.intermediate),
        )

    def recipient(self, text: str) -> RecipientCheck:
        """Whether the payout can go there."""
        return self._of_wallet(self._checked(self._own_named(text.strip(), self._checked)))

    def _own_named(self, text: str, check: Callable[[str], RecipientCheck]) -> str:
        """The address of an account of this wallet that is called ``@name``, the one that passes
        ``check`` of several; the text as it is where the address book knows the name."""
        if not text.startswith("@") or self._book.entry(text) is not None:
            return text
        wanted = text[1:].casefold()
        named = [address for address, name in self.own.items() if name.casefold() == wanted]
        return next((one for one in named if check(one).ok), text)

    def own_names(self, *, refund: bool = False) -> Mapping[str, str]:
        """The accounts of this wallet that can get the token bought, or with ``refund`` the one
        sold, by the name that means them: none of which the address book has another idea, and
        the first of several."""
        check = self._refund_checked if refund else self._checked
        named: dict[str, str] = {}
        for name in self.own.values():
            address = self._own_named(f"@{name}", check) if name else "@"
            if not address.startswith("@") and name.casefold() not in named:
                named[name.casefold()] = address
        return named

    def _of_wallet(self, check: RecipientCheck) -> RecipientCheck:
        """An account whose key is here was derived and not pasted: nobody can have put it in
        another one's place, so it is not asked for as at a first payment."""
        name = next((name for address, name in self.own.items() if address == check.address), None)
        if name is None or not check.ok:
            return check
        kept = [line for line in check.lines if line.text not in (NEVER_PAID, NO_CHECKSUM)]
        said = CheckLine("note", f"Your own wallet{f' {name}' if name else ''}.")
        return replace(check, first_use=False, lines=(*kept, said))

    def _checked(self, text: str) -> RecipientCheck:
        return check_recipient(
            text.strip(),
            self.bought,
            book=self._book,
            paid=self.paid,
            own_deposits=self._deposits,
            contracts=self._contracts[self.bought.id],
            arrives=self._arrives,
        )

    def refund(self, text: str, memo: str) -> RecipientCheck:
        """Whether the deposit can come back there; without ``memo`` the address alone."""
        address = self._own_named(text.strip(), self._refund_checked)
        return self._of_wallet(self._refund_checked(address, memo))

    def _refund_checked(self, text: str, memo: str | None = "") -> RecipientCheck:
        return check_refund(
            text.strip(),
            self.sold,
            required=True,
            book=self._book,
            paid=self.paid,
            own_deposits=self._deposits,
            contracts=self._contracts[self.sold.id],
            memo=memo,
        )

    def memo_of_refund(self, text: str) -> str:
        """The memo that comes with a refund address: of its payment link, or of its name."""
        return self._refund_checked(text, None).memo or ""

    def _intermediate(self, text: str) -> RecipientCheck | None:
        if self.middle is None:
            return None
        return check_refund(
            text.strip(),
            self.middle,
            required=False,
            book=self._book,
            paid=self.paid,
            own_deposits=self._deposits,
            memo="",
        )


_NOTHING_CAME = frozenset(
    {
        DisplayStatus.EXPIRED,
        DisplayStatus.FAILED,
        DisplayStatus.REFUNDED,
        DisplayStatus.DELETED,
    }
)
_DEAD = frozenset({SwapStage.NOT_SIGNED, SwapStage.REVERTED, SwapStage.NOT_EXECUTED})
_REFUSED = frozenset({DepositRelease.DIFFERS, DepositRelease.CONTRADICTS})


class NotAgain(Exception):
    """It cannot be asked again; the text is a sentence."""


class Again(Struct, frozen=True):
    """The question for quotes, and the fields of the create as they were typed."""

    wish: QuoteRequest
    typed: TypedBefore


def came_to_nothing(tracked: TrackedOrder) -> bool:
    """Whether an order expired, failed, was refunded or deleted, was refused because it was not
    what was confirmed, or is a swap on chains that will not be executed."""
    swap = tracked.swap_payment
    return (
        display_of(tracked.order) in _NOTHING_CAME
        or (swap is not None and swap.at in _DEAD)
        or tracked.standing in _REFUSED
    )


def same_again(tracked: TrackedOrder, catalog: Catalog, options: QuoteOptions) -> Again:
    """``options`` are those of the next question. Raises NotAgain, WishRefused."""
    order, intent = tracked.order, tracked.intent
    if intent is not None:
        receive, send = intent.receive, intent.kind is IntentKind.PRIVATE_SEND
        wish = QuoteRequest.of(
            options,
            _token(intent.token_in.id, catalog),
            _token(intent.token_out.id, catalog),
            intent.amount_out if receive else intent.amount_in,
            receive=receive,
            private_send=send,
        )
        label = intent.recipient_label or ""
        return Again(
            wish,
            TypedBefore(
                # A name of the address book stands for whom it names today.
                label if label.startswith("@") else intent.recipient,
                intent.memo or "",
                intent.refund_address or "",
                intent.refund_memo or "",
                intent.intermediate_refund or "",
            ),
        )
    if order.in_token_id is None or order.out_token_id is None or order.in_amount is None:
        raise NotAgain("The service does not say what this order was about.")
    wish = QuoteRequest.of(
        options,
        _token(order.in_token_id, catalog),
        _token(order.out_token_id, catalog),
        order.in_amount,
    )
    return Again(
        wish,
        TypedBefore(
            order.receiver_address or "", order.receiver_tag or "", order.refund_address or ""
        ),
    )


def _token(token_id: str, catalog: Catalog) -> Token:
    found = resolve(token_id, catalog)
    if found.token is None:
        raise NotAgain(found.problem or "The service does not swap this token any more.")
    return found.token
