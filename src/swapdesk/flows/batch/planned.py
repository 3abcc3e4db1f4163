"""One row of a plan: the order it asks for, or why it asks for none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from swapdesk.flows.batch.finding import Finding, Level
from swapdesk.flows.batch.sheet import InputRow
from swapdesk.wire.multi import MultiOrderRequest
from swapdesk.wire.tokens import Token

BatchRoute = Literal["standard", "private"]
"""A group takes no routes on chains (contract 9.3)."""


@dataclass(frozen=True)
class PlannedOrder:
    """``amount`` is in units of ``token_in``, ``about`` what arrives in units of ``token_out``,
    which nothing promises; None when unknown. ``label`` is the ``@name`` of the recipient,
    ``account`` its one spelling whatever form it was written in."""

    token_in: Token
    token_out: Token
    amount: Decimal
    recipient: str
    account: str
    label: str | None
    memo: str | None
    route: BatchRoute
    refund: str | None = None
    refund_memo: str | None = None
    about: Decimal | None = None

    @property
    def pair(self) -> tuple[str, str]:
        return self.token_in.id, self.token_out.id

    def request(self) -> MultiOrderRequest:
        """As it is asked for. The model is checked once more where it is encoded."""
        return MultiOrderRequest.model_validate(
            {
                "from": self.token_in.id,
                "to": self.token_out.id,
                "amount": self.amount,
                "addressTo": self.recipient,
                "anonymous": self.route == "private",
                "destinationTag": self.memo,
                "refundAddress": self.refund,
                "refundExtraId": self.refund_memo,
            }
        )


@dataclass(frozen=True)
class PlannedRow:
    """``order`` is None as long as a cell that it needs cannot be read."""

    row: InputRow
    order: PlannedOrder | None
    findings: tuple[Finding, ...] = ()

    @property
    def number(self) -> int:
        return self.row.number

    @property
    def problems(self) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.level is Level.PROBLEM)

    @property
    def state(self) -> Literal["ready", "look", "problem"]:
        if self.problems:
            return "problem"
        return "look" if self.findings else "ready"

    def with_findings(self, *more: Finding) -> PlannedRow:
        return replace(self, findings=(*self.findings, *more)) if more else self
