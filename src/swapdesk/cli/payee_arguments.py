"""Recipient, memo and refund address of the command line, checked as the desk checks them."""

from __future__ import annotations

from decimal import Decimal
from functools import partial

from msgspec import Struct

from swapdesk.cli.command_error import CommandError, bad_input, own_refusal
from swapdesk.cli.quote_options import CreateRequest
from swapdesk.flows.check_line import CheckLine
from swapdesk.flows.creation.confirm_intent import needs_refund_address
from swapdesk.flows.desk import Desk
from swapdesk.flows.payees.recipients import (
    MemoCheck,
    RecipientCheck,
    check_memo_of,
    check_recipient,
    check_refund,
    own_deposits,
    paid_addresses,
    token_contracts,
)
from swapdesk.flows.quotes.quoting import QuoteResult, find_intermediate_token
from swapdesk.flows.quotes.ranking import RankedQuote
from swapdesk.wire.tokens import Token


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
