"""The JSON-RPC methods of the Solana chain. A method gets its parameters and the newest block at
the requested commitment; refusals have Solana's codes and messages."""

from __future__ import annotations

import base64
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from enum import IntEnum
from itertools import islice
from typing import Any, Protocol, TypeVar, cast

from solders.account import Account
from solders.hash import Hash
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from swapdesk.chain.addresses import base58
from swapdesk.chain.addresses.base58 import decode
from swapdesk.chain.rpc.ledger import RpcCode
from swapdesk.chain.solana import (
    LOADERS,
    MEMO,
    TOKEN_PROGRAMS,
    AnyMessage,
    ComputePrice,
    TransactionRefused,
    fee_of,
    read_message,
    read_serialized_message,
    read_transaction,
)
from swapdesk.sandbox.node.evm.json_rpc import Problem, bad_params
from swapdesk.sandbox.node.solana.chain import Mined, SolanaChain
from swapdesk.sandbox.node.solana.machine import (
    SLOTS_PER_EPOCH,
    Instant,
    TransactionOutcome,
    account_document,
    inner_instructions,
    moved,
    read_mint,
    read_token_account,
    status_of,
    token_amount,
    transaction_document,
)
from swapdesk.sandbox.node.solana.terms import (
    CONFIRMED_AFTER,
    FINALIZED_AFTER,
    SKIPPED_SLOTS,
    WINDOW,
)

T = TypeVar("T")
R = TypeVar("R", covariant=True)


class Base58(Protocol[R]):
    """A type that can be read from base58 text, such as a public key or a signature."""

    def from_string(self, text: str, /) -> R: ...


class SolanaCode(IntEnum):
    PREFLIGHT_FAILED = -32002
    """Error code for a transaction that would fail; ``data`` has the simulation's result."""
    BAD_SIGNATURE = -32003
    OTHER_VERSION = -32015
    SLOT_NOT_REACHED = -32016


_WORDS = {
    "AccountNotFound": "Attempt to debit an account but found no record of a prior credit.",
    "AlreadyProcessed": "This transaction has already been processed",
    "BlockhashNotFound": "Blockhash not found",
    "InsufficientFundsForFee": "Insufficient funds for fee",
}


def words_of(error: Any) -> str:
    match error:
        case str():
            return _WORDS.get(error, error)
        case {"InstructionError": [index, {"Custom": code}]}:
            return f"Error processing Instruction {index}: custom program error: {code:#x}"
        case {"InstructionError": [index, reason]}:
            return f"Error processing Instruction {index}: {reason}"
    return str(error)


BEHIND = {"processed": 0, "confirmed": CONFIRMED_AFTER, "finalized": FINALIZED_AFTER}
"""For each commitment, how many blocks behind the newest its newest block is."""

_LONGEST_TEXT = 1683
"""Largest number of characters of a transaction in base58. Decoding longer texts would take too
much time."""


class Params:
    """The parameters of a call: values by position, then an object of options. Methods raise
    Problem for a wrong type or form."""

    def __init__(self, given: Any, values: int) -> None:
        given = [] if given is None else given
        if not isinstance(given, list):
            raise bad_params("Invalid params: `params` should be an array")
        if len(given) > values + 1:
            raise bad_params(f"Invalid parameters: at most {values + 1} are taken")
        self._given: list[Any] = given
        self.options: dict[str, Any] = self._value(values, dict) or {}

    def required(self, place: int, kind: type[T]) -> T:
        return _required(self._value(place, kind))

    def number(self, place: int) -> int:
        value = self.required(place, int)
        if not 0 <= value < 1 << 64:
            raise bad_params("Invalid params: invalid value, expected u64")
        return value

    def pubkey(self, place: int) -> Pubkey:
        return read(Pubkey, self.required(place, str))

    def many(
        self, place: int, kind: Base58[R], most: int, default: list[Any] | None = None
    ) -> list[R]:
        given = self._value(place, list)
        texts = _required(default if given is None else given)
        if len(texts) > most:
            raise bad_params(f"Too many inputs provided; max {most}")
        return [read(kind, text) for text in texts]

    def packet(self, place: int, encoding: str) -> bytes:
        """Returns the bytes of the transaction or message at a position, decoded from base64 or
        base58 as ``encoding`` says."""
        text = self.required(place, str)
        if len(text) > _LONGEST_TEXT:
            raise bad_params(f"{len(text)} characters are too large (max: {_LONGEST_TEXT})")
        try:
            return base64.b64decode(text, validate=True) if encoding == "base64" else decode(text)
        except ValueError:
            raise bad_params(f"invalid {encoding} encoding") from None

    def option(self, name: str, choices: Sequence[T], default: T) -> T:
        value = self.options.get(name)
        if value is None:
            return default
        if type(value) is not type(default) or value not in choices:
            raise bad_params(f"Invalid params: unknown {name} `{str(value)[:20]}`")
        return value

    def flag(self, name: str) -> bool:
        return self.option(name, (False, True), default=False)

    @property
    def commitment(self) -> str:
        return self.option("commitment", tuple(BEHIND), "finalized")

    def _value(self, place: int, kind: type[T]) -> T | None:
        value = self._given[place] if place < len(self._given) else None
        if value is not None and type(value) is not kind:
            raise bad_params(f"Invalid params: invalid type, expected {kind.__name__}")
        return value


