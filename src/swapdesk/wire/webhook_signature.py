"""Signatures of webhooks in the form of Standard Webhooks (standardwebhooks.com), for receiver and
sender.

The signed text is ``id.timestamp.body``, with the exact bytes of the body as sent. ``timestamp`` is
whole seconds since 1970. A secret is ``whsec_`` followed by its bytes in base64.
"""

from __future__ import annotations

import base64
import hmac
import re

SECRET_PREFIX = "whsec_"
WINDOW_SECONDS = 300
"""Seconds by which a signature's time may differ from the receiver's, in either direction."""
_VERSION = "v1,"
_ID = re.compile(r"[A-Za-z0-9_:-]{1,128}", re.ASCII)
_TIMESTAMP = re.compile(r"0|[1-9][0-9]{0,11}", re.ASCII)


def secret_of(key: bytes) -> str:
    """Returns a secret as text: ``whsec_`` and ``key`` in base64. ``key`` should be 24 to 64 random
    bytes."""
    return SECRET_PREFIX + base64.b64encode(key).decode()


def signature(secret: str, webhook_id: str, timestamp: int, body: bytes) -> str:
    """Returns ``v1,`` followed by the HMAC-SHA256 of ``id.timestamp.body`` in base64."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    content = f"{webhook_id}.{timestamp}.".encode() + body
    return _VERSION + base64.b64encode(hmac.digest(key, content, "sha256")).decode()


def is_webhook_id(text: str) -> bool:
    """Returns True for a valid event id. An id has no full stop, because full stops separate the
    signed parts."""
    return _ID.fullmatch(text) is not None


def read_timestamp(text: str) -> int | None:
    """Returns the Unix seconds in a text; None if it is not a plain whole number."""
    return int(text) if _TIMESTAMP.fullmatch(text) else None


def is_signed(secret: str, webhook_id: str, timestamp: int, body: bytes, signatures: str) -> bool:
    """Returns True if one of the space-separated ``signatures`` was made with the secret. The
    running time does not reveal the right signature."""
    right = signature(secret, webhook_id, timestamp, body).encode()
    matches = False
    for given in signatures.split(" "):
        matches |= hmac.compare_digest(given.encode("utf-8", "replace"), right)
    return matches
