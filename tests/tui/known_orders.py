"""Orders in every state a screen shows, written into the journal of a desk before it starts."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct

from flows.orders import BTC, ETH, intent, order
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.clock import ManualClock
from swapdesk.flows.creation.creates import become_order, begin_create
from swapdesk.flows.intents.intent import (
    FOREIGN,
    RELEASED,
    UNREPEATED,
    DepositRelease,
    Intent,
    IntentKind,
    ReleaseVerdict,
    TokenFacts,
)
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import State
from swapdesk.flows.orders.order_transactions import Source
from swapdesk.paths import Home
from swapdesk.settings import load_settings
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order
from tui.desk_run import Market

XRP = TokenFacts("6689b73ec90e45f3b3e51577", "XRP", "ripple", "XRP Ledger", "xrp", None, 6)
USDC = TokenFacts("6689b73ec90e45f3b3e51588", "USDC", "ethereum", "Ethereum", "evm", "0xa0", 6)
XRP_DEPOSIT = derive_address("xrp", b"x" * 32)
EVM_DEPOSIT = derive_address("evm", b"e" * 32)
REFUND = derive_address("bitcoin", b"f" * 32)
HALF_HOUR = timedelta(minutes=30)
HASH = "0x" + "8f2c91d04b1e77ab" * 4


class Known(Struct):
    """One order as the journal holds it: its states, oldest first, and what was confirmed."""

    states: list[Order]
    intent: Intent | None = None
    verdict: ReleaseVerdict = RELEASED
    source: Source = "stream"

    @property
    def id(self) -> str:
        return self.states[-1].service_id


def write(path: Path, known: Known) -> None:
    """Journal the states of one order, one every two and a half minutes from its creation on."""
    first, *later = known.states
    clock = ManualClock(first.created)
    journal = Journal.open(path, clock)
    if known.intent is not None:
        begin_create(journal.ledger, known.intent, "0" * 64)
        journal.ledger.move(known.intent.id, State.SENT, server_at=clock.now())
        become_order(
            journal,
            known.intent.id,
            first,
            source="create",
            verdict=UNREPEATED,
            request_id="6f1d-22c9",
        )
        journal.orders.settle(first.service_id, known.verdict)
    else:
        journal.orders.record([(first, known.source, ended_now(first))])
    for state in later:
        clock.advance(150)
        journal.orders.record([(state, known.source, ended_now(state))])
    journal.close()


def ended_now(one: Order) -> bool:
    return one.order_finished_received is not None


def ago(clock: ManualClock, **passed: float) -> Any:
    return clock.now() - timedelta(**passed)


def waiting(clock: ManualClock, name: str = "m1Xc7DpRsTuVwXyZ1a2b3c", **changes: Any) -> Known:
    """2,500 XRP to ETH, 27:12 before its deadline."""
    confirmed = intent(
        token_in=XRP,
        amount_in=Decimal(2500),
        amount_out=Decimal("1.881204"),
        net_amount_out=Decimal("1.881204"),
    )
    facts: dict[str, Any] = {
        "service_id": name,
        "created": ago(clock, minutes=2, seconds=48),
        "expires": clock.now() + timedelta(minutes=27, seconds=12),
        "deposit_address": XRP_DEPOSIT,
        "deposit_tag": "104882716",
    }
    return Known([order(confirmed, **{**facts, **changes})], confirmed)


def exchanging(clock: ManualClock, name: str = "h8Kq2PdT5mXcVbN3wRtY7z", **changes: Any) -> Known:
    """0.5 BTC to ETH at Halyard, six of about fourteen minutes."""
    confirmed = intent(refund_address=REFUND)
    created = ago(clock, minutes=6)
    facts: dict[str, Any] = {
        "service_id": name,
        "created": created,
        "expires": created + HALF_HOUR,
        "status": 2,
        "in_status": LegStatus.EXCHANGING.value,
        "display_status": DisplayStatus.EXCHANGE_IN_PROGRESS.value,
    }
    states = [
        order(confirmed, service_id=name, created=created, expires=created + HALF_HOUR),
        order(confirmed, **{**facts, **changes}),
    ]
    return Known(states, confirmed)


def held(clock: ManualClock, name: str = "w2Bn8LxCvBnM4k5j6h7g8f") -> Known:
    """On hold, 27 minutes over the expected time."""
    known = exchanging(
        clock,
        name,
        in_status=LegStatus.VERIFYING.value,
        swap_name="Juniper",
    )
    return Known([_aged(one, clock, minutes=41) for one in known.states], known.intent)


def private(clock: ManualClock, name: str = "r3Tz9W8mLqKjHgFdSaPoIu") -> Known:
    """0.5 ETH to @bob in the second exchange."""
    confirmed = intent(
        kind=IntentKind.PRIVATE_SEND,
        token_in=ETH,
        route="private",
        provider=None,
        provider_name=None,
        amount_out=Decimal("0.493771"),
        recipient_label="@bob",
        refund_address=derive_address("evm", b"q" * 32),
    )
    created = ago(clock, minutes=19)
    facts: dict[str, Any] = {
        "service_id": name,
        "created": created,
        "expires": created + HALF_HOUR,
        "deposit_address": EVM_DEPOSIT,
        "eta": Decimal(27),
    }
    steps = [
        (0, LegStatus.WAITING, None, DisplayStatus.WAITING_FOR_DEPOSIT),
        (1, LegStatus.CONFIRMING, None, DisplayStatus.DEPOSIT_DETECTED),
        (2, LegStatus.EXCHANGING, None, DisplayStatus.EXCHANGE_IN_PROGRESS),
        (2, LegStatus.SENDING, LegStatus.WAITING, DisplayStatus.SENDING_TO_INTERMEDIARY),
        (
            3,
            LegStatus.FINISHED,
            LegStatus.CONFIRMING,
            DisplayStatus.INITIATING_SECOND_EXCHANGE,
        ),
        (
            3,
            LegStatus.FINISHED,
            LegStatus.EXCHANGING,
            DisplayStatus.SECOND_EXCHANGE_IN_PROGRESS,
        ),
    ]
    states = [
        order(
            confirmed,
            **facts,
            status=status,
            in_status=in_status.value,
            out_status=out_status.value if out_status is not None else None,
            out_created=created + timedelta(minutes=8) if out_status is not None else None,
            display_status=display.value,
        )
        for status, in_status, out_status, display in steps
    ]
    return Known(states, confirmed)


def ended(
    clock: ManualClock, name: str, display: DisplayStatus, *, minutes: float = 90, **changes: Any
) -> Known:
    """An order that is over, created so many minutes ago."""
    confirmed = intent()
    created = ago(clock, minutes=minutes)
    finished = {
        DisplayStatus.SWAP_COMPLETED: (4, LegStatus.FINISHED),
        DisplayStatus.EXPIRED: (5, LegStatus.EXPIRED),
        DisplayStatus.FAILED: (6, LegStatus.FAILED),
        DisplayStatus.REFUNDED: (7, LegStatus.REFUNDED),
        DisplayStatus.DELETED: (8, LegStatus.NEW),
    }
    status, leg = finished[display]
    over = created + timedelta(minutes=14)
    facts: dict[str, Any] = {
        "service_id": name,
        "created": created,
        "modified": over,
        "expires": created + HALF_HOUR,
        "status": status,
        "in_status": leg.value,
        "display_status": display.value,
        "order_finished_received": over,
    }
    return Known([order(confirmed, **{**facts, **changes})], confirmed)


def withheld(clock: ManualClock, name: str = "x9Qp5RzAsDfGhJkLqWeRtY") -> Known:
    """An order that is not what was confirmed."""
    known = waiting(clock, name)
    reason = "This order is not what you confirmed: the recipient differs."
    return Known(known.states, known.intent, ReleaseVerdict(DepositRelease.DIFFERS, reason))


def lower(clock: ManualClock, name: str = "g7Lw2NzAsDfGhJkLqWeRtY") -> Known:
    """An order that gives less than was confirmed."""
    known = waiting(clock, name)
    reason = "This order gives 2.00% less than you confirmed."
    return Known(known.states, known.intent, ReleaseVerdict(DepositRelease.LOWER, reason))


def foreign(clock: ManualClock, name: str = "n3Fo6RzAsDfGhJkLqWeRtY") -> Known:
    """An order of the same partner that another program made."""
    return Known(waiting(clock, name).states, None, FOREIGN, "list")


def every_state(clock: ManualClock) -> list[Known]:
    """All display states, open and finished."""
    return [
        waiting(clock),
        exchanging(clock),
        private(clock),
        held(clock),
        withheld(clock),
        lower(clock),
        foreign(clock),
        waiting(clock, "v7Lt2NzAsDfGhJkLqWeRtY", expires=ago(clock, seconds=5)),
        exchanging(clock, "u5Ks8MzAsDfGhJkLqWeRtY", display_status="TELEPORTING", status=None),
        ended(
            clock,
            "c5Rf1JzAsDfGhJkLqWeRtY",
            DisplayStatus.SWAP_COMPLETED,
            minutes=60,
            in_transaction_out_hash=HASH,
        ),
        ended(
            clock,
            "b8Hs4TzAsDfGhJkLqWeRtY",
            DisplayStatus.SWAP_COMPLETED,
            minutes=70,
            rerouted=True,
            swap_name="Cobalt",
            quoted_out_amount=Decimal("14.524108"),
            out_amount=Decimal("14.498"),
        ),
        ended(
            clock,
            "d4Wp6HzAsDfGhJkLqWeRtY",
            DisplayStatus.REFUNDED,
            minutes=80,
            refund_amount=Decimal("0.49994"),
            refund_chain="Bitcoin",
            refund_hash="8f2c91d04b1e77ab" * 4,
            refund_address=REFUND,
        ),
        ended(clock, "z6Yx2QzAsDfGhJkLqWeRtY", DisplayStatus.EXPIRED, minutes=90),
        ended(
            clock,
            "f2Fj7XzAsDfGhJkLqWeRtY",
            DisplayStatus.FAILED,
            minutes=100,
            action_required=True,
        ),
        ended(clock, "a1Ar3KzAsDfGhJkLqWeRtY", DisplayStatus.SWAP_COMPLETED, minutes=60 * 60),
    ]


def prepare(market: Market, known: list[Known]) -> None:
    """Write the orders into the journal that the desk of this home opens later."""
    places = load_settings({}, Home.at(market.home)).places
    places.root.mkdir(parents=True, exist_ok=True, mode=0o700)
    for one in known:
        write(places.journal, one)


def _aged(one: Order, clock: ManualClock, **passed: float) -> Order:
    created = ago(clock, **passed)
    return one.model_copy(update={"created": created, "expires": created + HALF_HOUR})


__all__ = ["BTC", "ETH", "Known", "every_state", "prepare"]
