"""Sets faults of the sandbox by name and target, and moves the sandbox's clock.

A target is an order or the beginning of its id, the code or name of a provider, a chain, a group of
orders created by one call, a quote, or an operation of the API.
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
"""The steps by which the screen moves the clock. After 31 minutes, every unpaid order has
expired."""

_STREAM = "stream"
_QUOTE_ID = re.compile(r"[0-9a-f]{24}", re.ASCII)
_ORDER_ID = re.compile(ORDER_ID_PATTERN, re.ASCII)
_LONGEST_SHOWN = 60
SELECTOR_OF = {kind: selector for selector, kind in SELECTORS.items()}
MOST_ORDERS = 200
"""The most orders offered as targets of a fault. The command accepts any other, too."""


class Target(Struct, frozen=True):
    """What a fault is set on: ``kind`` is a noun, such as ``order``, and ``value`` its id."""

    kind: str
    value: str

    @property
    def said(self) -> str:
        return f"{self.kind} {self.value}"


class FaultDocument(Struct, frozen=True):
    """A fault to set. Without a ``target`` it hits the next possible event. ``given`` are its
    options, such as ``seconds``."""

    fault: str
    target: Target | None
    given: Mapping[str, Any]

    @property
    def said(self) -> str:
        given = ", ".join(f"{name} {value}" for name, value in sorted(self.given.items()))
        where = f" on {self.target.said}" if self.target is not None else ""
        return f"{self.fault} is set{where}{f', {given}' if given else ''}."


class Triggers:
    """Sets faults in the sandbox and moves its clock. The constructor raises FaultRefused without a
    sandbox; methods raise ClientError."""

    def __init__(self, desk: Desk) -> None:
        control = desk.link.control
        if desk.settings.live or control is None:
            raise FaultRefused("profile", NOT_A_SANDBOX)
        self._desk = desk
        self.control: SandboxControl = control

    def read_call(self, name: str, text: str | None, given: Mapping[str, Any]) -> FaultDocument:
        """Returns the fault ``name`` with its options and the target that ``text`` names, if any.
        Raises FaultRefused if the fault or the target is unknown or unsuitable."""
        fault = FAULTS.get(name)
        target = None if fault is None or text is None else self._target(fault, text)
        chosen = () if target is None else (SELECTOR_OF[target.kind],)
        fault_of(name, (*chosen, *given))
        return FaultDocument(name, target, given)

    def _target(self, fault: Fault, text: str) -> Target:
        called = text.casefold()
        for target, said in targets(self._desk, fault).values():
            if target is None:
                continue
            # The case of letters matters in ids, and not in names.
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
            # An order of another partner, which the sandbox checks.
            return Target("order", text)
        only = f" {' or '.join(fault.chains)}" if fault.chains else ""
        message = (
            f"{_shown(text)} is not what {fault.name} meets: {' or '.join(fault.targets)}{only}."
        )
        raise FaultRefused("target", message)

    def _order(self, text: str) -> str | None:
        known = self._desk.journal.orders.called(text)
        begun = [text] if text in known else sorted(name for name in known if name.startswith(text))
        if len(begun) > 1:
            raise FaultRefused("target", f"{len(begun)} orders begin with {_shown(text)}.")
        return begun[0] if begun else None

    async def set(self, call: FaultDocument) -> None:
        """Sets the fault. Raises ApiError with the sandbox's reason, such as that it is too
        late."""
        met = call.target
        chosen = {SELECTOR_OF[met.kind]: met.value} if met is not None else {}
        await self.control.set_fault(call.fault, **chosen, **call.given)

    async def active(self) -> list[str]:
        return [_active(fault) for fault in await self.control.active_faults()]

    async def advance(self, step: str) -> str:
        """Moves the sandbox's clock forward and returns its new time. Raises FaultRefused unless
        ``step`` is like ``1h``."""
        seconds = written_seconds(step.removeprefix("+"))
        if not seconds:
            raise FaultRefused(
                "step",
                f"{_shown(step)} is no step of the clock: a number with s, m, h or d, as +1h."
                " The clock never goes back.",
            )
        return await self.control.advance(seconds)


def targets(desk: Desk, fault: Fault) -> dict[str, tuple[Target | None, str]]:
    """Returns the known targets of a fault with descriptions, by label. If the fault needs no
    target, the first label is empty."""
    orders = desk.link.tracker.orders()[:MOST_ORDERS]
    groups = {tracked.order.multi_id: "" for tracked in orders if tracked.order.multi_id}
    known: dict[str, dict[str, str]] = {
        "order": {tracked.service_id: _pair(tracked) for tracked in orders},
        "group": groups | dict.fromkeys(desk.journal.ledger.subjects("create_group"), ""),
        "provider": {provider.short_name: provider.name for provider in desk.catalog.providers},
        "chain": {
            chain.short_name: chain.name
            for chain in desk.catalog.chains()
            if not fault.chains or chain.short_name in fault.chains
        },
    }
    labelled: dict[str, tuple[Target | None, str]] = {"": (None, "")} if fault.unselected else {}
    for kind in (SELECTORS[selector] for selector in fault.selectors):
        for value, description in known.get(kind, {}).items():
            target = Target(kind, value)
            labelled[target.said] = target, description
    return labelled


def _pair(tracked: TrackedOrder) -> str:
    sent, got = symbols(tracked.order)
    return f"{sent} to {got}, {display_of(tracked.order) or 'no state'}"


def variants(fault: Fault) -> tuple[dict[str, Any], ...]:
    """Returns the option sets that the screen offers for this fault, the usual one first."""
    if "leg" in fault.takes:
        return ({}, {"leg": "in"}, {"leg": "out"})
    if "seconds" in fault.takes:
        return ({}, {"seconds": 30}, {"seconds": 300})
    return ({},)


def _is_operation(text: str) -> bool:
    from swapdesk.wire.operations import OPERATIONS

    return " " in text or text == _STREAM or any(one.name == text for one in OPERATIONS)


def _active(fault: Mapping[str, Any]) -> str:
    target = next(
        (
            f" on {kind} {fault[selector]}"
            for selector, kind in SELECTORS.items()
            if fault.get(selector) is not None
        ),
        "",
    )
    times = fault.get("times")
    left = "" if times is None else ", once" if str(times) == "1" else f", {times} times"
    return f"{fault.get('fault')}{target}{left}"


def _shown(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…")
