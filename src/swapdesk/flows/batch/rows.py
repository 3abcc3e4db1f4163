"""One row of a file: its cells, the order it asks for or why it cannot, and what became of it.

Cells are data: a spreadsheet formula is text here, and stays text. A finding says where something
is wrong or worth a look, why, and what to do. A row's tokens must be tradable on exchanges and
payable in one payment, or the row is in no batch. At most 50 rows that sell on one chain form a
group, which one call creates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from typing import ClassVar, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.flows.journal.ledger import Operation, State
from swapdesk.wire.encoding.codec import decode
from swapdesk.wire.multi import MOST_DEPOSITS, MultiExchangeRequest, MultiOrderRequest
from swapdesk.wire.tokens import Token

SheetColumn = Literal["to", "sell_amount", "sell", "buy", "chain", "memo", "route", "refund"]
"""The meaning of a cell, by its heading: recipient (an address or ``@name``); amount sold, in units
of the sold token; sold token (``SYMBOL.chain``); bought token and its chain, unless the token names
it; memo; route (``standard``, the default, or ``private``); refund address."""
COLUMNS: tuple[SheetColumn, ...] = get_args(SheetColumn)

TEMPLATE: tuple[SheetColumn, ...] = tuple(column for column in COLUMNS if column != "refund")
"""The columns of a new file, left to right."""

WITHOUT_HEADS: tuple[SheetColumn, ...] = (
    "to",
    "sell_amount",
    "buy",
    "chain",
    "memo",
    "route",
    "sell",
    "refund",
)
"""The columns of a file without a header, left to right: those of the first template, so that a
file is never read in two ways."""

NEEDED: tuple[SheetColumn, ...] = ("to", "sell_amount", "buy")

FIRST_NAMES: Mapping[SheetColumn, str] = {"sell_amount": "amount", "buy": "token"}
"""Former headings, which the journal keeps in cells of older desks."""


SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
"""Cell separators and their names."""


def bare_cell(cell: str) -> str:
    """Strips blanks and invisible characters, which pages, sheets and messages add and no address,
    amount or memo begins or ends with."""
    return cell.strip(_BLANKS)


_BLANKS = "".join(map(chr, filter(lambda code: chr(code).isspace(), range(0x3001))))
_BLANKS += "\u00ad\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\ufeff"


UNLESS_MEANT = "Nothing, if you mean it."
"""The advice for most findings that are only worth a look."""

OR_AGREE = "Correct it, or agree to it when the orders are created."

WRITE: Mapping[SheetColumn | None, str] = {
    "to": "Write an address of that chain, or a @name of the address book.",
    "sell_amount": "Write digits with a point, as 1200.50.",
    "buy": "Write what the recipient gets, as ETH.base.",
    "chain": "Write the short name of a chain, as ethereum.",
    "memo": "Write the memo alone.",
    "route": "Write standard or private.",
    "sell": "Write the token that is sold, as USDC.ethereum.",
    "refund": "Write an address on the chain that is sold on, or nothing.",
}
"""The advice for an unusable cell, by column."""


Level = Literal["look", "consent", "problem"]
"""``problem`` blocks the row, ``consent`` blocks it until a person agrees, ``look`` never
blocks."""


class RowFinding(Struct, frozen=True):
    """``column`` is None for the whole row; ``reason`` and ``do`` are sentences."""

    PRINTED: ClassVar = {
        "code": "code", "level": "level", "column": "column", "reason": "reason", "do": "do",
    }  # fmt: skip

    code: str
    level: Level
    column: SheetColumn | None
    reason: str
    do: str
    brief: str = ""
    """The reason in a few words."""

    @property
    def short(self) -> str:
        return self.brief or self.reason.rstrip(".")


def problem(
    code: str, column: SheetColumn | None, reason: str, do: str = "", brief: str = ""
) -> RowFinding:
    """A finding that blocks its row; ``do`` defaults to the advice for its column."""
    return RowFinding(code, "problem", column, reason, do or WRITE[column], brief)


def look(
    code: str, column: SheetColumn | None, reason: str, do: str = UNLESS_MEANT, brief: str = ""
) -> RowFinding:
    return RowFinding(code, "look", column, reason, do, brief)


def consent(code: str, column: SheetColumn, reason: str, brief: str = "") -> RowFinding:
    """A finding that blocks its row until a person agrees."""
    return RowFinding(code, "consent", column, reason, OR_AGREE, brief)


BatchRoute = Literal["standard", "private"]
"""A group takes no on-chain routes (contract 9.3)."""


class PlannedOrder(Struct, frozen=True):
    """The order a row asks for. Amounts are in whole tokens; what arrives is an estimate, None if
    unknown."""

    PRINTED: ClassVar = {
        "addressTo": "recipient", "name": "label", "amount": "amount", "from": "token_in.id",
        "sells": "token_in.symbol", "to": "token_out.id", "buys": "token_out.symbol",
        "arrivesAbout": "about", "route": "route", "memo": "memo", "refundAddress": "refund",
    }  # fmt: skip

    token_in: Token
    token_out: Token
    amount: Decimal
    recipient: str
    account: str
    """The recipient in its canonical form."""
    label: str | None
    """The ``@name`` of the recipient."""
    memo: str | None
    route: BatchRoute
    refund: str | None = None
    refund_memo: str | None = None
    about: Decimal | None = None

    @property
    def pair(self) -> tuple[str, str]:
        return self.token_in.id, self.token_out.id

    @property
    def has_limits(self) -> bool:
        """False for a token sold for itself, whose pair has no limits."""
        return self.token_in.id != self.token_out.id

    @property
    def asks(self) -> tuple[object, ...]:
        """Identifies a payment: equal for two rows that ask for the same."""
        return (*self.pair, self.amount, self.recipient, self.memo, self.route)

    def request(self) -> MultiOrderRequest:
        """The request for the order. The model is validated again when it is encoded."""
        return MultiOrderRequest.model_validate(
            {
                "from": self.token_in.id,
                "to": self.token_out.id,
                "amount": self.amount,
                "addressTo": self.recipient,
                "anonymous": self.route == "private",
                "destinationTag": self.memo,
                "refundAddress": self.refund,
                "refundExtraId": self.refund_memo,
            }
        )


RowWord = Literal["ready", "look", "problem", "skipped"]


NOT_CREATED = "NOT_CREATED"
"""The service shows no order of the row."""
ORDER_DIFFERS = "ORDER_DIFFERS"
"""The order of the row differs from the request."""

Became = Literal["planned", "unknown", "created", "failed", "differs"]
"""The result of a row: not asked for yet (``planned``), unknown whether an order exists, an order,
no order (``failed``), or an order that differs from the request and must never be paid."""


class Row(Struct, frozen=True):
    """``row`` counts data rows from 1; ``line`` is where it begins in the file, from 1 with the
    header, as a cell may contain line breaks. ``order`` is None while a required cell is
    unreadable. A ``skipped`` row is not created, whatever its findings."""

    PRINTED: ClassVar = {
        "row": "number", "line": "line", "state": "state", "findings": "findings",
        "order": "order",
    }  # fmt: skip

    number: int
    line: int
    cells: Mapping[SheetColumn, str]
    extra: tuple[str, ...] = ()
    """Cells beyond the last column."""
    order: PlannedOrder | None = None
    findings: tuple[RowFinding, ...] = ()
    skipped: bool = False
    outcome: Operation | None = None
    """Its operation in the journal; None before it is committed."""

    def cell(self, column: SheetColumn) -> str:
        """The stripped cell; empty if there is none."""
        return bare_cell(self.cells.get(column, ""))

    @property
    def problems(self) -> tuple[RowFinding, ...]:
        return tuple(finding for finding in self.findings if finding.level == "problem")

    @property
    def state(self) -> RowWord:
        """The state of the row in a plan."""
        if self.skipped:
            return "skipped"
        if self.problems:
            return "problem"
        return "look" if self.findings else "ready"

    def with_findings(self, *more: RowFinding) -> Row:
        return replace(self, findings=(*self.findings, *more)) if more else self

    # Once it is in the journal

    @property
    def act(self) -> Operation:
        assert self.outcome is not None, "the row is only planned"
        return self.outcome

    @property
    def became(self) -> Became:
        if self.outcome is None or self.outcome.state is State.PREPARED:
            return "planned"
        if self.outcome.left:
            return "unknown"
        if self.outcome.state is State.REFUSED:
            return "failed"
        return "differs" if self.outcome.code == ORDER_DIFFERS else "created"

    @property
    def service_id(self) -> str | None:
        """The id of its order."""
        return self.outcome.subject if self.outcome is not None else None

    @property
    def code(self) -> str | None:
        """The code of why it has no order, or a different one."""
        return self.outcome.code if self.outcome is not None else None

    @property
    def reason(self) -> str | None:
        """The same in a sentence."""
        return self.outcome.result.get("reason") if self.outcome is not None else None


def orders_of(rows: Iterable[Row]) -> list[PlannedOrder]:
    """The orders that rows ask for, as far as readable."""
    return [row.order for row in rows if row.order is not None]


class Sheet(Struct, frozen=True):
    """All rows of a file. ``unused`` are unknown headings. ``plain``: the headings say which side
    the amount counts. ``decimal_comma``: amounts had decimal commas, now points. ``remarks`` are
    lines that are not rows; ``skipped`` are numbers of rows not to create."""

    name: str
    separator: str
    headed: bool
    columns: tuple[SheetColumn, ...]
    rows: tuple[Row, ...]
    unused: tuple[str, ...] = ()
    plain: bool = True
    decimal_comma: bool = False
    remarks: tuple[int, ...] = ()
    skipped: frozenset[int] = frozenset()

    @property
    def separated_by(self) -> str:
        return SEPARATORS[self.separator]

    @property
    def said(self) -> str:
        """The words that say how the file was read: ``comma, header, line 1 is no row``."""
        parts = [self.separated_by, "header" if self.headed else "no header"]
        if self.decimal_comma:
            parts.append("decimal comma")
        if len(self.remarks) == 1:
            parts.append(f"line {self.remarks[0]} is no row")
        elif self.remarks:
            parts.append(f"{len(self.remarks)} lines are no rows")
        return ", ".join(parts)


def edited(sheet: Sheet, number: int, column: SheetColumn, text: str) -> Sheet:
    """Replaces one cell; extra cells of that row are dropped."""
    rows = tuple(
        replace(row, cells={**row.cells, column: text}, extra=()) if row.number == number else row
        for row in sheet.rows
    )
    return replace(sheet, rows=rows)


def selling(sheet: Sheet, token: str) -> Sheet:
    """Sets ``token`` in every row that names none to sell, so that an option of the command appears
    in the results."""
    if not token or all(row.cell("sell") for row in sheet.rows):
        return sheet
    rows = tuple(
        row if row.cell("sell") else replace(row, cells={**row.cells, "sell": token})
        for row in sheet.rows
    )
    return replace(sheet, rows=rows)


def skipping(sheet: Sheet, numbers: Collection[int]) -> Sheet:
    """Skips these rows, or takes in again those that were skipped. KeyError if a number does not
    exist."""
    existing = {row.number for row in sheet.rows}
    for number in numbers:
        if number not in existing:
            raise KeyError(number)
    return replace(sheet, skipped=sheet.skipped ^ frozenset(numbers))


def sheet_cells(cells: Mapping[str, str]) -> dict[SheetColumn, str]:
    """Converts the journal's cells to columns; unknown names are left out."""
    return {_BY_NAME[name]: text for name, text in cells.items() if name in _BY_NAME}