def _required(value: T | None) -> T:
    if value is None:
        raise bad_params("Invalid params: a parameter is missing")
    return value


def read(kind: Base58[R], text: Any) -> R:
    """Reads a key, hash or signature of type ``kind`` from base58 text. Raises Problem."""
    try:
        return kind.from_string(text)
    except Exception:  # noqa: BLE001 (the library raises several kinds of its own)
        raise bad_params("Invalid param: Invalid") from None


VERSION = "3.0.0+swapdesk"
"""Version of the imitated node software, with a suffix for this program."""


def with_context(at: Instant, value: Any) -> dict[str, Any]:
    return {"context": {"apiVersion": VERSION, "slot": at.slot}, "value": value}


# The chain


def epoch_info(chain: SolanaChain, asked: Params, at: Instant) -> dict[str, Any]:
    epoch, index = divmod(at.slot, SLOTS_PER_EPOCH)
    return {
        "absoluteSlot": at.slot,
        "blockHeight": at.height,
        "epoch": epoch,
        "slotIndex": index,
        "slotsInEpoch": SLOTS_PER_EPOCH,
        "transactionCount": len(chain.between(0, at.height)),
    }


def latest_blockhash(chain: SolanaChain, asked: Params, at: Instant) -> dict[str, Any]:
    return with_context(at, _blockhash(chain, at))


def _blockhash(chain: SolanaChain, at: Instant) -> dict[str, Any]:
    blockhash, last = chain.blocks.latest(at.height)
    return {"blockhash": base58.encode(blockhash), "lastValidBlockHeight": last}


def is_blockhash_valid(chain: SolanaChain, asked: Params, at: Instant) -> dict[str, Any]:
    return with_context(at, chain.blocks.is_good(bytes(read(Hash, asked.required(0, str)))))


def rent_exemption(chain: SolanaChain, asked: Params, at: Instant) -> int:
    size = asked.number(0)
    if size > 10 << 20:
        raise bad_params("Invalid params: an account has at most 10485760 bytes")
    return chain.machine.rent_exempt(size)


def fee_for_message(chain: SolanaChain, asked: Params, at: Instant) -> dict[str, Any]:
    raw = asked.packet(0, "base64")
    try:
        message = read_message(read_serialized_message(raw))
    except TransactionRefused as error:
        raise bad_params(f"invalid message: {error}") from None
    return with_context(at, fee_of(message) if chain.blocks.is_good(message.blockhash) else None)


MOST_WRITTEN = 128
"""Largest number of accounts that one transaction may lock for writing."""


def prioritization_fees(chain: SolanaChain, asked: Params, at: Instant) -> list[dict[str, int]]:
    """Returns a fee for each recent block. It is the lowest price paid in the block, or the lowest
    price paid there for writing an account that ``asked`` names, whichever is higher."""
    keys = asked.many(0, Pubkey, MOST_WRITTEN, [])
    newest = chain.blocks.now().height
    blocks = defaultdict(list)
    for mined in chain.between(newest - WINDOW, newest - 1):
        # No other version is executed.
        paid = read_message(cast(AnyMessage, mined.transaction.message))
        prices = [
            instruction.micro_lamports
            for instruction in paid.instructions
            if isinstance(instruction, ComputePrice)
        ]
        blocks[mined.height].append((prices[0] if prices else 0, paid.written))
    fees = []
    for height in range(newest - WINDOW, newest):
        lowest = min((price for price, _ in blocks[height]), default=0)
        of_keys = [
            min((price for price, written in blocks[height] if key in written), default=0)
            for key in keys
        ]
        slot = height + SKIPPED_SLOTS
        fees.append({"slot": slot, "prioritizationFee": max(lowest, *of_keys, 0)})
    return fees


