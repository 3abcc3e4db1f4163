"""Calls of Permit2, which gives allowances that expire."""

from __future__ import annotations

from swapdesk.chain.calldata.method import method

UNLIMITED = (1 << 160) - 1

APPROVE = method("approve(address,address,uint160,uint48)", "token spender amount expiration")
ALLOWANCE = method("allowance(address,address,address)", "owner token spender")
PERMIT = method(
    "permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)",
    "owner permit signature",
)
NONCE_BITMAP = method("nonceBitmap(address,uint256)", "owner word")
DOMAIN_SEPARATOR = method("DOMAIN_SEPARATOR()")
