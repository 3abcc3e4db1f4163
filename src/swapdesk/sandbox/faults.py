"""Faults of the service's answers: what is active, and which request one belongs to.

A fault selects one operation, one order or one quote and is spent after ``times`` requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from swapdesk.sandbox.operation_tampering import Part
from swapdesk.sandbox.tampering import APPROVE, BUILD, CHAIN, CREATE, FUND
from swapdesk.wire.operations import OPERATIONS, STREAM_PATH

STREAM = "stream"
"""Name of the WebSocket among the operations a fault can select."""


class AnswerFault(StrEnum):
    """What happens to an answer."""

    LOST_RESPONSE = "lost_response"
    """The request is carried out to the end; the connection breaks instead of an answer."""
    DELAY = "delay"
    """The request is carried out ``seconds`` later."""
    HTTP_500 = "http_500"
    """The request is answered 500 and not carried out."""
    HTTP_503 = "http_503"
    """The request is answered 503 and not carried out."""
    RATE_LIMITED = "rate_limited"
    """The request is answered 429 with ``retry-after``, and not carried out."""
    GARBAGE = "garbage"
    """The request is carried out; a page for people comes instead of the answer."""
    TRUNCATE = "truncate"
    """The request is carried out; the connection breaks in the middle of the answer."""
    WS_DROP = "ws_drop"
    """The stream breaks without a close frame, and for ``seconds`` no new one begins."""
    WS_DUPLICATE = "ws_duplicate"
    """An update comes twice."""
    WS_REORDER = "ws_reorder"
    """An update comes after the next frame, or after ``seconds``."""
    TAMPER_SPENDER = "tamper_spender"
    """What is to be signed allows a stranger to spend, or pays one."""
    TAMPER_AMOUNT = "tamper_amount"
    """What is to be signed moves or allows more than was asked for."""
    TAMPER_CHAIN_ID = "tamper_chain_id"
    """What is to be signed is for another chain."""
    TAMPER_RECIPIENT = "tamper_recipient"
    """What is to be signed goes to a stranger."""
    TAMPER_CALLDATA = "tamper_calldata"
    """What is to be signed calls something else."""
    TAMPER_EXTRA_FIELD = "tamper_extra_field"
    """What is to be signed has one more field or instruction."""
    CHAIN_REPEAT_STEP = "chain_repeat_step"
    """A step of a signature chain comes that was signed before."""
    CHAIN_ENDLESS = "chain_endless"
    """A signature chain gets another step whenever its last one is handed in."""
    STALE_CALLDATA = "stale_calldata"
    """The transaction to be signed is past its deadline, or built on another blockhash."""
    TAMPER_USER_OPERATION = "tamper_user_operation"
    """A part of the operations that fund a group is another one."""


_SIGNED = frozenset({APPROVE, CHAIN, CREATE})
SIGNING_FAULTS: dict[AnswerFault, frozenset[str]] = {
    AnswerFault.TAMPER_SPENDER: _SIGNED | FUND,
    AnswerFault.TAMPER_AMOUNT: _SIGNED | FUND,
    AnswerFault.TAMPER_CHAIN_ID: _SIGNED,
    AnswerFault.TAMPER_RECIPIENT: _SIGNED,
    AnswerFault.TAMPER_CALLDATA: frozenset({APPROVE, CREATE}) | FUND,
    AnswerFault.TAMPER_EXTRA_FIELD: _SIGNED | FUND,
    AnswerFault.CHAIN_REPEAT_STEP: frozenset({CHAIN}),
    AnswerFault.CHAIN_ENDLESS: frozenset({CHAIN}),
    AnswerFault.STALE_CALLDATA: frozenset({CREATE}) | FUND,
    AnswerFault.TAMPER_USER_OPERATION: frozenset({BUILD}),
}
"""What a dishonest service says, and the operations it says it with."""

STREAM_FAULTS = frozenset({AnswerFault.WS_DROP, AnswerFault.WS_DUPLICATE, AnswerFault.WS_REORDER})
_UPDATE = '{"type":"order_update"'


class UnknownOperation(ValueError):
    """No operation of that name or path."""


@dataclass
class ActiveFault:
    """One fault with what is left of it. ``seconds``: how long, or what ``retry-after`` says."""

    fault: AnswerFault
    times: int
    seconds: float
    operation: str | None = None
    service_id: str | None = None
    quote_id: str | None = None
    multi_id: str | None = None
    part: Part | None = None
    told: list[dict[str, Any]] | None = None
    """The newest step of a chain without an end."""

    def as_json(self) -> dict[str, object]:
        return {
            "fault": self.fault.value,
            "operation": self.operation,
            "serviceId": self.service_id,
            "quoteId": self.quote_id,
            "multiId": self.multi_id,
            "times": self.times,
        }


@dataclass(frozen=True)
class Target:
    """What a request is about, as far as faults can select it."""

    operation: str | None
    service_id: str | None = None
    quote_id: str | None = None
    multi_id: str | None = None


def target_at(method: str, path: str) -> Target:
    """The operation at a path below ``/v2`` and the order or group that the path names."""
    asked = path.split("/")
    for operation in OPERATIONS:
        parts = operation.path.split("/")
        if operation.method != method or len(parts) != len(asked):
            continue
        if all(
            part == given or part.startswith("{") for part, given in zip(parts, asked, strict=True)
        ):
            found = dict(zip(parts, asked, strict=True))
            # A fixed path wins over a template: the table lists fixed paths first.
            return Target(operation.name, found.get("{serviceId}"), multi_id=found.get("{multiId}"))
    return Target(None)


def operation_name(text: str) -> str:
    """The name behind a name or ``METHOD /path``. Raises UnknownOperation."""
    method, space, path = text.partition(" ")
    if not space:
        if text == STREAM or any(operation.name == text for operation in OPERATIONS):
            return text
        raise UnknownOperation(f"there is no operation {text!r}")
    if path == STREAM_PATH and method in ("GET", "WS"):
        return STREAM
    name = target_at(method, path).operation
    if name is None:
        raise UnknownOperation(f"there is no operation at {text!r}")
    return name


class Faults:
    """The active faults of one service process."""

    def __init__(self) -> None:
        self._active: list[ActiveFault] = []
        self.lies: dict[str, Any] = {}
        """What was said to be sent for an order, by its id: a service that lied stays with it."""

    @property
    def active(self) -> list[ActiveFault]:
        return list(self._active)

    @property
    def wants_quotes(self) -> bool:
        """Whether a body has to be read to find the fault of a request."""
        return any(fault.quote_id is not None for fault in self._active)

    def add(self, fault: ActiveFault) -> None:
        self._active.append(fault)

    def clear(self) -> int:
        count = len(self._active)
        self._active.clear()
        self.lies.clear()
        return count

    def take(self, target: Target) -> ActiveFault | None:
        """Spend the oldest fault of an answer that selects this request."""
        for fault in self._active:
            if fault.fault in STREAM_FAULTS or not _selects(fault, target):
                continue
            told_by = SIGNING_FAULTS.get(fault.fault)
            if told_by is None or target.operation in told_by:
                return self.spend(fault)
        return None

    def give_back(self, fault: ActiveFault) -> None:
        """The answer had nothing for this fault: it waits for the next one."""
        fault.times += 1
        if fault not in self._active:
            self._active.insert(0, fault)

    def take_drop(self) -> ActiveFault | None:
        """Spend the oldest fault that breaks streams as soon as it is set."""
        for fault in self._active:
            if fault.fault is AnswerFault.WS_DROP and fault.service_id is None:
                return self.spend(fault)
        return None

    def take_frame(self, text: str | None) -> ActiveFault | None:
        """Spend the oldest fault of the stream that this frame meets.

        A drop without an order meets every frame; what selects an order meets the frames that
        name it, and only updates are doubled or held back.
        """
        told = text or ""
        for fault in self._active:
            if fault.fault not in STREAM_FAULTS:
                continue
            if fault.service_id is not None and f'"{fault.service_id}"' not in told:
                continue
            if fault.fault is AnswerFault.WS_DROP or told.startswith(_UPDATE):
                return self.spend(fault)
        return None

    def spend(self, fault: ActiveFault) -> ActiveFault:
        fault.times -= 1
        if fault.times <= 0:
            self._active.remove(fault)
        return fault


def _selects(fault: ActiveFault, target: Target) -> bool:
    chosen = (
        (fault.operation, target.operation),
        (fault.service_id, target.service_id),
        (fault.quote_id, target.quote_id),
        (fault.multi_id, target.multi_id),
    )
    return all(wanted is None or wanted == given for wanted, given in chosen)
