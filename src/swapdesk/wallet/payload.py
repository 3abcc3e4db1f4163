"""What is to be signed, as the service or the desk's own planner gave it. Nothing is trusted."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from swapdesk.wallet.promise import Purpose


class ChainStep(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a document stands in a chain of signatures; ``step`` counts from 0."""

    key: str
    step: int
    total: int
    complete: bool
    chained: bool


class TypedDataPayload(Struct, frozen=True, forbid_unknown_fields=True):
    """An EIP-712 document exactly as it came, and its place in the chain of signatures."""

    purpose: Purpose
    document: dict[str, Any]
    step: ChainStep


class TransactionPayload(Struct, frozen=True, forbid_unknown_fields=True):
    """An EVM call: ``data`` is 0x-hex and ``value`` in wei. Nonce, gas and fees are the agent's."""

    purpose: Purpose
    to: str
    data: str
    value: int


class SolanaPayload(Struct, frozen=True, forbid_unknown_fields=True):
    """A serialized Solana transaction in base64, which others may have signed in part.

    ``last_valid_height`` is the height of blocks at which it is executed last, where whoever
    made it said so.
    """

    purpose: Purpose
    transaction: str
    last_valid_height: int | None = None


class OperationPayload(Struct, frozen=True, forbid_unknown_fields=True):
    """A UserOperation of ERC-4337 as the service wrote it in JSON-RPC's form, unsigned.

    It is hashed for ``entry_point`` (of the release ``version``, as "0.7") on the chain with
    ``chain_id``; a hash that somebody tells beside it is not asked for.
    """

    purpose: Purpose
    operation: dict[str, str]
    entry_point: str
    version: str
    chain_id: int


Payload = TypedDataPayload | TransactionPayload | SolanaPayload | OperationPayload
