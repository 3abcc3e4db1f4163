"""Recipient, memo and refund address of the command line, checked as the desk checks them."""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.cli.command_error import CommandError, bad_input, own_refusal
from swapdesk.cli.create_commands import CreateRequest
from swapdesk.flows.check_line import CheckLine
from swapdesk.flows.desk import Desk
from swapdesk.flows.ranking import RankedQuote
from swapdesk.flows.recipients import (
    MemoCheck,
    RecipientCheck,
    check_memo,
    check_recipient,
    check_refund,
)
from swapdesk.wire.tokens import Token


@dataclass(frozen=True)
class Payees:
    """``refund`` has an empty address when none was given and none is needed."""

    recipient: RecipientCheck
    memo: MemoCheck
    refund: RecipientCheck
    refund_memo: str | None

    @property
    def lines(self) -> tuple[CheckLine, ...]:
        return (*self.recipient.lines, *self.memo.lines, *self.refund.lines)


def read_payees(
    desk: Desk, request: CreateRequest, token_in: Token, token_out: Token, row: RankedQuote
) -> Payees:
    """Exit 2 for what is no address of that chain or lacks its memo, 9 for one that imitates
    a known address or belongs to an order."""
    paid = desk.journal.intents.paid_addresses()
    deposits = [
        entry.order.deposit_address
        for entry in desk.journal.orders.all()
        if entry.order.deposit_address
    ]
    recipient = check_recipient(
        request.to,
        token_out,
        book=desk.book,
        paid=paid,
        own_deposits=deposits,
        contracts=_contracts(desk, token_out),
    )
    if not recipient.ok:
        raise _refused(recipient, "to", "BAD_RECIPIENT")
    memo = check_memo(
        request.memo if request.memo is not None else _own_memo(request, recipient),
        request.memo_waived,
        token_out,
    )
    if not memo.ok:
        hint = ' Give it with --memo, or --waive-memo "NO MEMO".' if not request.memo else ""
        raise bad_input("BAD_MEMO", f"{memo.problem}{hint}", field="memo")
    refund = check_refund(
        request.refund or "",
        token_in,
        required=bool(row.quote.requires_refund_address),
        book=desk.book,
        paid=paid,
        own_deposits=deposits,
        contracts=_contracts(desk, token_in),
    )
    if not refund.ok:
        raise _refused(refund, "refund", "BAD_REFUND_ADDRESS")
    return Payees(recipient, memo, refund, _refund_memo(request, token_in, refund))


def _own_memo(request: CreateRequest, recipient: RecipientCheck) -> str | None:
    """The memo the address book keeps with the recipient, unless it was waived."""
    return None if request.memo_waived else recipient.memo


def _refund_memo(request: CreateRequest, token_in: Token, refund: RecipientCheck) -> str | None:
    typed = request.refund_memo if request.refund_memo is not None else refund.memo
    if not typed:
        return None
    if not refund.address:
        message = "A refund memo needs a refund address."
        raise bad_input("BAD_REFUND_MEMO", message, field="refund-memo")
    check = check_memo(typed, False, token_in)
    if not check.ok:
        raise bad_input("BAD_REFUND_MEMO", check.problem or "", field="refund-memo")
    return check.memo


def _refused(check: RecipientCheck, field: str, code: str) -> CommandError:
    message = check.problem or "This address cannot be used."
    if check.address:
        # It is an address of that chain, and one the desk does not send to.
        kind = "LOOKALIKE_ADDRESS" if check.lookalike is not None else "ADDRESS_REFUSED"
        return own_refusal(kind, message)
    return bad_input(code, message, field=field)


def _contracts(desk: Desk, token: Token) -> list[str]:
    """Token contracts of a chain: sending to one loses the money."""
    chain = token.chain_data.short_name
    return [row.contract for row in desk.catalog.rows if row.chain == chain and row.contract]
