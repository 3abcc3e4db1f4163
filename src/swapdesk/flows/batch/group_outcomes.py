"""What is said when the payment of a group stops: the cause, where the money is, who acts next."""

from __future__ import annotations

from msgspec.structs import replace

from swapdesk.client.errors import ApiError, ClientError
from swapdesk.flows.batch.group_status import GroupStanding
from swapdesk.flows.failure_messages import (
    Failure,
    failure_of,
    money_with_payment,
    unsent,
    with_payment,
)
from swapdesk.flows.journal.batch_records import BundleState, JournaledBundle
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
from swapdesk.wire.errors import ErrorCode

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
            rules = " ".join(f"{one.words} Rule {one.code}." for one in stop.findings)
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


def outcome_of(bundle: JournaledBundle, standing: GroupStanding) -> Outcome:
    """The end of a bundle that the service decided, or that was refused."""
    money, reason = standing.whereabouts, _reason(bundle)
    match bundle.state:
        case BundleState.CONFIRMED:
            return Outcome(hash=bundle.tx_hash)
        case BundleState.WITHDRAWN:
            cause = f"The service called the bundle off.{reason}"
            next_ = or_take_back(BUILD_AGAIN, standing)
            return still_open("WITHDRAWN", Failure(cause, money, next_))
        case BundleState.FAILED:
            cause = f"The bundle failed.{reason}"
            next_ = f"{BUILD_AGAIN}, or create the rows that were not paid again"
            next_ = or_take_back(next_, standing)
            return still_open("BUNDLE_FAILED", Failure(cause, money, next_))
        case _:
            cause = f"The bundle was not taken.{reason}"
            code = bundle.code or "REFUSED"
            return still_open(code, Failure(cause, money, or_take_back(BUILD_AGAIN, standing)))


def _reason(bundle: JournaledBundle) -> str:
    return f" The service says: {bundle.reason.rstrip('.')}." if bundle.reason else ""
