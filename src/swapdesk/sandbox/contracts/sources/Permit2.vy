# pragma version 0.4.3
# Allowances with an end, given by transaction or by signature, and transfers by signature:
# the selectors, types and domain of Permit2. Batches of both are not offered.

from ethereum.ercs import IERC20

DOMAIN_TYPE: constant(bytes32) = keccak256(
    "EIP712Domain(string name,uint256 chainId,address verifyingContract)"
)
DETAILS_TYPE: constant(bytes32) = keccak256(
    "PermitDetails(address token,uint160 amount,uint48 expiration,uint48 nonce)"
)
SINGLE_TYPE: constant(bytes32) = keccak256(
    "PermitSingle(PermitDetails details,address spender,uint256 sigDeadline)PermitDetails(address token,uint160 amount,uint48 expiration,uint48 nonce)"
)
PERMISSIONS_TYPE: constant(bytes32) = keccak256(
    "TokenPermissions(address token,uint256 amount)"
)
TRANSFER_TYPE: constant(bytes32) = keccak256(
    "PermitTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline)TokenPermissions(address token,uint256 amount)"
)
HALF_ORDER: constant(uint256) = (
    57896044618658097711785492504343953926418782139537452191302581570759080747168
)

struct PackedAllowance:
    amount: uint160
    expiration: uint48
    nonce: uint48

struct PermitDetails:
    token: address
    amount: uint160
    expiration: uint48
    nonce: uint48

struct PermitSingle:
    details: PermitDetails
    spender: address
    sigDeadline: uint256

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

event Approval:
    owner: indexed(address)
    token: indexed(address)
    spender: indexed(address)
    amount: uint160
    expiration: uint48

event Permit:
    owner: indexed(address)
    token: indexed(address)
    spender: indexed(address)
    amount: uint160
    expiration: uint48
    nonce: uint48

event UnorderedNonceInvalidation:
    owner: indexed(address)
    word: uint256
    mask: uint256

allowances: HashMap[address, HashMap[address, HashMap[address, PackedAllowance]]]
nonceBitmap: public(HashMap[address, HashMap[uint256, uint256]])


@internal
@view
def _domain() -> bytes32:
    return keccak256(abi_encode(DOMAIN_TYPE, keccak256("Permit2"), chain.id, self))


@internal
@view
def _check(owner: address, struct_hash: bytes32, signature: Bytes[65]):
    assert len(signature) == 65, "InvalidSignatureLength"
    r: uint256 = convert(slice(signature, 0, 32), uint256)
    s: uint256 = convert(slice(signature, 32, 32), uint256)
    v: uint256 = convert(slice(signature, 64, 1), uint256)
    assert s <= HALF_ORDER, "InvalidSignature"
    signer: address = ecrecover(
        keccak256(concat(b"\x19\x01", self._domain(), struct_hash)), v, r, s
    )
    assert signer != empty(address), "InvalidSignature"
    assert signer == owner, "InvalidSigner"


@internal
def _use_nonce(owner: address, nonce: uint256):
    word: uint256 = nonce >> 8
    bit: uint256 = 1 << (nonce & 255)
    used: uint256 = self.nonceBitmap[owner][word]
    assert used & bit == 0, "InvalidNonce"
    self.nonceBitmap[owner][word] = used | bit


@external
@view
def DOMAIN_SEPARATOR() -> bytes32:
    return self._domain()


@external
@view
def allowance(owner: address, token: address, spender: address) -> (uint160, uint48, uint48):
    kept: PackedAllowance = self.allowances[owner][token][spender]
    return kept.amount, kept.expiration, kept.nonce


@external
def approve(token: address, spender: address, amount: uint160, expiration: uint48):
    end: uint48 = expiration if expiration != 0 else convert(block.timestamp, uint48)
    self.allowances[msg.sender][token][spender].amount = amount
    self.allowances[msg.sender][token][spender].expiration = end
    log Approval(
        owner=msg.sender, token=token, spender=spender, amount=amount, expiration=expiration
    )


