"""One row of a file: its cells, the order that it asks for or the reasons why it cannot, and what
became of the order.

Cells are data: a spreadsheet formula is treated as text. A finding says where something is wrong or
should be looked at, why, and what to do. A row can be in a batch only if its tokens can be traded
on exchanges and its deposit can be paid together with others. At most 50 rows that sell on one
chain form a group, which is created by one call.
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
"""The column of a cell: recipient (an address or ``@name``); amount sold, in whole tokens; token
sold (``SYMBOL.chain``); token bought and its chain, unless the token names it; memo; route
(``standard``, the default, or ``private``); refund address."""
COLUMNS: tuple[SheetColumn, ...] = get_args(SheetColumn)

TEMPLATE: tuple[SheetColumn, ...] = tuple(column for column in COLUMNS if column != "refund")
"""The columns of a new file, from left to right."""

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
"""The columns of a file without a header, from left to right. They are those of the first version's
template and never change, so that a file is always read in the same way."""

NEEDED: tuple[SheetColumn, ...] = ("to", "sell_amount", "buy")

FIRST_NAMES: Mapping[SheetColumn, str] = {"sell_amount": "amount", "buy": "token"}
"""The headings that earlier versions used for these columns. The journal may have stored cells
under them."""


SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
"""The separators of cells, with their names."""


def bare_cell(cell: str) -> str:
    """Returns the cell without blanks and invisible characters at its ends."""
    return cell.strip(_BLANKS)


_BLANKS = "".join(map(chr, filter(lambda code: chr(code).isspace(), range(0x3001))))
_BLANKS += "\u00ad\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\ufeff"


UNLESS_MEANT = "Nothing, if you mean it."
"""The advice for most findings that a person should only look at."""

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
"""The advice for a cell that cannot be used, by column."""


Level = Literal["look", "consent", "problem"]
"""How serious a finding is: ``problem`` blocks its row, ``consent`` blocks it until a person
agrees, ``look`` never blocks."""


class RowFinding(Struct, frozen=True):
    """A finding about one cell of a row, or about the whole row if ``column`` is None. ``do`` tells
    the user what to do."""

    PRINTED: ClassVar = {
        "code": "code", "level": "level", "column": "column", "reason": "reason", "do": "do",
    }  # fmt: skip

    code: str
    level: Level
    column: SheetColumn | None
    reason: str
    do: str
    brief: str = ""
    """The reason in a few words; empty if the whole reason is shown instead."""

    @property
    def short(self) -> str:
        return self.brief or self.reason.rstrip(".")


def problem(
    code: str, column: SheetColumn | None, reason: str, do: str = "", brief: str = ""
) -> RowFinding:
    """Returns a finding that blocks its row. If ``do`` is empty, the finding has the usual advice
    for ``column``."""
    return RowFinding(code, "problem", column, reason, do or WRITE[column], brief)


def look(
    code: str, column: SheetColumn | None, reason: str, do: str = UNLESS_MEANT, brief: str = ""
) -> RowFinding:
    return RowFinding(code, "look", column, reason, do, brief)


def consent(code: str, column: SheetColumn, reason: str, brief: str = "") -> RowFinding:
    """Returns a finding that blocks its row until a person agrees."""
    return RowFinding(code, "consent", column, reason, OR_AGREE, brief)


BatchRoute = Literal["standard", "private"]
"""The routes that a row of a batch can take. On-chain routes cannot be in a group (contract
9.3)."""


class PlannedOrder(Struct, frozen=True):
    """The order that a row asks for. Amounts are in whole tokens. ``about`` is an estimate of what
    the recipient gets, None if unknown."""

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
    """The recipient's address in a form that is the same for all its spellings."""
    label: str | None
    """The ``@name`` of the recipient; None if the address book has no name for the address."""
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
        """False if the same token is sold and bought: such a pair has no limits."""
        return self.token_in.id != self.token_out.id

    @property
    def asks(self) -> tuple[object, ...]:
        """A key for what the order pays, equal for two rows with the same payment."""
        return (*self.pair, self.amount, self.recipient, self.memo, self.route)

    def request(self) -> MultiOrderRequest:
        """Returns the order as part of a create request. The values are checked only when the
        request is encoded."""
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
"""The code of a row for which the service shows no order."""
ORDER_DIFFERS = "ORDER_DIFFERS"
"""The code of a row whose order differs from the request."""

