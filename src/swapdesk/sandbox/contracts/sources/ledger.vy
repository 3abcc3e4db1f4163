# pragma version 0.4.3
# The accounts of an ERC-20 token. Genesis writes its storage; there is no constructor.

event Transfer:
    sender: indexed(address)
    receiver: indexed(address)
    amount: uint256

event Approval:
    owner: indexed(address)
    spender: indexed(address)
    amount: uint256

name: public(String[128])
symbol: public(String[32])
decimals: public(uint8)
totalSupply: public(uint256)
balanceOf: public(HashMap[address, uint256])
allowance: public(HashMap[address, HashMap[address, uint256]])


@internal
def _move(sender: address, receiver: address, amount: uint256):
    assert receiver != empty(address), "transfer to the zero address"
    assert self.balanceOf[sender] >= amount, "transfer amount exceeds balance"
    self.balanceOf[sender] -= amount
    self.balanceOf[receiver] += amount
    log Transfer(sender=sender, receiver=receiver, amount=amount)


@internal
def _allow(owner: address, spender: address, amount: uint256):
    assert spender != empty(address), "approve to the zero address"
    self.allowance[owner][spender] = amount
    log Approval(owner=owner, spender=spender, amount=amount)


@internal
def _spend(owner: address, spender: address, amount: uint256):
    allowed: uint256 = self.allowance[owner][spender]
    if allowed == max_value(uint256):
        return
    assert allowed >= amount, "insufficient allowance"
    self.allowance[owner][spender] = allowed - amount