@external
def permit(owner: address, permitSingle: PermitSingle, signature: Bytes[65]):
    assert block.timestamp <= permitSingle.sigDeadline, "SignatureExpired"
    details: PermitDetails = permitSingle.details
    kept: PackedAllowance = self.allowances[owner][details.token][permitSingle.spender]
    assert kept.nonce == details.nonce, "InvalidNonce"
    self._check(
        owner,
        keccak256(
            abi_encode(
                SINGLE_TYPE,
                keccak256(abi_encode(DETAILS_TYPE, details)),
                permitSingle.spender,
                permitSingle.sigDeadline,
            )
        ),
        signature,
    )
    end: uint48 = details.expiration
    if end == 0:
        end = convert(block.timestamp, uint48)
    self.allowances[owner][details.token][permitSingle.spender] = PackedAllowance(
        amount=details.amount, expiration=end, nonce=details.nonce + 1
    )
    log Permit(
        owner=owner,
        token=details.token,
        spender=permitSingle.spender,
        amount=details.amount,
        expiration=details.expiration,
        nonce=details.nonce,
    )


@external
def transferFrom(sender: address, receiver: address, amount: uint160, token: address):
    kept: PackedAllowance = self.allowances[sender][token][msg.sender]
    assert block.timestamp <= convert(kept.expiration, uint256), "AllowanceExpired"
    if kept.amount != max_value(uint160):
        assert kept.amount >= amount, "InsufficientAllowance"
        self.allowances[sender][token][msg.sender].amount = kept.amount - amount
    assert extcall IERC20(token).transferFrom(
        sender, receiver, convert(amount, uint256), default_return_value=True
    )


@external
def permitTransferFrom(
    permitted: PermitTransferFrom,
    transferDetails: SignatureTransferDetails,
    owner: address,
    signature: Bytes[65],
):
    assert block.timestamp <= permitted.deadline, "SignatureExpired"
    assert transferDetails.requestedAmount <= permitted.permitted.amount, "InvalidAmount"
    self._use_nonce(owner, permitted.nonce)
    self._check(
        owner,
        keccak256(
            abi_encode(
                TRANSFER_TYPE,
                keccak256(abi_encode(PERMISSIONS_TYPE, permitted.permitted)),
                msg.sender,
                permitted.nonce,
                permitted.deadline,
            )
        ),
        signature,
    )
    assert extcall IERC20(permitted.permitted.token).transferFrom(
        owner, transferDetails.to, transferDetails.requestedAmount, default_return_value=True
    )


@external
def permitWitnessTransferFrom(
    permitted: PermitTransferFrom,
    transferDetails: SignatureTransferDetails,
    owner: address,
    witness: bytes32,
    witnessTypeString: String[512],
    signature: Bytes[65],
):
    assert block.timestamp <= permitted.deadline, "SignatureExpired"
    assert transferDetails.requestedAmount <= permitted.permitted.amount, "InvalidAmount"
    self._use_nonce(owner, permitted.nonce)
    self._check(
        owner,
        keccak256(
            abi_encode(
                keccak256(
                    concat(
                        "PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,",
                        witnessTypeString,
                    )
                ),
                keccak256(abi_encode(PERMISSIONS_TYPE, permitted.permitted)),
                msg.sender,
                permitted.nonce,
                permitted.deadline,
                witness,
            )
        ),
        signature,
    )
    assert extcall IERC20(permitted.permitted.token).transferFrom(
        owner, transferDetails.to, transferDetails.requestedAmount, default_return_value=True
    )


@external
def invalidateUnorderedNonces(wordPos: uint256, mask: uint256):
    self.nonceBitmap[msg.sender][wordPos] |= mask
    log UnorderedNonceInvalidation(owner=msg.sender, word=wordPos, mask=mask)


@external
def lockdown(approvals: DynArray[TokenSpender, 32]):
    """Takes back many allowances at once."""
    for one: TokenSpender in approvals:
        self.allowances[msg.sender][one.token][one.spender].amount = 0


struct TokenSpender:
    token: address
    spender: address