Became = Literal["planned", "unknown", "created", "failed", "differs"]
"""The outcome of a row. ``planned``: no order was asked for yet. ``unknown``: an order may exist.
``created``: its order exists. ``failed``: it has no order. ``differs``: its order is not what was
asked for and must never be paid."""


class Row(Struct, frozen=True):
    """One row of a file. ``number`` is its position among the rows of data, ``line`` among all
    lines, from 1. ``order`` is None if a required cell cannot be used. No order is created for a
    ``skipped`` row."""

    PRINTED: ClassVar = {
        "row": "number", "line": "line", "state": "state", "findings": "findings",
        "order": "order",
    }  # fmt: skip

    number: int
    line: int
    cells: Mapping[SheetColumn, str]
    extra: tuple[str, ...] = ()
    """The cells beyond the last column, if there are any."""
    order: PlannedOrder | None = None
    findings: tuple[RowFinding, ...] = ()
    skipped: bool = False
    outcome: Operation | None = None
    """The row's operation in the journal; None until the batch is committed."""

    def cell(self, column: SheetColumn) -> str:
        """Returns the text of a cell without blanks at its ends; empty if the row has no such
        cell."""
        return bare_cell(self.cells.get(column, ""))

    @property
    def problems(self) -> tuple[RowFinding, ...]:
        return tuple(finding for finding in self.findings if finding.level == "problem")

    @property
    def state(self) -> RowWord:
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
        """The id of the row's order, or None."""
        return self.outcome.subject if self.outcome is not None else None

    @property
    def code(self) -> str | None:
        """The code of the row's problem: there is no order, the outcome is unknown, or the order
        differs. None without a problem."""
        return self.outcome.code if self.outcome is not None else None

    @property
    def reason(self) -> str | None:
        """The sentence for :attr:`code`, or None."""
        return self.outcome.result.get("reason") if self.outcome is not None else None


def orders_of(rows: Iterable[Row]) -> list[PlannedOrder]:
    """Returns the orders that the rows ask for. Rows without a usable order are left out."""
    return [row.order for row in rows if row.order is not None]


class Sheet(Struct, frozen=True):
    """All rows of a file, and how the file was read."""

    name: str
    separator: str
    headed: bool
    columns: tuple[SheetColumn, ...]
    rows: tuple[Row, ...]
    unused: tuple[str, ...] = ()
    """The unknown headings."""
    plain: bool = True
    """True if the headings say which side of the swap an amount belongs to."""
    decimal_comma: bool = False
    """True if the amounts were written with decimal commas, which were replaced by points."""
    remarks: tuple[int, ...] = ()
    """The numbers of the lines that are not rows."""
    skipped: frozenset[int] = frozenset()
    """The numbers of the rows that are not to be created."""

    @property
    def separated_by(self) -> str:
        return SEPARATORS[self.separator]

    @property
    def said(self) -> str:
        """How the file was read, like ``comma, header, line 1 is no row``."""
        parts = [self.separated_by, "header" if self.headed else "no header"]
        if self.decimal_comma:
            parts.append("decimal comma")
        if len(self.remarks) == 1:
            parts.append(f"line {self.remarks[0]} is no row")
        elif self.remarks:
            parts.append(f"{len(self.remarks)} lines are no rows")
        return ", ".join(parts)


def edited(sheet: Sheet, number: int, column: SheetColumn, text: str) -> Sheet:
    """Returns the sheet with one cell of row ``number`` replaced by ``text``. Cells of that row
    beyond the last column are removed."""
    rows = tuple(
        replace(row, cells={**row.cells, column: text}, extra=()) if row.number == number else row
        for row in sheet.rows
    )
    return replace(sheet, rows=rows)


def selling(sheet: Sheet, token: str) -> Sheet:
    """Returns the sheet with ``token`` as the token sold in every row that names none."""
    if not token or all(row.cell("sell") for row in sheet.rows):
        return sheet
    rows = tuple(
        row if row.cell("sell") else replace(row, cells={**row.cells, "sell": token})
        for row in sheet.rows
    )
    return replace(sheet, rows=rows)


