"""Approvals, signature chains and confirmation of DEX routes (contract 10.1 to 10.13).

The typed data that a wallet is asked to sign comes from the service and is not trusted. It is kept
unchanged, including the text of its numbers. The process that holds the keys reads it strictly.
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
"""The most characters of calldata or of a serialized transaction that are read."""

SignatureKey = Annotated[str, Identity(64, pattern=r"^[!-~]{1,64}$")]
Calldata = Annotated[str, Identity(CALLDATA_LIMIT, pattern=r"^0x([0-9a-fA-F]{2})*$")]


class SignatureType(StrEnum):
    """Whether a swap needs one signature or several. For ``chained``, ``POST /dex/chainSignatures``
    takes each signature and returns the next document, until ``isComplete`` is true."""

    SINGLE = "single"
    CHAINED = "chained"


class SignatureRequirement(WireModel):
    """An EIP-712 document to sign. ``step`` counts from 0. ``data`` is exactly as the service sent
    it. ``swap_required_metadata`` must be returned unchanged with the signature."""

    data: Annotated[dict[str, Any], AfterValidator(refuse_far)]
    type: Annotated[str, OpenEnum(SignatureType)]
    total_steps: WireInteger
    step: WireInteger
    is_complete: bool
    key: SignatureKey
    swap_required_metadata: dict[str, Any] | None = None


class Approval(WireModel):
    """A transaction that allows the venue to take the owner's tokens. ``value`` is in the chain's
    smallest unit; None means that no coins are sent."""

    data: Calldata
    to: Annotated[str, Identity(64)]
    from_: Annotated[str, Identity(64)] = Field(alias="from")
    from_chain: Chain
    value: Amount | None = None


class ApproveAnswer(WireModel):
    """The approvals and signatures that the venue still needs before it may take the tokens."""

    approvals: list[Approval]
    signatures: list[SignatureRequirement]


class ApproveRequest(RequestModel):
    """Body of ``POST /dex/approve`` and ``POST /dex/allowance``. By default a permit is used if the
    route supports one."""

    quote_id: QuoteId
    address_from: Annotated[str, Identity(42, pattern=OWNER_PATTERN)]
    use_permit: StrictBool | None = None


class GivenSignature(RequestModel):
    """A wallet's signature for a :class:`SignatureRequirement`, with the ``key`` and
    ``swap_required_metadata`` of that requirement."""

    signature: Annotated[str, Identity(4096, pattern=r"^0x[0-9a-fA-F]+$")]
    key: SignatureKey
    swap_required_metadata: dict[str, Any] | None = None


class ChainSignaturesRequest(RequestModel):
    """Body of ``POST /dex/chainSignatures``, which asks for the next document to sign."""

    quote_id: QuoteId
    address_from: Annotated[str, Identity(42, pattern=EVM_ADDRESS_PATTERN)]
    previous_signature: GivenSignature
    signature_key: SignatureKey
    signature_step: Annotated[BodyInteger, Field(ge=0, le=INTEGER_LIMIT - 1)]


class ConfirmTransactionRequest(RequestModel):
    """Body of ``POST /dex/confirmTx``. ``tx_hash`` is required for an order that is settled by a
    transaction on a chain."""

    id: Annotated[str, Identity(64, pattern=r"^[A-Za-z0-9_-]{3,64}$")]
    tx_hash: Annotated[str, Identity(128, pattern=r"^[a-zA-Z0-9+/=_.-]{10,128}$")] | None = None
