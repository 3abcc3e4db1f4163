"""EIP-712 documents that venues have the owner sign, the check of these signatures, and which
tokens accept EIP-2612 permits, according to the token's own contract."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.calldata import erc20
from swapdesk.chain.calldata.method import Method, method
from swapdesk.chain.deployments import PERMIT2
from swapdesk.chain.node_http import NodeUncertain
from swapdesk.chain.typed_data import (
    ORDER,
    PERMIT,
    PERMITTED_ORDER,
    TOKEN_PERMISSIONS,
    Document,
    Domain,
    typed_document,
)
from swapdesk.service.venues.onchain.reader import OnchainReader
from swapdesk.wire.dex import SignatureRequirement, SignatureType

_HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0


class DocumentSignature(Struct, frozen=True):
    v: int
    r: bytes
    s: bytes


NO_SIGNATURE = DocumentSignature(0, bytes(32), bytes(32))


def permit_document(
    domain: Domain, owner: str, spender: str, amount: int, nonce: int, deadline: int
) -> Document:
    message = {
        "owner": checksummed(owner),
        "spender": checksummed(spender),
        "value": str(amount),
        "nonce": str(nonce),
        "deadline": str(deadline),
    }
    return typed_document(domain.as_json(), {"Permit": PERMIT}, message)


class IntentOrder(Struct, frozen=True):
    """An order for the settlement contract. The contract fills an order as a whole or not at
    all."""

    owner: str
    sell: str
    buy: str
    receiver: str
    sell_amount: int
    buy_amount: int
    fee_amount: int
    valid_to: int
    nonce: int
    app_data: bytes = bytes(32)

    @property
    def words(self) -> tuple[Any, ...]:
        """The order as the tuple that the contract's method ``settle`` expects."""
        return (
            self.owner,
            self.sell,
            self.buy,
            self.receiver,
            self.sell_amount,
            self.buy_amount,
            self.fee_amount,
            self.valid_to,
            self.nonce,
            False,
            self.app_data,
        )


def order_document(domain: Domain, order: IntentOrder) -> Document:
    return typed_document(domain.as_json(), {"Order": ORDER}, _order_message(order))


def permit2_order_document(chain_id: int, settlement: str, order: IntentOrder) -> Document:
    """Returns the document by which the owner lets ``settlement`` take the sold tokens through
    Permit2, only for this order."""
    message = {
        "permitted": {
            "token": checksummed(order.sell),
            "amount": str(order.sell_amount + order.fee_amount),
        },
        "spender": checksummed(settlement),
        "nonce": str(order.nonce),
        "deadline": str(order.valid_to),
        "witness": _order_message(order),
    }
    domain = {"name": "Permit2", "chainId": chain_id, "verifyingContract": PERMIT2}
    types = {
        "PermitWitnessTransferFrom": PERMITTED_ORDER,
        "TokenPermissions": TOKEN_PERMISSIONS,
        "Order": ORDER,
    }
    return typed_document(domain, types, message)


def _order_message(order: IntentOrder) -> dict[str, Any]:
    return {
        "owner": checksummed(order.owner),
        "sellToken": checksummed(order.sell),
        "buyToken": checksummed(order.buy),
        "receiver": checksummed(order.receiver),
        "sellAmount": str(order.sell_amount),
        "buyAmount": str(order.buy_amount),
        "feeAmount": str(order.fee_amount),
        "validTo": order.valid_to,
        "nonce": str(order.nonce),
        "partiallyFillable": False,
        "appData": "0x" + order.app_data.hex(),
    }


def read_signature(text: str) -> DocumentSignature | None:
    """Returns the parts of a 65-byte signature in 0x-hex. Returns None for a form that contracts
    reject: ``v`` may be 0, 1, 27 or 28, and ``s`` must be in the lower half."""
    if len(text) != 132:
        return None
    raw = bytes.fromhex(text[2:])
    v = raw[64] + 27 if raw[64] < 27 else raw[64]
    if v not in (27, 28) or int.from_bytes(raw[32:64], "big") > _HALF_ORDER:
        return None
    return DocumentSignature(v, raw[:32], raw[32:64])