# Accounts

ENCODINGS = ("base64", "base58", "jsonParsed")
_MOST_IN_BASE58 = 128
MOST_ACCOUNTS = 100


def balance(chain: SolanaChain, asked: Params, at: Instant) -> dict[str, Any]:
    account = chain.machine.get(asked.pubkey(0))
    return with_context(at, 0 if account is None else account.lamports)


def account_info(chain: SolanaChain, asked: Params, at: Instant) -> dict[str, Any]:
    account = chain.machine.get(asked.pubkey(0))
    return with_context(at, show_account(chain, account, asked, "base58"))


def multiple_accounts(chain: SolanaChain, asked: Params, at: Instant) -> dict[str, Any]:
    keys = asked.many(0, Pubkey, MOST_ACCOUNTS)
    accounts = map(chain.machine.get, keys)
    shown = [show_account(chain, account, asked, "base64") for account in accounts]
    return with_context(at, shown)


def token_account_balance(chain: SolanaChain, asked: Params, at: Instant) -> dict[str, Any]:
    token = read_token_account(_existing(chain, asked.pubkey(0)))
    decimals = None if token is None else chain.decimals(token.mint)
    if token is None or decimals is None:
        raise bad_params("Invalid param: not a Token account")
    return with_context(at, token_amount(token.amount, decimals))


def token_supply(chain: SolanaChain, asked: Params, at: Instant) -> dict[str, Any]:
    mint = read_mint(_existing(chain, asked.pubkey(0)))
    if mint is None:
        raise bad_params("Invalid param: not a Token mint")
    return with_context(at, token_amount(mint.supply, mint.decimals))


def _existing(chain: SolanaChain, address: Pubkey) -> Account:
    account = chain.machine.get(address)
    if account is None:
        raise bad_params("Invalid param: could not find account")
    return account


def token_accounts_by_owner(chain: SolanaChain, asked: Params, at: Instant) -> dict[str, Any]:
    held = chain.held(asked.pubkey(0))
    match asked.required(1, dict):
        case {"mint": text}:
            mint = read(Pubkey, text)
            if chain.decimals(mint) is None:
                raise bad_params("Invalid param: could not find mint")
            held = [token_held for token_held in held if token_held[2].mint == mint]
        case {"programId": text}:
            program = read(Pubkey, text)
            if program not in TOKEN_PROGRAMS:
                raise bad_params("Invalid param: unrecognized Token program id")
            held = [token_held for token_held in held if token_held[1].owner == program]
        case _:
            raise bad_params("Invalid params: expected either mint or programId")
    shown = [
        {"pubkey": str(key), "account": show_account(chain, account, asked, "base64")}
        for key, account, _ in held
    ]
    return with_context(at, shown)


def show_account(
    chain: SolanaChain, account: Account | None, asked: Params, default: str
) -> dict[str, Any] | None:
    """Returns an account as JSON in the encoding that ``asked`` names, or in ``default``; None if
    there is no account. Raises Problem for an unsuitable encoding."""
    encoding = asked.option("encoding", ENCODINGS, default)
    if account is None:
        return None
    if encoding == "base58" and len(account.data) > _MOST_IN_BASE58:
        raise bad_params(
            "Encoded binary (base 58) data should be less than 128 bytes,"
            " please use Base64 encoding."
        )
    token = read_token_account(account)
    decimals = None if token is None else chain.decimals(token.mint)
    return account_document(account, encoding, decimals)


# Transactions

MOST_STATUSES = 256
MOST_SIGNATURES = 1_000


def simulate_transaction(chain: SolanaChain, asked: Params, at: Instant) -> dict[str, Any]:
    verify, replace = asked.flag("sigVerify"), asked.flag("replaceRecentBlockhash")
    if verify and replace:
        raise bad_params("sigVerify may not be used with replaceRecentBlockhash")
    transaction = _read(asked)
    if verify:
        _verify(transaction)
    outcome = _tried(chain, transaction, any_blockhash=replace)
    value = _simulation(chain, outcome)
    if outcome.details is not None and asked.flag("innerInstructions"):
        value["innerInstructions"] = inner_instructions(outcome.details)
    if replace:
        value["replacementBlockhash"] = _blockhash(chain, at)
    return with_context(at, value)


