# pragma version 0.4.3
# Paths through pools. Genesis writes the pools of every pair and the wrapped native coin.

from ethereum.ercs import IERC20

MAX_PATH: constant(uint256) = 4

interface Pool:
    def getAmountOut(amount_in: uint256, token_in: address) -> uint256: view
    def swap(token_in: address, least_out: uint256, receiver: address) -> uint256: nonpayable

poolOf: public(HashMap[address, HashMap[address, address]])
WETH: public(address)


@internal
@view
def _pool(a: address, b: address) -> address:
    found: address = self.poolOf[a][b]
    assert found != empty(address), "no pool for this pair"
    return found


@internal
@view
def _amounts(amount_in: uint256, path: DynArray[address, MAX_PATH]) -> DynArray[uint256, MAX_PATH]:
    assert len(path) >= 2, "invalid path"
    amounts: DynArray[uint256, MAX_PATH] = [amount_in]
    for i: uint256 in range(len(path) - 1, bound=MAX_PATH):
        amounts.append(
            staticcall Pool(self._pool(path[i], path[i + 1])).getAmountOut(amounts[i], path[i])
        )
    return amounts


@internal
def _along(
    amount_in: uint256, least_out: uint256, path: DynArray[address, MAX_PATH], receiver: address
) -> DynArray[uint256, MAX_PATH]:
    """Swaps what already lies in the path's first pool."""
    amounts: DynArray[uint256, MAX_PATH] = [amount_in]
    for i: uint256 in range(len(path) - 1, bound=MAX_PATH):
        last: bool = i + 2 == len(path)
        target: address = receiver if last else self._pool(path[i + 1], path[i + 2])
        amounts.append(
            extcall Pool(self._pool(path[i], path[i + 1])).swap(
                path[i], least_out if last else 1, target
            )
        )
    return amounts


@internal
def _pull(token: address, owner: address, receiver: address, amount: uint256):
    assert extcall IERC20(token).transferFrom(owner, receiver, amount, default_return_value=True)


@external
@view
def getAmountsOut(
    amountIn: uint256, path: DynArray[address, MAX_PATH]
) -> DynArray[uint256, MAX_PATH]:
    return self._amounts(amountIn, path)
