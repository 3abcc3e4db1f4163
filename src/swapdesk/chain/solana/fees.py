"""What a transaction costs: lamports for each signature, and the price of its compute units."""

from __future__ import annotations

from solders.pubkey import Pubkey

from swapdesk.chain.solana.instructions import ComputeLimit, ComputePrice, Known, Unknown
from swapdesk.chain.solana.message import ReadMessage
from swapdesk.chain.solana.programs import COMPUTE_BUDGET, SYSTEM

LAMPORTS_PER_SIGNATURE = 5_000
_MOST_UNITS = 1_400_000
_UNITS_OF_BUILTIN, _UNITS_OF_PROGRAM = 3_000, 200_000
_BUILTINS = frozenset({SYSTEM, COMPUTE_BUDGET})


def fee_of(message: ReadMessage) -> int:
    """Lamports that the payer loses, also when the transaction fails. Without a stated limit
    the price counts for what the network reserves for each instruction."""
    price = limit = None
    reserved = 0
    for each in message.instructions:
        if isinstance(each, ComputePrice):
            price = each.micro_lamports
        elif isinstance(each, ComputeLimit):
            limit = each.units
        reserved += _UNITS_OF_BUILTIN if _program(each) in _BUILTINS else _UNITS_OF_PROGRAM
    units = min(_MOST_UNITS, reserved if limit is None else limit)
    return LAMPORTS_PER_SIGNATURE * len(message.signers) + -(-(price or 0) * units // 1_000_000)


def _program(instruction: Known | Unknown) -> Pubkey:
    if isinstance(instruction, Unknown):
        return instruction.program
    return instruction.build().program_id
