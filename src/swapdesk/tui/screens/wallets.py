"""The wallets page: balances, allowances and spending limits as rows, with keys that revoke
allowances, withdraw money and change limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from msgspec import Struct
from msgspec.structs import replace
from textual import on
from textual.widget import Widget

from swapdesk.flows.batch.bundles import smart_accounts
from swapdesk.flows.failure_messages import POLICY_ANEW
from swapdesk.flows.notation import counted, exact_amount, short_address, usd
from swapdesk.flows.wallet.local_wallet import ChainAllowances, ChainHoldings
from swapdesk.flows.wallet.own_accounts import has_keys
from swapdesk.flows.wallet.policy_change import (
    NO_POLICY,
    PolicyChange,
    PolicyProblem,
    named_token,
    policy_facts,
    proposed_policy,
    typed_change,
)
from swapdesk.flows.wallet.wallet_reading import WalletSnapshot, read_wallet
from swapdesk.flows.wallet.wallet_words import failure_of_wallet
from swapdesk.secret import Secret
from swapdesk.tui.commands.command import HIDDEN, CommandState, Standings
from swapdesk.tui.commands.wallets import (
    COPY_WALLET_ADDRESS,
    LOCK_WALLET,
    READ_CHAINS,
    REVOKE_ALLOWANCE,
    SET_LIMITS,
    WALLETS,
    WITHDRAW_ALL,
)
from swapdesk.tui.glyphs import TROUBLE
from swapdesk.tui.page import Page
from swapdesk.tui.session import Session
from swapdesk.tui.spans import LineLike, Span
from swapdesk.tui.widgets.detail_rows import Fact, facts_lines
from swapdesk.tui.widgets.frame import FrameState
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import RuleRow, TextRows
from swapdesk.tui.widgets.overlay import Overlay, TextOverlay
from swapdesk.tui.widgets.table_layout import Cell, Column, Prose, Row, Section, TableRow
from swapdesk.tui.widgets.text_field import PassphraseField
from swapdesk.wallet.accounts import Account
from swapdesk.wallet.answers import Allowance
from swapdesk.wallet.protocol import Refused, WalletError, WrongPassphrase
from swapdesk.wallet.spending import PolicyStatus, SpendingPolicy, plain_amount
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


class Subject(Struct, frozen=True):
    """What a row is about: an account on a chain, its smart account there, or an allowance.
    ``unread`` is None if the row could be read; otherwise it says who acts next."""

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


VenueName = Callable[[str | None], str | None]
"""Returns the name of a DEX or bridge for its code; None without a code."""


def wallet_rows(
    snapshot: WalletSnapshot, named: VenueName = lambda code: code
) -> tuple[list[TableRow], dict[str, Subject]]:
    """Returns the rows of the table, and the subject of each selectable row by row key."""
    rows: list[TableRow] = []
    subjects: dict[str, Subject] = {}
    allowing = {
        (holdings.account.address, holdings.chain): holdings for holdings in snapshot.allowances
    }
    before = ""
    for holdings in snapshot.holdings:
        address = holdings.account.address
        if before not in ("", address):
            rows.append(Prose(f"gap {address} {holdings.chain}"))
        name: Cell = "" if before == address else _name(holdings.account)
        before = address
        rows += _on_chain(holdings, name, allowing.get(holdings.place), subjects)
    listed = {holdings.account.address for holdings in snapshot.holdings}
    for account in snapshot.accounts:
        if account.address in listed:
            continue
        if rows:
            rows.append(Prose(f"gap {account.address}"))
        key = f"{account.address} none"
        subjects[key] = Subject(account, "")
        words = "being read" if snapshot.reading else "no node of its chains is connected"
        tail = Span(words, "muted")
        rows.append(Row(key, {"account": _name(account)}, tail=tail, tail_from="chain"))
    if snapshot.smart:
        rows += [Prose("gap smart"), Section("smart", "In smart accounts", "")]
    for holdings in snapshot.smart:
        rows += _on_chain(holdings, holdings.account.name, None, subjects)
    allowed = [
        (holdings, allowance)
        for holdings in snapshot.allowances
        for allowance in holdings.allowances
    ]
    if allowed:
        rows += [Prose("gap allowed"), Section("allowed", "May take", str(len(allowed)))]
    for among, allowance in allowed:
        allowance = replace(allowance, venue=named(allowance.venue))
        contract, spender = allowance.token.contract, allowance.spender
        key = f"may {among.account.address} {among.chain} {contract} {spender}"
        if allowance.permit2:
            key += " permit2"
        subjects[key] = Subject(among.account, among.chain, allowance)
        cells: dict[str, Cell] = {
            "account": among.account.name,
            "chain": among.chain_name,
            "amount": Span("any amount", "status-waiting")
            if allowance.unlimited
            else _units(allowance),
            "token": allowance.token.symbol,
            "note": f"to {allowance.venue or 'an unknown contract'}"
            + (", by Permit2" if allowance.permit2 else ""),
        }
        rows.append(Row(key, cells))
    failed = {holdings.place for holdings in snapshot.holdings if holdings.problem is not None}
    for asked in snapshot.allowances:
        place = (asked.account.address, asked.chain)
        # A chain that does not answer at all has said so in its own row.
        for at, doubt in enumerate(() if place in failed else _doubts(asked)):
            rows.append(Prose(f"doubt {asked.account.address} {asked.chain} {at}", doubt))
    if snapshot.policy is not None:
        rows += _limits(snapshot.policy)
    return rows, subjects


def _limits(status: PolicyStatus) -> Iterator[TableRow]:
    yield Prose("gap limits")
    yield Section("limits", "May be signed at most", "")
    if status.problem is not None:
        problem = f"{status.problem[:1].upper()}{status.problem[1:]}. Nothing is signed."
        yield Prose("limits problem", Span(problem, "status-trouble"))
        yield Prose("limits next", Span(f"Next {POLICY_ANEW}.", "muted"))
    policy = status.policy or SpendingPolicy()
    if policy == SpendingPolicy() and status.problem is None:
        yield Prose("limits none", Span(f"{NO_POLICY} m sets one.", "muted"))
    for use in status.uses:
        limit = use.limit
        cells: dict[str, Cell] = {
            "account": f"per {limit.window.value}",
            "chain": limit.token.chain if limit.token is not None else "",
            "amount": exact_amount(limit.most),
            "token": limit.unit,
            "usd": f"{plain_amount(use.left)} left",
        }
        yield Row(f"limit {limit.key}", cells)
    for name, value in policy_facts(policy):
        yield Prose(f"limits {name} {value}", Span(f"{name}: {value}", "muted"))


def wallet_pane(subject: Subject, withdraw_key: str) -> list[LineLike]:
    """Returns the lines below the table: the row's whole address and, if the row could not be read,
    where its money is. ``withdraw_key`` is the keyboard key for withdrawing."""
    name, facts, allowance = subject.account.name, [], subject.allowance
    if subject.smart:
        facts.append(Fact("Account", address=subject.address))
    if subject.smart is not None:
        back = name or short_address(subject.account.address)
        facts.append(Fact("Back", f"{withdraw_key} takes it back to {back}"))
    elif allowance is None:
        facts.append(Fact(name, address=subject.address))
    else:
        facts += [Fact("Venue", allowance.venue)] if allowance.venue else []
        facts.append(Fact("May take", address=subject.address))
    if subject.unread is not None:
        facts.append(Fact("Funds", "where they are; only the reading failed"))
        facts.append(Fact("Next", subject.unread or READ_AGAIN))
    return list(facts_lines(facts, PANE))


def _on_chain(
    holdings: ChainHoldings,
    name: Cell,
    allowing: ChainAllowances | None,
    subjects: dict[str, Subject],
) -> list[TableRow]:
    base = f"{holdings.account.address} {holdings.chain}" + (
        "" if holdings.smart is None else " smart"
    )
    # The key of its first row, whatever comes of the reading: the cursor stays where it is.
    first = f"{base} coin"
    unread = None if holdings.problem is None else holdings.next
    subject = Subject(holdings.account, holdings.chain, smart=holdings.smart, unread=unread)
    place: dict[str, Cell] = {"account": name, "chain": holdings.chain_name}
    if holdings.problem is not None or holdings.reading:
        subjects[first] = subject
        state = Span("reading…", "muted")
        if holdings.problem is not None:
            state = Span(f"{TROUBLE} {holdings.problem}", "status-waiting")
        return [Row(first, place, tail=state, tail_from="amount")]
    place["note"] = _counted(allowing)
    rows: list[TableRow] = []
    for held in holdings.holdings:
        key = f"{base} {held.asset.contract or 'coin'}"
        subjects[key] = subject
        cells: dict[str, Cell] = {
            "amount": "?" if held.amount is None else exact_amount(held.amount),
            "token": held.asset.symbol,
            "usd": "—" if held.usd is None else usd(held.usd),
        }
        # Where it is stands in the first of its rows alone.
        rows.append(Row(key, cells if rows else {**place, **cells}))
    return rows


def _name(account: Account) -> Span:
    return Span(account.name or short_address(account.address), bold=True)


def _doubts(asked: ChainAllowances) -> Iterator[Span]:
    if asked.problem is not None:
        problem = f"Who may take on {asked.chain_name} could not be read: {asked.problem}."
        yield Span(problem, "status-waiting")
        yield Span(f"Next {asked.next or READ_AGAIN}.", "muted")
    elif not asked.complete:
        yield Span(f"{asked.chain_name} does not list every approval: there may be more.", "muted")


def _counted(allowing: ChainAllowances | None) -> str:
    if allowing is None:
        return ""
    if allowing.problem is not None:
        return "?"
    count = str(len(allowing.allowances) or "none")
    return count if allowing.complete else f"{count} known"


def _units(allowance: Allowance) -> str:
    return exact_amount(short(from_base_units(allowance.units, allowance.token.decimals)))


READING = "The chains are being read."
MAKING = "The sandbox makes accounts for you and sends them money to try: a few seconds."
NO_ACCOUNT = "This wallet has no account. swapdesk wallet new makes one while no desk is open."
OTHER_DESK = "another desk has the wallet"
HOW = (
    "Type what changes: per-payment, per-hour or per-day with usdc.base=100 or usd=50, price"
    " eth.base=3000, chain, token, payee or call-payee with a name or address, until 2026-12-31;"
    " none or any takes a rule away, anew all of them."
)


def limits_head(status: PolicyStatus | None) -> list[LineLike]:
    """Returns rows with the present spending limits, to be shown above the field that changes these
    limits."""
    policy = (status.policy if status is not None else None) or SpendingPolicy()
    rows: list[LineLike] = [[Span("What the wallet may sign at most", bold=True)]]
    rows += [Span(NO_POLICY, "muted")] if policy == SpendingPolicy() else []
    for limit in policy.limits:
        unit = "USD" if limit.token is None else named_token(limit.token)
        rows.append(Span(f"per {limit.window.value}: {exact_amount(limit.most)} {unit}"))
    rows += [Span(f"{name}: {value}", "muted") for name, value in policy_facts(policy)]
    return [*rows, []]


class PassphraseOverlay(Overlay[Secret]):
    """The panel that asks for the pass phrase of the wallet, below the heading ``why``. Its result
    is the pass phrase, or None if the user closes the panel."""

    def __init__(self, why: str) -> None:
        self._field = PassphraseField()
        said = TextRows([[Span(why, bold=True)]])
        super().__init__([CommandState("enter", "unlock")], said, self._field)

    @on(PassphraseField.Complete)
    def _decide(self) -> None:
        if self._field.value:
            self.dismiss(self._field.take())


class WalletsScreen(Page):
    """The page with the accounts of this profile: what each account has, how much of it contracts
    may spend, and how much the wallet may sign."""

    NAME = "Wallets"
    SPENDS = "read"
    VERBS = (
        REVOKE_ALLOWANCE,
        WITHDRAW_ALL,
        SET_LIMITS,
        COPY_WALLET_ADDRESS,
        READ_CHAINS,
        LOCK_WALLET,
    )
    DEFAULT_CSS = """
    WalletsScreen LineTable { height: 1fr; }
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.told: WalletSnapshot | None = None
        self._subjects: dict[str, Subject] = {}
        self._stale = False
        """True if money moved while the wallet was being read, so that it has to be read again."""
        self._table = LineTable(COLUMNS, empty=READING)
        self._pane = TextRows(id="pane")

    def compose_body(self) -> Iterable[Widget]:
        return (self._table, RuleRow(), self._pane)

    def on_mount(self) -> None:
        self.desk.wallet.on_locked = self._lock_heard
        self.set_money("in your wallet.", "you: read, or esc goes back")
        if not (self.session.live or has_keys(self.desk)):
            self._table.set_empty(MAKING)
        self.do_read()

    def on_tick(self) -> None:
        self.refresh_frame()

    def frame_now(self) -> FrameState:
        shut = "locked" if has_keys(self.desk) else "no accounts yet"
        return self.with_lock(super().frame_now(), shut)

    def _lock_heard(self) -> None:
        self.call_later(self._locked)

    # reading

    @property
    def busy(self) -> str:
        if "wallet-limits" in self.fetching:
            return "asking the wallet"
        return "reading" if "wallets" in self.fetching else ""

    def do_read(self) -> None:
        self.fills_wallet()
        desk, link = self.desk, self.link
        reading = read_wallet(
            desk.wallet,
            self.told,
            link.control if link is not None else None,
            lambda: smart_accounts(desk.journal),
            heard=lambda snapshot: self.call_later(self.take, snapshot, last=False),
            made=lambda count: self.call_later(self._made, count),
        )
        failures = (WalletError, OSError)
        self.fetch("wallets", reading, self.take, self._not_read, failures)
        self.refresh_keys()

    def _made(self, count: int) -> None:
        self.show_notice(f"The sandbox made {counted(count, 'account')} and sends money to try.")

    def take(self, snapshot: WalletSnapshot, *, last: bool = True) -> None:
        """Shows ``snapshot``, the part of the wallet that has been read so far. ``last`` is True if
        nothing is left to read."""
        if last:
            self.call_next(self._read_stale)
        self.told = snapshot
        rows, self._subjects = wallet_rows(snapshot, self.desk.catalog.provider_name)
        self._table.set_empty(NO_ACCOUNT)
        self._table.set_rows(rows)
        if snapshot.problems:
            self.show_notice(snapshot.problems[0], "warning")
        self._show_pane()

    def _not_read(self, error: WalletError | OSError) -> None:
        self.call_next(self._read_stale)
        failure = f"{error}." if isinstance(error, OSError) else failure_of_wallet(error).cause
        self._table.set_empty(failure)
        self.show_notice(failure, "error")
        self.refresh_keys()

    def balances_changed(self) -> None:
        self._stale = True
        self._read_stale()

    def _read_stale(self) -> None:
        if self._stale and not self.busy:
            self._stale = False
            self.do_read()

    @property
    def current(self) -> Subject | None:
        return self._subjects.get(self._table.cursor_key)

    @on(LineTable.Highlighted)
    def _show_pane(self) -> None:
        subject = self.current
        withdraw_key = self.verbs.shown_key(WITHDRAW_ALL)
        self._pane.show(wallet_pane(subject, withdraw_key) if subject is not None else [])
        allowance = subject.allowance if subject is not None else None
        self.step_is(f"revoke {allowance.spender}" if allowance is not None else "look")
        self.refresh_frame()

    def _locked(self) -> None:
        self.show_notice("The wallet locked itself: nothing was asked of it for a while.")
        self.refresh_frame()

    # keys

    def standings(self) -> Standings:
        return {
            WALLETS: False,
            LOCK_WALLET: self.desk.wallet.locks_in is not None,
            SET_LIMITS: self._signs if self.told is not None else HIDDEN,
            READ_CHAINS: CommandState(locked=self.busy),
        }

    def standings_of(self, subject: Subject) -> Standings:
        return {
            REVOKE_ALLOWANCE: self._signs if subject.allowance is not None else HIDDEN,
            WITHDRAW_ALL: self._signs if subject.smart else HIDDEN,
        }

    @property
    def _signs(self) -> CommandState:
        elsewhere = self.told is not None and self.told.read_only
        return CommandState(locked=OTHER_DESK if elsewhere else self.busy)

    def do_copy_wallet_address(self, subject: Subject) -> None:
        self.controls.copy_value("address", subject.address)

    def do_lock_wallet(self) -> None:
        self.fetch(
            "wallet-lock",
            self.desk.wallet.lock(),
            lambda _: self._finished("Locked."),
            self._wallet_failed,
            (WalletError,),
        )

    def _wallet_failed(self, error: WalletError) -> None:
        self._finished(failure_of_wallet(error).cause, "error")

    def do_sign(self, subject: Subject) -> None:
        """Opens the page where the user signs: to revoke the allowance in ``subject`` or, without
        an allowance, to withdraw everything from the smart account in ``subject``."""
        link = self.desk.wallet.link(subject.chain)
        if link is None:
            self.show_notice("The chain is not connected any more.", "warning")
        elif subject.allowance is not None:
            self.controls.signing.revoke(subject.account, link, subject.allowance)
        else:
            self.controls.signing.withdraw(subject.account, link)

    def do_set_limits(self) -> None:
        status = self.told.policy if self.told is not None else None
        how = Span(HOW, "muted")
        asked = TextOverlay("change", limits_head(status), how, typed_change)
        self.app.push_screen(asked, self._set_limits)

    def _set_limits(self, change: PolicyChange | None, phrase: Secret | None = None) -> None:
        if change is not None:
            asked = self._change_policy(change, phrase)
            failed, failures = partial(self._not_changed, change), (PolicyProblem, WalletError)
            self.fetch("wallet-limits", asked, self._limits_set, failed, failures)
            self.refresh_keys()

    async def _change_policy(self, change: PolicyChange, phrase: Secret | None) -> None:
        wallet = self.desk.wallet
        await wallet.set_policy(await proposed_policy(wallet, change), phrase)

    def _limits_set(self, _: None) -> None:
        self._finished("The limits are set.")
        self.do_read()

    def _not_changed(self, change: PolicyChange, error: PolicyProblem | WalletError) -> None:
        if isinstance(error, PolicyProblem):
            self._finished(str(error), "error")
        elif isinstance(error, WrongPassphrase):
            self._ask_phrase(change, "That is not the pass phrase of the wallet.")
        elif isinstance(error, Refused) and error.code == "passphrase_needed":
            why = "Only the pass phrase of the wallet allows more than before."
            self._ask_phrase(change, why)
        else:
            self._wallet_failed(error)

    def _ask_phrase(self, change: PolicyChange, why: str) -> None:
        self.refresh_keys()

        def typed(phrase: Secret | None) -> None:
            if phrase is not None:
                self._set_limits(change, phrase)

        self.app.push_screen(PassphraseOverlay(why), typed)

    def _finished(self, notice: str, severity: str = "information") -> None:
        self.refresh_frame()
        self.refresh_keys()
        self.show_notice(notice, severity)

    def work_failed(self, group: str) -> None:
        super().work_failed(group)
        self.refresh_keys()
