"""API keys of the sandbox's partners, derived from ``sandbox.key``: 32 random bytes in the data
directory, drawn once, mode 0600."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import os
import stat
from pathlib import Path
from typing import Literal

from msgspec import Struct

from swapdesk.paths import write_private
from swapdesk.wire.webhook_signature import secret_of

KEY_FILE = "sandbox.key"
_KEY_BYTES = 32

Scope = Literal["full", "read"]


class PartnerKeys(Struct, frozen=True):
    """An API key with its secret and account. ``tier`` is PRO or FREE; ``scope`` is full or
    read."""

    name: str
    tier: str
    partner_id: str
    api_key: str
    api_secret: str
    scope: Scope = "full"
    suspended: bool = False

    def as_ready(self) -> dict[str, str]:
        """Returns the API key in the form of the ready line (interfaces 2)."""
        return {
            "partnerId": self.partner_id,
            "apiKey": self.api_key,
            "apiSecret": self.api_secret,
            "tier": self.tier,
            "name": self.name,
            "scope": self.scope,
            "state": "suspended" if self.suspended else "active",
        }


class SandboxKeyRefused(Exception):
    """Raised if other users can read the key file, or if the file is damaged."""


_KEYS: tuple[tuple[str, str, str, Scope, bool], ...] = (
    ("alice", "PRO", "", "full", False),
    ("carol", "PRO", "", "full", False),
    ("frank", "FREE", "", "full", False),
    ("alice", "PRO", "second", "full", False),
    ("alice", "PRO", "reader", "read", False),
    ("dora", "PRO", "", "full", True),
    ("erin", "PRO", "", "full", False),
)
"""The API keys: account name and tier, a word that marks a further key, scope, and whether the
account is suspended. Add new ones at the end, because programs select by position."""


def load_key(directory: Path) -> bytes:
    """Returns the secret of a data directory (``sandbox.key``). If there is none yet, draws one at
    random and stores it. Raises SandboxKeyRefused."""
    path = directory / KEY_FILE
    with contextlib.suppress(FileExistsError):
        write_private(path, os.urandom(_KEY_BYTES))
    return _read(path)


def _read(path: Path) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_IMODE(status.st_mode) & 0o077 or status.st_uid != os.getuid():
            raise SandboxKeyRefused(f"{path} can be read by others; it must have mode 0600")
        key = file.read(_KEY_BYTES + 1)
    if len(key) != _KEY_BYTES:
        raise SandboxKeyRefused(f"{path} does not hold {_KEY_BYTES} bytes")
    return key


def partner_keys(key: bytes) -> list[PartnerKeys]:
    """Returns the API keys of the sandbox's partners. The first PRO account is the one that the
    desk uses."""
    return [_key_of(key, *row) for row in _KEYS]


def _key_of(
    key: bytes, name: str, tier: str, further: str, scope: Scope, suspended: bool
) -> PartnerKeys:
    whose = f"{name}\0{further}" if further else name
    secret = _derived(key, whose, "api secret")
    return PartnerKeys(
        name,
        tier,
        _derived(key, name, "partner").hex()[:24],
        _derived(key, whose, "api key").hex()[:32],
        base64.urlsafe_b64encode(secret).decode().rstrip("="),
        scope,
        suspended,
    )


def webhook_secret(key: bytes, source: str) -> str:
    """Returns the secret with which ``source``, a venue or the bundler, signs its webhook events
    (contract 15.2)."""
    return secret_of(_derived(key, source, "webhook"))


def _derived(key: bytes, name: str, purpose: str) -> bytes:
    return hmac.new(key, f"{purpose}\0{name}".encode(), hashlib.sha256).digest()