def prepare(chain: SolanaChain, asked: Params) -> VersionedTransaction:
    """Returns the transaction of a ``sendTransaction`` request, checked and simulated unless the
    request skips that. Raises Problem."""
    transaction = _read(asked)
    if not asked.flag("skipPreflight"):
        _verify(transaction)
        outcome = _tried(chain, transaction)
        if outcome.error is not None:
            raise Problem(
                f"Transaction simulation failed: {words_of(outcome.error)}",
                SolanaCode.PREFLIGHT_FAILED,
                _simulation(chain, outcome),
            )
    return transaction


def _read(asked: Params) -> VersionedTransaction:
    raw = asked.packet(0, asked.option("encoding", ("base58", "base64"), "base58"))
    try:
        transaction = read_transaction(raw)
    except TransactionRefused as error:
        raise bad_params(f"invalid transaction: {error}") from None
    if isinstance(transaction.message, MessageV0) and transaction.message.address_table_lookups:
        raise bad_params("invalid transaction: lookup tables are not served by this node")
    if transaction.uses_durable_nonce():
        raise bad_params("invalid transaction: durable nonces are refused in the sandbox")
    if not LOADERS.isdisjoint(transaction.message.account_keys):
        # A program that is called is named here, also when another program calls it.
        raise bad_params("invalid transaction: no programs are deployed in the sandbox")
    return transaction


def _verify(transaction: VersionedTransaction) -> None:
    if not all(transaction.verify_with_results()):
        raise Problem("Transaction signature verification failure", SolanaCode.BAD_SIGNATURE)


def _tried(
    chain: SolanaChain, transaction: VersionedTransaction, *, any_blockhash: bool = False
) -> TransactionOutcome:
    refused = chain.refusal(transaction, any_blockhash=any_blockhash)
    return refused or chain.machine.simulate(transaction, chain.blocks.now())


def _simulation(chain: SolanaChain, outcome: TransactionOutcome) -> dict[str, Any]:
    value: dict[str, Any] = {
        "err": outcome.error,
        "logs": [],
        "accounts": None,
        "unitsConsumed": 0,
        "returnData": None,
        "innerInstructions": None,
        "replacementBlockhash": None,
    }
    details = outcome.details
    if details is not None:
        value |= {
            **moved(outcome, chain.decimals),
            "logs": details.logs(),
            "unitsConsumed": details.compute_units_consumed(),
            "fee": details.fee(),
        }
    return value


def signature_statuses(chain: SolanaChain, asked: Params, at: Instant) -> dict[str, Any]:
    whole = asked.flag("searchTransactionHistory")
    now = chain.blocks.now()
    statuses: list[dict[str, Any] | None] = []
    for signature in asked.many(0, Signature, MOST_STATUSES):
        mined = chain.find(bytes(signature))
        if mined is None or not (whole or mined.height >= now.height - WINDOW):
            statuses.append(None)
            continue
        level = _level(mined, now)
        statuses.append(
            {
                "slot": mined.height + SKIPPED_SLOTS,
                "confirmations": None if level == "finalized" else now.height - mined.height,
                "err": mined.error,
                "status": status_of(mined.error),
                "confirmationStatus": level,
            }
        )
    return with_context(now, statuses)


def _level(mined: Mined, now: Instant) -> str:
    depth = now.height - mined.height
    if depth >= FINALIZED_AFTER:
        return "finalized"
    return "confirmed" if depth >= CONFIRMED_AFTER else "processed"


def transaction(chain: SolanaChain, asked: Params, at: Instant) -> dict[str, Any] | None:
    _require_confirmed(asked)
    encoding = asked.option("encoding", ("json", "base64"), "json")
    mined = chain.find(bytes(read(Signature, asked.required(0, str))))
    if mined is None or mined.height > at.height:
        return None
    version = mined.transaction.version()
    if version == 0 and asked.options.get("maxSupportedTransactionVersion") is None:
        raise Problem(
            "Transaction version (0) is not supported by the requesting client. Please try the"
            " request again with the following configuration parameter:"
            ' "maxSupportedTransactionVersion": 0',
            SolanaCode.OTHER_VERSION,
        )
    packed = [base64.b64encode(mined.raw).decode(), encoding]
    return {
        "slot": mined.height + SKIPPED_SLOTS,
        "blockTime": mined.seconds,
        "transaction": packed if encoding == "base64" else transaction_document(mined.transaction),
        "meta": json.loads(mined.meta),
        "version": 0 if version == 0 else "legacy",
    }


