"""What a wallet has and who may take of it, as rows of a table. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.flows.batch.standing import way_out
from swapdesk.flows.notation import exact_amount, short_address, usd
from swapdesk.flows.wallet.local_wallet import ChainAllowances, ChainHoldings
from swapdesk.tui.glyphs import TROUBLE
from swapdesk.tui.spans import LineLike, Span
from swapdesk.tui.widgets.detail_rows import Fact, facts_lines
from swapdesk.tui.widgets.table_layout import Blank, Cell, Column, Prose, Row, Section, TableRow
from swapdesk.wallet.accounts import Account
from swapdesk.wallet.holdings import Allowance
from swapdesk.wire.encoding.numbers import from_base_units, short

COLUMNS = (
    Column("account", "Account", 12),
    Column("chain", "Chain", 12, role="muted"),
    Column("amount", "Balance", 16, "point"),
    Column("token", "", 8, gap=1),
    Column("usd", "USD", 12, "right", priority=2, role="muted"),
    Column("note", "Allowances", 18, priority=1, grow=1, role="muted"),
)


PANE = 74


@dataclass(frozen=True)
class Told:
    """What was read last; ``read_only``: another desk has the wallet. ``reading``: balances are
    still to come. ``smart``: what smart accounts of these accounts hold."""

    accounts: tuple[Account, ...] = ()
    holdings: tuple[ChainHoldings, ...] = ()
    allowances: tuple[ChainAllowances, ...] = ()
    read_only: bool = False
    problems: tuple[str, ...] = ()
    reading: bool = False
    smart: tuple[ChainHoldings, ...] = ()


@dataclass(frozen=True)
class Subject:
    """What a row is about. ``allowance`` None: an account on a chain; ``smart`` is the address of
    its smart account there, where that is meant, empty where it is not known."""

    account: Account
    chain: str
    allowance: Allowance | None = None
    smart: str | None = None

    @property
    def address(self) -> str:
        if self.smart:
            return self.smart
        return self.account.address if self.allowance is None else self.allowance.spender


def wallet_rows(told: Told) -> tuple[list[TableRow], dict[str, Subject]]:
    """The rows, and what each selectable one is about."""
    rows: list[TableRow] = []
    subjects: dict[str, Subject] = {}
    counts = {(one.account.address, one.chain): len(one.allowances) for one in told.allowances}
    for account in told.accounts:
        held = [one for one in told.holdings if one.account.address == account.address]
        if rows:
            rows.append(Blank(f"gap {account.address}"))
        if not held:
            key = f"{account.address} none"
            subjects[key] = Subject(account, "")
            words = "being read" if told.reading else "no node of its chains is connected"
            said = Span(words, "muted")
            rows.append(Row(key, {"account": _name(account)}, tail=said, tail_from="chain"))
        for place, one in enumerate(held):
            name: Cell = _name(account) if place == 0 else ""
            rows += _on_chain(one, name, counts.get((account.address, one.chain)), subjects)
    if told.smart:
        rows += [Blank("gap smart"), Section("smart", "In smart accounts", "")]
    for one in told.smart:
        rows += _on_chain(one, one.account.name, None, subjects)
    allowed = [(one, each) for one in told.allowances for each in one.allowances]
    if allowed:
        rows += [Blank("gap allowed"), Section("allowed", "May take", str(len(allowed)))]
    for among, each in allowed:
        key = f"may {among.account.address} {among.chain} {each.token.contract} {each.spender}"
        if each.permit2:
            key += " permit2"
        subjects[key] = Subject(among.account, among.chain, each)
        cells: dict[str, Cell] = {
            "account": among.account.name,
            "chain": among.chain_name,
            "amount": "any amount" if each.unlimited else _units(each),
            "token": each.token.symbol,
            "note": f"to {each.venue or 'a contract not known here'}"
            + (", by Permit2" if each.permit2 else ""),
        }
        if each.unlimited:
            cells["amount"] = Span("any amount", "status-waiting")
        rows.append(Row(key, cells))
    for asked in told.allowances:
        if not asked.complete and asked.problem is None:
            doubt = f"{asked.chain_name} does not tell all approvals: there may be more."
            key = f"doubt {asked.account.address} {asked.chain}"
            rows.append(Prose(key, Span(doubt, "muted")))
    return rows, subjects


def wallet_pane(subject: Subject) -> list[LineLike]:
    """What stands below the table of the row under the cursor: its whole address."""
    if subject.smart is not None:
        back = f"{way_out(subject.chain)} takes it back to {subject.account.name}"
        facts = [Fact("Account", address=subject.address)] if subject.smart else []
        return list(facts_lines([*facts, Fact("Back", back)], PANE))
    label = subject.account.name if subject.allowance is None else "May take"
    return list(facts_lines([Fact(label, address=subject.address)], PANE))


def _on_chain(
    one: ChainHoldings, name: Cell, count: int | None, subjects: dict[str, Subject]
) -> list[TableRow]:
    base = f"{one.account.address} {one.chain}" + ("" if one.smart is None else " smart")
    subject = Subject(one.account, one.chain, smart=one.smart)
    if one.problem is not None:
        subjects[base] = subject
        said = Span(f"{TROUBLE} {one.problem}", "status-waiting")
        cells: dict[str, Cell] = {"account": name, "chain": one.chain_name}
        return [Row(base, cells, tail=said, tail_from="amount")]
    if one.reading:
        # The key of its first row later on: the cursor stays where it is.
        key = f"{base} coin"
        subjects[key] = subject
        cells = {"account": name, "chain": one.chain_name}
        return [Row(key, cells, tail=Span("reading…", "muted"), tail_from="amount")]
    rows: list[TableRow] = []
    for place, held in enumerate(one.holdings):
        key = f"{base} {held.asset.contract or 'coin'}"
        subjects[key] = subject
        rows.append(
            Row(
                key,
                {
                    "account": name if place == 0 else "",
                    "chain": one.chain_name if place == 0 else "",
                    "amount": "?" if held.amount is None else exact_amount(held.amount),
                    "token": held.asset.symbol,
                    "usd": "—" if held.usd is None else usd(held.usd),
                    "note": _counted(count) if place == 0 else "",
                },
            )
        )
    return rows


def _name(account: Account) -> Span:
    return Span(account.name or short_address(account.address), bold=True)


def _counted(count: int | None) -> str:
    return "" if count is None else "none" if not count else str(count)


def _units(one: Allowance) -> str:
    return exact_amount(short(from_base_units(one.units, one.token.decimals)))
