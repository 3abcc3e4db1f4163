"""Calls of tokens: ERC-20, EIP-2612, EIP-3009 and the wrapped native coin."""

from __future__ import annotations

from swapdesk.chain.calldata.method import method, text_in

UNLIMITED = (1 << 256) - 1
"""The amount that tokens treat as an unlimited allowance."""

TRANSFER = method("transfer(address,uint256)", "to amount")
APPROVE = method("approve(address,uint256)", "spender amount")
PERMIT = method(
    "permit(address,address,uint256,uint256,uint8,bytes32,bytes32)",
    "owner spender amount deadline v r s",
)

BALANCE_OF = method("balanceOf(address)", "owner")
ALLOWANCE = method("allowance(address,address)", "owner spender")
DECIMALS = method("decimals()")
SYMBOL = method("symbol()")
NONCES = method("nonces(address)", "owner")
DOMAIN_SEPARATOR = method("DOMAIN_SEPARATOR()")

TRANSFER_WITH_AUTHORIZATION = method(
    "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)",
    "from to value validAfter validBefore nonce v r s",
)
AUTHORIZATION_STATE = method("authorizationState(address,bytes32)", "authorizer nonce")

DEPOSIT = method("deposit()", payable=True)
WITHDRAW = method("withdraw(uint256)", "amount")


_WORD = 32


def read_symbol(answer: bytes) -> str | None:
    """Returns the symbol in a contract's answer to ``symbol()``: a text or, from old tokens, 32
    bytes. None for anything else."""
    raw = answer.rstrip(b"\0") if len(answer) == _WORD else text_in(answer)
    try:
        return raw.decode() or None if raw is not None else None
    except UnicodeDecodeError:
        return None
