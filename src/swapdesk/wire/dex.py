"""Approvals, signature chains and confirmation of DEX routes (contract 10.1 to 10.13).

What is to be signed comes from the service and is data: the typed data is kept as it came,
number tokens included, and read strictly by the process that holds the keys.
"""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StrictBool

from swapdesk.wire.chains import Chain
from swapdesk.wire.encoding.ids import QuoteId
from swapdesk.wire.encoding.numbers import (
    INTEGER_LIMIT,
    Amount,
    BodyInteger,
    WireInteger,
    refuse_far,
)
from swapdesk.wire.encoding.text import Identity, OpenEnum
from swapdesk.wire.model import RequestModel, WireModel

EVM_ADDRESS_PATTERN = r"^0x[0-9a-fA-F]{40}$"
OWNER_PATTERN = r"^(0x[0-9a-fA-F]{40}|T[1-9A-HJ-NP-Za-km-z]{33})$"
CALLDATA_LIMIT = 65_536
"""Largest calldata or serialized transaction that is read, in characters."""

SignatureKey = Annotated[str, Identity(64, pattern=r"^[!-~]{1,64}$")]
Calldata = Annotated[str, Identity(CALLDATA_LIMIT, pattern=r"^0x([0-9a-fA-F]{2})*$")]


class SignatureType(StrEnum):
    """A ``chained`` signature is sent back for the next one until it is complete."""

    SINGLE = "single"
    CHAINED = "chained"


class SignatureRequirement(WireModel):
    """One EIP-712 document that a wallet is asked to sign. ``step`` counts from 0.

    ``data`` holds ``domain``, ``types``, ``primaryType`` and ``message`` as they came;
    ``swap_required_metadata`` goes back with the signature, unread.
    """

    data: Annotated[dict[str, Any], AfterValidator(refuse_far)]
    type: Annotated[str, OpenEnum(SignatureType)]
    total_steps: WireInteger
    step: WireInteger
    is_complete: bool
    key: SignatureKey
    swap_required_metadata: dict[str, Any] | None = None


class Approval(WireModel):
    """A transaction that lets the venue take the tokens: ``data`` for the token at ``to``.

    ``value`` is in the chain's smallest unit and absent means none.
    """

    data: Calldata
    to: Annotated[str, Identity(64)]
    from_: Annotated[str, Identity(64)] = Field(alias="from")
    from_chain: Chain
    value: Amount | None = None


class ApproveAnswer(WireModel):
    """What is still missing before the venue may take the tokens; both empty when nothing is."""

    approvals: list[Approval]
    signatures: list[SignatureRequirement]


class ApproveRequest(RequestModel):
    """Body of ``POST /dex/approve`` and ``POST /dex/allowance``.

    ``use_permit`` absent means a permit wherever the route takes one.
    """

    quote_id: QuoteId
    address_from: Annotated[str, Identity(42, pattern=OWNER_PATTERN)]
    use_permit: StrictBool | None = None


class GivenSignature(RequestModel):
    """A signature made for a requirement, with that requirement's ``key`` and metadata."""

    signature: Annotated[str, Identity(4096, pattern=r"^0x[0-9a-fA-F]+$")]
    key: SignatureKey
    swap_required_metadata: dict[str, Any] | None = None


class ChainSignaturesRequest(RequestModel):
    """Body of ``POST /dex/chainSignatures``: the signature of ``signature_step``, for the next."""

    quote_id: QuoteId
    address_from: Annotated[str, Identity(42, pattern=EVM_ADDRESS_PATTERN)]
    previous_signature: GivenSignature
    signature_key: SignatureKey
    signature_step: Annotated[BodyInteger, Field(ge=0, le=INTEGER_LIMIT - 1)]


class ConfirmTransactionRequest(RequestModel):
    """Body of ``POST /dex/confirmTx``: the order's id, and the hash of its transaction, which is
    required for orders settled on a chain."""

    id: Annotated[str, Identity(64, pattern=r"^[A-Za-z0-9_-]{3,64}$")]
    tx_hash: Annotated[str, Identity(128, pattern=r"^[a-zA-Z0-9+/=_.-]{10,128}$")] | None = None
