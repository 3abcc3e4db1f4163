# pragma version 0.4.3
# ERC-4337's EntryPoint, v0.7: the calls, events, hashes and errors of the original.
# Not here: aggregators, stake, paymasters, executeUserOp, delegateAndRevert. Every list and
# text has a bound, and a longer one is refused without a reason.

# Memory is taken for the bound: 32 operations would add a million gas to every bundle.
MAX_OPS: constant(uint256) = 4
MAX_INIT: constant(uint256) = 1024
MAX_CALL: constant(uint256) = 16384
MAX_PAYMASTER: constant(uint256) = 256
MAX_SIGNATURE: constant(uint256) = 1024
MAX_REASON: constant(uint256) = 2048
MAX_REVERT: constant(uint256) = 2304

HALF: constant(uint256) = 2**128 - 1
SEQUENCE: constant(uint256) = 2**64 - 1
ADDRESS: constant(uint256) = 2**160 - 1
MOMENT: constant(uint256) = 2**48 - 1
INNER_OVERHEAD: constant(uint256) = 10000
PENALTY_PERCENT: constant(uint256) = 10
PAYMASTER_FIELDS: constant(uint256) = 52
OUT_OF_GAS: constant(bytes32) = (
    0xdeaddead00000000000000000000000000000000000000000000000000000000
)
LOW_PREFUND: constant(bytes32) = (
    0xdeadaa5100000000000000000000000000000000000000000000000000000000
)

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

# What is kept of an operation while its bundle runs.
struct OpInfo:
    sender: address
    nonce: uint256
    callGasLimit: uint256
    price: uint256
    userOpHash: bytes32
    prefund: uint256
    preOpGas: uint256

struct DepositInfo:
    deposit: uint256
    staked: bool
    stake: uint112
    unstakeDelaySec: uint32
    withdrawTime: uint48

interface Creator:
    def createSender(initCode: Bytes[MAX_INIT]) -> address: nonpayable

event UserOperationEvent:
    userOpHash: indexed(bytes32)
    sender: indexed(address)
    paymaster: indexed(address)
    nonce: uint256
    success: bool
    actualGasCost: uint256
    actualGasUsed: uint256

event AccountDeployed:
    userOpHash: indexed(bytes32)
    sender: indexed(address)
    factory: address
    paymaster: address

event UserOperationRevertReason:
    userOpHash: indexed(bytes32)
    sender: indexed(address)
    nonce: uint256
    revertReason: Bytes[MAX_REASON]

event PostOpRevertReason:
    userOpHash: indexed(bytes32)
    sender: indexed(address)
    nonce: uint256
    revertReason: Bytes[MAX_REASON]

event UserOperationPrefundTooLow:
    userOpHash: indexed(bytes32)
    sender: indexed(address)
    nonce: uint256

event BeforeExecution:
    pass

event Deposited:
    account: indexed(address)
    totalDeposit: uint256

event Withdrawn:
    account: indexed(address)
    withdrawAddress: address
    amount: uint256

creator: address
deposited: HashMap[address, uint256]
nonceSequenceNumber: public(HashMap[address, HashMap[uint192, uint256]])
entered: transient(bool)


# Deposits

@internal
def _deposit(account: address, amount: uint256):
    total: uint256 = self.deposited[account] + amount
    self.deposited[account] = total
    log Deposited(account=account, totalDeposit=total)


@external
@payable
def __default__():
    self._deposit(msg.sender, msg.value)


@external
@payable
def depositTo(account: address):
    self._deposit(account, msg.value)


@external
def withdrawTo(withdrawAddress: address, withdrawAmount: uint256):
    held: uint256 = self.deposited[msg.sender]
    assert withdrawAmount <= held, "Withdraw amount too large"
    self.deposited[msg.sender] = held - withdrawAmount
    log Withdrawn(account=msg.sender, withdrawAddress=withdrawAddress, amount=withdrawAmount)
    assert raw_call(
        withdrawAddress, b"", value=withdrawAmount, revert_on_failure=False
    ), "failed to withdraw"


@external
@view
def balanceOf(account: address) -> uint256:
    return self.deposited[account]


@external
@view
def getDepositInfo(account: address) -> DepositInfo:
    return DepositInfo(
        deposit=self.deposited[account], staked=False, stake=0, unstakeDelaySec=0, withdrawTime=0
    )


# Nonces

@external
@view
def getNonce(sender: address, key: uint192) -> uint256:
    return self.nonceSequenceNumber[sender][key] | (convert(key, uint256) << 64)


@external
def incrementNonce(key: uint192):
    self.nonceSequenceNumber[msg.sender][key] += 1


# Operations