def _require_confirmed(asked: Params) -> None:
    if asked.commitment == "processed":
        raise bad_params("Method does not support commitment below `confirmed`")


def signatures_for_address(chain: SolanaChain, asked: Params, at: Instant) -> list[dict[str, Any]]:
    """Returns the answer of ``getSignaturesForAddress``: transactions that name an address, newest
    first, within the request's limits."""
    _require_confirmed(asked)
    limit = asked.options.get("limit", MOST_SIGNATURES)
    if type(limit) is not int or not 0 < limit <= MOST_SIGNATURES:
        raise bad_params(f"Invalid limit; max {MOST_SIGNATURES}")
    given = (asked.options.get(name) for name in ("before", "until"))
    before, until = (None if text is None else bytes(read(Signature, text)) for text in given)
    named = chain.naming(asked.pubkey(0), before, until)
    transactions = (mined for mined in named if mined.height <= at.height)
    return [_entry(mined, chain.blocks.now()) for mined in islice(transactions, limit)]


def _entry(mined: Mined, now: Instant) -> dict[str, Any]:
    message = mined.transaction.message
    keys = message.account_keys
    memos = [
        bytes(instruction.data)
        for instruction in message.instructions
        if keys[instruction.program_id_index] == MEMO
    ]
    # As nodes write it: each memo with the number of its bytes.
    memo = "; ".join(f"[{len(text)}] {text.decode(errors='replace')}" for text in memos)
    return {
        "signature": base58.encode(mined.signature),
        "slot": mined.height + SKIPPED_SLOTS,
        "err": mined.error,
        "memo": memo or None,
        "blockTime": mined.seconds,
        "confirmationStatus": _level(mined, now),
    }


NOT_SERVED = ("dataSlice", "accounts")
"""Options of requests that are refused because they are not supported."""
Method = Callable[[SolanaChain, Params, Instant], Any]

METHODS: dict[str, tuple[int, Method]] = {
    "getHealth": (0, lambda chain, asked, at: "ok"),
    "getVersion": (0, lambda chain, asked, at: {"solana-core": VERSION, "feature-set": 0}),
    "getGenesisHash": (0, lambda chain, asked, at: chain.genesis),
    "getBlockHeight": (0, lambda chain, asked, at: at.height),
    "getSlot": (0, lambda chain, asked, at: at.slot),
    "getEpochInfo": (0, epoch_info),
    "getLatestBlockhash": (0, latest_blockhash),
    "isBlockhashValid": (1, is_blockhash_valid),
    "getMinimumBalanceForRentExemption": (1, rent_exemption),
    "getFeeForMessage": (1, fee_for_message),
    "getRecentPrioritizationFees": (1, prioritization_fees),
    "getBalance": (1, balance),
    "getAccountInfo": (1, account_info),
    "getMultipleAccounts": (1, multiple_accounts),
    "getTokenAccountBalance": (1, token_account_balance),
    "getTokenSupply": (1, token_supply),
    "getTokenAccountsByOwner": (2, token_accounts_by_owner),
    "simulateTransaction": (1, simulate_transaction),
    "getSignatureStatuses": (1, signature_statuses),
    "getTransaction": (1, transaction),
    "getSignaturesForAddress": (1, signatures_for_address),
}
"""JSON-RPC methods by name, with the number of values before the options, and the function."""


def answer(chain: SolanaChain, method: str, given: Any) -> Any:
    """Calls a JSON-RPC method and returns its result. Raises Problem."""
    if method not in METHODS:
        raise Problem("Method not found", RpcCode.NO_METHOD)
    values, method_called = METHODS[method]
    asked = Params(given, values)
    for name in NOT_SERVED:
        if asked.options.get(name) is not None:
            raise bad_params(f"Invalid params: {name} is not served")
    return method_called(chain, asked, _seen(chain, asked))


def _seen(chain: SolanaChain, asked: Params) -> Instant:
    at = chain.blocks.now().less(BEHIND[asked.commitment])
    least = asked.options.get("minContextSlot")
    if least is not None and type(least) is not int:
        raise bad_params("Invalid params: minContextSlot should be a number")
    if least is not None and at.slot < least:
        raise Problem(
            "Minimum context slot has not been reached",
            SolanaCode.SLOT_NOT_REACHED,
            {"contextSlot": at.slot},
        )
    return at
