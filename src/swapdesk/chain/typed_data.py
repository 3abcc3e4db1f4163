"""EIP-712 documents and the type declarations that wallets sign. Does no I/O.

Sources: EIP-2612 (permit), EIP-3009 (authorization), Permit2 (SignatureTransfer), and the order of
the Isthmus settlement contract.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

PERMIT = "address owner,address spender,uint256 value,uint256 nonce,uint256 deadline"
AUTHORIZATION = (
    "address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce"
)
ORDER = (
    "address owner,address sellToken,address buyToken,address receiver,uint256 sellAmount,"
    "uint256 buyAmount,uint256 feeAmount,uint32 validTo,uint256 nonce,bool partiallyFillable,"
    "bytes32 appData"
)
TOKEN_PERMISSIONS = "address token,uint256 amount"
PERMITTED_ORDER = (
    "TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,Order witness"
)
_DOMAIN = "string name,string version,uint256 chainId,address verifyingContract"

Document = dict[str, Any]
"""A typed-data document as JSON values. Whole numbers that may exceed 2^53 are decimal texts."""


class Domain(Struct, frozen=True):
    """The EIP-712 domain: the contract's address and the chain on which a signature is valid."""

    name: str
    version: str
    chain_id: int
    contract: str

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "version": self.version,
            "chainId": self.chain_id,
            "verifyingContract": self.contract,
        }


def typed_document(
    domain: Mapping[str, Any], types: Mapping[str, str], message: Mapping[str, Any]
) -> Document:
    """Returns the EIP-712 document. ``types`` maps the names of types to their declarations; the
    first type is that of the message."""
    declared = [field for field in _fields(_DOMAIN) if field["name"] in domain]
    return {
        "types": {
            "EIP712Domain": declared,
            **{name: _fields(declaration) for name, declaration in types.items()},
        },
        "primaryType": next(iter(types)),
        "domain": dict(domain),
        "message": dict(message),
    }


def authorization_document(
    domain: Domain, payer: str, pay_to: str, units: int, after: int, before: int, nonce: str
) -> Document:
    """Returns the EIP-3009 document that authorizes one transfer. Whoever has the signed document
    can execute the transfer once, between ``after`` and ``before`` (seconds since 1970). ``nonce``
    is 32 bytes as 0x-hex."""
    message = {
        "from": payer,
        "to": pay_to,
        "value": str(units),
        "validAfter": str(after),
        "validBefore": str(before),
        "nonce": nonce,
    }
    return typed_document(domain.as_json(), {"TransferWithAuthorization": AUTHORIZATION}, message)


def _fields(declaration: str) -> list[dict[str, str]]:
    pairs = (field.split(" ") for field in declaration.split(","))
    return [{"name": name, "type": kind} for kind, name in pairs]
