"""Which UserOperations the bundler takes: their numbers are checked, and they are tried on the
chain. Error codes are those of ERC-7769.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from swapdesk.chain.deployments import ENTRY_POINT
from swapdesk.chain.rpc.evm_answers import revert_words
from swapdesk.chain.smart_account import (
    HANDLE_OPS,
    REVERT_REASON_EVENT,
    FailedOp,
    read_failed_op,
    read_outcome,
    read_revert_reason,
)
from swapdesk.chain.user_operation import UserOperation, pack
from swapdesk.sandbox.chain_rows import GAS_LIMIT
from swapdesk.sandbox.node.evm.json_rpc import Code, Problem
from swapdesk.sandbox.node.evm.live_chain import LiveChain


class BundlerCode(IntEnum):
    REJECTED = -32500
    """By the EntryPoint or the account."""
    PAYMASTER = -32501
    DEADLINE = -32503
    SIGNATURE = -32507
    EXECUTION = -32521
    """The calls inside would fail."""
    FIELDS = -32602


_CODES = {"AA22": BundlerCode.DEADLINE, "AA24": BundlerCode.SIGNATURE}


def refused(failed: FailedOp) -> Problem:
    """The EntryPoint's own words under the code that stands for them."""
    code = _CODES.get(failed.code, BundlerCode.REJECTED)
    if failed.code.startswith("AA3"):
        code = BundlerCode.PAYMASTER
    inner = f": {revert_words(failed.inner)}" if failed.inner else ""
    data = "0x" + failed.inner.hex() if failed.inner else None
    return Problem(f"{failed.reason}{inner}", code, data)


def fields(words: str) -> Problem:
    return Problem(words, BundlerCode.FIELDS)


ENTRY_POINT_OCTETS = bytes.fromhex(ENTRY_POINT[2:])
OVERHEAD = 60_000
"""Gas of a bundle around its operations that no limit of theirs covers, its bytes left out."""
MOST_GAS = GAS_LIMIT * 2 // 3
"""Of one bundle: others want into the block too."""
_NOBODY = "the sender does not stand"
"""The EntryPoint says nothing of a sender without code."""
MOST_DATA = 16_384
MOST_SIGNATURE = 1_024
MOST_FACTORY_DATA = 1_004


def bundle_data(operations: Sequence[UserOperation], beneficiary: str) -> bytes:
    return HANDLE_OPS.call([tuple(pack(one)) for one in operations], beneficiary)


def bundle_gas(operations: Sequence[UserOperation]) -> int:
    """A limit with which no operation is short of the gas it was promised: of what is left at a
    call one part in 64 stays behind."""
    promised = sum(one.verification_gas_limit + one.call_gas_limit for one in operations)
    around = sum(one.pre_verification_gas for one in operations)
    return promised + promised // 16 + around + 200_000


def least_pre_verification_gas(operation: UserOperation) -> int:
    """What a bundle of this operation alone costs before and around its own limits."""
    data = bundle_data([operation], ENTRY_POINT)
    zeros = data.count(0)
    return 21_000 + 4 * zeros + 16 * (len(data) - zeros) + OVERHEAD


def check_numbers(chain: LiveChain, operation: UserOperation) -> None:
    """Raises Problem for what no bundler would take."""
    if operation.paymaster is not None:
        raise Problem("paymasters are not supported", BundlerCode.PAYMASTER)
    sizes = (
        (operation.call_data, MOST_DATA, "callData"),
        (operation.signature, MOST_SIGNATURE, "signature"),
        (operation.factory_data, MOST_FACTORY_DATA, "factoryData"),
    )
    for data, most, name in sizes:
        if len(data) > most:
            raise fields(f"{name}: at most {most} bytes are taken")
    least = least_pre_verification_gas(operation)
    if operation.pre_verification_gas < least:
        raise fields(f"preVerificationGas: at least {least:#x} is needed")
    if bundle_gas([operation]) > MOST_GAS:
        raise fields("callGasLimit: the operation does not fit into a bundle")
    fee, tip = operation.max_fee_per_gas, operation.max_priority_fee_per_gas
    if tip > fee:
        raise fields("maxPriorityFeePerGas: it is above maxFeePerGas")
    if fee < chain.next_base_fee:
        raise fields(f"maxFeePerGas: at least {chain.next_base_fee:#x} is needed")


async def tried(
    chain: LiveChain, bundler: bytes, operations: Sequence[UserOperation]
) -> dict[int, Problem]:
    """Execute a bundle on the newest block, and leave nothing behind. Returns by place which
    operations are not good as they are: those whose calls would fail, or, where the EntryPoint
    refuses one, that and all behind it. Raises Problem for a bundle that fails without a word for
    any of them."""
    beneficiary = "0x" + bundler.hex()
    call = {
        "from": beneficiary,
        "to": ENTRY_POINT,
        "gas": hex(bundle_gas(operations)),
        "data": "0x" + bundle_data(operations, beneficiary).hex(),
    }
    (block,) = await chain.simulate(
        chain.head, {"blockStateCalls": [{"calls": [call]}], "validation": False}
    )
    (outcome,) = block["calls"]
    if outcome["status"] == "0x1":
        return _failing(outcome["logs"])
    error = outcome["error"]
    data = error.get("data")
    said = bytes.fromhex(data[2:]) if isinstance(data, str) else b""
    failed = read_failed_op(said)
    if failed is None:
        words = error["message"] if said or error["code"] != Code.REVERTED else _NOBODY
        raise Problem(words, BundlerCode.REJECTED, data)
    return dict.fromkeys(range(failed.index, len(operations)), refused(failed))


def _failing(logs: list[dict[str, Any]]) -> dict[int, Problem]:
    failing: dict[int, Problem] = {}
    place, said = 0, b""
    for log in logs:
        if log["address"].lower() != ENTRY_POINT.lower():
            continue
        topics, data = tuple(log["topics"]), bytes.fromhex(log["data"][2:])
        outcome = read_outcome(topics, data)
        if outcome is None:
            said = read_revert_reason(data) if topics[0] == REVERT_REASON_EVENT else said
            continue
        if not outcome.success:
            words = revert_words(said)
            told = f"execution reverted: {words}" if words else "execution reverted"
            failing[place] = Problem(told, BundlerCode.EXECUTION, "0x" + said.hex())
        place, said = place + 1, b""
    return failing


async def check(chain: LiveChain, bundler: bytes, operations: Sequence[UserOperation]) -> None:
    """Raises Problem unless the last operation can follow those before it in one bundle."""
    problem = (await tried(chain, bundler, operations)).get(len(operations) - 1)
    if problem is not None:
        raise problem
