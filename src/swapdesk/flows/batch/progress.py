"""Says how far a batch is: each group, the whole, and its results.

Everything is read from the journal, so that a restarted desk shows the same: where the money of a
group is, what comes next, and why its payment stopped. Payouts are read from the orders. Rows that
became no order can be made into a new sheet, which is judged and created like any other, so that
nothing is asked for twice. A batch of the journal can be shown like the file that it was made from.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import IntEnum

from msgspec import Struct, field
from msgspec.structs import astuple, replace

from swapdesk.client.errors import ApiError, ClientError
from swapdesk.flows.batch.batches import Batch, find_batch, newest_batches
from swapdesk.flows.batch.bundles import (
    Bundle,
    funded_bundle,
    newest_bundle,
    transactions_of,
    withdrawn,
)
from swapdesk.flows.batch.rows import COLUMNS, Became, Group, Row, Sheet
from swapdesk.flows.failure_messages import (
    IN_WALLET,
    Failure,
    failure_of,
    money_with_payment,
    unsent,
    with_payment,
)
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import Operation, State
from swapdesk.flows.notation import Moment, counted, exact_amount, short_clock
from swapdesk.flows.orders.order_export import csv_cell
from swapdesk.flows.orders.order_merge import display_of, ended, payout_hash
from swapdesk.flows.orders.payment_progress import BatchPayment
from swapdesk.flows.orders.situations import PAY_BATCH, situation_of
from swapdesk.flows.orders.tracked_order import KNOWN_TO_API
from swapdesk.flows.payments import paid_orders
from swapdesk.flows.transactions import (
    NotAgreed,
    NotSignable,
    Outcome,
    StillOpen,
    refused,
    still_open,
)
from swapdesk.flows.wallet.wallet_words import failure_of_wallet
from swapdesk.wallet.accounts import COIN_DECIMALS, Kind
from swapdesk.wallet.protocol import WalletError
from swapdesk.wire.encoding.numbers import from_base_units, short
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.orders import Order

NOT_PAID = f"{IN_WALLET}; no deposit was paid"
_IN_VAIN = frozenset({"FAILED", "WITHDRAWN", "REFUSED"})
CONFIRMS = "it confirms the deposit, then pays out"
ARRIVED = "nobody: everything arrived"
PAY_OUT = "the exchanges: they pay the recipients"
_RECENT = 20
"""The number of recent batches that are searched for an open one."""


def _places(count: int) -> str:
    return f"{count} deposit address{'' if count == 1 else 'es'}"


class Until(IntEnum):
    """The step up to which a group's payment is continued. Each step includes the earlier ones."""

    BUILT = 1
    SIGNED = 2
    SETTLED = 3


_WORDS = {
    "sent": "outcome unknown",
    "unknown": "outcome unknown",
    "confirmed": "paid",
    "replaced": "created, not funded",
}


