"""CRC16 with the polynomial x^16 + x^12 + x^5 + 1 and a start of zero (SEP-23, TEP-2)."""

from __future__ import annotations

import binascii


def crc16(payload: bytes) -> int:
    return binascii.crc_hqx(payload, 0)
