"""Whatever a service says in whatever combination, an order has one cause, one owner, and a place
of its money that the facts allow.

The facts are all products of the fields that decide. Which places they allow is worked out here
from the contract (8.4 to 8.16) alone, without the table that is under test.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import islice, product

import pytest
from msgspec import Struct

from flows.orders import DEPOSIT, NOW, order
from flows.support.cases import COIN, REFUND, paid, place_of
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.support.diagnosis import Diagnosis, Owner, diagnose
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order

DISPLAYS = (None, "TELEPORTING", *(one.value for one in DisplayStatus))
LEGS = (None, 77, *(one.value for one in LegStatus))
ROUTES = (
    *(("standard", None),),
    *(("dex", None),),
    *(("private", second) for second in LEGS),
)
FLAGS = tuple(product((None, True), repeat=3))
STRIDE = 7
"""A sample takes every seventh: no axis has a multiple of seven values."""

BEFORE, AFTER = NOW + timedelta(minutes=6), NOW + timedelta(minutes=50)


class Facts(Struct, frozen=True):
    display: str | None
    first: int | None
    route: str
    second: int | None
    act: bool | None
    lost: bool | None
    rerouted: bool | None
    refund: str | None
    over: bool
    """The deadline has passed."""
    seen: bool
    """The chain shows the deposit."""

    @property
    def order(self) -> Order:
        return _WAITING.model_copy(
            update={
                "display_status": self.display,
                "in_status": self.first,
                "out_status": self.second,
                "anonymous": self.route == "private",
                "is_dex": self.route == "dex",
                "deposit_address": None if self.route == "dex" else DEPOSIT,
                "refund_address": self.refund,
                "action_required": self.act,
                "non_refundable": self.lost,
                "rerouted": self.rerouted,
            }
        )

    @property
    def diagnosis(self) -> Diagnosis:
        payments = (_PAYMENT,) if self.seen else ()
        return diagnose(
            TrackedOrder(self.order, None, None, False, NOW, "read", payments=payments),
            AFTER if self.over else BEFORE,
        )

    @property
    def paid(self) -> bool:
        """Whether the service says that the deposit came: by a state behind it, by a leg that had
        it, by a second leg that was paid from it, or by asking for somebody to recover it."""
        legs = {2, 3, 4, 5, 7, 8, 10}
        return (
            self.display in _BEHIND
            or self.first in legs
            or self.second in {*legs, 6, 9}
            or bool(self.act)
        )


_WAITING = order(in_token=COIN, in_token_id=COIN.id, status=None)
_PAYMENT = paid()
_BEHIND = {
    "DEPOSIT_DETECTED",
    "EXCHANGE_IN_PROGRESS",
    "SENDING_TO_INTERMEDIARY",
    "REACHED_INTERMEDIARY",
    "INITIATING_SECOND_EXCHANGE",
    "SECOND_EXCHANGE_IN_PROGRESS",
    "SENDING_TO_RECEIVER",
    "SWAP_COMPLETED",
    "REFUNDED",
}
_ENDED = {"SWAP_COMPLETED", "REFUNDED", "EXPIRED", "FAILED", "DELETED"}


def all_facts() -> Iterator[Facts]:
    axes = product(DISPLAYS, LEGS, ROUTES, FLAGS, (None, REFUND), (False, True), (False, True))
    for display, first, (route, second), (act, lost, rerouted), refund, over, seen in axes:
        yield Facts(display, first, route, second, act, lost, rerouted, refund, over, seen)


def allowed_places(facts: Facts) -> set[str]:
    if facts.display == "SWAP_COMPLETED":
        return {"recipient"}
    if facts.display == "REFUNDED":
        return {"back"}
    if facts.seen and not facts.paid and facts.route != "dex":
        return {"to the service"}
    if facts.display is None:
        return {"not known"}
    if not facts.paid:
        # A failure does not say whether the deposit came before it.
        places = {"wallet, if unsent", "either"}
        if facts.route == "dex":
            # What was not executed is in the wallet.
            places.add("wallet")
        if facts.display == "TELEPORTING":
            places.add("not known")
        return places
    places = {"service"}
    if 7 in (facts.first, facts.second) and facts.display not in _ENDED:
        places.add("back")
    if 10 in (facts.first, facts.second) or facts.display == "SENDING_TO_RECEIVER":
        places.add("to the recipient")
    if facts.display in ("WAITING_FOR_DEPOSIT", "DEPOSIT_DETECTED"):
        places.add("to the service")
    if facts.display == "TELEPORTING":
        places.add("not known")
    return places


def allowed_owners(facts: Facts) -> set[Owner]:
    """Who can act at all: the customer only before the deposit came or after all is over, support
    where the service asks for somebody or stands still, nobody only at the end."""
    if facts.display in ("SWAP_COMPLETED", "REFUNDED"):
        marked = bool(facts.act) and facts.display == "SWAP_COMPLETED"
        return {Owner.SUPPORT if marked else Owner.NOBODY}
    if facts.display in _ENDED:
        if facts.paid:
            waits = facts.refund is not None and not facts.act and not facts.lost
            return {Owner.SERVICE} if waits and facts.display != "DELETED" else {Owner.SUPPORT}
        if facts.seen and facts.route != "dex":
            return {Owner.SUPPORT}
        return {Owner.NOBODY, Owner.CUSTOMER, Owner.SUPPORT}
    if 8 in (facts.first, facts.second) and facts.display is not None:
        return {Owner.SUPPORT}
    if facts.act and facts.display is not None:
        return {Owner.SUPPORT}
    owners = {Owner.SERVICE, Owner.CHAIN}
    if facts.paid or facts.display == "TELEPORTING":
        # Far over its time; an unknown state is under way.
        return owners | ({Owner.SUPPORT} if facts.over else set())
    if not facts.over and not facts.seen and facts.route != "dex":
        owners.add(Owner.CUSTOMER)
    return owners


def test_every_combination_has_one_cause_one_owner_and_a_possible_place(
    pytestconfig: pytest.Config,
) -> None:
    stride = 1 if pytestconfig.getoption("--full") else STRIDE
    rules: set[str] = set()
    for facts in islice(all_facts(), 0, None, stride):
        found = facts.diagnosis
        assert place_of(found.money) in allowed_places(facts), (facts, found)
        assert found.owner in allowed_owners(facts), (facts, found)
        assert found.cause.endswith("."), (facts, found)
        assert found.acts.endswith("."), (facts, found)
        assert "{" not in found.cause + found.money + found.acts + found.by, (facts, found)
        rules.add(found.rule)
    assert len(rules) >= 40


def test_the_sample_has_every_pair_of_states_legs_and_routes() -> None:
    sample = list(islice(all_facts(), 0, None, STRIDE))
    for one, other in (("display", "first"), ("first", "second"), ("display", "route")):
        pairs = {(getattr(facts, one), getattr(facts, other)) for facts in sample}
        whole = {(getattr(facts, one), getattr(facts, other)) for facts in all_facts()}
        assert pairs == whole


BY_NUMBERS = {
    -2: "WAITING_FOR_DEPOSIT",
    -1: "WAITING_FOR_DEPOSIT",
    0: "WAITING_FOR_DEPOSIT",
    1: "DEPOSIT_DETECTED",
    4: "SWAP_COMPLETED",
    5: "EXPIRED",
    6: "FAILED",
    7: "REFUNDED",
    8: "DELETED",
}
"""The displayed state by ``status`` alone (contract 8.6); 2 and 3 take the legs."""
EXCHANGING = {4: "SENDING_TO_RECEIVER", None: "EXCHANGE_IN_PROGRESS"}
SECOND_LEG = {
    0: "REACHED_INTERMEDIARY",
    1: "REACHED_INTERMEDIARY",
    2: "INITIATING_SECOND_EXCHANGE",
    3: "SECOND_EXCHANGE_IN_PROGRESS",
    4: "SENDING_TO_RECEIVER",
    8: "SECOND_EXCHANGE_IN_PROGRESS",
}


def test_a_state_in_numbers_alone_means_the_same() -> None:
    told = [(status, display, leg, None) for status, display in BY_NUMBERS.items() for leg in LEGS]
    told += [(2, display, leg or 3, None) for leg, display in EXCHANGING.items()]
    told += [(3, display, 5, second) for second, display in SECOND_LEG.items()]
    for status, display, first, second in told:
        route = "standard" if second is None else "private"
        whole = Facts(display, first, route, second, None, None, None, None, False, False)
        numbers = whole.order.model_copy(update={"display_status": None, "status": status})
        one = diagnose(TrackedOrder(numbers, None, None, False, NOW, "read"), BEFORE)
        other = whole.diagnosis
        assert (one.rule, one.owner, one.money) == (other.rule, other.owner, other.money), told
