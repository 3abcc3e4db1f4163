"""How far the payment of a group is, where its money is, what can be done next, and what is said
when it stops: the cause, the money, who acts.

By the journal alone, so that whoever comes back reads the same.
"""

from __future__ import annotations

from decimal import Decimal
from enum import IntEnum

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.client.errors import ApiError, ClientError
from swapdesk.flows.batch.bundle_promise import funded_bundle, withdrawn
from swapdesk.flows.batch.rows import Group
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
from swapdesk.flows.journal.payments import (
    Bundle,
    newest_bundle,
    paid_orders,
    transactions_of,
)
from swapdesk.flows.notation import counted, exact_amount
from swapdesk.flows.transactions import (
    NotAgreed,
    NotSignable,
    Outcome,
    StillOpen,
    refused,
    still_open,
)
from swapdesk.flows.wallet.wallet_words import failure_of_wallet
from swapdesk.wallet.protocol import WalletError
from swapdesk.wire.encoding.numbers import ROUGH
from swapdesk.wire.errors import ErrorCode

NOT_PAID = f"{IN_WALLET}; no deposit was paid"


def _places(count: int) -> str:
    return f"{count} deposit address{'' if count == 1 else 'es'}"


class Until(IntEnum):
    """How far the work on a group goes. Each step includes the ones before."""

    BUILT = 1
    SIGNED = 2
    SUBMITTED = 3
    SETTLED = 4


_WORDS = {
    "sent": "outcome unknown",
    "unknown": "outcome unknown",
    "confirmed": "paid",
    "replaced": "created, not funded",
}


class GroupStanding(Struct, frozen=True):
    """One group of a batch. ``bundle`` is its newest, None before it was built; ``payments`` are
    the transactions of the wallet for it, in their order. ``withdrawn`` is the transaction by
    which the owner took out of the smart account what that bundle was to pay; what was sent there
    for bundles before number ``since`` came back by it or by an earlier one."""

    group: Group
    bundle: Bundle | None
    payments: tuple[Operation, ...]
    withdrawn: str | None = None
    since: int = 0

    @property
    def batch_id(self) -> str:
        return str(self.group.act.parent)

    @property
    def created(self) -> int:
        """Rows that became orders as they were asked for."""
        return sum(row.became == "created" for row in self.group.rows)

    @property
    def solana(self) -> bool:
        return self.group.paid == "solana"

    @property
    def word(self) -> str:
        """How far it is, in few words."""
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
        """What the trader does next; None for nothing, because it is over, or goes on by itself."""
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
        """Whether something of it was signed and is not over: an earlier run is gone on with."""
        bundle = self.bundle
        if bundle is None:
            return False
        return (
            bundle.under_way
            or bundle.signed
            or any(act.open for act in self.payments)
            or (bundle.unsigned and (self.funded or bool(self.paid)))
        )

    @property
    def paid(self) -> frozenset[str]:
        """Orders whose deposit left the wallet by itself (on Solana), or may have."""
        return frozenset(
            service_id
            for part in self.parts
            if part.left or part.state is State.DONE
            for service_id in paid_orders(part)
        )

    @property
    def parts(self) -> tuple[Operation, ...]:
        """Transactions that pay deposits themselves."""
        return tuple(act for act in self.payments if act.kind == "part")

    @property
    def left_out(self) -> int:
        """Created rows that are in no bundle, because their orders await no deposit."""
        if self.bundle is None:
            return 0
        return max(0, self.created - len(self.paid | {*self.bundle.service_ids}))

    @property
    def fundings(self) -> tuple[Operation, ...]:
        return tuple(act for act in self.payments if act.kind == "fund")

    @property
    def funded(self) -> bool:
        """Whether the smart account was filled for it, and not emptied since."""
        return any(
            act.state is State.DONE and funded_bundle(act) >= self.since for act in self.fundings
        )

    @property
    def amounts(self) -> tuple[tuple[Decimal, str], ...]:
        """What its deposits are together, by token; of the rows that are in its bundle."""
        sums: dict[str, tuple[Decimal, str]] = {}
        for item in self.bundle.items if self.bundle else ():
            before, _ = sums.get(item.token_id, (Decimal(0), ""))
            sums[item.token_id] = ROUGH.add(before, item.sum.amount), item.symbol
        return tuple(sums.values())

    @property
    def plan(self) -> str:
        """What was built: ``1 bundle of 20 transfers; the smart account needs 0.004 ETH``."""
        bundle = self.bundle
        if bundle is None:
            return ""
        signed, transfers = len(bundle.items), counted(len(bundle.deposits), "transfer")
        if self.solana:
            said = f"{counted(signed, 'transaction')} of {transfers} in all"
        else:
            once = "signed once" if signed == 1 else f"{signed} signatures"
            needs = "has what it needs"
            if bundle.needs and not self.funded:
                sums = [f"{exact_amount(need.amount)} {need.symbol}" for need in bundle.needs]
                needs = f"needs {' and '.join(sums)}"
            said = f"1 bundle of {transfers}, {once}; the smart account {needs}"
        return f"{said}; {counted(self.left_out, 'row')} left out" if self.left_out else said

    @property
    def whereabouts(self) -> str:
        """Where the money is as far as is known, without a point."""
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
        """The same on Solana, where transactions of the wallet pay deposits themselves."""
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
        """The same in few words; None for in the wallet."""
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
        """The command by which the owner takes back what stays in the smart account; empty where
        nothing does, or a bundle is to pay with it."""
        bundle = self.bundle
        if bundle is None or self.solana or self.withdrawn is not None:
            return ""
        if bundle.under_way or bundle.paid:
            return ""
        # Signed or carried out, it had its smart account filled.
        left_there = bundle.signed or bundle.code in ("FAILED", "WITHDRAWN")
        return way_out(bundle.chain) if left_there or self.funded else ""


