"""What a payload lets move, out of its fields and its shape: the same for documents and calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from swapdesk.agent.shapes.claim import ClaimField, Outflow
from swapdesk.agent.shapes.meaning import Meaning
from swapdesk.agent.shapes.shape import Shape

_LEAVES = (Meaning.SOLD_UNITS, Meaning.FEE_UNITS)


@dataclass(frozen=True)
class Moves:
    """``outflows``, ``allowed`` and ``bought`` of a claim."""

    outflows: tuple[Outflow, ...]
    allowed: tuple[Outflow, ...]
    bought: str | None


def moves_of(fields: Sequence[ClaimField], shape: Shape, contract: str | None) -> Moves:
    """``contract`` is the one that is called or checks the signature. Coin that is sent along
    leaves beside what is sold. Raises TypeError for an amount that is none, a defect."""
    tokens = [one.value for one in fields if one.meaning is Meaning.SOLD_TOKEN]
    token = contract if shape.sells_contract else (tokens[0] if tokens else None)
    # No token is not the coin of the chain: only a shape can say that.
    sold = None if shape.sells_native else str(token)
    allowed = [one for one in fields if one.meaning is Meaning.ALLOWED_UNITS]
    taken = tokens if len(tokens) == len(allowed) else [token] * len(allowed)
    bought = next((one.value for one in fields if one.meaning is Meaning.BOUGHT_TOKEN), None)
    return Moves(
        outflows=(
            *(Outflow(sold, _units(one), one) for one in fields if one.meaning in _LEAVES),
            *(Outflow(None, _units(one), one) for one in fields if one.meaning is Meaning.VALUE),
        ),
        allowed=tuple(
            Outflow(str(of), _units(one), one) for of, one in zip(taken, allowed, strict=True)
        ),
        bought=bought if isinstance(bought, str) else None,
    )


def _units(field: ClaimField) -> int:
    if not isinstance(field.value, int) or isinstance(field.value, bool):
        raise TypeError(f"{field.path} is no amount")
    return field.value
