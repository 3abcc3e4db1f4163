"""Codes of Solana's JSON-RPC beside the general ones, and its words for why a transaction fails."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Any

from swapdesk.sandbox.node.evm.problem import Code, Problem

__all__ = ["Code", "Problem", "SolanaCode", "bad_params"]


class SolanaCode(IntEnum):
    PREFLIGHT_FAILED = -32002
    """The transaction would fail; ``data`` is the whole simulation."""
    BAD_SIGNATURE = -32003
    OTHER_VERSION = -32015
    SLOT_NOT_REACHED = -32016


def bad_params(message: str) -> Problem:
    return Problem(message, Code.BAD_PARAMS)


_TRANSACTION = {
    "AccountNotFound": "Attempt to debit an account but found no record of a prior credit.",
    "AlreadyProcessed": "This transaction has already been processed",
    "BlockhashNotFound": "Blockhash not found",
    "InsufficientFundsForFee": "Insufficient funds for fee",
    "InvalidAccountForFee": "This account may not be used to pay transaction fees",
    "InvalidProgramForExecution": "This program may not be used for executing instructions",
    "ProgramAccountNotFound": "Attempt to load a program that does not exist",
    "SanitizeFailure": "Transaction failed to sanitize accounts offsets correctly",
    "SignatureFailure": "Transaction did not pass signature verification",
}
_INSTRUCTION = {
    "InsufficientFunds": "insufficient funds for instruction",
    "InvalidAccountData": "invalid account data for instruction",
    "InvalidInstructionData": "invalid instruction data",
    "MissingRequiredSignature": "missing required signature for instruction",
    "ProgramFailedToComplete": "Program failed to complete",
}


def words_of(error: Any) -> str:
    """Of the JSON of an error."""
    if isinstance(error, str):
        return _TRANSACTION.get(error, _spelled(error))
    ((name, value),) = error.items()
    if name == "InstructionError":
        index, reason = value
        return f"Error processing Instruction {index}: {_instruction(reason)}"
    if name == "InsufficientFundsForRent":
        index = value["account_index"]
        return f"Transaction results in an account ({index}) with insufficient funds for rent"
    return f"{_spelled(name)} ({value})"


def _instruction(reason: Any) -> str:
    if isinstance(reason, str):
        return _INSTRUCTION.get(reason, _spelled(reason))
    ((name, value),) = reason.items()
    return f"custom program error: {value:#x}" if name == "Custom" else f"{_spelled(name)}: {value}"


def _spelled(name: str) -> str:
    """``CallDepth`` as ``call depth``."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", name).lower()