class GroupStanding(Struct, frozen=True):
    """How far the payment of one group is."""

    group: Group
    bundle: Bundle | None
    """The group's newest bundle; None before one is built."""
    payments: tuple[Operation, ...]
    """The wallet's transactions for the group, oldest first."""
    withdrawn: str | None = None
    """The hash of the transaction that returned the bundle's money from the smart account to the
    owner; None if there is none."""
    since: int = 0
    """The number of the first bundle built after the last such withdrawal. The money that funded
    earlier bundles is back with the owner."""

    @property
    def batch_id(self) -> str:
        return str(self.group.act.parent)

    @property
    def created(self) -> int:
        """The number of rows that became orders as asked for."""
        return sum(row.became == "created" for row in self.group.rows)

    @property
    def solana(self) -> bool:
        return self.group.paid == "solana"

    @property
    def word(self) -> str:
        """The state in a few words."""
        if self.group.multi_id is None:
            return "not created"
        if self.bundle is None:
            return "created, not funded"
        if self.solana and self.bundle.unsigned and self.paid:
            return "being sent"
        if self.bundle.unsigned and self.funded:
            return "funded"
        return _WORDS.get(self.bundle.word, self.bundle.word)

    @property
    def next(self) -> Until | None:
        """The next step up to which the trader can continue the payment; None if there is none."""
        if self.group.multi_id is None or not self.created or self.over:
            return None
        if self.bundle is None or self.bundle.over:
            return Until.BUILT
        return Until.SIGNED if self.bundle.unsigned else Until.SETTLED

    @property
    def over(self) -> bool:
        return self.bundle is not None and self.bundle.paid

    @property
    def begun(self) -> bool:
        """True if some of the payment is signed or paid and the payment has not ended."""
        bundle = self.bundle
        if bundle is None:
            return False
        return (
            bundle.under_way
            or bundle.signed
            or any(act.open for act in self.payments)
            or (bundle.unsigned and (self.funded or bool(self.paid)))
        )

    def signs(self, until: Until) -> bool:
        """True if unlocked keys are needed to reach the step ``until``."""
        if until is Until.BUILT or self.over:
            return False
        return self.bundle is None or self.bundle.unsigned or self.next is Until.BUILT

    @property
    def paid(self) -> frozenset[str]:
        """The ids of orders whose deposit a wallet transaction paid or may have paid; empty except
        on Solana."""
        return frozenset(
            service_id
            for part in self.parts
            if part.left or part.state is State.DONE
            for service_id in paid_orders(part)
        )

    @property
    def parts(self) -> tuple[Operation, ...]:
        """The wallet transactions that pay deposits directly (on Solana)."""
        return tuple(act for act in self.payments if act.kind == "part")

    @property
    def service_ids(self) -> frozenset[str]:
        """The ids of orders paid, or to be paid, by the newest bundle or wallet transactions."""
        return self.paid.union(self.bundle.service_ids if self.bundle is not None else ())

    @property
    def left_out(self) -> int:
        """The number of created rows outside the bundle, because their orders did not await a
        deposit; 0 without a bundle."""
        return max(0, self.created - len(self.service_ids)) if self.bundle is not None else 0

    @property
    def fundings(self) -> tuple[Operation, ...]:
        return tuple(act for act in self.payments if act.kind == "fund")

    @property
    def funded(self) -> bool:
        """True if the smart account was funded and nothing was withdrawn since."""
        return any(
            act.state is State.DONE and funded_bundle(act) >= self.since for act in self.fundings
        )

    @property
    def plan(self) -> str:
        """What was built, like ``1 bundle of 20 transfers, signed once; the smart account needs
        0.004 ETH``; empty if nothing was built."""
        bundle = self.bundle
        if bundle is None:
            return ""
        signed, transfers = len(bundle.items), counted(len(bundle.deposits), "transfer")
        if self.solana:
            count = f"{counted(signed, 'transaction')} of {transfers} in all"
        else:
            once = "signed once" if signed == 1 else f"{signed} signatures"
            needs = "has what it needs"
            if bundle.needs and not self.funded:
                sums = [f"{exact_amount(need.amount)} {need.symbol}" for need in bundle.needs]
                needs = f"needs {' and '.join(sums)}"
            count = f"1 bundle of {transfers}, {once}; the smart account {needs}"
        return f"{count}; {counted(self.left_out, 'row')} left out" if self.left_out else count

    @property
    def whereabouts(self) -> str:
        """Where the money is, as far as known, without a full stop."""
        bundle = self.bundle
        if bundle is None:
            return NOT_PAID
        if self.solana:
            return self._parts_are(bundle)
        places = _places(len(bundle.deposits))
        account = f"in your smart account {bundle.sender}"
        if self.withdrawn is not None:
            account = f"back in your wallet, by transaction {self.withdrawn}"
        if bundle.accepted:
            return f"on its way from your smart account to {places}"
        if bundle.under_way:
            return f"{account}, or on its way to the deposit addresses"
        if bundle.paid:
            return f"at {places}, by transaction {bundle.operation.hash}"
        if bundle.code == "FAILED" and len(bundle.items) > 1:
            return f"{account}, or at the deposit addresses of the part that was paid"
        if bundle.code == "FAILED":
            return f"{account}; this bundle paid nobody"
        if bundle.code == "WITHDRAWN":
            return f"{account}, or back in your wallet; this bundle paid nobody"
        if not bundle.signed and any(act.left for act in self.fundings):
            return f"on its way to your own smart account {bundle.sender}, or still in your wallet"
        if bundle.signed or self.funded or self.withdrawn is not None:
            return f"{account}; nothing was submitted"
        return NOT_PAID

    def _parts_are(self, bundle: Bundle) -> str:
        done = sum(part.state is State.DONE for part in self.parts)
        sent = [part.hash for part in self.parts if part.left]
        all_ = counted(len(bundle.items), "transaction")
        if bundle.paid:
            return f"at {_places(len(bundle.deposits))}, by {all_}"
        if sent:
            still = f"one is on its way, or still in your wallet: {sent[-1]}"
            return f"{done} of {all_} paid; {still}"
        return f"{done} of {all_} paid; the rest is in your wallet" if done else NOT_PAID

    @property
    def brief(self) -> str | None:
        """Where the money is, in a few words; None while it is in the wallet."""
        bundle = self.bundle
        if bundle is None:
            return None
        at_home = bundle.unsigned or bundle.code == "REPLACED"
        if at_home and not self.funded and not self.paid:
            return None
        if bundle.paid:
            return "at the deposit addresses"
        if self.withdrawn is not None and not bundle.under_way:
            return None
        if bundle.under_way or self.solana:
            return "on its way"
        return "in your smart account"

    @property
    def way_out(self) -> str:
        """How the owner can take money back from the smart account; empty if no money is there or a
        bundle will use it."""
        bundle = self.bundle
        if bundle is None or self.solana or self.withdrawn is not None:
            return ""
        if bundle.under_way or bundle.paid:
            return ""
        # Signed or carried out, it had its smart account filled.
        left_there = bundle.signed or bundle.code in ("FAILED", "WITHDRAWN")
        return way_out(bundle.chain) if left_there or self.funded else ""