@internal
@view
def _hash(op: PackedUserOperation) -> bytes32:
    packed: bytes32 = keccak256(
        abi_encode(
            op.sender,
            op.nonce,
            keccak256(op.initCode),
            keccak256(op.callData),
            op.accountGasLimits,
            op.preVerificationGas,
            op.gasFees,
            keccak256(op.paymasterAndData),
        )
    )
    return keccak256(abi_encode(packed, self, chain.id))


@external
@view
def getUserOpHash(userOp: PackedUserOperation) -> bytes32:
    return self._hash(userOp)


@external
@view
def supportsInterface(interfaceId: bytes4) -> bool:
    return interfaceId in [0x01ffc9a7, 0x60fc6b6e, 0x915074d8, 0xcf28ef97, 0x3e84f021]


@external
def getSenderAddress(initCode: Bytes[MAX_INIT]):
    sender: address = extcall Creator(self.creator).createSender(initCode)
    raw_revert(abi_encode(sender, method_id=method_id("SenderAddressResult(address)")))


@internal
@pure
def _failed(index: uint256, reason: String[64]):
    raw_revert(abi_encode(index, reason, method_id=method_id("FailedOp(uint256,string)")))


@internal
def _create(index: uint256, op: PackedUserOperation, userOpHash: bytes32, gasLimit: uint256):
    if op.sender.is_contract:
        self._failed(index, "AA10 sender already constructed")
    made: address = extcall Creator(self.creator).createSender(op.initCode, gas=gasLimit)
    if made == empty(address):
        self._failed(index, "AA13 initCode failed or OOG")
    if made != op.sender:
        self._failed(index, "AA14 initCode must return sender")
    if not made.is_contract:
        self._failed(index, "AA15 initCode must create sender")
    log AccountDeployed(
        userOpHash=userOpHash,
        sender=made,
        factory=convert(convert(slice(op.initCode, 0, 20), bytes20), address),
        paymaster=empty(address),
    )


@internal
def _asked(index: uint256, op: PackedUserOperation, info: OpInfo, gasLimit: uint256) -> uint256:
    # The account's own verdict; it pays what is missing of the prefund meanwhile.
    held: uint256 = self.deposited[op.sender]
    missing: uint256 = 0
    if held <= info.prefund:
        missing = info.prefund - held
    if not op.sender.is_contract:
        raw_revert(b"")
    success: bool = False
    answer: Bytes[MAX_REASON] = b""
    success, answer = raw_call(
        op.sender,
        abi_encode(
            op, info.userOpHash, missing,
            method_id=method_id(
                "validateUserOp((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes),bytes32,uint256)"
            ),
        ),
        gas=gasLimit,
        max_outsize=MAX_REASON,
        revert_on_failure=False,
    )
    if not success:
        reason: String[13] = "AA23 reverted"
        raw_revert(
            abi_encode(
                index, reason, answer,
                method_id=method_id("FailedOpWithRevert(uint256,string,bytes)"),
            )
        )
    if len(answer) < 32:
        raw_revert(b"")
    return convert(slice(answer, 0, 32), uint256)


@internal
def _validated(index: uint256, op: PackedUserOperation) -> OpInfo:
    before: uint256 = msg.gas
    limits: uint256 = convert(op.accountGasLimits, uint256)
    fees: uint256 = convert(op.gasFees, uint256)
    verification: uint256 = limits >> 128
    call: uint256 = limits & HALF
    priority: uint256 = fees >> 128
    most: uint256 = fees & HALF
    if len(op.paymasterAndData) > 0:
        assert len(op.paymasterAndData) >= PAYMASTER_FIELDS, "AA93 invalid paymasterAndData"
    info: OpInfo = empty(OpInfo)
    info.userOpHash = self._hash(op)
    assert (
        (op.preVerificationGas | verification | call | most | priority) < 2**120
    ), "AA94 gas values overflow"
    if len(op.paymasterAndData) > 0:
        self._failed(index, "AA30 paymaster not deployed")
    info.sender = op.sender
    info.nonce = op.nonce
    info.callGasLimit = call
    info.price = most
    if most != priority:
        info.price = min(most, priority + block.basefee)
    info.prefund = (verification + call + op.preVerificationGas) * most
    if len(op.initCode) > 0:
        self._create(index, op, info.userOpHash, verification)
    verdict: uint256 = self._asked(index, op, info, verification)
    held: uint256 = self.deposited[op.sender]
    if info.prefund > held:
        self._failed(index, "AA21 didn't pay prefund")
    self.deposited[op.sender] = held - info.prefund
    key: uint192 = convert(op.nonce >> 64, uint192)
    sequence: uint256 = self.nonceSequenceNumber[op.sender][key]
    self.nonceSequenceNumber[op.sender][key] = sequence + 1
    if sequence != op.nonce & SEQUENCE:
        self._failed(index, "AA25 invalid account nonce")
    if before - msg.gas > verification:
        self._failed(index, "AA26 over verificationGasLimit")
    info.preOpGas = before - msg.gas + op.preVerificationGas
    if verdict & ADDRESS != 0:
        self._failed(index, "AA24 signature error")
    until: uint256 = (verdict >> 160) & MOMENT
    if (until != 0 and block.timestamp > until) or block.timestamp < verdict >> 208:
        self._failed(index, "AA22 expired or not due")
    return info


