"""Setting a fault of the sandbox by its name and by what it shall meet, and moving its clock.

A target is written as a person knows it: an order or the beginning of its id, a provider's code or
name, a chain, a group, a quote, or an operation of the API.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from swapdesk.client.sandbox_control import SandboxControl
from swapdesk.flows.journal.order_merge import display_of
from swapdesk.flows.notation import written_seconds
from swapdesk.flows.orders.order_fields import symbols
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.encoding.ids import ORDER_ID_PATTERN
from swapdesk.wire.faults import FAULTS, SELECTORS, Fault, FaultRefused, fault_of, targets_of

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk

NOT_A_SANDBOX = "Faults exist in the sandbox only, and this profile is live."
CLOCK_STEPS = ("1m", "10m", "31m", "1h", "1d")
"""Steps that a key moves the clock on by: 31 minutes are longer than an order waits."""

_STREAM = "stream"
_QUOTE_ID = re.compile(r"[0-9a-f]{24}", re.ASCII)
_ORDER_ID = re.compile(ORDER_ID_PATTERN, re.ASCII)
_LONGEST_SHOWN = 60
MOST_ORDERS = 200
"""Orders that are offered; any other is named to the command."""


class Target(Struct, frozen=True):
    """What a fault shall meet: ``selector`` is a member of the control's body."""

    selector: str
    value: str

    @property
    def kind(self) -> str:
        """``order``."""
        return SELECTORS[self.selector]

    @property
    def said(self) -> str:
        """``order h8Kq2P…``."""
        return f"{self.kind} {self.value}"


class FaultCall(Struct, frozen=True):
    """One fault as it is set. ``target`` None: whatever comes next."""

    fault: str
    target: Target | None = None
    members: Mapping[str, Any] = field(default_factory=dict)
    """``leg``, ``times``, ``seconds``, as far as given."""

    @property
    def said(self) -> str:
        """``hold is set on order h8Kq2P….``"""
        given = ", ".join(f"{name} {value}" for name, value in sorted(self.members.items()))
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

    def read_call(self, name: str, text: str | None, members: Mapping[str, Any]) -> FaultCall:
        """What a person wrote. Raises FaultRefused."""
        target = None
        if text is not None and (fault := FAULTS.get(name)) is not None:
            target = self._target(fault, text)
        chosen = () if target is None else (target.selector,)
        fault_of(name, (*chosen, *members))
        return FaultCall(name, target, members)

    def _target(self, fault: Fault, text: str) -> Target:
        found = (self._as(selector, text) for selector in SELECTORS if selector in fault.selectors)
        target = next((one for one in found if one is not None), None)
        if target is not None:
            return target
        if "serviceId" in fault.selectors and _ORDER_ID.fullmatch(text):
            # An order of another partner: the sandbox knows it, or says so.
            return Target("serviceId", text)
        raise FaultRefused(
            "target", f"{_shown(text)} is not what {fault.name} meets: {targets_of(fault)}."
        )

    def _as(self, selector: str, text: str) -> Target | None:
        """The text as one kind of target; None where it is none of that kind."""
        value: str | None = None
        if selector == "serviceId":
            value = self._order(text)
        elif selector == "multiId":
            value = text if self._is_group(text) else None
        elif selector == "quoteId":
            value = text if _QUOTE_ID.fullmatch(text) else None
        elif selector == "operation":
            value = text if _is_operation(text) else None
        elif selector == "venue":
            called = text.casefold()
            value = next(
                (
                    one.short_name
                    for one in self._desk.catalog.providers
                    if called in (one.short_name.casefold(), one.name.casefold())
                ),
                None,
            )
        elif selector == "chain":
            chain = self._desk.catalog.chain(text.lower())
            value = chain.short_name if chain is not None else None
        return Target(selector, value) if value is not None else None

    def _order(self, text: str) -> str | None:
        known = self._desk.journal.orders.index.called(text)
        if text in known or not known:
            return text if known else None
        begun = sorted(one for one in known if one.startswith(text))
        if len(begun) > 1:
            raise FaultRefused("target", f"{len(begun)} orders begin with {_shown(text)}.")
        return begun[0] if begun else None

    def _is_group(self, text: str) -> bool:
        if text in self._desk.journal.batches.multi_ids():
            return True
        return any(one.order.multi_id == text for one in self._desk.link.tracker.known())

    async def set(self, call: FaultCall) -> None:
        """Raises ApiError with the sandbox's reason where the fault comes too late."""
        chosen = {call.target.selector: call.target.value} if call.target is not None else {}
        await self.control.set_fault(call.fault, **chosen, **call.members)

    async def active(self) -> list[str]:
        """The faults that wait or last: ``hold on order h8Kq2P…, once``."""
        return [_active(one) for one in await self.control.active_faults()]

    async def clear(self) -> None:
        """End every fault and every hold."""
        await self.control.clear_faults()

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
    """Everything known here that a fault may meet, each by a key of its own and with a word about
    it: orders as the tracker lists them, then groups, providers and chains."""
    found: list[tuple[Target | None, str]] = [(None, "")] if fault.unselected else []
    known = desk.link.tracker.orders()[:MOST_ORDERS]
    if "serviceId" in fault.selectors:
        found += [(Target("serviceId", one.service_id), _pair(one)) for one in known]
    if "multiId" in fault.selectors:
        groups = dict.fromkeys(one.order.multi_id for one in known)
        found += [(Target("multiId", group), "") for group in groups if group]
    if "venue" in fault.selectors:
        found += [(Target("venue", one.short_name), one.name) for one in desk.catalog.providers]
    if "chain" in fault.selectors:
        chains = [(one.short_name, one.name) for one in desk.catalog.chains()]
        wanted = [one for one in chains if not fault.chains or one[0] in fault.chains]
        found += [(Target("chain", name), said) for name, said in wanted]
    return {f"{one.selector} {one.value}" if one else "": (one, said) for one, said in found}


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
    target = next(
        (Target(name, str(told[name])) for name in SELECTORS if told.get(name) is not None), None
    )
    times = told.get("times")
    left = "" if times is None else ", once" if str(times) == "1" else f", {times} times"
    return f"{told.get('fault')}{f' on {target.said}' if target is not None else ''}{left}"


def _shown(text: str) -> str:
    """What was typed, as it may stand in a sentence."""
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…")