def way_out(chain: str) -> str:
    """Returns, in words, how to take back what a smart account holds, by command or in the open
    desk."""
    return f"swapdesk wallet withdraw --chain {chain}, or w and d in an open desk"


def group_standing(journal: Journal, group: Group) -> GroupStanding:
    """Returns how far the payment of a group is. Raises JournalUnavailable."""
    bundle = newest_bundle(journal.ledger, group.act.id)
    return GroupStanding(
        group,
        bundle,
        transactions_of(journal.ledger, group.act.id),
        *((None, 0) if bundle is None else withdrawn(journal, bundle)),
    )


BUILD_AGAIN = "you: build the bundle again"
SIGN_AGAIN = "you: sign again"
GOES_ON = "the desk: it goes on when it is started again"
SERVICE = "the service: it carries the bundle out"
_STOPS: Mapping[str, tuple[str, str]] = {
    "NOT_CREATED": ("This group was not created.", "you: create it"),
    "TOKEN_NOT_FOUND": (
        "The {what} of this {whose} is not in the desk's list.",
        "you: refresh the token list",
    ),
    "NO_NODES": (
        "No node of {chain} is connected, so nothing can be signed for it there.",
        "you: configure a node under rpc",
    ),
    "NO_ACCOUNT": (
        "This wallet has no account{called} on {chain}.",
        "you: swapdesk wallet list shows the accounts",
    ),
    "READ_ONLY": ("Another desk has the wallet.", "you: close the other desk, or sign there"),
    "NOT_PAYABLE": (
        "No row of this group awaits a deposit{reasons}.",
        "you: look at the orders of the group",
    ),
    "BUILD_DIFFERS": ("The service built no bundle of these deposits: {differs}.", BUILD_AGAIN),
    "GROUP_CHANGED": ("The group is not what it was when it was built: {differs}.", BUILD_AGAIN),
    "OTHER_UNDER_WAY": (
        "What the smart account holds is for {name}, which is {word}.",
        "you: let {name} end first",
    ),
    "other run": (
        "Another run is filling the smart account for this group, or building its bundle.",
        GOES_ON,
    ),
    "PAID_BEFORE": ("Order {order} was paid by itself, or may have been.", BUILD_AGAIN),
    "ORDERS_EXPIRED": ("An order of the {what} has expired.", BUILD_AGAIN),
    "overtaken": (
        "The smart account paid another group, or its owner, since this was built.",
        BUILD_AGAIN,
    ),
    "BUILT_BEFORE": (
        "Another bundle was built in its place, or its signatures left before.",
        BUILD_AGAIN,
    ),
    "NOT_ENOUGH": ("{missing}.", "you: send it to {account}, then sign"),
    "FUNDING_FAILED": (
        "The transaction {hash_} that fills the smart account{word}.",
        BUILD_AGAIN,
    ),
    "SENT_BEFORE": ("These signatures left before.", GOES_ON),
    "NOT_SUBMITTED": (
        "The signatures did not arrive at the service; nothing was submitted.",
        "you: submit again; the same signatures are sent",
    ),
    "NO_BUNDLE": ("The service has no bundle that awaits these signatures.", BUILD_AGAIN),
    "UNKNOWN_STATUS": (
        "The service says {status} of the bundle, a status that this desk does not know.",
        GOES_ON,
    ),
    "ON_ITS_WAY": ("The bundle is submitted and not carried out yet.", SERVICE),
    "status": (
        "The service says {status} of the bundle, a status that this desk does not know.",
        SERVICE,
    ),
    "LOST": ("A transaction was not executed in time; it paid nobody.", SIGN_AGAIN),
    "PART_FAILED": (
        "The transaction {hash_} is {word} and paid nobody.",
        "you: create the rows that were not paid again",
    ),
}
"""The cause and the next step that are shown when work on a group stops, by code. If a code has
several texts, the others have names of their own."""
_OVER = frozenset({"NOT_PAYABLE", "PART_FAILED"})
"""The codes after which the payment of a group cannot be continued."""


