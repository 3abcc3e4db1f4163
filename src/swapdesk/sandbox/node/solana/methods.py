"""Every method by its name: those about transactions here, those about the chain and its accounts
in ``chain_methods``.

What a transaction would do, what it did, having it executed, and the history of an address.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from swapdesk.chain.addresses import base58
from swapdesk.chain.solana import LOADERS, MEMO, TransactionRefused, read_transaction
from swapdesk.sandbox.node.solana.chain import SolanaChain, TransactionRefusal, moved, status_of
from swapdesk.sandbox.node.solana.chain_methods import (
    account_info,
    balance,
    behind,
    block_height,
    fee_for_message,
    genesis_hash,
    health,
    is_blockhash_valid,
    latest_blockhash,
    rent_exemption,
    seen,
    show_account,
    slot,
    token_account_balance,
    token_accounts_by_owner,
    version,
    with_context,
)
from swapdesk.sandbox.node.solana.documents import (
    inner_instructions,
    returned_data,
    transaction_document,
)
from swapdesk.sandbox.node.solana.machine import Instant, TransactionOutcome
from swapdesk.sandbox.node.solana.params import (
    Code,
    Params,
    Problem,
    SolanaCode,
    as_pubkey,
    as_signature,
    bad_params,
    commitment_of,
    encoding_of,
    flag,
    packet,
    words_of,
)
from swapdesk.sandbox.node.solana.store import Record
from swapdesk.sandbox.node.solana.terms import (
    CONFIRMED_AFTER,
    FINALIZED_AFTER,
    SKIPPED_SLOTS,
    WINDOW,
)

MOST_STATUSES = 256


class Prepared(Struct, frozen=True):
    """A transaction that may be executed."""

    transaction: VersionedTransaction

    @property
    def signature(self) -> str:
        return str(self.transaction.signatures[0])


def simulate_transaction(chain: SolanaChain, given: Any) -> dict[str, Any]:
    params = Params(given, 2)
    options = params.options(1)
    verify, replace = flag(options, "sigVerify"), flag(options, "replaceRecentBlockhash")
    if verify and replace:
        raise bad_params("sigVerify may not be used with replaceRecentBlockhash")
    transaction = _read(params, options)
    at = seen(chain, options)
    if verify and not all(transaction.verify_with_results()):
        raise _bad_signature()
    outcome = _tried(chain, transaction, any_blockhash=replace)
    value = _simulation(chain, transaction, outcome, with_inner=flag(options, "innerInstructions"))
    if replace:
        blockhash, last = chain.blockhashes.latest(at.height)
        value["replacementBlockhash"] = {
            "blockhash": base58.encode(blockhash),
            "lastValidBlockHeight": last,
        }
    value["accounts"] = _asked_accounts(chain, transaction, outcome, options.get("accounts"))
    return with_context(at, value)


def prepare(chain: SolanaChain, given: Any) -> Prepared:
    """What ``sendTransaction`` checks first. Raises Problem."""
    params = Params(given, 2)
    options = params.options(1)
    transaction = _read(params, options)
    if not flag(options, "skipPreflight"):
        if not all(transaction.verify_with_results()):
            raise _bad_signature()
        outcome = _tried(chain, transaction)
        _require_success(chain, transaction, outcome)
    return Prepared(transaction)


def execute(chain: SolanaChain, prepared: Prepared) -> str:
    """The signature, which is not to say that it was executed: that is asked for."""
    chain.execute(prepared.transaction)
    return prepared.signature


def signature_statuses(chain: SolanaChain, given: Any) -> dict[str, Any]:
    params = Params(given, 2)
    whole = flag(params.options(1), "searchTransactionHistory")
    at = chain.slots.now()
    found: list[dict[str, Any] | None] = []
    for text in params.texts(0, MOST_STATUSES):
        record = chain.store.find(bytes(as_signature(text)))
        recent = record is not None and record.height >= at.height - WINDOW
        if record is None or not (whole or recent):
            found.append(None)
            continue
        found.append(_status(record, at.height))
    return with_context(at, found)


def transaction(chain: SolanaChain, given: Any) -> dict[str, Any] | None:
    params = Params(given, 2)
    signature, options = as_signature(params.text(0)), params.options(1)
    commitment = commitment_of(options)
    if commitment == "processed":
        raise bad_params("Method does not support commitment below `confirmed`")
    encoding = encoding_of(options, ("json", "base64", "base58"), "json")
    record = chain.store.find(bytes(signature))
    if record is None or record.height > behind(chain.slots.now(), commitment).height:
        return None
    read = read_transaction(record.raw)
    version = read.version()
    if version == 0 and options.get("maxSupportedTransactionVersion") is None:
        raise Problem(
            "Transaction version (0) is not supported by the requesting client. Please try the"
            " request again with the following configuration parameter:"
            ' "maxSupportedTransactionVersion": 0',
            SolanaCode.OTHER_VERSION,
        )
    shown: Any = transaction_document(read)
    if encoding == "base64":
        shown = [base64.b64encode(record.raw).decode(), encoding]
    elif encoding == "base58":
        shown = [base58.encode(record.raw), encoding]
    return {
        "slot": record.height + SKIPPED_SLOTS,
        "blockTime": record.seconds,
        "transaction": shown,
        "meta": json.loads(record.meta),
        "version": 0 if version == 0 else "legacy",
    }


def _read(params: Params, options: dict[str, Any]) -> VersionedTransaction:
    raw = packet(params.text(0), encoding_of(options, ("base58", "base64"), "base58"))
    try:
        found = read_transaction(raw)
    except TransactionRefused as error:
        raise bad_params(f"invalid transaction: {error}") from None
    if getattr(found.message, "address_table_lookups", ()):
        raise bad_params("invalid transaction: lookup tables are not served by this node")
    if found.uses_durable_nonce():
        raise bad_params("invalid transaction: durable nonces are refused in the sandbox")
    if not LOADERS.isdisjoint(found.message.account_keys):
        # A program that is called is named here, also when another program calls it.
        raise bad_params("invalid transaction: no programs are deployed in the sandbox")
    return found


def _tried(
    chain: SolanaChain, transaction: VersionedTransaction, *, any_blockhash: bool = False
) -> TransactionOutcome | TransactionRefusal:
    at = chain.slots.now()
    refusal = chain.refusal(transaction, at, any_blockhash=any_blockhash)
    return refusal or chain.machine.simulate(transaction, at, verify=False)


def _require_success(
    chain: SolanaChain,
    transaction: VersionedTransaction,
    outcome: TransactionOutcome | TransactionRefusal,
) -> None:
    if isinstance(outcome, TransactionRefusal) or outcome.error is not None:
        raise Problem(
            f"Transaction simulation failed: {words_of(outcome.error)}",
            SolanaCode.PREFLIGHT_FAILED,
            _simulation(chain, transaction, outcome, with_inner=False),
        )


def _simulation(
    chain: SolanaChain,
    transaction: VersionedTransaction,
    outcome: TransactionOutcome | TransactionRefusal,
    *,
    with_inner: bool,
) -> dict[str, Any]:
    value: dict[str, Any] = {
        "err": outcome.error,
        "logs": [],
        "accounts": None,
        "unitsConsumed": 0,
        "returnData": None,
        "innerInstructions": None,
        "replacementBlockhash": None,
    }
    if isinstance(outcome, TransactionOutcome):
        details = outcome.details
        value |= {
            **moved(outcome, transaction.message.account_keys, chain.decimals),
            "logs": details.logs(),
            "unitsConsumed": details.compute_units_consumed(),
            "returnData": returned_data(details),
            "fee": details.fee(),
        }
        if with_inner:
            value["innerInstructions"] = inner_instructions(details)
    return value


def _asked_accounts(
    chain: SolanaChain,
    transaction: VersionedTransaction,
    outcome: TransactionOutcome | TransactionRefusal,
    asked: Any,
) -> list[dict[str, Any] | None] | None:
    if asked is None:
        return None
    if not isinstance(asked, dict) or not isinstance(asked.get("addresses"), list):
        raise bad_params("Invalid params: accounts should name addresses")
    keys = transaction.message.account_keys
    if len(asked["addresses"]) > len(keys):
        raise bad_params(f"Too many accounts provided; max {len(keys)}")
    after = (
        dict(zip(keys, outcome.after, strict=True))
        if isinstance(outcome, TransactionOutcome)
        else {}
    )
    shown: list[dict[str, Any] | None] = []
    for text in asked["addresses"]:
        key: Pubkey = as_pubkey(text)
        account = after[key] if key in after else chain.machine.get(key)
        shown.append(None if account is None else show_account(chain, account, asked, "base64"))
    return shown


def level_of(record: Record, height: int) -> str:
    """How safe a transaction is at a height."""
    depth = height - record.height
    if depth >= FINALIZED_AFTER:
        return "finalized"
    return "confirmed" if depth >= CONFIRMED_AFTER else "processed"


def _status(record: Record, height: int) -> dict[str, Any]:
    error, level = json.loads(record.meta)["err"], level_of(record, height)
    return {
        "slot": record.height + SKIPPED_SLOTS,
        "confirmations": None if level == "finalized" else height - record.height,
        "err": error,
        "status": status_of(error),
        "confirmationStatus": level,
    }


def _bad_signature() -> Problem:
    return Problem("Transaction signature verification failure", SolanaCode.BAD_SIGNATURE)


MOST = 1_000
"""Transactions of one answer."""


def signatures_for_address(chain: SolanaChain, given: Any) -> list[dict[str, Any]]:
    """The newest first, older than ``before`` and newer than ``until``."""
    params = Params(given, 2)
    address, options = params.pubkey(0), params.options(1)
    if commitment_of(options) == "processed":
        raise bad_params("Method does not support commitment below `confirmed`")
    at, limit = seen(chain, options), options.get("limit", MOST)
    if type(limit) is not int or not 0 < limit <= MOST:
        raise bad_params(f"Invalid limit; max {MOST}")
    bounds = (_signature(options.get(name)) for name in ("before", "until"))
    before, until = bounds
    found = chain.store.naming(
        bytes(address), at_most=at.height, before=before, until=until, limit=limit
    )
    return [_entry(record, chain.slots.now()) for record in found]


def _signature(text: Any) -> bytes | None:
    return None if text is None else bytes(as_signature(text))


def _entry(record: Record, now: Instant) -> dict[str, Any]:
    transaction = read_transaction(record.raw)
    return {
        "signature": str(transaction.signatures[0]),
        "slot": record.height + SKIPPED_SLOTS,
        "err": json.loads(record.meta)["err"],
        "memo": _memo(record.raw),
        "blockTime": record.seconds,
        "confirmationStatus": level_of(record, now.height),
    }


def _memo(raw: bytes) -> str | None:
    """As nodes write it: each memo with the number of its bytes."""
    message = read_transaction(raw).message
    keys = message.account_keys
    memos = [bytes(one.data) for one in message.instructions if keys[one.program_id_index] == MEMO]
    return "; ".join(f"[{len(one)}] {one.decode(errors='replace')}" for one in memos) or None


METHODS: dict[str, Callable[[SolanaChain, Any], Any]] = {
    "getHealth": health,
    "getVersion": version,
    "getGenesisHash": genesis_hash,
    "getBlockHeight": block_height,
    "getSlot": slot,
    "getLatestBlockhash": latest_blockhash,
    "isBlockhashValid": is_blockhash_valid,
    "getMinimumBalanceForRentExemption": rent_exemption,
    "getFeeForMessage": fee_for_message,
    "getBalance": balance,
    "getAccountInfo": account_info,
    "getTokenAccountBalance": token_account_balance,
    "getTokenAccountsByOwner": token_accounts_by_owner,
    "simulateTransaction": simulate_transaction,
    "getSignatureStatuses": signature_statuses,
    "getTransaction": transaction,
    "getSignaturesForAddress": signatures_for_address,
}


def answer(chain: SolanaChain, method: str, params: Any) -> Any:
    """Raises Problem."""
    handler = METHODS.get(method)
    if handler is None:
        raise Problem("Method not found", Code.NO_METHOD)
    return handler(chain, params)
