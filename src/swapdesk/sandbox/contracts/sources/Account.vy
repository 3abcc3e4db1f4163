# pragma version 0.4.3
# A smart account with one owner, as the sample account of ERC-4337 v0.7. Every account is a
# proxy of this code; calls, errors and the check of signatures are those of the sample.

ENTRY_POINT: constant(address) = 0x0000000071727De22E5E9d8BAf0edAc6f37da032
SIGNATURE_FAILED: constant(uint256) = 1
HALF_ORDER: constant(uint256) = (
    57896044618658097711785492504343953926418782139537452191302581570759080747168
)
MAX_CALLS: constant(uint256) = 50
MAX_INNER: constant(uint256) = 1024
MAX_INIT: constant(uint256) = 1024
MAX_CALL: constant(uint256) = 16384
MAX_PAYMASTER: constant(uint256) = 256
MAX_SIGNATURE: constant(uint256) = 1024

struct PackedUserOperation:
    sender: address
    nonce: uint256
    initCode: Bytes[MAX_INIT]
    callData: Bytes[MAX_CALL]
    accountGasLimits: bytes32
    preVerificationGas: uint256
    gasFees: bytes32
    paymasterAndData: Bytes[MAX_PAYMASTER]
    signature: Bytes[MAX_SIGNATURE]

interface EntryPoint:
    def balanceOf(account: address) -> uint256: view
    def getNonce(sender: address, key: uint192) -> uint256: view
    def depositTo(account: address): payable
    def withdrawTo(withdrawAddress: address, withdrawAmount: uint256): nonpayable

event SimpleAccountInitialized:
    entryPoint: indexed(address)
    owner: indexed(address)

owner: public(address)


@external
@payable
def __default__():
    pass


@external
def initialize(anOwner: address):
    if self.owner != empty(address):
        raw_revert(method_id("InvalidInitialization()"))
    self.owner = anOwner
    log SimpleAccountInitialized(entryPoint=ENTRY_POINT, owner=anOwner)


@external
@view
def entryPoint() -> address:
    return ENTRY_POINT


@external
@view
def getNonce() -> uint256:
    return staticcall EntryPoint(ENTRY_POINT).getNonce(self, 0)


@external
@view
def getDeposit() -> uint256:
    return staticcall EntryPoint(ENTRY_POINT).balanceOf(self)


@external
@payable
def addDeposit():
    extcall EntryPoint(ENTRY_POINT).depositTo(self, value=msg.value)


@external
def withdrawDepositTo(withdrawAddress: address, amount: uint256):
    assert msg.sender == self.owner or msg.sender == self, "only owner"
    extcall EntryPoint(ENTRY_POINT).withdrawTo(withdrawAddress, amount)


@internal
@view
def _verdict(signature: Bytes[MAX_SIGNATURE], userOpHash: bytes32) -> uint256:
    if len(signature) != 65:
        raw_revert(
            abi_encode(
                len(signature), method_id=method_id("ECDSAInvalidSignatureLength(uint256)")
            )
        )
    r: uint256 = convert(slice(signature, 0, 32), uint256)
    s: uint256 = convert(slice(signature, 32, 32), uint256)
    v: uint256 = convert(slice(signature, 64, 1), uint256)
    if s > HALF_ORDER:
        raw_revert(abi_encode(s, method_id=method_id("ECDSAInvalidSignatureS(bytes32)")))
    digest: bytes32 = keccak256(concat(b"\x19Ethereum Signed Message:\n32", userOpHash))
    signer: address = ecrecover(digest, v, r, s)
    if signer == empty(address):
        raw_revert(method_id("ECDSAInvalidSignature()"))
    return 0 if signer == self.owner else SIGNATURE_FAILED


@external
def validateUserOp(
    userOp: PackedUserOperation, userOpHash: bytes32, missingAccountFunds: uint256
) -> uint256:
    assert msg.sender == ENTRY_POINT, "account: not from EntryPoint"
    verdict: uint256 = self._verdict(userOp.signature, userOpHash)
    if missingAccountFunds != 0:
        # Whether it was enough is for the EntryPoint to see.
        paid: bool = raw_call(
            msg.sender, b"", value=missingAccountFunds, revert_on_failure=False
        )
    return verdict


@internal
@view
def _require_allowed():
    assert (
        msg.sender == ENTRY_POINT or msg.sender == self.owner
    ), "account: not Owner or EntryPoint"


@external
def execute(dest: address, amount: uint256, func: Bytes[MAX_CALL]):
    self._require_allowed()
    raw_call(dest, func, value=amount)


@external
def executeBatch(
    dest: DynArray[address, MAX_CALLS],
    values: DynArray[uint256, MAX_CALLS],
    func: DynArray[Bytes[MAX_INNER], MAX_CALLS],
):
    """All of the calls or none; no values at all means that none carries coins."""
    self._require_allowed()
    assert (
        len(dest) == len(func) and (len(values) == 0 or len(values) == len(func))
    ), "wrong array lengths"
    for i: uint256 in range(len(dest), bound=MAX_CALLS):
        amount: uint256 = 0
        if len(values) > 0:
            amount = values[i]
        raw_call(dest[i], func[i], value=amount)
