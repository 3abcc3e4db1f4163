"""Setting a fault of the sandbox by its name and by what it shall meet, and moving its clock.

A target is written as a person knows it: an order or the beginning of its id, a provider's code or
name, a chain, a group, a quote, or an operation of the API.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from swapdesk.client.sandbox_control import SandboxControl
from swapdesk.flows.notation import written_seconds
from swapdesk.flows.orders.order_fields import symbols
from swapdesk.flows.orders.order_merge import display_of
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.encoding.ids import ORDER_ID_PATTERN
from swapdesk.wire.faults import FAULTS, SELECTORS, Fault, FaultRefused, fault_of

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk

NOT_A_SANDBOX = "Faults exist in the sandbox only, and this profile is live."
CLOCK_STEPS = ("1m", "10m", "31m", "1h", "1d")
"""Steps that a key moves the clock on by: 31 minutes are longer than an order waits."""

_STREAM = "stream"
_QUOTE_ID = re.compile(r"[0-9a-f]{24}", re.ASCII)
_ORDER_ID = re.compile(ORDER_ID_PATTERN, re.ASCII)
_LONGEST_SHOWN = 60
SELECTOR_OF = {kind: selector for selector, kind in SELECTORS.items()}
MOST_ORDERS = 200
"""Orders that are offered; any other is named to the command."""


class Target(Struct, frozen=True):
    """What a fault is to meet: an ``order``, by its id."""

    kind: str
    value: str

    @property
    def said(self) -> str:
        """``order h8Kq2P…``."""
        return f"{self.kind} {self.value}"


class FaultDocument(Struct, frozen=True):
    """A fault that is set. ``target`` None: whatever comes next; ``given`` are its options."""

    fault: str
    target: Target | None
    given: Mapping[str, Any]

    @property
    def said(self) -> str:
        """``hold is set on order h8Kq2P….``"""
        given = ", ".join(f"{name} {value}" for name, value in sorted(self.given.items()))
        where = f" on {self.target.said}" if self.target is not None else ""
        return f"{self.fault} is set{where}{f', {given}' if given else ''}."


class Triggers:
    """The faults and the clock of the sandbox that ``desk`` is connected to. Raises FaultRefused
    where it is connected to none. What asks the sandbox raises ClientError."""

    def __init__(self, desk: Desk) -> None:
        control = desk.link.control
        if desk.settings.live or control is None:
            raise FaultRefused("profile", NOT_A_SANDBOX)
        self._desk = desk
        self.control: SandboxControl = control

    def read_call(self, name: str, text: str | None, given: Mapping[str, Any]) -> FaultDocument:
        """What a person wrote. Raises FaultRefused."""
        fault = FAULTS.get(name)
        target = None if fault is None or text is None else self._target(fault, text)
        chosen = () if target is None else (SELECTOR_OF[target.kind],)
        fault_of(name, (*chosen, *given))
        return FaultDocument(name, target, given)

    def _target(self, fault: Fault, text: str) -> Target:
        """By the name of what is known here; else by what is written like one of its kind."""
        called = text.casefold()
        for target, said in targets(self._desk, fault).values():
            if target is None:
                continue
            # Ids are other ones in other letters; providers and chains have names.
            named = target.kind in ("provider", "chain")
            names = (target.value.casefold(), said.casefold()) if named else ()
            if text == target.value or called in names:
                return target
        kinds = {SELECTORS[selector] for selector in fault.selectors}
        if "order" in kinds and (order := self._order(text)) is not None:
            return Target("order", order)
        if "quote" in kinds and _QUOTE_ID.fullmatch(text):
            return Target("quote", text)
        if "operation" in kinds and _is_operation(text):
            return Target("operation", text)
        if "order" in kinds and _ORDER_ID.fullmatch(text):
            # An order of another partner: the sandbox knows it, or says so.
            return Target("order", text)
        only = f" {' or '.join(fault.chains)}" if fault.chains else ""
        message = (
            f"{_shown(text)} is not what {fault.name} meets: {' or '.join(fault.targets)}{only}."
        )
        raise FaultRefused("target", message)

    def _order(self, text: str) -> str | None:
        known = self._desk.journal.orders.called(text)
        begun = [text] if text in known else sorted(one for one in known if one.startswith(text))
        if len(begun) > 1:
            raise FaultRefused("target", f"{len(begun)} orders begin with {_shown(text)}.")
        return begun[0] if begun else None

    async def set(self, call: FaultDocument) -> None:
        """Raises ApiError with the sandbox's reason where the fault comes too late."""
        met = call.target
        chosen = {SELECTOR_OF[met.kind]: met.value} if met is not None else {}
        await self.control.set_fault(call.fault, **chosen, **call.given)

    async def active(self) -> list[str]:
        """The faults that wait or last: ``hold on order h8Kq2P…, once``."""
        return [_active(one) for one in await self.control.active_faults()]

    async def advance(self, step: str) -> str:
        """Move the clock on by ``1h`` or ``+1h``, and say what it shows. Raises FaultRefused."""
        seconds = written_seconds(step.removeprefix("+"))
        if not seconds:
            raise FaultRefused(
                "step",
                f"{_shown(step)} is no step of the clock: a number with s, m, h or d, as +1h."
                " The clock never goes back.",
            )
        return await self.control.advance(seconds)


