# pragma version 0.4.3
# A constant-product pool. Tokens are sent to it first, then ``swap`` pays out, as in
# Uniswap v2. Genesis writes tokens, reserves and fee.

from ethereum.ercs import IERC20

event Swap:
    sender: indexed(address)
    amount0In: uint256
    amount1In: uint256
    amount0Out: uint256
    amount1Out: uint256
    receiver: indexed(address)

event Sync:
    reserve0: uint256
    reserve1: uint256

token0: public(address)
token1: public(address)
reserve0: uint256
reserve1: uint256
fee: public(uint256)  # in parts of 10,000


@external
@view
def getReserves() -> (uint256, uint256, uint256):
    return self.reserve0, self.reserve1, block.timestamp


@internal
@view
def _amount_out(amount_in: uint256, reserve_in: uint256, reserve_out: uint256) -> uint256:
    kept: uint256 = amount_in * (10_000 - self.fee)
    return kept * reserve_out // (reserve_in * 10_000 + kept)


@external
@view
def getAmountOut(amount_in: uint256, token_in: address) -> uint256:
    if token_in == self.token0:
        return self._amount_out(amount_in, self.reserve0, self.reserve1)
    assert token_in == self.token1, "token is not in this pool"
    return self._amount_out(amount_in, self.reserve1, self.reserve0)


@external
@nonreentrant
def swap(token_in: address, least_out: uint256, receiver: address) -> uint256:
    """Swaps what was sent to the pool since its last call. Returns what was paid out."""
    balance0: uint256 = staticcall IERC20(self.token0).balanceOf(self)
    balance1: uint256 = staticcall IERC20(self.token1).balanceOf(self)
    out: uint256 = 0
    if token_in == self.token0:
        amount: uint256 = balance0 - self.reserve0
        out = self._amount_out(amount, self.reserve0, self.reserve1)
        assert out >= least_out and out > 0, "slippage"
        balance1 -= out
        assert extcall IERC20(self.token1).transfer(receiver, out, default_return_value=True)
        log Swap(
            sender=msg.sender, amount0In=amount, amount1In=0, amount0Out=0, amount1Out=out,
            receiver=receiver,
        )
    else:
        assert token_in == self.token1, "token is not in this pool"
        amount: uint256 = balance1 - self.reserve1
        out = self._amount_out(amount, self.reserve1, self.reserve0)
        assert out >= least_out and out > 0, "slippage"
        balance0 -= out
        assert extcall IERC20(self.token0).transfer(receiver, out, default_return_value=True)
        log Swap(
            sender=msg.sender, amount0In=0, amount1In=amount, amount0Out=out, amount1Out=0,
            receiver=receiver,
        )
    self.reserve0 = balance0
    self.reserve1 = balance1
    log Sync(reserve0=balance0, reserve1=balance1)
    return out
