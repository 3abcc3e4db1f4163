# pragma version 0.4.3
# Orders signed off chain, settled by a solver: all or nothing, once, never below the limit.

from ethereum.ercs import IERC20

NAME: constant(String[18]) = "Isthmus Settlement"
VERSION: constant(String[1]) = "2"
DOMAIN_TYPE: constant(bytes32) = keccak256(
    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
)
ORDER_TYPE: constant(bytes32) = keccak256(
    "Order(address owner,address sellToken,address buyToken,address receiver,uint256 sellAmount,uint256 buyAmount,uint256 feeAmount,uint32 validTo,uint256 nonce,bool partiallyFillable,bytes32 appData)"
)
PERMIT2: constant(address) = 0x000000000022D473030F116dDEE9F6B43aC78BA3
WITNESS: constant(String[285]) = "Order witness)Order(address owner,address sellToken,address buyToken,address receiver,uint256 sellAmount,uint256 buyAmount,uint256 feeAmount,uint32 validTo,uint256 nonce,bool partiallyFillable,bytes32 appData)TokenPermissions(address token,uint256 amount)"
HALF_ORDER: constant(uint256) = (
    57896044618658097711785492504343953926418782139537452191302581570759080747168
)

struct Order:
    owner: address
    sellToken: address
    buyToken: address
    receiver: address
    sellAmount: uint256
    buyAmount: uint256
    feeAmount: uint256
    validTo: uint32
    nonce: uint256
    partiallyFillable: bool
    appData: bytes32

struct Signature:
    v: uint8
    r: bytes32
    s: bytes32

struct Permit:
    amount: uint256
    deadline: uint256
    v: uint8
    r: bytes32
    s: bytes32

struct TokenPermissions:
    token: address
    amount: uint256

struct PermitTransferFrom:
    permitted: TokenPermissions
    nonce: uint256
    deadline: uint256

struct SignatureTransferDetails:
    to: address
    requestedAmount: uint256

interface Permit2:
    def permitWitnessTransferFrom(
        permitted: PermitTransferFrom,
        transferDetails: SignatureTransferDetails,
        owner: address,
        witness: bytes32,
        witnessTypeString: String[512],
        signature: Bytes[65],
    ): nonpayable

event Trade:
    owner: indexed(address)
    sellToken: address
    buyToken: address
    sellAmount: uint256
    buyAmount: uint256
    feeAmount: uint256
    orderDigest: indexed(bytes32)

event OrderInvalidated:
    owner: indexed(address)
    nonce: uint256

solver: public(address)
nonceUsed: public(HashMap[address, HashMap[uint256, bool]])


@internal
@view
def _domain() -> bytes32:
    return keccak256(
        abi_encode(DOMAIN_TYPE, keccak256(NAME), keccak256(VERSION), chain.id, self)
    )


@internal
@view
def _hash(order: Order) -> bytes32:
    return keccak256(abi_encode(ORDER_TYPE, order))


@internal
@view
def _digest(order: Order) -> bytes32:
    return keccak256(concat(b"\x19\x01", self._domain(), self._hash(order)))


@internal
def _use(order: Order, bought: uint256):
    """Once, by the solver, in time and not below the limit."""
    assert msg.sender == self.solver, "only the solver settles"
    assert block.timestamp <= convert(order.validTo, uint256), "order expired"
    assert bought >= order.buyAmount, "below the limit"
    assert not order.partiallyFillable, "all or nothing"
    assert not self.nonceUsed[order.owner][order.nonce], "order used or invalidated"
    self.nonceUsed[order.owner][order.nonce] = True


@internal
def _pay(order: Order, bought: uint256):
    """The solver has what is sold and gives what is bought."""
    assert extcall IERC20(order.buyToken).transferFrom(
        msg.sender, order.receiver, bought, default_return_value=True
    )
    log Trade(
        owner=order.owner,
        sellToken=order.sellToken,
        buyToken=order.buyToken,
        sellAmount=order.sellAmount,
        buyAmount=bought,
        feeAmount=order.feeAmount,
        orderDigest=self._digest(order),
    )


@external
@view
def DOMAIN_SEPARATOR() -> bytes32:
    return self._domain()


@external
@view
def digestOf(order: Order) -> bytes32:
    return self._digest(order)


@external
def invalidate(nonce: uint256):
    """The owner takes back an order that was not settled."""
    self.nonceUsed[msg.sender][nonce] = True
    log OrderInvalidated(owner=msg.sender, nonce=nonce)


@external
@nonreentrant
def settle(order: Order, signature: Signature, allowed: Permit, bought: uint256):
    """The solver takes ``sellAmount + feeAmount`` and gives ``bought`` of its own tokens."""
    self._use(order, bought)
    assert convert(signature.s, uint256) <= HALF_ORDER, "invalid signature"
    signer: address = ecrecover(
        self._digest(order),
        signature.v,
        convert(signature.r, uint256),
        convert(signature.s, uint256),
    )
    assert signer == order.owner and signer != empty(address), "invalid signature"
    if allowed.v != 0:
        # Somebody may have handed in the permit already; the allowance decides.
        taken: bool = raw_call(
            order.sellToken,
            abi_encode(
                order.owner, self, allowed.amount, allowed.deadline, allowed.v, allowed.r, allowed.s,
                method_id=method_id("permit(address,address,uint256,uint256,uint8,bytes32,bytes32)"),
            ),
            revert_on_failure=False,
        )
    assert extcall IERC20(order.sellToken).transferFrom(
        order.owner, msg.sender, order.sellAmount + order.feeAmount, default_return_value=True
    )
    self._pay(order, bought)


@external
@nonreentrant
def settleWithPermit2(order: Order, signature: Bytes[65], bought: uint256):
    """The same where the owner signed the order as the witness of a transfer by Permit2, which has
    the order's nonce and end."""
    self._use(order, bought)
    amount: uint256 = order.sellAmount + order.feeAmount
    extcall Permit2(PERMIT2).permitWitnessTransferFrom(
        PermitTransferFrom(
            permitted=TokenPermissions(token=order.sellToken, amount=amount),
            nonce=order.nonce,
            deadline=convert(order.validTo, uint256),
        ),
        SignatureTransferDetails(to=msg.sender, requestedAmount=amount),
        order.owner,
        self._hash(order),
        WITNESS,
        signature,
    )
    self._pay(order, bought)
