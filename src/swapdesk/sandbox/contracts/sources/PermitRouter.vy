# pragma version 0.4.3
# Swaps along pools for an owner who allowed it by an EIP-2612 signature.

import routing

initializes: routing

exports: (routing.poolOf, routing.WETH, routing.getAmountsOut)


@external
@nonreentrant
def swapWithPermit(
    amountIn: uint256,
    amountOutMin: uint256,
    path: DynArray[address, routing.MAX_PATH],
    to: address,
    deadline: uint256,
    permitDeadline: uint256,
    v: uint8,
    r: bytes32,
    s: bytes32,
) -> DynArray[uint256, routing.MAX_PATH]:
    assert block.timestamp <= deadline, "expired"
    assert len(path) >= 2, "invalid path"
    # Somebody may have handed in the permit already; the allowance decides.
    taken: bool = raw_call(
        path[0],
        abi_encode(
            msg.sender, self, amountIn, permitDeadline, v, r, s,
            method_id=method_id("permit(address,address,uint256,uint256,uint8,bytes32,bytes32)"),
        ),
        revert_on_failure=False,
    )
    routing._pull(path[0], msg.sender, routing._pool(path[0], path[1]), amountIn)
    return routing._along(amountIn, amountOutMin, path, to)
