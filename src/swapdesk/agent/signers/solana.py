"""An unlocked Solana key: its half of a transaction that others may have signed."""

from __future__ import annotations

from solders.keypair import Keypair
from solders.message import to_bytes_versioned
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from swapdesk.agent.signers.evm import SignedBytes, SignerDefect
from swapdesk.chain.addresses.base58 import encode as base58
from swapdesk.chain.solana import PACKET_BYTES, TransactionRefused, read_transaction
from swapdesk.secret import SecretBytes


class SolanaSigner:
    """Holds the key of ``address`` until :meth:`drop`."""

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

    def sign(self, raw: bytes) -> SignedBytes:
        """Our signature in its place; the others stay as they are."""
        try:
            whole = read_transaction(raw)
        except TransactionRefused as refused:
            raise SignerDefect(str(refused)) from refused
        message = whole.message
        signed = to_bytes_versioned(message)
        required = message.header.num_required_signatures
        signers = list(message.account_keys)[:required]
        places = [i for i, one in enumerate(signers) if base58(bytes(one)) == self.address]
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
        complete = all(one != Signature.default() for one in signatures)
        return SignedBytes(out, base58(bytes(signatures[0])), complete)
