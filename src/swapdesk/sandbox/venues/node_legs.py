"""A leg as the node tells and asks it: amounts in base units of the token on their side."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from swapdesk.sandbox.world import WorldToken, world_tokens
from swapdesk.service.venues.adapter import DepositInstruction, LegReport, Transient
from swapdesk.wire.encoding.numbers import ROUGH, from_base_units, to_base_units
from swapdesk.wire.orders import LegStatus


def base_units(amount: Decimal, token: WorldToken) -> str:
    return str(to_base_units(amount, token.row.decimals))


def _amount(units: object, token_id: str) -> Decimal | None:
    """Base units as an amount without trailing zeros."""
    if units is None:
        return None
    exact = from_base_units(int(str(units)), world_tokens()[token_id].row.decimals)
    short = exact.normalize(ROUGH)
    return short.quantize(Decimal(1), context=ROUGH) if short == short.to_integral() else short


def instruction_of(answer: dict[str, Any]) -> DepositInstruction:
    amount_in = _amount(answer["unitsIn"], str(answer["tokenIn"]))
    bought = _amount(answer["unitsOut"], str(answer["tokenOut"]))
    if amount_in is None or bought is None:
        raise Transient("the node answered without amounts")
    return DepositInstruction(str(answer["address"]), answer["tag"], amount_in, bought)


def report_of(answer: dict[str, Any]) -> LegReport:
    token_in, token_out = str(answer["tokenIn"]), str(answer["tokenOut"])
    confirmations = answer["confirmations"]
    return LegReport(
        status=LegStatus(int(answer["status"])),
        amount_in=_amount(answer["unitsIn"], token_in),
        amount_out=_amount(answer["unitsOut"], token_out),
        deposit_hash=answer["depositHash"],
        payout_hash=answer["payoutHash"],
        refund_hash=answer["refundHash"],
        refund_amount=_amount(answer["refundUnits"], token_in),
        refund_chain=answer["refundChain"],
        confirmations=None if confirmations is None else int(confirmations),
        confirmations_needed=int(answer["confirmationsNeeded"]),
        deposit_arrived=bool(answer["depositArrived"]),
        declined=bool(answer["declined"]),
        held=bool(answer["held"]),
    )