@internal
def _settled(succeeded: bool, reverted: bool, info: OpInfo, spent: uint256) -> uint256:
    # What the account pays. ``reverted`` is for an operation whose own frame came to nothing.
    before: uint256 = msg.gas
    used: uint256 = spent - info.preOpGas
    gas: uint256 = spent
    if info.callGasLimit > used:
        gas += (info.callGasLimit - used) * PENALTY_PERCENT // 100
    gas += before - msg.gas
    cost: uint256 = gas * info.price
    success: bool = succeeded
    if info.prefund < cost:
        if not reverted:
            raw_revert(abi_encode(LOW_PREFUND))
        cost = info.prefund
        success = False
        log UserOperationPrefundTooLow(
            userOpHash=info.userOpHash, sender=info.sender, nonce=info.nonce
        )
    else:
        self.deposited[info.sender] += info.prefund - cost
    log UserOperationEvent(
        userOpHash=info.userOpHash,
        sender=info.sender,
        paymaster=empty(address),
        nonce=info.nonce,
        success=success,
        actualGasCost=cost,
        actualGasUsed=gas,
    )
    return cost


@external
def innerHandleOp(callData: Bytes[MAX_CALL], opInfo: OpInfo) -> uint256:
    """A frame of its own, so that what an operation did can be taken back alone."""
    before: uint256 = msg.gas
    assert msg.sender == self, "AA92 internal call only"
    if msg.gas * 63 // 64 < opInfo.callGasLimit + INNER_OVERHEAD:
        raw_revert(abi_encode(OUT_OF_GAS))
    success: bool = True
    reason: Bytes[MAX_REASON] = b""
    if len(callData) > 0:
        success, reason = raw_call(
            opInfo.sender,
            callData,
            gas=opInfo.callGasLimit,
            max_outsize=MAX_REASON,
            revert_on_failure=False,
        )
        if not success and len(reason) > 0:
            log UserOperationRevertReason(
                userOpHash=opInfo.userOpHash,
                sender=opInfo.sender,
                nonce=opInfo.nonce,
                revertReason=reason,
            )
    return self._settled(success, False, opInfo, before - msg.gas + opInfo.preOpGas)


@internal
def _executed(index: uint256, callData: Bytes[MAX_CALL], info: OpInfo) -> uint256:
    before: uint256 = msg.gas
    success: bool = False
    answer: Bytes[MAX_REASON] = b""
    success, answer = raw_call(
        self,
        abi_encode(
            callData, info,
            method_id=method_id(
                "innerHandleOp(bytes,(address,uint256,uint256,uint256,bytes32,uint256,uint256))"
            ),
        ),
        max_outsize=MAX_REASON,
        revert_on_failure=False,
    )
    if success:
        return convert(slice(answer, 0, 32), uint256)
    if len(answer) == 32:
        code: bytes32 = convert(slice(answer, 0, 32), bytes32)
        if code == OUT_OF_GAS:
            self._failed(index, "AA95 out of gas")
        if code == LOW_PREFUND:
            log UserOperationPrefundTooLow(
                userOpHash=info.userOpHash, sender=info.sender, nonce=info.nonce
            )
            log UserOperationEvent(
                userOpHash=info.userOpHash,
                sender=info.sender,
                paymaster=empty(address),
                nonce=info.nonce,
                success=False,
                actualGasCost=info.prefund,
                actualGasUsed=before - msg.gas + info.preOpGas,
            )
            return info.prefund
    log PostOpRevertReason(
        userOpHash=info.userOpHash, sender=info.sender, nonce=info.nonce, revertReason=answer
    )
    return self._settled(False, True, info, before - msg.gas + info.preOpGas)


@external
def handleOps(ops: DynArray[PackedUserOperation, MAX_OPS], beneficiary: address):
    if self.entered:
        raw_revert(method_id("ReentrancyGuardReentrantCall()"))
    self.entered = True
    infos: DynArray[OpInfo, MAX_OPS] = []
    for i: uint256 in range(len(ops), bound=MAX_OPS):
        infos.append(self._validated(i, ops[i]))
    log BeforeExecution()
    collected: uint256 = 0
    for i: uint256 in range(len(ops), bound=MAX_OPS):
        collected += self._executed(i, ops[i].callData, infos[i])
    assert beneficiary != empty(address), "AA90 invalid beneficiary"
    assert raw_call(
        beneficiary, b"", value=collected, revert_on_failure=False
    ), "AA91 failed send to beneficiary"
    self.entered = False
