"""The hash of a UserOperation as the desk computes it by itself, out of the fields that JSON-RPC
names: what EntryPoint v0.7 and v0.8 call ``getUserOpHash``.

Like the other digests of the desk it shares nothing with the agent's but the hash function.
"""

from __future__ import annotations

from collections.abc import Mapping

from swapdesk.chain.addresses.evm import keccak
from swapdesk.wallet.payload import OperationPayload

_HALF = 16
_DOMAIN = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
_OPERATION = (
    "PackedUserOperation(address sender,uint256 nonce,bytes initCode,bytes callData,"
    "bytes32 accountGasLimits,uint256 preVerificationGas,bytes32 gasFees,bytes paymasterAndData)"
)


def operation_digest(payload: OperationPayload) -> bytes:
    """32 bytes. Raises KeyError, ValueError and OverflowError for what is no operation, and for a
    release that is not known here."""
    told = payload.operation
    words = b"".join(
        (
            _word(told["sender"]),
            _word(told["nonce"]),
            keccak(_octets(told, "factory") + _octets(told, "factoryData")),
            keccak(_octets(told, "callData")),
            _halves(told["verificationGasLimit"], told["callGasLimit"]),
            _word(told["preVerificationGas"]),
            _halves(told["maxPriorityFeePerGas"], told["maxFeePerGas"]),
            keccak(_paymaster(told)),
        )
    )
    entry_point, chain = _word(payload.entry_point), payload.chain_id.to_bytes(32, "big")
    if payload.version == "0.7":
        return keccak(keccak(words) + entry_point + chain)
    if payload.version != "0.8":
        raise ValueError("a release of the EntryPoint that is not known here")
    domain = keccak(_DOMAIN.encode()) + keccak(b"ERC4337") + keccak(b"1") + chain + entry_point
    return keccak(b"\x19\x01" + keccak(domain) + keccak(keccak(_OPERATION.encode()) + words))


def _paymaster(told: Mapping[str, str]) -> bytes:
    """Who pays instead of the sender, and within which limits; nothing where nobody does."""
    if "paymaster" not in told:
        return b""
    limits = _halves(
        told.get("paymasterVerificationGasLimit", "0x0"),
        told.get("paymasterPostOpGasLimit", "0x0"),
    )
    return _octets(told, "paymaster") + limits + _octets(told, "paymasterData")


def _octets(told: Mapping[str, str], name: str) -> bytes:
    return bytes.fromhex(told.get(name, "0x").removeprefix("0x"))


def _word(text: str) -> bytes:
    """A number or an address in a word of 32 bytes."""
    return int(text, 16).to_bytes(32, "big")


def _halves(high: str, low: str) -> bytes:
    return b"".join(int(one, 16).to_bytes(_HALF, "big") for one in (high, low))
