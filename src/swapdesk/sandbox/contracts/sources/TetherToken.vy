# pragma version 0.4.3
# As USDT on Ethereum: calls answer nothing, and an allowance that is not zero can only be
# set to zero.

import ledger

initializes: ledger

exports: (
    ledger.name,
    ledger.symbol,
    ledger.decimals,
    ledger.totalSupply,
    ledger.balanceOf,
    ledger.allowance,
)


@external
def transfer(receiver: address, amount: uint256):
    ledger._move(msg.sender, receiver, amount)


@external
def approve(spender: address, amount: uint256):
    assert amount == 0 or ledger.allowance[msg.sender][spender] == 0
    ledger._allow(msg.sender, spender, amount)


@external
def transferFrom(sender: address, receiver: address, amount: uint256):
    ledger._spend(sender, msg.sender, amount)
    ledger._move(sender, receiver, amount)
