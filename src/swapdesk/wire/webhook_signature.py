"""Signatures of webhooks in the form of Standard Webhooks (standardwebhooks.com), for receiver and
sender.

Signed is ``id.timestamp.body``, the body byte for byte as it travels. ``timestamp`` is whole
seconds since 1970. A secret is ``whsec_`` and its bytes in base64.
"""

from __future__ import annotations

import base64
import hmac
import re

SECRET_PREFIX = "whsec_"
WINDOW_SECONDS = 300
"""How far the time of a signature may be from the receiver's, before or after."""
_VERSION = "v1,"
_ID = re.compile(r"[A-Za-z0-9_:-]{1,128}", re.ASCII)
_TIMESTAMP = re.compile(r"0|[1-9][0-9]{0,11}", re.ASCII)


def secret_of(key: bytes) -> str:
    """The text of a secret; 24 to 64 random bytes."""
    return SECRET_PREFIX + base64.b64encode(key).decode()


def signature(secret: str, webhook_id: str, timestamp: int, body: bytes) -> str:
    """``v1,`` and HMAC-SHA256 over ``id.timestamp.body`` in base64."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    content = f"{webhook_id}.{timestamp}.".encode() + body
    return _VERSION + base64.b64encode(hmac.digest(key, content, "sha256")).decode()


def is_webhook_id(text: str) -> bool:
    """True if a text names an event: without a full stop, which separates the signed parts."""
    return _ID.fullmatch(text) is not None


def read_timestamp(text: str) -> int | None:
    """Seconds since 1970; None for anything but a plain whole number."""
    return int(text) if _TIMESTAMP.fullmatch(text) else None


def is_signed(secret: str, webhook_id: str, timestamp: int, body: bytes, signatures: str) -> bool:
    """True if one of the signatures, separated by spaces, is the secret's. Those of another version
    are ignored. The time it takes tells nothing of the right one."""
    right = signature(secret, webhook_id, timestamp, body).encode()
    matches = False
    for given in signatures.split(" "):
        matches |= hmac.compare_digest(given.encode("utf-8", "replace"), right)
    return matches
