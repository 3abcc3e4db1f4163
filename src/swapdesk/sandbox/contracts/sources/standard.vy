# pragma version 0.4.3
# ERC-20 calls that answer True, as the standard asks.

import ledger

uses: ledger


@external
def transfer(receiver: address, amount: uint256) -> bool:
    ledger._move(msg.sender, receiver, amount)
    return True


@external
def approve(spender: address, amount: uint256) -> bool:
    ledger._allow(msg.sender, spender, amount)
    return True


@external
def transferFrom(sender: address, receiver: address, amount: uint256) -> bool:
    ledger._spend(sender, msg.sender, amount)
    ledger._move(sender, receiver, amount)
    return True