def way_out(chain: str) -> str:
    """How the owner of a smart account takes back what it holds on a chain: by a command, which an
    open desk refuses, or in the desk."""
    return f"swapdesk wallet withdraw --chain {chain}, or w and d in an open desk"


def group_standing(journal: Journal, group: Group) -> GroupStanding:
    """Raises JournalUnavailable."""
    bundle = newest_bundle(journal.ledger, group.act.id)
    return GroupStanding(
        group,
        bundle,
        transactions_of(journal.ledger, group.act.id),
        *((None, 0) if bundle is None else withdrawn(journal, bundle)),
    )


def signs(standing: GroupStanding, until: Until) -> bool:
    """Whether keys are needed to go so far."""
    if until is Until.BUILT or standing.over:
        return False
    bundle = standing.bundle
    return bundle is None or bundle.unsigned or standing.next is Until.BUILT


BUILD_AGAIN = "you: build the bundle again"
SIGN_AGAIN = "you: sign again"
SUBMIT_AGAIN = "you: submit again; the same signatures are sent"
GOES_ON = "the desk: it goes on when it is started again"
LOOK = "you: look at the orders of the group"
PAY_OTHERWISE = "you: create the rows that were not paid again"
SERVICE = "the service: it carries the bundle out"


class Stopped(Exception):
    """Ends the work on a group from wherever it stands. ``open``: it can be gone on with."""

    def __init__(
        self, code: str, cause: str, next_: str, *, open_: bool = True, hash_: str | None = None
    ) -> None:
        super().__init__(cause)
        self.code = code
        self.cause = cause
        self.next = next_
        self.open = open_
        self.hash = hash_


Stop = Stopped | StillOpen | NotAgreed | NotSignable | WalletError | ClientError


def stopped_outcome(stop: Stop, standing: GroupStanding) -> Outcome:
    """``standing``: as the journal has the group now."""
    money = standing.whereabouts
    match stop:
        case Stopped():
            failure = Failure(stop.cause, money, or_take_back(stop.next, standing))
            end = still_open if stop.open else refused
            return end(stop.code, failure, stop.hash)
        case StillOpen():
            cause = f"A transaction is not final yet: {stop}."
            return still_open("NOT_FINAL", Failure(cause, money, GOES_ON), stop.hash)
        case NotAgreed():
            return still_open(stop.code, Failure(str(stop), money, SIGN_AGAIN))
        case NotSignable():
            rules = " ".join(one.sentence for one in stop.findings)
            cause = f"Your wallet refuses to sign this: {rules}"
            next_ = or_take_back(stop.next(BUILD_AGAIN), standing)
            return still_open(stop.code, Failure(cause, money, next_))
        case WalletError():
            said = failure_of_wallet(stop)
            return still_open(said.code, Failure(said.cause, money, said.next))
        case ClientError():
            return _service_said(stop, money)


def or_take_back(next_: str, standing: GroupStanding) -> str:
    """What the trader does next, and how what stays in the smart account comes back instead."""
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
    problems = [f"{name}: {one.message}" for name, one in error.fields.items()]
    reason = "; ".join(problems) or error.message
    cause = f"{said} It says: {reason}." if reason else said
    failure = with_payment(Failure(cause.replace("..", "."), money, "you: try again"), error)
    return replace(still_open(code, failure), error=error)


def outcome_of(bundle: Bundle, standing: GroupStanding) -> Outcome:
    """The end of a bundle that the service decided, or that was refused."""
    if bundle.paid:
        return Outcome(hash=bundle.operation.hash)
    reason = bundle.reason
    said = f" The service says: {reason.rstrip('.')}." if reason else ""
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
    return still_open(code, Failure(f"{cause}{said}", money, or_take_back(next_, standing)))