def signed_by(document: Document, text: str, owner: str) -> DocumentSignature | None:
    """Returns the parts of the signature ``text`` if ``owner`` made it for this document, otherwise
    None."""
    from eth_account import Account
    from eth_account.messages import encode_typed_data
    from eth_keys.exceptions import BadSignature
    from eth_utils.exceptions import ValidationError

    parts = read_signature(text)
    if parts is None:
        return None
    raw = parts.r + parts.s + bytes([parts.v])
    try:
        signer = Account.recover_message(encode_typed_data(full_message=document), signature=raw)
    except (BadSignature, ValidationError, ValueError):
        return None
    return parts if str(signer).lower() == owner.lower() else None


def digest_of(document: Document) -> bytes:
    from eth_account.messages import encode_typed_data

    signable = encode_typed_data(full_message=document)
    return keccak(b"\x19" + signable.version + signable.header + signable.body)


def domain_separator(domain: Domain) -> bytes:
    """Returns the EIP-712 hash of a domain, as a contract's ``DOMAIN_SEPARATOR()`` returns it."""
    from eth_account.messages import encode_typed_data

    document = typed_document(domain.as_json(), {"Nothing": "bool a"}, {"a": False})
    return bytes(encode_typed_data(full_message=document).header)


_NAME = method("name()")
_VERSION = method("version()")
NOBODY = "0x" + "00" * 19 + "01"
"""The address in whose name read-only calls of tokens are made. Nobody has its key."""
_USUAL_VERSION = "1"


async def find_domain(
    reader: OnchainReader, token: str, needed: Method, arguments: tuple[object, ...]
) -> Domain | None:
    """Returns the EIP-712 domain of a token for signed permissions. Returns None if the token does
    not support the method ``needed``, called with ``arguments``, or states another domain hash.
    Raises NodeError."""
    separator, word, name, version = await reader.aggregate(
        [
            (token, erc20.DOMAIN_SEPARATOR, ()),
            (token, needed, arguments),
            (token, _NAME, ()),
            (token, _VERSION, ()),
        ]
    )
    if separator is None or len(separator) != 32 or word is None or len(word) != 32:
        return None
    named = _text(name)
    if named is None:
        return None
    for usual_version in dict.fromkeys((_text(version) or _USUAL_VERSION, _USUAL_VERSION)):
        domain = Domain(named, usual_version, reader.place.chain_id, token)
        if domain_separator(domain) == separator:
            return domain
    return None


class Permits:
    def __init__(self, reader: OnchainReader) -> None:
        self._reader = reader
        self._domains: dict[str, Domain | None] = {}

    async def domain(self, token: str) -> Domain | None:
        """Returns the EIP-712 domain of the token's permits. Returns None if the token takes no
        permits, or if it states another domain hash."""
        if token not in self._domains:
            self._domains[token] = await find_domain(self._reader, token, erc20.NONCES, (NOBODY,))
        return self._domains[token]

    async def document(
        self, token: str, owner: str, spender: str, amount: int, deadline: int
    ) -> Document | None:
        domain = await self.domain(token)
        if domain is None:
            return None
        (nonce,) = await self._reader.numbers([(token, erc20.NONCES, (owner,))])
        if nonce is None:
            raise NodeUncertain("the token answers no nonce")
        return permit_document(domain, owner, spender, amount, nonce, deadline)


def _text(answer: bytes | None) -> str | None:
    from eth_abi.abi import decode
    from eth_abi.exceptions import DecodingError

    if answer is None:
        return None
    try:
        (text,) = decode(("string",), answer)
    except (DecodingError, ValueError, OverflowError):
        return None
    return str(text)


def requirement(
    document: Document,
    key: str,
    *,
    step: int = 0,
    total: int = 1,
    metadata: dict[str, Any] | None = None,
) -> SignatureRequirement:
    """Returns the request for the owner's signature of a document. ``step`` is the document's
    number, from 0, among ``total`` documents to sign."""
    return SignatureRequirement(
        data=document,
        type=SignatureType.SINGLE if total == 1 else SignatureType.CHAINED,
        total_steps=total,
        step=step,
        is_complete=step + 1 == total,
        key=key,
        swap_required_metadata=metadata,
    )
