# pragma version 0.4.3
# Swaps along pools for an owner that approved this contract; the selectors of Uniswap v2.

from ethereum.ercs import IERC20
import routing

initializes: routing

exports: (routing.poolOf, routing.WETH, routing.getAmountsOut)

interface Wrapped:
    def deposit(): payable
    def withdraw(amount: uint256): nonpayable
    def transfer(receiver: address, amount: uint256) -> bool: nonpayable


@external
@payable
def __default__():
    assert msg.sender == routing.WETH, "only the wrapped native coin pays here"


@external
@nonreentrant
def swapExactTokensForTokens(
    amountIn: uint256,
    amountOutMin: uint256,
    path: DynArray[address, routing.MAX_PATH],
    to: address,
    deadline: uint256,
) -> DynArray[uint256, routing.MAX_PATH]:
    assert block.timestamp <= deadline, "expired"
    assert len(path) >= 2, "invalid path"
    routing._pull(path[0], msg.sender, routing._pool(path[0], path[1]), amountIn)
    return routing._along(amountIn, amountOutMin, path, to)


@external
@payable
@nonreentrant
def swapExactETHForTokens(
    amountOutMin: uint256,
    path: DynArray[address, routing.MAX_PATH],
    to: address,
    deadline: uint256,
) -> DynArray[uint256, routing.MAX_PATH]:
    assert block.timestamp <= deadline, "expired"
    assert len(path) >= 2 and path[0] == routing.WETH, "invalid path"
    extcall Wrapped(routing.WETH).deposit(value=msg.value)
    assert extcall Wrapped(routing.WETH).transfer(routing._pool(path[0], path[1]), msg.value)
    return routing._along(msg.value, amountOutMin, path, to)


@external
@nonreentrant
def swapExactTokensForETH(
    amountIn: uint256,
    amountOutMin: uint256,
    path: DynArray[address, routing.MAX_PATH],
    to: address,
    deadline: uint256,
) -> DynArray[uint256, routing.MAX_PATH]:
    assert block.timestamp <= deadline, "expired"
    assert len(path) >= 2 and path[len(path) - 1] == routing.WETH, "invalid path"
    routing._pull(path[0], msg.sender, routing._pool(path[0], path[1]), amountIn)
    amounts: DynArray[uint256, routing.MAX_PATH] = routing._along(
        amountIn, amountOutMin, path, self
    )
    paid: uint256 = amounts[len(amounts) - 1]
    extcall Wrapped(routing.WETH).withdraw(paid)
    raw_call(to, b"", value=paid)
    return amounts