class Stopped(Exception):
    """Raised to stop the work on a group. ``row``, or ``code`` if ``row`` is empty, selects the
    message in ``_STOPS``; ``holes`` fill its placeholders. ``open`` is True if a later run can
    continue."""

    def __init__(
        self, code: str, *, row: str = "", hash_: str | None = None, **holes: object
    ) -> None:
        cause, next_ = _STOPS[row or code]
        super().__init__(cause.format(hash_=hash_, **holes))
        self.code = code
        self.next = next_.format(**holes)
        self.open = code not in _OVER
        self.hash = hash_


Stop = Stopped | StillOpen | NotAgreed | NotSignable | WalletError | ClientError


def stopped_outcome(stop: Stop, standing: GroupStanding) -> Outcome:
    """Returns the outcome for ``stop``, the exception that stopped the work. The outcome says where
    the money is."""
    money = standing.whereabouts
    match stop:
        case Stopped():
            failure = Failure(str(stop), money, or_take_back(stop.next, standing))
            end = still_open if stop.open else refused
            return end(stop.code, failure, stop.hash)
        case StillOpen():
            cause = f"A transaction is not final yet: {stop}."
            return still_open("NOT_FINAL", Failure(cause, money, GOES_ON), stop.hash)
        case NotAgreed():
            return still_open(stop.code, Failure(str(stop), money, SIGN_AGAIN))
        case NotSignable():
            rules = " ".join(finding.sentence for finding in stop.findings)
            cause = f"Your wallet refuses to sign this: {rules}"
            next_ = or_take_back(stop.next(BUILD_AGAIN), standing)
            return still_open(stop.code, Failure(cause, money, next_))
        case WalletError():
            said = failure_of_wallet(stop)
            return still_open(said.code, Failure(said.cause, money, said.next))
        case ClientError():
            return _service_said(stop, money)


def or_take_back(next_: str, standing: GroupStanding) -> str:
    """Returns ``next_`` and, if the smart account holds money, adds how to take the money back
    instead."""
    out = standing.way_out
    return f"{next_}, or take the money back: {out}" if out else next_


