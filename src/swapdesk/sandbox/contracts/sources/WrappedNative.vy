# pragma version 0.4.3
# The native coin as an ERC-20 token, as WETH9.

import ledger
import standard

initializes: ledger
initializes: standard[ledger := ledger]

exports: (
    ledger.name,
    ledger.symbol,
    ledger.decimals,
    ledger.balanceOf,
    ledger.allowance,
    standard.transfer,
    standard.approve,
    standard.transferFrom,
)

event Deposit:
    receiver: indexed(address)
    amount: uint256

event Withdrawal:
    sender: indexed(address)
    amount: uint256


@internal
@payable
def _wrap():
    ledger.balanceOf[msg.sender] += msg.value
    log Deposit(receiver=msg.sender, amount=msg.value)


@external
@payable
def deposit():
    self._wrap()


@external
@payable
def __default__():
    self._wrap()


@external
def withdraw(amount: uint256):
    assert ledger.balanceOf[msg.sender] >= amount, "withdraw amount exceeds balance"
    ledger.balanceOf[msg.sender] -= amount
    log Withdrawal(sender=msg.sender, amount=amount)
    raw_call(msg.sender, b"", value=amount)


@external
@view
def totalSupply() -> uint256:
    return self.balance
