"""What the owner of an account signs: the hash of an operation, as each EntryPoint computes it.

It holds EntryPoint and chain id, so a signature is good at one place only. It leaves the
signature out.
"""

from __future__ import annotations

from swapdesk.chain.addresses.evm import keccak
from swapdesk.chain.user_operation.operation import EntryPointVersion, UserOperation
from swapdesk.chain.user_operation.packing import PackedUserOperation, pack

_DOMAIN_TYPE = keccak(
    b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
)
_OPERATION_TYPE = keccak(
    b"PackedUserOperation(address sender,uint256 nonce,bytes initCode,bytes callData,"
    b"bytes32 accountGasLimits,uint256 preVerificationGas,bytes32 gasFees,"
    b"bytes paymasterAndData)"
)


def user_operation_hash(
    operation: UserOperation,
    entry_point: str,
    chain_id: int,
    version: EntryPointVersion = EntryPointVersion.V07,
) -> bytes:
    """``getUserOpHash`` of the EntryPoint at this address, 32 bytes."""
    words = _words(pack(operation))
    if version is EntryPointVersion.V07:
        return keccak(keccak(words) + _address(entry_point) + _number(chain_id))
    domain = keccak(
        _DOMAIN_TYPE + keccak(b"ERC4337") + keccak(b"1") + _number(chain_id) + _address(entry_point)
    )
    return keccak(b"\x19\x01" + domain + keccak(_OPERATION_TYPE + words))


def signed_digest(operation_hash: bytes, version: EntryPointVersion) -> bytes:
    """The 32 bytes under the owner's signature: v0.7 signs by EIP-191, v0.8 the hash itself."""
    if version is EntryPointVersion.V07:
        return keccak(b"\x19Ethereum Signed Message:\n32" + operation_hash)
    return operation_hash


def _words(packed: PackedUserOperation) -> bytes:
    """The eight words that both releases hash."""
    return b"".join(
        (
            _address(packed.sender),
            _number(packed.nonce),
            keccak(packed.init_code),
            keccak(packed.call_data),
            packed.account_gas_limits,
            _number(packed.pre_verification_gas),
            packed.gas_fees,
            keccak(packed.paymaster_and_data),
        )
    )


def _address(text: str) -> bytes:
    return bytes.fromhex(text[2:]).rjust(32, b"\0")


def _number(value: int) -> bytes:
    return value.to_bytes(32, "big")
