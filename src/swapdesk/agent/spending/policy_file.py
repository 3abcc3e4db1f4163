"""``spending_policy.json`` beside the keys: the policy that the pass phrase sealed, and a stricter
policy that was set since without the pass phrase.

The sealed part is protected by a key derived from the pass phrase. If anybody else changes it, it
no longer opens. The later policy can only be stricter than the sealed one. The records have the
digest of the file, so an older or missing file is noticed too.

This is no protection against somebody who can also replace the records. Such a person could put
back an earlier sealed policy, or remove the policy together with the count of what was signed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from swapdesk.agent.keys.key_file import Scrypt, Sealed, seal
from swapdesk.agent.transactions.file import SpentRecord
from swapdesk.paths import UnsafePlace, read_private, write_private
from swapdesk.secret import SecretBytes
from swapdesk.wallet.protocol import MessageError, Refused, from_json, to_json
from swapdesk.wallet.spending import SpendingPolicy, only_lowers
from swapdesk.wire.encoding.codec import refuse_deep

FILE = "spending_policy.json"
_FORMAT = "swapdesk-spending-policy"
_NAMES = {"format", "version", "sealed", "crypto", "lowered"}

CHANGED = (
    "the file of the spending policy is not what was set, so nothing is signed:"
    " set it anew with the pass phrase"
)


class PolicyUnknown(Exception):
    """Raised if the policy file was changed by another program or cannot be read, so that the
    policy is unknown."""


class HeldPolicy(Struct, frozen=True):
    """The content of a policy file. ``sealed`` is the JSON of the policy that was set with the pass
    phrase, ``crypto`` its seal. ``policy`` is in force: the sealed policy or a stricter one set
    later."""

    policy: SpendingPolicy
    sealed: str
    crypto: dict[str, Any]


class PolicyKeeper:
    """Reads and writes the policy file. ``spent`` returns the record in which the digest of the
    policy file is stored. Methods may raise Refused if that record fails."""

    def __init__(self, directory: Path, profile: str, spent: Callable[[], SpentRecord]) -> None:
        self._path = directory / FILE
        self._profile = profile
        self._spent = spent
        self._held: tuple[bytes, HeldPolicy] | None = None
        self._opened: str | None = None
        """The sealed text that was opened with the pass phrase in this process; None if none
        was."""

    def read(self) -> HeldPolicy | None:
        """Returns the content of the policy file; None if no policy was ever set. Raises
        PolicyUnknown if the file was changed by another program."""
        expected = self._spent().policies()
        content = self._content()
        if content is None:
            if expected:
                raise PolicyUnknown(CHANGED)
            return None
        digest = hashlib.sha256(content).digest()
        if digest not in expected:
            raise PolicyUnknown(CHANGED)
        if self._held is None or self._held[0] != digest:
            self._held = (digest, _held(content))
        return self._held[1]

    def _content(self) -> bytes | None:
        if not os.path.lexists(self._path):
            return None
        try:
            return read_private(self._path)
        except UnsafePlace as unsafe:
            raise PolicyUnknown(f"{FILE} is not used: {unsafe}") from None
        except OSError as error:
            raise PolicyUnknown(f"{FILE} cannot be read: {error.strerror}") from None

    def for_signing(self) -> SpendingPolicy | None:
        """Returns the policy in force; None if no policy was ever set. Raises PolicyUnknown if the
        pass phrase has not opened it or another program changed the file."""
        held = self.read()
        if held is None:
            return None
        if held.sealed != self._opened:
            raise PolicyUnknown(CHANGED)
        return held.policy

    def derivation(self) -> tuple[HeldPolicy, Sealed] | None:
        """Returns the content of the policy file, and its seal, which states the key derivation.
        None if there is no policy or the file cannot be used."""
        try:
            held = self.read()
        except PolicyUnknown:
            return None
        try:
            return None if held is None else (held, Sealed(held.crypto))
        except Refused:
            return None

    def open(self, held: HeldPolicy, sealed: Sealed, key: SecretBytes) -> None:
        """Opens the policy's seal with ``key`` (derived from the pass phrase), and wipes ``key``.
        If ``key`` is wrong, the policy stays closed and nothing is raised."""
        try:
            sealed.open(key, self._bound(held.sealed)).wipe()
        except Refused:
            return
        finally:
            key.wipe()
        self._opened = held.sealed

    def _bound(self, sealed: str) -> bytes:
        return json.dumps([_FORMAT, self._profile, sealed]).encode()

    def write_sealed(self, policy: SpendingPolicy, key: SecretBytes, scrypt: Scrypt) -> None:
        """Writes and seals a policy with ``key``, which ``scrypt`` derived from the pass phrase.
        Wipes ``key``."""
        text = json.dumps(to_json(policy))
        secret = SecretBytes(os.urandom(32))
        crypto = seal(secret, key, scrypt, self._bound(text))
        secret.wipe()
        key.wipe()
        self._write(text, crypto, None)
        self._opened = text

    def lower(self, held: HeldPolicy, policy: SpendingPolicy) -> None:
        self._write(held.sealed, held.crypto, policy)

    def _write(self, sealed: str, crypto: dict[str, Any], lowered: SpendingPolicy | None) -> None:
        whole = {
            "format": _FORMAT,
            "version": 1,
            "sealed": sealed,
            "crypto": crypto,
            "lowered": None if lowered is None else to_json(lowered),
        }
        content = json.dumps(whole, indent=1).encode()
        digest, spent = hashlib.sha256(content).digest(), self._spent()
        spent.expect_policy(digest)
        write_private(self._path, content, replace=True)
        spent.keep_policy(digest)


def _held(content: bytes) -> HeldPolicy:
    try:
        refuse_deep(content)
        whole = json.loads(content)
        if set(whole) != _NAMES or whole["format"] != _FORMAT or whole["version"] != 1:
            raise PolicyUnknown(CHANGED)
        text, crypto, lowered = whole["sealed"], whole["crypto"], whole["lowered"]
        if type(text) is not str or type(crypto) is not dict:
            raise PolicyUnknown(CHANGED)
        policy = sealed = from_json(SpendingPolicy, json.loads(text))
        if lowered is not None:
            policy = from_json(SpendingPolicy, lowered)
            if not only_lowers(policy, sealed):
                raise PolicyUnknown(CHANGED)
    except (ValueError, TypeError, AttributeError, MessageError):
        raise PolicyUnknown(CHANGED) from None
    return HeldPolicy(policy, text, crypto)
