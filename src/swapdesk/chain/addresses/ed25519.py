"""Points of the Ed25519 curve (RFC 8032, 5.1.3). This module has no keys and signs nothing."""

from __future__ import annotations

from swapdesk.chain.addresses.kind import expand

_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P


def is_point(key: bytes) -> bool:
    """Returns whether 32 bytes decode to a point of the curve, with a canonical y coordinate."""
    if len(key) != 32:
        return False
    number = int.from_bytes(key, "little")
    sign, y = number >> 255, number & (1 << 255) - 1
    if y >= _P:
        return False
    above, below = (y * y - 1) % _P, (_D * y * y + 1) % _P
    # As square as the quotient, because they differ by the square of the divisor.
    square = above * below % _P
    if square == 0:
        return sign == 0
    return pow(square, (_P - 1) // 2, _P) == 1


def generated_point(seed: bytes, purpose: str) -> bytes:
    """Returns 32 bytes that are a point of the curve, determined by ``seed`` and ``purpose``."""
    attempt = 0
    while True:
        key = expand(seed, f"{purpose} {attempt}", 32)
        if is_point(key):
            return key
        attempt += 1