_BY_NAME: dict[str, SheetColumn] = {name: column for column, name in FIRST_NAMES.items()}
_BY_NAME |= {column: column for column in COLUMNS}


Paid = Literal["bundle", "solana"]
"""How the deposits of a group are paid: by operations of a smart account, or by ordinary
transactions of several transfers."""

NOT_IN_WALLET = "NOT_IN_WALLET"
"""The wallet has too little of what the row sells."""

NO_SMART_ACCOUNTS = "NO_SMART_ACCOUNTS"
"""The row needs a bundle, and this wallet signs none."""

_PAID: dict[str, Paid] = {"evm": "bundle", "sol": "solana"}


def paid_by(token: Token) -> Paid | None:
    """Returns how deposits of this token are paid together; None if they cannot be (``hasBundler``,
    contract 5.5)."""
    return _PAID.get(token.chain_data.kind) if token.has_bundler else None


ActWord = Literal["PREPARED", "SENT", "UNKNOWN", "ACKED", "REFUSED"]
GroupWord = Literal[ActWord, "RESOLVED_YES", "RESOLVED_NO"]
"""The state of a group's request, in the words of the JSON."""

ACT_WORDS: Mapping[State, ActWord] = {
    State.PREPARED: "PREPARED",
    State.SENT: "SENT",
    State.UNKNOWN: "UNKNOWN",
    State.DONE: "ACKED",
    State.REFUSED: "REFUSED",
}


