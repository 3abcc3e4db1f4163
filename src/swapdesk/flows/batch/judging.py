"""One row of a sheet, judged: every cell by the rules the desk has for one swap.

Amounts by ``amount_check``, tokens by ``resolution`` and ``token_safety``, addresses by
``recipients``, memos by ``memo_check``. All cells are judged, so that a person corrects a row
once. Nothing is asked of the service here; limits of pairs are given (``limits``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from swapdesk.chain.addresses.memos import WAIVER
from swapdesk.flows.batch.finding import Finding, look, problem
from swapdesk.flows.batch.pair import pair_findings
from swapdesk.flows.batch.planned import BatchRoute, PlannedOrder, PlannedRow
from swapdesk.flows.batch.reading import split_amount
from swapdesk.flows.batch.sheet import Column, InputRow
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.catalog.resolution import resolve
from swapdesk.flows.catalog.search import imitated_by
from swapdesk.flows.catalog.token_safety import TokenCheck, check_token
from swapdesk.flows.check_line import CheckLine
from swapdesk.flows.orders.order_export import FORMULA
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.flows.payees.memo_check import check_memo_of
from swapdesk.flows.payees.recipient_check import RecipientCheck
from swapdesk.flows.payees.recipients import (
    NEVER_PAID,
    check_recipient,
    check_refund,
)
from swapdesk.flows.quotes.amount_check import check_amount
from swapdesk.wire.encoding.numbers import AmountError, parse_amount
from swapdesk.wire.tokens import Token

LONGEST_CELL = 500
"""No address, memo or amount is longer."""

_MOST_NAMED = 8
_WRITE = {
    Column.TO: "Write an address of that chain, or a @name of the address book.",
    Column.AMOUNT: "Write digits with a point, as 1200.50.",
    Column.TOKEN: "Write what the recipient gets, as ETH.base.",
    Column.CHAIN: "Write the short name of a chain, as ethereum.",
    Column.MEMO: "Write the memo alone.",
    Column.ROUTE: "Write standard or private.",
    Column.SELL: "Write the token that is sold, as USDC.ethereum.",
    Column.REFUND: "Write an address on the chain that is sold on, or nothing.",
}


@dataclass
class RowJudge:
    """``paid`` counts payments by address; ``sell`` is the token of rows that name none;
    ``smart_accounts``: whether the profile has one to pay bundles from.

    Tokens and contracts are looked up once for all rows.
    """

    catalog: Catalog
    book: AddressBook
    paid: Mapping[str, int]
    own_deposits: Collection[str]
    now: datetime
    sell: str = ""
    smart_accounts: bool = field(kw_only=True)
    _tokens: dict[tuple[str, str, Column], Token | Finding] = field(default_factory=dict)
    _checks: dict[str, TokenCheck] = field(default_factory=dict)
    _contracts: dict[str, frozenset[str]] = field(default_factory=dict)

    def judge(self, row: InputRow) -> PlannedRow:
        findings = list(_shape(row))
        shifted = bool(row.extra) and split_amount(row.cells) is not None
        if shifted or any(one.code == "TOO_LONG" for one in findings):
            # What stands in the wrong column is not wrong there by itself.
            return PlannedRow(row, None, tuple(findings))
        token_in = self._token_of(row, Column.SELL, findings)
        token_out = self._token_of(row, Column.TOKEN, findings)
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

    def _token_of(self, row: InputRow, column: Column, findings: list[Finding]) -> Token | None:
        spec = row.cell(column)
        chain = row.cell(Column.CHAIN) if column is Column.TOKEN else ""
        if column is Column.SELL and not spec:
            spec = self.sell
        known = self._tokens.get((spec, chain, column))
        if known is None:
            known = self._find(spec, chain, column)
            self._tokens[spec, chain, column] = known
        if isinstance(known, Finding):
            findings.append(known)
            return None
        check = self._check(known)
        if not check.ok:
            said = _first(check.lines, "refuse")
            findings.append(problem("TOKEN_REFUSED", column, said, "Choose another token."))
        elif check.needs_consent:
            warned = " ".join(line.text for line in check.lines if line.level == "warn")
            findings.append(look("TOKEN_WARNING", column, warned))
        return known

    def _find(self, spec: str, chain: str, column: Column) -> Token | Finding:
        if not spec:
            word = "to sell" if column is Column.SELL else "for the recipient"
            return problem("NO_TOKEN", column, f"No token {word} is named.", _WRITE[column])
        named = spec
        if chain:
            known = self.catalog.chain(chain) or next(
                (one for one in self.catalog.chains() if one.name.lower() == chain.lower()), None
            )
            if known is None:
                reason = f'No chain is called "{chain[:40]}".'
                return problem("NO_CHAIN", Column.CHAIN, reason, _WRITE[Column.CHAIN])
            chain_key = known.short_name.lower()
            alone = resolve(spec, self.catalog)
            there = [one for one in alone.candidates if one.chain.lower() == chain_key]
            if "." in spec and alone.token is not None and not there:
                reason = f"{spec[:40]} is not on {known.name}."
                return problem("OTHER_CHAIN", Column.CHAIN, reason, "Make the two cells agree.")
            named = there[0].id if len(there) == 1 else f"{spec}.{known.short_name}"
        found = resolve(named, self.catalog)
        if found.token is None:
            reason = found.problem or "There is no such token."
            disabled = "disabled" in reason
            code = "TOKEN_DISABLED" if disabled else "TOKEN_NOT_FOUND"
            return problem(code, column, reason, _WRITE[column])
        if found.ambiguous:
            names = ", ".join(found.specs[:_MOST_NAMED])
            reason = f'"{spec[:40]}" is several tokens: {names}.'
            brief = f"{spec[:12]} is on {len(found.specs)} chains"
            do = "Write one of them" + (" or fill in the chain." if column is Column.TOKEN else ".")
            return problem("AMBIGUOUS_TOKEN", column, reason, do, brief)
        return found.token

    def _check(self, token: Token) -> TokenCheck:
        check = self._checks.get(token.id)
        if check is None:
            row = self.catalog.row(token.id)
            imitates = imitated_by(row, self.catalog.rows.drawn_like(row)) if row else None
            check = check_token(token, now=self.now, imitates=imitates)
            self._checks[token.id] = check
        return check

    def _contracts_of(self, token: Token) -> frozenset[str]:
        chain = token.chain_data.short_name
        if chain not in self._contracts:
            self._contracts[chain] = self.catalog.rows.contracts_on(chain)
        return self._contracts[chain]

    def _recipient(
        self, row: InputRow, token: Token | None, findings: list[Finding]
    ) -> RecipientCheck | None:
        text = row.cell(Column.TO)
        if not text:
            findings.append(
                problem("NO_RECIPIENT", Column.TO, "No recipient is named.", _WRITE[Column.TO])
            )
            return None
        if token is None or not self._check(token).ok:
            return None
        check = check_recipient(
            text,
            token,
            book=self.book,
            paid=self.paid,
            own_deposits=self.own_deposits,
            contracts=self._contracts_of(token),
        )
        if not check.ok:
            reason = check.problem or "This address cannot be used."
            code = "LOOKALIKE_ADDRESS" if check.lookalike else "BAD_ADDRESS"
            findings.append(problem(code, Column.TO, reason, _WRITE[Column.TO], _brief(reason)))
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
        if not text or token is None or not self._check(token).ok:
            return None
        check = check_refund(
            text,
            token,
            required=False,
            book=self.book,
            paid=self.paid,
            own_deposits=self.own_deposits,
            contracts=self._contracts_of(token),
        )
        if not check.ok:
            reason = check.problem or "This refund address cannot be used."
            do = _WRITE[Column.REFUND]
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
            found.append(problem("TOO_LONG", column, reason, _WRITE[column]))
        elif column is Column.AMOUNT:
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
    findings.append(problem("BAD_ROUTE", Column.ROUTE, reason, _WRITE[Column.ROUTE]))
    return None


def _amount(row: InputRow, token: Token | None, findings: list[Finding]) -> Decimal | None:
    text = row.cell(Column.AMOUNT)
    if not text:
        reason = "No amount is named."
        findings.append(problem("NO_AMOUNT", Column.AMOUNT, reason, _WRITE[Column.AMOUNT]))
        return None
    try:
        # Digits are judged even where the token is not known.
        parse_amount(text)
    except AmountError as error:
        findings.append(problem("BAD_AMOUNT", Column.AMOUNT, error.message, _WRITE[Column.AMOUNT]))
        return None
    if token is None:
        return None
    check = check_amount(text, token)
    if not check.ok:
        reason = check.problem or "This is no amount."
        findings.append(problem("BAD_AMOUNT", Column.AMOUNT, reason, _WRITE[Column.AMOUNT]))
        return None
    findings += [
        look("AMOUNT_ROUNDED", Column.AMOUNT, line.text)
        for line in check.lines
        if line.level == "note"
    ]
    return check.amount


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
            findings.append(problem("BAD_MEMO", Column.MEMO, reason, _WRITE[Column.MEMO]))
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


def _first(lines: tuple[CheckLine, ...], level: str) -> str:
    return next(line.text for line in lines if line.level == level)
