"""The second opinion on a digest of typed data: eth-account's, where it accepts a document."""

from __future__ import annotations

from typing import Any

from swapdesk.chain.addresses.evm import keccak
from swapdesk.wire.encoding.numbers import WireNumber


def digest_of_others(document: dict[str, Any]) -> bytes | None:
    """eth-account's digest, or None for a document that it refuses."""
    from eth_abi.exceptions import EncodingError
    from eth_account.messages import encode_typed_data
    from eth_utils.exceptions import ValidationError

    try:
        message = encode_typed_data(full_message=_plain(document))
    except (EncodingError, ValidationError, ValueError, TypeError, KeyError, OverflowError):
        return None
    return keccak(b"\x19" + message.version + message.header + message.body)


def _plain(value: Any) -> Any:
    """The document with whole numbers as Python has them."""
    if isinstance(value, WireNumber):
        return int(value) if value.lstrip("-").isdigit() else str(value)
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