def _service_said(error: ClientError, money: str) -> Outcome:
    if not isinstance(error, ApiError):
        lost = unsent(error)
        failure = Failure(lost.cause, money_with_payment(money, error), lost.next)
        return replace(still_open("NOT_REACHABLE", failure), error=error)
    code = error.code or f"HTTP_{error.status}"
    said = failure_of(error.code or "", error.status).cause
    if error.code == ErrorCode.NOT_FOUND:
        said = "The service does not know this group, or it is older than 48 hours."
    problems = [f"{name}: {problem.message}" for name, problem in error.fields.items()]
    reason = "; ".join(problems) or error.message
    cause = f"{said} It says: {reason}." if reason else said
    failure = with_payment(Failure(cause.replace("..", "."), money, "you: try again"), error)
    return replace(still_open(code, failure), error=error)


def outcome_of(bundle: Bundle, standing: GroupStanding) -> Outcome:
    """Returns the outcome of a bundle that has ended: it was paid, or it failed, was called off or
    was refused."""
    if bundle.paid:
        return Outcome(hash=bundle.operation.hash)
    reason = bundle.reason
    quote = f" The service says: {reason.rstrip('.')}." if reason else ""
    code, cause, next_ = {
        "WITHDRAWN": ("WITHDRAWN", "The service called the bundle off.", BUILD_AGAIN),
        "FAILED": (
            "BUNDLE_FAILED",
            "The bundle failed.",
            f"{BUILD_AGAIN}, or create the rows that were not paid again",
        ),
    }.get(
        bundle.code or "",
        (bundle.said or "REFUSED", "The bundle was not taken.", BUILD_AGAIN),
    )
    money = standing.whereabouts
    return still_open(code, Failure(f"{cause}{quote}", money, or_take_back(next_, standing)))


# Its orders


def order_payment(standing: GroupStanding, service_id: str) -> BatchPayment:
    """Returns how one order of the group is paid: state, where its money is, and who acts next."""
    if standing.solana:
        return _on_solana(standing, service_id)
    bundle, in_account = standing.bundle, standing.brief is not None
    money, place = f"{standing.whereabouts}.", f"{standing.brief or IN_WALLET}."
    if bundle is not None and (bundle.paid or bundle.under_way):
        if service_id not in bundle.service_ids:
            return _left_out()
        if bundle.paid:
            return _at_address(bundle.operation.hash)
        return BatchPayment(State.SENT, money, place, "the service", "it carries the bundle out")
    problem = outcome_of(bundle, standing).cause if bundle and bundle.code in _IN_VAIN else ""
    act = or_take_back(PAY_BATCH, standing)
    return BatchPayment(State.PREPARED, money, place, "you", act, problem, in_account)


def _on_solana(standing: GroupStanding, service_id: str) -> BatchPayment:
    parts = [
        part
        for part in standing.parts
        if service_id in paid_orders(part) and (part.left or part.state is State.DONE)
    ]
    if parts and parts[-1].state is State.DONE:
        return _at_address(parts[-1].hash)
    if parts:
        money = f"on its way to the deposit address, or still in your wallet: {parts[-1].hash}."
        return BatchPayment(State.SENT, money, "on its way.", "the chain", "it takes the payment")
    if standing.over:
        return _left_out()
    money = f"{IN_WALLET}; the deposit of this order was not paid."
    return BatchPayment(State.PREPARED, money, f"{IN_WALLET}.", "you", PAY_BATCH)


def _at_address(hash_: str | None) -> BatchPayment:
    by = f", by transaction {hash_}" if hash_ else ""
    money, place = f"at the deposit address{by}.", "at the deposit address."
    return BatchPayment(State.DONE, money, place, "the exchange", CONFIRMS)


def _left_out() -> BatchPayment:
    money = f"{IN_WALLET}; its batch was paid without this order."
    return BatchPayment(State.REFUSED, money, f"{IN_WALLET}.", "nobody", "it runs out unpaid")


# What came of its orders


