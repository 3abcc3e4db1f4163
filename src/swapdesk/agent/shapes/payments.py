"""The calls that a smart account makes, each read as the one payment that it is."""

from __future__ import annotations

from swapdesk.agent.shapes.claim import ClaimField, Outflow, PayloadRefused
from swapdesk.agent.shapes.meaning import Meaning
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.calldata.erc20 import TRANSFER
from swapdesk.chain.calldata.method import CalldataError
from swapdesk.chain.user_operation.batch import InnerCall

Payment = tuple[tuple[ClaimField, ...], Outflow]


def read_payment(number: int, call: InnerCall, code: str) -> Payment:
    """Of the chain's coin or of a token; ``number`` counts from 0. Raises PayloadRefused with
    ``code`` for anything else."""
    if call.value and not call.data:
        payee, units, token = checksummed(call.to), call.value, None
    elif call.data and not call.value:
        try:
            transfer = TRANSFER.read(call.data)
        except CalldataError as error:
            raise PayloadRefused(code, f"call {number + 1} is no payment") from error
        payee, units, token = transfer["to"], transfer["amount"], checksummed(call.to)
    else:
        raise PayloadRefused(code, f"call {number + 1} is no payment")
    fields = payment_fields(number, payee, units)
    if token is not None:
        label = f"Token {number + 1}"
        held = ClaimField(f"callData[{number}].token", label, Meaning.SOLD_TOKEN, token)
        return (*fields, held), Outflow(token, units, fields[-1])
    return fields, Outflow(None, units, fields[-1])


def payment_fields(number: int, payee: str, units: int) -> tuple[ClaimField, ...]:
    """Who is paid, and last how much."""
    path, name = f"callData[{number}]", number + 1
    return (
        ClaimField(f"{path}.to", f"Paid to {name}", Meaning.PAYEE, payee),
        ClaimField(f"{path}.amount", f"Amount {name}", Meaning.SOLD_UNITS, units),
    )