def targets(desk: Desk, fault: Fault) -> dict[str, tuple[Target | None, str]]:
    """Everything known here that a fault may meet, each by what is said of it and with a word about
    it: orders as the tracker lists them, then groups, providers and chains."""
    orders = desk.link.tracker.orders()[:MOST_ORDERS]
    groups = {one.order.multi_id: "" for one in orders if one.order.multi_id}
    known: dict[str, dict[str, str]] = {
        "order": {one.service_id: _pair(one) for one in orders},
        "group": groups | dict.fromkeys(desk.journal.ledger.subjects("create_group"), ""),
        "provider": {one.short_name: one.name for one in desk.catalog.providers},
        "chain": {
            one.short_name: one.name
            for one in desk.catalog.chains()
            if not fault.chains or one.short_name in fault.chains
        },
    }
    found: dict[str, tuple[Target | None, str]] = {"": (None, "")} if fault.unselected else {}
    for kind in (SELECTORS[selector] for selector in fault.selectors):
        for value, said in known.get(kind, {}).items():
            target = Target(kind, value)
            found[target.said] = target, said
    return found


def _pair(tracked: TrackedOrder) -> str:
    """``BTC to ETH, WAITING_FOR_DEPOSIT``."""
    sent, got = symbols(tracked.order)
    return f"{sent} to {got}, {display_of(tracked.order) or 'no state'}"


def variants(fault: Fault) -> tuple[dict[str, Any], ...]:
    """What a key goes through beside the target, the usual one first."""
    if "leg" in fault.takes:
        return ({}, {"leg": "in"}, {"leg": "out"})
    if "seconds" in fault.takes:
        return ({}, {"seconds": 30}, {"seconds": 300})
    return ({},)


def _is_operation(text: str) -> bool:
    from swapdesk.wire.operations import OPERATIONS

    return " " in text or text == _STREAM or any(one.name == text for one in OPERATIONS)


def _active(told: Mapping[str, Any]) -> str:
    targets = (
        Target(kind, str(told[selector]))
        for selector, kind in SELECTORS.items()
        if told.get(selector) is not None
    )
    target = next(targets, None)
    times = told.get("times")
    left = "" if times is None else ", once" if str(times) == "1" else f", {times} times"
    return f"{told.get('fault')}{f' on {target.said}' if target is not None else ''}{left}"


def _shown(text: str) -> str:
    """What was typed, as it may stand in a sentence."""
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…")
