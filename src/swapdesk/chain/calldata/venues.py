"""Calls of the venues' contracts: routers, the settlement of signed orders, and the cross-chain
portal."""

from __future__ import annotations

from swapdesk.chain.calldata.method import method

SWAP_TOKENS = method(
    "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)",
    "amount least path to deadline",
)
SWAP_NATIVE = method(
    "swapExactETHForTokens(uint256,address[],address,uint256)",
    "least path to deadline",
    payable=True,
)
SWAP_FOR_NATIVE = method(
    "swapExactTokensForETH(uint256,uint256,address[],address,uint256)",
    "amount least path to deadline",
)
SWAP_WITH_PERMIT = method(
    "swapWithPermit(uint256,uint256,address[],address,uint256,uint256,uint8,bytes32,bytes32)",
    "amount least path to deadline permitDeadline v r s",
)
RESERVES = method("getReserves()")

SEND = method(
    "send(address,uint256,uint256,address,uint256,address,uint256)",
    "token amount destination tokenOut least to deadline",
    payable=True,
)
FULFIL = method("fulfil(bytes32,address,uint256,address)", "transfer token amount to")

ORDER_TUPLE = (
    "(address,address,address,address,uint256,uint256,uint256,uint32,uint256,bool,bytes32)"
)
SETTLE = method(
    f"settle({ORDER_TUPLE},(uint8,bytes32,bytes32),(uint256,uint256,uint8,bytes32,bytes32),uint256)",
    "order signature permit bought",
)
SETTLE_WITH_PERMIT2 = method(
    f"settleWithPermit2({ORDER_TUPLE},bytes,uint256)", "order signature bought"
)
NONCE_USED = method("nonceUsed(address,uint256)", "owner nonce")
SYNC = method("sync((address,address,uint256)[])", "steps")
AGGREGATE = method("aggregate3((address,bool,bytes)[])", "calls", payable=True)
