"""Which nonces the operations of a group have: a sequence of their own for each of them.

A bundle that is built again has the nonces of the one before, so that at most one of both is ever
executed; bundles of different groups do not wait for each other. A wallet computes the same.
"""

from __future__ import annotations

from swapdesk.chain.addresses.evm import keccak


def nonce_key(multi_id: str, token: str | None, part: int) -> int:
    """192 bits for the operation that pays ``part`` (from 0) of a token's payments in a group;
    ``token`` is the contract, None for the chain's coin."""
    of = "coin" if token is None else token.lower()
    return int.from_bytes(keccak(f"{multi_id}/{of}/{part}".encode())[:24], "big")