def skipping(sheet: Sheet, numbers: Collection[int]) -> Sheet:
    """Returns the sheet with the rows of these numbers skipped, or included again if they were
    skipped. Raises KeyError for an unknown number."""
    existing = {row.number for row in sheet.rows}
    for number in numbers:
        if number not in existing:
            raise KeyError(number)
    return replace(sheet, skipped=sheet.skipped ^ frozenset(numbers))


def sheet_cells(cells: Mapping[str, str]) -> dict[SheetColumn, str]:
    """Returns a row's cells by column. Cells with an unknown heading are left out."""
    return {_BY_NAME[name]: text for name, text in cells.items() if name in _BY_NAME}


_BY_NAME: dict[str, SheetColumn] = {name: column for column, name in FIRST_NAMES.items()}
_BY_NAME |= {column: column for column in COLUMNS}


Paid = Literal["bundle", "solana"]
"""How the deposits of a group are paid: by operations of a smart account (``bundle``), or by wallet
transactions of several transfers each (``solana``)."""

NOT_IN_WALLET = "NOT_IN_WALLET"
"""The code of a row that sells more of a token than the wallet has left for it."""

NO_SMART_ACCOUNTS = "NO_SMART_ACCOUNTS"
"""The code of a row that only a smart account could pay, in a profile that has none."""

_PAID: dict[str, Paid] = {"evm": "bundle", "sol": "solana"}


def paid_by(token: Token) -> Paid | None:
    """Returns how several deposits of this token are paid together; None if that is not possible
    (``hasBundler``, contract 5.5)."""
    return _PAID.get(token.chain_data.kind) if token.has_bundler else None


ActWord = Literal["PREPARED", "SENT", "UNKNOWN", "ACKED", "REFUSED"]
GroupWord = Literal[ActWord, "RESOLVED_YES", "RESOLVED_NO"]
"""The state of a group's create request in one word, as used in JSON."""

ACT_WORDS: Mapping[State, ActWord] = {
    State.PREPARED: "PREPARED",
    State.SENT: "SENT",
    State.UNKNOWN: "UNKNOWN",
    State.DONE: "ACKED",
    State.REFUSED: "REFUSED",
}


class Group(Struct, frozen=True):
    """At most 50 rows that sell on one chain and are created by one call. ``paid`` says how the
    deposits are to be paid."""

    PRINTED: ClassVar = {
        "group": "number", "chain": "chain", "paid": "paid", "signatures": "signatures",
        "rows": "numbers",
    }  # fmt: skip

    number: int
    chain: str
    paid: Paid
    rows: tuple[Row, ...]
    operation: Operation | None = None
    """The group's operation in the journal; None for a group that is only planned."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the rows in the file."""
        return tuple(row.number for row in self.rows)

    @property
    def orders(self) -> list[PlannedOrder]:
        return orders_of(self.rows)

    @property
    def chain_name(self) -> str:
        """The chain's full name in a plan, its short name for a journaled group."""
        return next((order.token_in.chain_data.name for order in self.orders), self.chain)

    @property
    def signatures(self) -> int:
        """The number of signatures that pay the group; signatures that fund a smart account are not
        counted. On Solana, the number may turn out higher."""
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
        """The create request as confirmed, exactly as it is sent."""
        return decode(MultiExchangeRequest, self.act.body["body"].encode(), side="service")

    @property
    def word(self) -> GroupWord:
        """The state of the create request. RESOLVED_YES and RESOLVED_NO mean that a search after a
        lost answer found the group or did not."""
        act = self.act
        if act.state is State.DONE and act.code:
            return "RESOLVED_YES"
        if act.state is State.REFUSED and act.code == NOT_CREATED:
            return "RESOLVED_NO"
        return ACT_WORDS[act.state]


def pair_findings(
    token_in: Token, token_out: Token, route: BatchRoute | None, *, smart_accounts: bool
) -> list[RowFinding]:
    """Returns the findings about a row's pair of tokens. ``smart_accounts`` is True if smart
    accounts can pay bundles."""
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
