"""Any payload to its claim."""

from __future__ import annotations

from swapdesk.agent.shapes.calls import read_transaction
from swapdesk.agent.shapes.claim import Claim
from swapdesk.agent.shapes.operations import read_bundle
from swapdesk.agent.shapes.typed import read_typed
from swapdesk.wallet.payload import OperationPayload, Payload, SolanaPayload, TypedDataPayload
from swapdesk.wallet.promise import Promise


def read_payload(payload: Payload, promise: Promise) -> Claim:
    """What the payload says. Raises PayloadRefused where that cannot be told exactly.

    A transaction names no chain itself: it will be signed for the promise's.
    """
    if isinstance(payload, TypedDataPayload):
        return read_typed(payload.document)
    if isinstance(payload, SolanaPayload):
        # solders is loaded by those who sign for Solana alone.
        from swapdesk.agent.shapes.solana import read_message

        return read_message(payload.transaction, promise)
    if isinstance(payload, OperationPayload):
        return read_bundle(payload)
    return read_transaction(
        payload.to, payload.data, payload.value, promise.chain_id, promise.account
    )
