"""Whether the owner of a smart account signed an operation (ERC-4337; EIP-191 or EIP-712)."""

from __future__ import annotations

from swapdesk.chain.user_operation.hashing import signed_digest
from swapdesk.chain.user_operation.operation import EntryPointVersion

_HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0


def signed_by(owner: str, signature: str, operation_hash: str, version: str) -> bool:
    """``owner`` with its checksum, both texts 0x-hex. Only the one form that contracts take."""
    from eth_keys.datatypes import Signature
    from eth_keys.exceptions import BadSignature
    from eth_utils.exceptions import ValidationError

    raw = bytes.fromhex(signature[2:])
    if len(raw) != 65 or raw[64] not in (27, 28):
        return False
    if int.from_bytes(raw[32:64], "big") > _HALF_ORDER:
        return False
    digest = signed_digest(bytes.fromhex(operation_hash[2:]), EntryPointVersion(version))
    try:
        signer = Signature(raw[:64] + bytes([raw[64] - 27])).recover_public_key_from_msg_hash(
            digest
        )
    except (BadSignature, ValidationError):
        return False
    return signer.to_checksum_address() == owner