class Payouts(Struct, frozen=True):
    """The numbers of orders of paid groups: ``arrived`` were paid out, ``otherwise`` ended without
    a payout. ``smart`` is True if a smart account paid, so that coins for gas may remain in it."""

    total: int
    arrived: int
    otherwise: int
    smart: bool

    @property
    def done(self) -> bool:
        return self.arrived == self.total

    @property
    def whereabouts(self) -> str:
        """Where the orders' money is, without a full stop; empty before a result."""
        if self.done:
            all_ = "the order is" if self.total == 1 else f"all {self.total} orders are"
            return f"with the recipients; {all_} completed"
        if not self.arrived and not self.otherwise:
            return ""
        parts = [f"{self.arrived} of {counted(self.total, 'order')} arrived at the recipients"]
        if self.otherwise:
            parts.append(f"{self.otherwise} ended otherwise")
        if waits := self.total - self.arrived - self.otherwise:
            parts.append(f"{waits} {'is' if waits == 1 else 'are'} with the exchanges")
        return ", ".join(parts)

    @property
    def brief(self) -> str:
        """Where the orders' money is, in a few words; empty before a result."""
        if self.done:
            return "with the recipients"
        return f"{self.arrived} of {self.total} arrived" if self.whereabouts else ""

    def next(self, look: str, left: str = "") -> str:
        """Returns who acts next. ``look`` is a text on how to show the orders. ``left`` is a text
        on the native coins that remain in a smart account; it may be empty."""
        if self.done:
            return "; ".join([ARRIVED, look, *([left] if left and self.smart else [])])
        if self.otherwise:
            them = "the order" if self.otherwise == 1 else f"the {self.otherwise} orders"
            verb = "it says" if self.otherwise == 1 else "each says"
            return f"you: look at {them} that ended otherwise, {verb} where its money is; {look}"
        return f"{PAY_OUT}; {look}"


def payouts_of(standings: Iterable[GroupStanding], orders: Mapping[str, Order]) -> Payouts | None:
    """Counts the orders of paid groups by result; None if no group is paid. ``orders`` maps order
    ids to the newest states."""
    paid = [standing for standing in standings if standing.over]
    ids = [service_id for standing in paid for service_id in standing.service_ids]
    members = [orders[service_id] for service_id in ids if service_id in orders]
    over = [order for order in members if ended(display_of(order))]
    arrived = sum(map(_arrived, over))
    smart = any(not standing.solana for standing in paid)
    return Payouts(len(ids), arrived, len(over) - arrived, smart) if ids else None


def _arrived(order: Order) -> bool:
    return ended(display_of(order)) and situation_of(order).level == "done"


_NEXT = {
    Until.BUILT: "you: u builds the bundle",
    Until.SIGNED: "you: s signs it",
    Until.SETTLED: "you: c submits it",
}


