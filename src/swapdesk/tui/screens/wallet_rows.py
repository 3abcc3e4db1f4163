"""Balances and allowances of a wallet as rows of a table, and the revocation of an allowance.
Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from swapdesk.flows.batch.group_status import way_out
from swapdesk.flows.notation import exact_amount, short_address, usd
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.flows.transactions.transactor import Proposal, UnderWay
from swapdesk.flows.wallet.chain_holdings import ChainAllowances, ChainHoldings
from swapdesk.flows.wallet.wallet_reading import Told
from swapdesk.tui.glyphs import TROUBLE
from swapdesk.tui.spans import LineLike, Span
from swapdesk.tui.widgets.detail_rows import Fact, facts_lines
from swapdesk.tui.widgets.overlay import Question
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
READ_AGAIN = "you: r reads it again"


@dataclass(frozen=True)
class Subject:
    """What a row is about. ``allowance`` None: an account on a chain; ``smart`` is the address of
    its smart account there, where that is meant, empty where it is not known. ``unread`` says why
    nothing of it could be read, None where it could."""

    account: Account
    chain: str
    allowance: Allowance | None = None
    smart: str | None = None
    unread: str | None = None

    @property
    def address(self) -> str:
        if self.smart:
            return self.smart
        return self.account.address if self.allowance is None else self.allowance.spender


def wallet_rows(told: Told) -> tuple[list[TableRow], dict[str, Subject]]:
    """The rows, and what each selectable one is about."""
    rows: list[TableRow] = []
    subjects: dict[str, Subject] = {}
    allowing = {(one.account.address, one.chain): one for one in told.allowances}
    before = ""
    for one in told.holdings:
        address = one.account.address
        if before not in ("", address):
            rows.append(Blank(f"gap {address} {one.chain}"))
        name: Cell = "" if before == address else _name(one.account)
        before = address
        rows += _on_chain(one, name, allowing.get(one.place), subjects)
    held = {one.account.address for one in told.holdings}
    for account in told.accounts:
        if account.address in held:
            continue
        if rows:
            rows.append(Blank(f"gap {account.address}"))
        key = f"{account.address} none"
        subjects[key] = Subject(account, "")
        words = "being read" if told.reading else "no node of its chains is connected"
        said = Span(words, "muted")
        rows.append(Row(key, {"account": _name(account)}, tail=said, tail_from="chain"))
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
            "note": f"to {each.venue or 'an unknown contract'}"
            + (", by Permit2" if each.permit2 else ""),
        }
        if each.unlimited:
            cells["amount"] = Span("any amount", "status-waiting")
        rows.append(Row(key, cells))
    failed = {one.place for one in told.holdings if one.problem is not None}
    for asked in told.allowances:
        place = (asked.account.address, asked.chain)
        # A chain that does not answer at all has said so in its own row.
        for at, said in enumerate(() if place in failed else _doubts(asked)):
            rows.append(Prose(f"doubt {asked.account.address} {asked.chain} {at}", said))
    return rows, subjects


def wallet_pane(subject: Subject) -> list[LineLike]:
    """What stands below the table of the row under the cursor: its whole address, and of what
    could not be read where its money is and who acts next."""
    facts = _address_facts(subject)
    if subject.unread is not None:
        facts.append(Fact("Funds", "where they are; only the reading failed"))
        facts.append(Fact("Next", subject.unread or READ_AGAIN))
    return list(facts_lines(facts, PANE))


def _address_facts(subject: Subject) -> list[Fact]:
    if subject.smart is not None:
        back = f"{way_out(subject.chain)} takes it back to {subject.account.name}"
        facts = [Fact("Account", address=subject.address)] if subject.smart else []
        return [*facts, Fact("Back", back)]
    label = subject.account.name if subject.allowance is None else "May take"
    return [Fact(label, address=subject.address)]


def _on_chain(
    one: ChainHoldings, name: Cell, allowing: ChainAllowances | None, subjects: dict[str, Subject]
) -> list[TableRow]:
    base = f"{one.account.address} {one.chain}" + ("" if one.smart is None else " smart")
    # The key of its first row, whatever comes of the reading: the cursor stays where it is.
    first = f"{base} coin"
    unread = None if one.problem is None else one.next
    subject = Subject(one.account, one.chain, smart=one.smart, unread=unread)
    if one.problem is not None:
        subjects[first] = subject
        said = Span(f"{TROUBLE} {one.problem}", "status-waiting")
        cells: dict[str, Cell] = {"account": name, "chain": one.chain_name}
        return [Row(first, cells, tail=said, tail_from="amount")]
    if one.reading:
        key = first
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
                    "note": _counted(allowing) if place == 0 else "",
                },
            )
        )
    return rows


def _name(account: Account) -> Span:
    return Span(account.name or short_address(account.address), bold=True)


def _doubts(asked: ChainAllowances) -> Iterator[Span]:
    """What is not known of who may take, a row each."""
    if asked.problem is not None:
        said = f"Who may take on {asked.chain_name} could not be read: {asked.problem}."
        yield Span(said, "status-waiting")
        yield Span(f"Next {asked.next or READ_AGAIN}.", "muted")
    elif not asked.complete:
        yield Span(f"{asked.chain_name} does not tell all approvals: there may be more.", "muted")


def _counted(allowing: ChainAllowances | None) -> str:
    """How many may take: ``?`` where it could not be read, ``2 known`` where there may be more."""
    if allowing is None:
        return ""
    if allowing.problem is not None:
        return "?"
    said = str(len(allowing.allowances) or "none")
    return said if allowing.complete else f"{said} known"


def _units(one: Allowance) -> str:
    return exact_amount(short(from_base_units(one.units, one.token.decimals)))


WORD = "revoke"


def revoke_question(subject: Subject, proposed: Proposal | UnderWay) -> Question:
    """Everything the wallet says of what is signed, and the word to type."""
    if isinstance(proposed, UnderWay):
        what = ["This was signed before. The same transaction is sent again, never a new one."]
    else:
        review = proposed.review
        what = [f"{review.title}."]
        what += [f"{one.field}: {one.signed}" for one in review.lines]
        what += [f"{one.words} ({one.code})" for one in review.findings]
        what += [f"Digest {review.digest}"]
    name = subject.account.name or subject.account.address
    return Question(f"End an allowance of {name} on {subject.chain}", what, WORD, "sign and send")


def revoke_said(outcome: Outcome) -> tuple[str, str]:
    """The notice of an end, and its severity."""
    if outcome.done:
        return "Revoked: nobody may take this any more.", "information"
    if outcome.refused:
        return outcome.cause, "error"
    return "Sent, not confirmed yet. x sends the same transaction again.", "warning"
