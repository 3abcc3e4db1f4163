"""One row of a sheet, judged: every cell by the rules the desk has for one swap.

Tokens by ``sheet_tokens``, amounts by ``amount_check``, addresses by ``recipients``, memos by
``memo_check``. All cells are judged, so that a person corrects a row once. Nothing is asked of
the service here; limits of pairs are given (``limits``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal

from swapdesk.chain.addresses.memos import WAIVER
from swapdesk.flows.batch.finding import WRITE, Finding, look, problem
from swapdesk.flows.batch.pair import pair_findings
from swapdesk.flows.batch.planned import BatchRoute, PlannedOrder, PlannedRow
from swapdesk.flows.batch.reading import split_amount
from swapdesk.flows.batch.sheet import Column, InputRow
from swapdesk.flows.batch.sheet_tokens import SheetTokens
from swapdesk.flows.orders.order_export import FORMULA
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.flows.payees.recipients import (
    NEVER_PAID,
    RecipientCheck,
    check_memo_of,
    check_recipient,
    check_refund,
)
from swapdesk.flows.quotes.amount_check import check_amount
from swapdesk.wire.encoding.numbers import AmountError, parse_amount
from swapdesk.wire.tokens import Token

LONGEST_CELL = 500
"""No address, memo or amount is longer."""


@dataclass
class RowJudge:
    """``paid`` counts payments by address; ``smart_accounts``: whether the profile has one to
    pay bundles from."""

    tokens: SheetTokens
    book: AddressBook
    paid: Mapping[str, int]
    own_deposits: Collection[tuple[str, str]]
    smart_accounts: bool

    def judge(self, row: InputRow) -> PlannedRow:
        findings = list(_shape(row))
        shifted = bool(row.extra) and split_amount(row.cells) is not None
        if shifted or any(one.code == "TOO_LONG" for one in findings):
            # What stands in the wrong column is not wrong there by itself.
            return PlannedRow(row, None, tuple(findings))
        token_in = self._token(row, Column.SELL, findings)
        token_out = self._token(row, Column.BUY, findings)
        route = _route(row, findings)
        amount = _amount(row, token_in, findings)
        recipient = self._recipient(row, token_out, findings)
        memo = _memo(row, recipient, token_out, findings)
        refund = self._refund(row, token_in, findings)
        if token_in is not None and token_out is not None:
            findings += pair_findings(
                token_in, token_out, route, smart_accounts=self.smart_accounts
            )
        if (
            token_in is None
            or token_out is None
            or amount is None
            or route is None
            or recipient is None
            or not recipient.address
        ):
            return PlannedRow(row, None, tuple(findings))
        order = PlannedOrder(
            token_in,
            token_out,
            amount,
            recipient.address,
            recipient.account or recipient.address,
            recipient.label,
            memo,
            route,
            (refund.address or None) if refund is not None else None,
            refund.memo if refund is not None and refund.address else None,
        )
        return PlannedRow(row, order, tuple(findings))

    def _token(self, row: InputRow, column: Column, findings: list[Finding]) -> Token | None:
        token, said = self.tokens.named(row, column)
        findings += said
        return token

    def _recipient(
        self, row: InputRow, token: Token | None, findings: list[Finding]
    ) -> RecipientCheck | None:
        text = row.cell(Column.TO)
        if not text:
            findings.append(
                problem("NO_RECIPIENT", Column.TO, "No recipient is named.", WRITE[Column.TO])
            )
            return None
        if token is None or self.tokens.refused(token):
            return None
        check = check_recipient(
            text,
            token,
            book=self.book,
            paid=self.paid,
            own_deposits=self.own_deposits,
            contracts=self.tokens.contracts_on_chain_of(token),
        )
        if not check.ok:
            reason = check.problem or "This address cannot be used."
            code = "LOOKALIKE_ADDRESS" if check.lookalike else "BAD_ADDRESS"
            findings.append(problem(code, Column.TO, reason, WRITE[Column.TO], _brief(reason)))
            return None
        # That somebody is paid for the first time is usual here and would flag every row.
        findings += [
            look("ADDRESS_WARNING", Column.TO, line.text)
            for line in check.lines
            if line.level == "warn" and line.text != NEVER_PAID
        ]
        return check

    def _refund(
        self, row: InputRow, token: Token | None, findings: list[Finding]
    ) -> RecipientCheck | None:
        text = row.cell(Column.REFUND)
        if not text or token is None or self.tokens.refused(token):
            return None
        check = check_refund(
            text,
            token,
            required=False,
            book=self.book,
            paid=self.paid,
            own_deposits=self.own_deposits,
            contracts=self.tokens.contracts_on_chain_of(token),
        )
        if not check.ok:
            reason = check.problem or "This refund address cannot be used."
            do = WRITE[Column.REFUND]
            findings.append(problem("BAD_REFUND", Column.REFUND, reason, do, _brief(reason)))
            return None
        return check


def _shape(row: InputRow) -> list[Finding]:
    """Cells that are too long, too many, or that a spreadsheet would compute."""
    found: list[Finding] = []
    if row.extra:
        count, halves = len(row.extra), split_amount(row.cells)
        said = f"{count} more cell{'' if count == 1 else 's'} than columns"
        reason = f"{said}: {row.extra[0][:40]}."
        if halves is not None:
            reason = f'{said}: the amount may be split, "{halves[0]}" and "{halves[1]}".'
        do = "Write amounts with a point, and put a cell with the separator in quotes."
        found.append(problem("TOO_MANY_CELLS", None, reason, do, "more cells than columns"))
    for column, text in row.cells.items():
        if len(text) > LONGEST_CELL:
            reason = f"The cell {column} has {len(text):,} characters."
            found.append(problem("TOO_LONG", column, reason, WRITE[column]))
        elif column is Column.SELL_AMOUNT:
            # No amount begins as a formula does: it is refused as an amount, once.
            continue
        elif text[:1] in FORMULA and not (column in (Column.TO, Column.REFUND) and text[0] == "@"):
            reason = f'The cell {column} begins with "{_shown(text[0])}", as a formula does.'
            do = "It is taken as it stands and computed nowhere; write its value if it is one."
            found.append(look("FORMULA", column, reason, do, f"{column} looks like a formula"))
    return found


def _shown(mark: str) -> str:
    return mark if mark.isprintable() else f"U+{ord(mark):04X}"


def _route(row: InputRow, findings: list[Finding]) -> BatchRoute | None:
    word = row.cell(Column.ROUTE).lower()
    if word in ("", "standard"):
        return "standard"
    if word == "private":
        return "private"
    reason = f'"{word[:20]}" is no route of a batch.'
    if word == "dex":
        reason = "A batch takes no routes on chains."
    findings.append(problem("BAD_ROUTE", Column.ROUTE, reason, WRITE[Column.ROUTE]))
    return None


def _amount(row: InputRow, token: Token | None, findings: list[Finding]) -> Decimal | None:
    text = row.cell(Column.SELL_AMOUNT)
    if not text:
        reason = "No amount is named."
        findings.append(problem("NO_AMOUNT", Column.SELL_AMOUNT, reason, WRITE[Column.SELL_AMOUNT]))
        return None
    try:
        # Digits are judged even where the token is not known.
        parse_amount(text)
    except AmountError as error:
        brief = "has a comma" if error.code == "comma" else ""
        findings.append(_bad_amount(error.message, brief))
        return None
    if token is None:
        return None
    check = check_amount(text, token)
    if not check.ok:
        reason = check.problem or "This is no amount."
        findings.append(_bad_amount(reason))
        return None
    findings += [
        look("AMOUNT_ROUNDED", Column.SELL_AMOUNT, line.text)
        for line in check.lines
        if line.level == "note"
    ]
    return check.amount


def _bad_amount(reason: str, brief: str = "") -> Finding:
    return problem("BAD_AMOUNT", Column.SELL_AMOUNT, reason, WRITE[Column.SELL_AMOUNT], brief)


def _memo(
    row: InputRow,
    recipient: RecipientCheck | None,
    token: Token | None,
    findings: list[Finding],
) -> str | None:
    if token is None or recipient is None:
        return None
    typed = row.cells.get(Column.MEMO, "")
    text = typed if typed.strip() else recipient.memo
    check = check_memo_of(recipient, text, False, token)
    if not check.ok:
        if check.fault == "missing":
            reason = f"{token.symbol} needs a {check.label} for exchanges."
            do = f"Write the {check.label} into the cell memo, or {WAIVER} if the wallet has none."
            findings.append(problem("NO_MEMO", Column.MEMO, reason, do))
        else:
            reason = check.problem or "This memo cannot be sent."
            findings.append(problem("BAD_MEMO", Column.MEMO, reason, WRITE[Column.MEMO]))
    else:
        findings += [
            look("MEMO_WARNING", Column.MEMO, line.text)
            for line in check.lines
            if line.level == "warn"
        ]
    return check.memo


def _brief(reason: str) -> str:
    """The reason of a wrong address in few words, where there are some."""
    return "the checksum is wrong" if reason.startswith("The checksum") else ""