class BatchProgress(Struct, frozen=True):
    """How far a batch is. ``orders`` maps order ids to the orders that the desk knows."""

    batch: Batch
    standings: tuple[GroupStanding, ...]
    orders: Mapping[str, Order] = field(default_factory=dict)

    @property
    def payouts(self) -> Payouts | None:
        """The numbers of orders by result; None if no group was paid or a group remains to be
        paid."""
        return None if self.current is not None else payouts_of(self.standings, self.orders)

    @property
    def creating(self) -> bool:
        """True if a group remains to be created, or if the outcome of its creation is unknown."""
        return any(standing.group.act.open for standing in self.standings)

    @property
    def current(self) -> GroupStanding | None:
        """The first group whose payment has a next step, or None."""
        return next((standing for standing in self.standings if standing.next is not None), None)

    @property
    def due(self) -> bool:
        """True if a group remains to be created, searched for or paid."""
        return self.creating or self.current is not None

    @property
    def unpaid_rows(self) -> frozenset[int]:
        """The numbers of rows whose deposit was not sent, as far as known."""
        return frozenset(
            row.number
            for standing in self.standings
            for row in standing.group.rows
            if not standing.over and row.service_id not in standing.paid
        )

    @property
    def failed(self) -> int:
        """The number of rows that certainly have no order."""
        return sum(
            row.became == "failed" for standing in self.standings for row in standing.group.rows
        )

    @property
    def word(self) -> str:
        """The state in a few words, like ``submitted 14:20`` or ``group 2 of 3: built``."""
        if any(standing.group.act.left for standing in self.standings):
            return "outcome unknown"
        if self.creating:
            return "not all created"
        shown = self.current or self.standings[-1]
        bundle = shown.bundle
        left = bundle.operation.server_at if bundle and bundle.under_way else None
        state = shown.word if left is None else f"{shown.word} {short_clock(left)}"
        if len(self.standings) == 1:
            return state
        if self.current is None:
            paid = sum(standing.over for standing in self.standings)
            return f"{paid} of {counted(len(self.standings), 'group')} paid"
        return f"group {shown.group.number} of {len(self.standings)}: {state}"

    @property
    def whereabouts(self) -> str:
        """Where the money is, without a full stop: the money of the group to be paid next or, after
        payment, the money of all orders."""
        if self.payouts is not None and self.payouts.whereabouts:
            return self.payouts.whereabouts
        shown = self.current or next(
            (standing for standing in self.standings if standing.over), None
        )
        return shown.whereabouts if shown is not None else NOT_PAID

    @property
    def brief(self) -> str:
        """Where the money is, in a few words."""
        if self.payouts is not None and self.payouts.brief:
            return self.payouts.brief
        shown = self.current or next(
            (standing for standing in self.standings if standing.over), None
        )
        return (shown.brief if shown is not None else None) or IN_WALLET

    @property
    def next(self) -> str:
        """Who acts next, and how."""
        if self.creating:
            return "you: c goes on"
        shown = self.current
        if shown is not None and shown.next is not None:
            if shown.bundle is None:
                return "you: s builds and signs it"
            return SERVICE if shown.bundle.under_way else _NEXT[shown.next]
        if self.payouts is not None:
            return self.payouts.next("o shows the orders")
        return "you: nothing is to be paid; x exports what became of it"

    @property
    def built(self) -> str:
        """What was built for the group to be paid next, otherwise for the last group that was paid;
        empty if there is no such group."""
        shown = self.current or next(
            (standing for standing in reversed(self.standings) if standing.over), None
        )
        return shown.plan if shown is not None else ""

    @property
    def paid(self) -> str:
        """Where the money of the last paid group is, with a note on what remains for gas; empty
        while a group remains to be paid, or if none was paid."""
        if self.current is not None:
            return ""
        shown = next((standing for standing in reversed(self.standings) if standing.over), None)
        if shown is None:
            return ""
        left = "" if shown.solana else ". What gas left over is in your smart account; w lists it"
        return f"{shown.whereabouts}{left}"

    @property
    def left_there(self) -> str:
        """How to take the current group's money back from the smart account, after the service's
        reason for a failed bundle; empty if no money is there."""
        shown = self.current
        if shown is None or shown.next is not Until.BUILT or not shown.way_out:
            return ""
        reason = shown.bundle.reason if shown.bundle is not None else None
        quote = f"The service says: {reason.rstrip('.')}. " if reason else ""
        return f"{quote}The money is in your smart account: w and d there take it back."

    def gas(self, coin: str) -> str:
        """Returns, in words, the most that gas may cost and, before funding, the smart account's
        balance. Empty if no bundle is built. ``coin`` is the symbol of the native coin."""
        bundle = self.current.bundle if self.current is not None else None
        if self.current is None or bundle is None or bundle.code == "REPLACED":
            return ""
        decimals = COIN_DECIMALS[Kind(bundle.kind)]
        most = f"at most {exact_amount(bundle.gas_at_most)} {coin}"
        if bundle.kind == "solana" or self.current.funded:
            return most
        held = exact_amount(short(from_base_units(bundle.held, decimals)))
        return f"{most}; the smart account has {held}"


def batch_progress(journal: Journal, batch_id: str) -> BatchProgress:
    """Returns how far a batch is, from the journal. Raises KeyError if there is no such batch, and
    JournalUnavailable."""
    batch = find_batch(journal.ledger, batch_id)
    if batch is None:
        raise KeyError(batch_id)
    return _progress(journal, batch)


