"""The ``crypto`` part of a Solana key file: scrypt and AES-256-GCM.

There is no standard for an encrypted ed25519 key: keystore v3 refuses what is no secp256k1
key. What is known of the key without opening it is bound to it as associated data.
"""

from __future__ import annotations

import os
from typing import Any

from Crypto.Cipher import AES

from swapdesk.agent.keys.derivation import KeyFileRefused, Scrypt, read_derivation
from swapdesk.agent.keys.keystore_v3 import WrongPassword, fixed_bytes
from swapdesk.secret import SecretBytes


def seal(secret: SecretBytes, key: SecretBytes, scrypt: Scrypt, bound: bytes) -> dict[str, Any]:
    nonce = os.urandom(12)
    cipher = AES.new(bytes(key.reveal()), AES.MODE_GCM, nonce=nonce)
    cipher.update(bound)
    ciphertext, tag = cipher.encrypt_and_digest(bytes(secret.reveal()))
    return {
        "cipher": "aes-256-gcm",
        "cipherparams": {"nonce": nonce.hex()},
        "ciphertext": ciphertext.hex(),
        "kdf": "scrypt",
        "kdfparams": scrypt.parameters(),
        "tag": tag.hex(),
    }


class Sealed:
    """A file's ``crypto``, checked and not yet opened. Raises KeyFileRefused."""

    def __init__(self, crypto: object) -> None:
        if not isinstance(crypto, dict):
            raise KeyFileRefused("the key file has no encrypted part")
        parameters = crypto.get("cipherparams")
        if crypto.get("cipher") != "aes-256-gcm" or not isinstance(parameters, dict):
            raise KeyFileRefused("the key file is not encrypted with aes-256-gcm")
        if crypto.get("kdf") != "scrypt":
            raise KeyFileRefused("the key file does not derive its key by scrypt")
        self.derivation = read_derivation("scrypt", crypto.get("kdfparams"))
        self._nonce = fixed_bytes(parameters.get("nonce"), 12)
        self._ciphertext = fixed_bytes(crypto.get("ciphertext"), 32)
        self._tag = fixed_bytes(crypto.get("tag"), 16)

    def open(self, key: SecretBytes, bound: bytes) -> SecretBytes:
        """The 32-byte seed inside. Raises WrongPassword, also when ``bound`` was changed."""
        cipher = AES.new(bytes(key.reveal()), AES.MODE_GCM, nonce=self._nonce)
        cipher.update(bound)
        try:
            return SecretBytes(cipher.decrypt_and_verify(self._ciphertext, self._tag))
        except ValueError:
            raise WrongPassword from None
