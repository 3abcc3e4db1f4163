# pragma version 0.4.3
# A dollar with EIP-2612 permits and EIP-3009 transfers by authorization.

import ledger
import standard
import permits

initializes: ledger
initializes: standard[ledger := ledger]
initializes: permits[ledger := ledger]

exports: (
    ledger.name,
    ledger.symbol,
    ledger.decimals,
    ledger.totalSupply,
    ledger.balanceOf,
    ledger.allowance,
    standard.transfer,
    standard.approve,
    standard.transferFrom,
    permits.version,
    permits.nonces,
    permits.DOMAIN_SEPARATOR,
    permits.permit,
)

TRANSFER_TYPE: constant(bytes32) = keccak256(
    "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
)
RECEIVE_TYPE: constant(bytes32) = keccak256(
    "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
)
CANCEL_TYPE: constant(bytes32) = keccak256(
    "CancelAuthorization(address authorizer,bytes32 nonce)"
)

event AuthorizationUsed:
    authorizer: indexed(address)
    nonce: indexed(bytes32)

event AuthorizationCanceled:
    authorizer: indexed(address)
    nonce: indexed(bytes32)

authorizationState: public(HashMap[address, HashMap[bytes32, bool]])


@internal
def _use(
    kind: bytes32,
    sender: address,
    receiver: address,
    amount: uint256,
    after: uint256,
    before: uint256,
    nonce: bytes32,
    v: uint8,
    r: bytes32,
    s: bytes32,
):
    assert block.timestamp > after, "authorization is not yet valid"
    assert block.timestamp < before, "authorization is expired"
    assert not self.authorizationState[sender][nonce], "authorization is used or canceled"
    signer: address = permits._signer(
        keccak256(abi_encode(kind, sender, receiver, amount, after, before, nonce)), v, r, s
    )
    assert signer == sender and sender != empty(address), "invalid signature"
    self.authorizationState[sender][nonce] = True
    log AuthorizationUsed(authorizer=sender, nonce=nonce)
    ledger._move(sender, receiver, amount)


@external
def transferWithAuthorization(
    sender: address,
    receiver: address,
    amount: uint256,
    validAfter: uint256,
    validBefore: uint256,
    nonce: bytes32,
    v: uint8,
    r: bytes32,
    s: bytes32,
):
    self._use(TRANSFER_TYPE, sender, receiver, amount, validAfter, validBefore, nonce, v, r, s)


@external
def receiveWithAuthorization(
    sender: address,
    receiver: address,
    amount: uint256,
    validAfter: uint256,
    validBefore: uint256,
    nonce: bytes32,
    v: uint8,
    r: bytes32,
    s: bytes32,
):
    assert receiver == msg.sender, "caller must be the payee"
    self._use(RECEIVE_TYPE, sender, receiver, amount, validAfter, validBefore, nonce, v, r, s)


@external
def cancelAuthorization(authorizer: address, nonce: bytes32, v: uint8, r: bytes32, s: bytes32):
    assert not self.authorizationState[authorizer][nonce], "authorization is used or canceled"
    signer: address = permits._signer(
        keccak256(abi_encode(CANCEL_TYPE, authorizer, nonce)), v, r, s
    )
    assert signer == authorizer and authorizer != empty(address), "invalid signature"
    self.authorizationState[authorizer][nonce] = True
    log AuthorizationCanceled(authorizer=authorizer, nonce=nonce)