class Group(Struct, frozen=True):
    """At most 50 rows that sell on one chain, created by one call. ``chain`` is its short name,
    ``paid`` how their deposits are paid."""

    PRINTED: ClassVar = {
        "group": "number", "chain": "chain", "paid": "paid", "signatures": "signatures",
        "rows": "numbers",
    }  # fmt: skip

    number: int
    chain: str
    paid: Paid
    rows: tuple[Row, ...]
    operation: Operation | None = None
    """Its operation in the journal; None in a plan."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of its rows in the file."""
        return tuple(row.number for row in self.rows)

    @property
    def orders(self) -> list[PlannedOrder]:
        return orders_of(self.rows)

    @property
    def chain_name(self) -> str:
        """The full name of the chain, from a plan."""
        return next((order.token_in.chain_data.name for order in self.orders), self.chain)

    @property
    def signatures(self) -> int:
        """Number of signatures that pay it, one per token, without those that fund a smart account.
        A minimum on Solana, where transactions are packed by size."""
        sold = Counter(order.token_in.id for order in self.orders)
        if self.paid == "bundle":
            return len(sold)
        return sum(-(-count // MOST_DEPOSITS) for count in sold.values())

    # Once it is in the journal

    @property
    def act(self) -> Operation:
        assert self.operation is not None, "the group is only planned"
        return self.operation

    @property
    def multi_id(self) -> str | None:
        return self.operation.subject if self.operation is not None else None

    @property
    def request(self) -> MultiExchangeRequest:
        """The confirmed request, as it leaves."""
        return decode(MultiExchangeRequest, self.act.body["body"].encode(), side="service")

    @property
    def word(self) -> GroupWord:
        """The state as a word; a lost answer keeps its code even if the group was found."""
        act = self.act
        if act.state is State.DONE and act.code:
            return "RESOLVED_YES"
        if act.state is State.REFUSED and act.code == NOT_CREATED:
            return "RESOLVED_NO"
        return ACT_WORDS[act.state]


def pair_findings(
    token_in: Token, token_out: Token, route: BatchRoute | None, *, smart_accounts: bool
) -> list[RowFinding]:
    """Findings on the pair of a row; ``smart_accounts``: this profile has one to pay bundles
    from."""
    findings: list[RowFinding] = []
    sides: tuple[tuple[Token, SheetColumn], ...] = ((token_in, "sell"), (token_out, "buy"))
    for token, column in sides:
        if not token.has_cex:
            reason = f"No exchange takes {_name(token)}, and a batch goes by exchanges."
            findings.append(problem("NO_EXCHANGE", column, reason, "Choose another token."))
    if token_in.has_cex and paid_by(token_in) is None:
        reason = f"Deposits of {_name(token_in)} cannot be paid together."
        do = "Sell another token here, or swap this one by itself."
        brief = f"{token_in.symbol[:12]} has no bundles"
        findings.append(problem("NO_BUNDLER", "sell", reason, do, brief))
    if token_in.has_cex and paid_by(token_in) == "bundle" and not smart_accounts:
        chain = token_in.chain_data.name
        reason = (
            f"A live wallet pays no bundles on {chain}: who makes its smart account is known in"
            " the sandbox alone."
        )
        do = "Swap or send this row by itself, or sell a token on Solana."
        findings.append(problem(NO_SMART_ACCOUNTS, "sell", reason, do, f"no bundles on {chain}"))
    if token_in.id == token_out.id and route == "standard":
        reason = f"{token_in.symbol} is sold for itself, which only a private route does."
        findings.append(problem("SAME_TOKEN", "buy", reason, "Write private as route."))
    return findings


def _name(token: Token) -> str:
    return f"{token.symbol} on {token.chain_data.name}"
