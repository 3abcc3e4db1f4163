"""Unlocked keys. They sign whatever they are given; whether to sign is decided elsewhere, before.

Digests of EVM chains are signed by libsecp256k1 without further imports. eth_account is needed to
encode a transaction and is imported for the first one. If eth_account accepts a document, its
digest is a second opinion. A Solana transaction gets the signature of the key; other signers may
have added theirs.
"""

from __future__ import annotations

from typing import Any

from coincurve import PrivateKey, PublicKey
from solders.keypair import Keypair
from solders.message import to_bytes_versioned
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from swapdesk.chain.addresses.base58 import encode as base58
from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.solana import PACKET_BYTES, TransactionRefused, read_transaction
from swapdesk.secret import SecretBytes
from swapdesk.wallet.answers import EvmTerms
from swapdesk.wallet.promise import TransactionPayload
from swapdesk.wire.encoding.numbers import WireNumber

_DYNAMIC_FEE = 2


class SignerDefect(Exception):
    """Raised if a new signature fails the check against what was to be signed. The signature has
    been thrown away."""


class EvmSigner:
    """An unlocked EVM private key, kept in memory until :meth:`drop`."""

    __slots__ = ("_key", "_secret", "address")

    def __init__(self, address: str, secret: SecretBytes) -> None:
        self.address = address
        self._secret = secret
        self._key = PrivateKey(bytes(secret.reveal()))

    def __repr__(self) -> str:
        return f"EvmSigner({self.address})"

    def drop(self) -> None:
        self._secret.wipe()
        del self._key

    def sign_digest(self, digest: bytes) -> str:
        """Returns the checked signature of a 32-byte digest as 0x-hex: r, s and v (27 or 28), with
        low s. Raises SignerDefect if the check fails."""
        if len(digest) != 32:
            raise SignerDefect("a digest has 32 bytes")
        signed = self._key.sign_recoverable(digest, hasher=None)
        if signer_of(digest, signed) != self.address:
            raise SignerDefect("the signature is of another key")
        return f"0x{signed[:64].hex()}{27 + signed[64]:02x}"

    def sign_transaction(self, payload: TransactionPayload, terms: EvmTerms) -> tuple[bytes, str]:
        """Returns (signed bytes, hash in 0x-hex) of an EVM transaction, after checking them. Raises
        SignerDefect if the check fails."""
        if terms.chain_id <= 0 or payload.to != checksummed(payload.to):
            raise SignerDefect("a transaction needs its chain and whom it calls")
        from eth_account import Account

        fields = {
            "type": _DYNAMIC_FEE,
            "chainId": terms.chain_id,
            "nonce": terms.nonce,
            "to": payload.to,
            "value": payload.value,
            "data": bytes.fromhex(payload.data[2:]),
            "gas": terms.gas,
            "maxFeePerGas": terms.max_fee,
            "maxPriorityFeePerGas": terms.max_priority,
            "accessList": [],
        }
        signed = Account.sign_transaction(fields, bytes(self._secret.reveal()))
        raw = bytes(signed.raw_transaction)
        if Account.recover_transaction(raw) != self.address:
            raise SignerDefect("the transaction is signed by another key")
        if _fields_of(raw) != _fields(payload, terms):
            raise SignerDefect("the transaction says something else than it should")
        return raw, f"0x{keccak(raw).hex()}"


def signer_of(digest: bytes, signature: bytes) -> str | None:
    """Returns the address that signed the 32-byte ``digest``; None if the 65-byte ``signature`` (r,
    s, parity of y) is not valid."""
    try:
        public = PublicKey.from_signature_and_message(signature, digest, hasher=None)
    except ValueError:
        return None
    return checksummed(f"0x{keccak(public.format(compressed=False)[1:])[12:].hex()}")


def signing_hash(payload: TransactionPayload, terms: EvmTerms) -> bytes:
    """Returns the 32 bytes that are signed for an EVM transaction (EIP-1559, EIP-2718)."""
    import rlp

    return keccak(bytes([_DYNAMIC_FEE]) + rlp.encode(_fields(payload, terms)))


def _fields(payload: TransactionPayload, terms: EvmTerms) -> list[Any]:
    return [
        terms.chain_id,
        terms.nonce,
        terms.max_priority,
        terms.max_fee,
        terms.gas,
        bytes.fromhex(payload.to[2:]),
        payload.value,
        bytes.fromhex(payload.data[2:]),
        [],
    ]


def _fields_of(raw: bytes) -> list[Any] | None:
    import rlp

    if raw[:1] != bytes([_DYNAMIC_FEE]):
        return None
    items = rlp.decode(raw[1:])
    if len(items) != 12:
        return None
    numbers = [int.from_bytes(item, "big") for item in items[:5]]
    return [*numbers, items[5], int.from_bytes(items[6], "big"), items[7], list(items[8])]


def digest_of_others(document: dict[str, Any]) -> bytes | None:
    """Returns a document's digest as eth-account computes it; None if that library rejects the
    document."""
    from eth_abi.exceptions import EncodingError
    from eth_account.messages import encode_typed_data
    from eth_utils.exceptions import ValidationError

    try:
        message = encode_typed_data(full_message=_plain(document))
    except (EncodingError, ValidationError, ValueError, TypeError, KeyError, OverflowError):
        return None
    return keccak(b"\x19" + message.version + message.header + message.body)


def _plain(value: Any) -> Any:
    if isinstance(value, WireNumber):
        return int(value) if value.lstrip("-").isdigit() else str(value)
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


class SolanaSigner:
    """An unlocked Solana private key, kept in memory until :meth:`drop`."""

    __slots__ = ("_key", "_secret", "address")

    def __init__(self, address: str, secret: SecretBytes) -> None:
        self.address = address
        self._secret = secret
        self._key = Keypair.from_seed(bytes(secret.reveal()))

    def __repr__(self) -> str:
        # The text of solders' own key is the secret.
        return f"SolanaSigner({self.address})"

    def drop(self) -> None:
        self._secret.wipe()
        del self._key

    def sign(self, raw: bytes) -> tuple[bytes, str, bool]:
        """Returns the serialized transaction with this key's signature added, its id (base58), and
        True if no signature is missing. Raises SignerDefect if the transaction needs no signature
        of this key or the result fails a check."""
        try:
            whole = read_transaction(raw)
        except TransactionRefused as refused:
            raise SignerDefect(str(refused)) from refused
        message = whole.message
        signed = to_bytes_versioned(message)
        required = message.header.num_required_signatures
        signers = list(message.account_keys)[:required]
        places = [i for i, signer in enumerate(signers) if base58(bytes(signer)) == self.address]
        if len(places) != 1 or len(whole.signatures) != required:
            raise SignerDefect("the transaction does not ask for a signature of this key")
        signatures = list(whole.signatures)
        signatures[places[0]] = self._key.sign_message(signed)
        populated = VersionedTransaction.populate(message, signatures)
        out = bytes(populated)
        if len(out) > PACKET_BYTES or to_bytes_versioned(populated.message) != signed:
            raise SignerDefect("the signed transaction is not the one that was reviewed")
        if not signatures[places[0]].verify(self._key.pubkey(), signed):
            raise SignerDefect("the signature is of another key")
        complete = all(signature != Signature.default() for signature in signatures)
        return out, base58(bytes(signatures[0])), complete
