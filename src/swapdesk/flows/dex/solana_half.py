"""The transaction of an order on Solana, which the venue's maker has signed before the wallet.

The wallet agent reads what it does; here it is only taken out of the order's words.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from swapdesk.flows.creation.dex_transaction import NotThisSwap
from swapdesk.wallet.payload import SolanaPayload
from swapdesk.wallet.promise import Promise, Purpose

_HEX = re.compile(r"(?:0x)?((?:[0-9a-fA-F]{2})+)")
_HEIGHT = re.compile(r"0|[1-9][0-9]{0,18}")


def half_of(told: Mapping[str, Any], promise: Promise) -> SolanaPayload:
    """The transaction to sign, written in hexadecimal (contract 10.8) or in base64, as bundles
    are. Raises NotThisSwap."""
    data = told.get("data")
    if not isinstance(data, str) or not data:
        raise NotThisSwap("NOTHING_TO_SEND", "the order does not say what to send")
    sender = told.get("from")
    if sender is not None and str(sender) != promise.account:
        raise NotThisSwap("OWNER_DIFFERS", "it is to be sent by another account than yours")
    if told.get("chainId") is not None:
        raise NotThisSwap("CHAIN_ID_DIFFERS", "it is to be sent on another chain than Solana")
    return SolanaPayload(Purpose.SWAP, b64encode(_octets(data)).decode(), _height(told))


def _octets(data: str) -> bytes:
    written = _HEX.fullmatch(data)
    try:
        return bytes.fromhex(written[1]) if written else b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise NotThisSwap("NOTHING_TO_SEND", "the order's transaction cannot be read") from None


def _height(told: Mapping[str, Any]) -> int | None:
    """The last block height that it can be executed at, where the service says it."""
    text = str(told.get("lastValidBlockHeight", ""))
    return int(text) if _HEIGHT.fullmatch(text) else None