def standings(journal: Journal, batch_id: str) -> tuple[GroupStanding, ...]:
    """Returns how far each group of a batch is. Raises KeyError if there is no such batch, and
    JournalUnavailable."""
    return batch_progress(journal, batch_id).standings


def _progress(journal: Journal, batch: Batch) -> BatchProgress:
    return BatchProgress(batch, tuple(group_standing(journal, group) for group in batch.groups))


class ResultRow(Struct, frozen=True, rename="camel"):
    """One row of the file of results. ``orderState`` is the order's state as shown to users.
    ``receivedAmount`` (whole tokens) and ``payoutHash`` are null before the payout."""

    row: int
    line: int
    to: str
    sell_amount: str = field(name="sell_amount")
    sell: str
    buy: str
    chain: str
    memo: str
    route: str
    refund: str
    state: Became
    multi_id: str | None
    service_id: str | None
    order_state: str | None
    received_amount: Decimal | None
    payout_hash: str | None
    finished: Moment | None
    code: str | None
    reason: str | None


HEADS = ResultRow.__struct_encode_fields__
"""The columns of the file of results."""


def journaled_orders(journal: Journal, batch: Batch) -> dict[str, Order]:
    """Returns the orders of a batch by id, as the journal has them."""
    tracked = (journal.orders.get(row.service_id) for row in batch.rows if row.service_id)
    return {order.order.service_id: order.order for order in tracked if order is not None}


def result_rows(batch: Batch, orders: Mapping[str, Order]) -> list[ResultRow]:
    """Returns the result of each row. ``orders`` are the known orders by id."""
    rows = [_row(row, group.multi_id, orders) for group in batch.groups for row in group.rows]
    return sorted(rows, key=lambda row: row.row)


def results_csv(rows: list[ResultRow]) -> bytes:
    """Returns the results as CSV in UTF-8. Texts that a spreadsheet would run as formulas are
    changed."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADS)
    writer.writerows(map(csv_cell, astuple(row)) for row in rows)
    return out.getvalue().encode("utf-8")


def _row(row: Row, multi_id: str | None, orders: Mapping[str, Order]) -> ResultRow:
    order = orders.get(row.service_id or "")
    display = display_of(order) if order is not None else None
    paid = order if order is not None and _arrived(order) else None
    return ResultRow(
        row=row.number,
        line=row.line,
        **{column: row.cells.get(column, "") for column in COLUMNS},
        state=row.became,
        multi_id=multi_id,
        service_id=row.service_id,
        order_state=str(display) if display is not None else None,
        received_amount=paid.out_amount if paid is not None else None,
        payout_hash=payout_hash(paid) if paid is not None else None,
        finished=order.order_finished_received if order is not None else None,
        code=row.code,
        reason=row.reason,
    )


def failed_sheet(batch: Batch) -> Sheet | None:
    """Returns a sheet of the rows that certainly have no order, as they were confirmed; None if
    there are no such rows."""
    failed = [row for row in batch.rows if row.became == "failed"]
    return sheet_of(batch, failed) if failed else None


def sheet_of(batch: Batch, some: Sequence[Row] | None = None) -> Sheet:
    """Returns a sheet of the batch's rows as confirmed. ``some`` limits the sheet to these rows."""
    kept = batch.rows if some is None else some
    rows = tuple(replace(row, outcome=None) for row in kept)
    named = tuple(column for column in COLUMNS if any(column in row.cells for row in rows))
    return Sheet(batch.file, ",", True, named, rows)


def left_open(journal: Journal, now: datetime) -> Batch | None:
    """Returns the batch to show when the desk opens: the newest unfinished one, else the newest
    whose orders the service still knows, else None. Raises JournalUnavailable."""
    recent: Batch | None = None
    for batch in newest_batches(journal.ledger, _RECENT):
        if now - batch.created > KNOWN_TO_API:
            break
        if _progress(journal, batch).due:
            return batch
        if recent is None and any(row.became == "created" for row in batch.rows):
            recent = batch
    return recent
