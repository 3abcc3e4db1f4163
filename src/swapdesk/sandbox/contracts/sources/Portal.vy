# pragma version 0.4.3
# Locks tokens on one chain for a payout on another. A relayer pays out once per transfer.

from ethereum.ercs import IERC20

event Sent:
    transferId: indexed(bytes32)
    sender: indexed(address)
    token: address
    amount: uint256
    fee: uint256
    destination: uint256
    tokenOut: address
    leastOut: uint256
    receiver: address

event Fulfilled:
    transferId: indexed(bytes32)
    token: address
    amount: uint256
    receiver: indexed(address)

relayer: public(address)
sequence: public(uint256)
fulfilled: public(HashMap[bytes32, bool])


@external
@payable
@nonreentrant
def send(
    token: address,
    amount: uint256,
    destination: uint256,
    tokenOut: address,
    leastOut: uint256,
    receiver: address,
    deadline: uint256,
) -> bytes32:
    """Takes ``amount`` of ``token`` and the native coin sent along, which is the bridge fee."""
    assert block.timestamp <= deadline, "expired"
    assert destination != chain.id, "same chain"
    assert receiver != empty(address), "no receiver"
    self.sequence += 1
    transfer_id: bytes32 = keccak256(abi_encode(chain.id, self, self.sequence))
    assert extcall IERC20(token).transferFrom(
        msg.sender, self.relayer, amount, default_return_value=True
    )
    if msg.value > 0:
        raw_call(self.relayer, b"", value=msg.value)
    log Sent(
        transferId=transfer_id,
        sender=msg.sender,
        token=token,
        amount=amount,
        fee=msg.value,
        destination=destination,
        tokenOut=tokenOut,
        leastOut=leastOut,
        receiver=receiver,
    )
    return transfer_id


@external
@nonreentrant
def fulfil(transferId: bytes32, token: address, amount: uint256, receiver: address):
    """The relayer pays out what a transfer on another chain promised, once."""
    assert msg.sender == self.relayer, "only the relayer fulfils"
    assert not self.fulfilled[transferId], "fulfilled"
    self.fulfilled[transferId] = True
    assert extcall IERC20(token).transferFrom(
        msg.sender, receiver, amount, default_return_value=True
    )
    log Fulfilled(transferId=transferId, token=token, amount=amount, receiver=receiver)
