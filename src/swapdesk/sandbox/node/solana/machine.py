"""Executes and simulates transactions in LiteSVM, over accounts in memory, with results as Solana's
JSON.

LiteSVM is not used to detect repeated transactions. ``Blocks`` derives the height and the valid
blockhashes from the time.
"""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from msgspec import Struct
from solders.account import Account
from solders.clock import Clock
from solders.instruction import CompiledInstruction
from solders.litesvm import LiteSVM
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.token.state import Mint, TokenAccount
from solders.transaction import VersionedTransaction
from solders.transaction_metadata import FailedTransactionMetadata, TransactionMetadata

from swapdesk.chain.addresses import base58
from swapdesk.chain.solana import SYSTEM, TOKEN, TOKEN_PROGRAMS
from swapdesk.sandbox.node.solana.terms import CHAIN, SKIPPED_SLOTS, SLOT_MS, WINDOW
from swapdesk.sandbox.world import chains_by_name

SLOTS_PER_EPOCH = 432_000


class Instant(Struct, frozen=True):
    """A moment of the chain: its block height, and its time in seconds since 1970."""

    height: int
    seconds: int

    @property
    def slot(self) -> int:
        return self.height + SKIPPED_SLOTS

    def less(self, blocks: int) -> Instant:
        """Returns a moment with the same time and a height that is lower by ``blocks``."""
        return Instant(self.height - blocks, self.seconds)


class Blocks:
    """The block heights and blockhashes of the chain, derived from sandbox time. The height never
    falls, even if sandbox time does."""

    def __init__(
        self, key: bytes, now_ms: Callable[[], int], *, began_ms: int, reached: int
    ) -> None:
        self._key = key
        self._now_ms = now_ms
        self._began_ms = began_ms
        self._first = chains_by_name()[CHAIN].first_height
        self._reached = max(self._first, reached)

    def now(self) -> Instant:
        now = self._now_ms()
        self._reached = max(self._reached, self._first + (now - self._began_ms) // SLOT_MS)
        return Instant(self._reached, now // 1000)

    def latest(self, height: int) -> tuple[bytes, int]:
        """Returns the blockhash at a height, and the last height at which a transaction with this
        blockhash is valid."""
        return self._hash(height), height + WINDOW

    def is_good(self, blockhash: bytes) -> bool:
        """Returns True if a transaction with this blockhash may be executed now."""
        newest = self.now().height
        return any(self._hash(height) == blockhash for height in range(newest - WINDOW, newest + 1))

    def _hash(self, height: int) -> bytes:
        purpose = b"solana blockhash\0" + height.to_bytes(8, "big")
        return hmac.digest(self._key, purpose, "sha256")


class TransactionOutcome(Struct, frozen=True):
    """The effect of a transaction, executed or simulated. ``error`` is Solana's JSON, None for
    success; ``details`` is None if nothing was executed."""

    error: Any
    details: TransactionMetadata | None = None
    before: tuple[Account | None, ...] = ()
    after: tuple[Account | None, ...] = ()

    @property
    def charged(self) -> bool:
        """True if the fee was taken from the payer, as it is for every executed transaction, even a
        failed one."""
        return self.error is None or lamports_of(self.after[:1]) < lamports_of(self.before[:1])


class SolanaMachine:
    """Executes transactions in LiteSVM, which checks signatures. SolanaChain checks blockhashes and
    repetitions."""

    def __init__(self) -> None:
        self._vm = LiteSVM().with_blockhash_check(False).with_transaction_history(0)

    def get(self, address: Pubkey) -> Account | None:
        account = self._vm.get_account(address)
        return account if account is not None and account.lamports else None

    def put(self, address: Pubkey, account: Account | None) -> None:
        """Stores an account; None deletes the account at this address."""
        self._vm.set_account(address, account or Account(0, b"", SYSTEM))

    def rent_exempt(self, size: int) -> int:
        """Returns the lamports that an account of this size in bytes must hold."""
        return self._vm.minimum_balance_for_rent_exemption(size)

    def execute(self, transaction: VersionedTransaction, at: Instant) -> TransactionOutcome:
        keys = transaction.message.account_keys
        before = tuple(map(self.get, keys))
        result = self._run(self._vm.send_transaction, transaction, at)
        after = tuple(map(self.get, keys))
        if isinstance(result, FailedTransactionMetadata):
            return TransactionOutcome(_error(result), result.meta(), before, after)
        return TransactionOutcome(None, result, before, after)

    def simulate(self, transaction: VersionedTransaction, at: Instant) -> TransactionOutcome:
        """Executes a transaction at the moment ``at`` and discards the changes. The transaction may
        be unsigned."""
        keys = transaction.message.account_keys
        before = tuple(map(self.get, keys))
        self._vm.with_sigverify(False)
        try:
            result = self._run(self._vm.simulate_transaction, transaction, at)
        finally:
            self._vm.with_sigverify(True)
        if isinstance(result, FailedTransactionMetadata):
            return TransactionOutcome(_error(result), result.meta(), before, before)
        changed = dict(result.post_accounts())
        after = [changed.get(key, old) for key, old in zip(keys, before, strict=True)]
        there = tuple(
            account if account is not None and account.lamports else None for account in after
        )
        return TransactionOutcome(None, result.meta(), before, there)

    def _run(
        self,
        work: Callable[[VersionedTransaction], Any],
        transaction: VersionedTransaction,
        at: Instant,
    ) -> Any:
        epoch = at.slot // SLOTS_PER_EPOCH
        self._vm.set_clock(
            Clock(
                slot=at.slot,
                epoch_start_timestamp=at.seconds,
                epoch=epoch,
                leader_schedule_epoch=epoch + 1,
                unix_timestamp=at.seconds,
            )
        )
        try:
            return work(transaction)
        except Exception:
            raise
        except BaseException as panic:
            # A panic of the library is no Exception; it must not end more than the call.
            raise RuntimeError(f"the machine panicked: {panic}") from panic


def _error(result: FailedTransactionMetadata) -> Any:
    return json.loads(result.to_json())["err"]


def lamports_of(accounts: Sequence[Account | None]) -> list[int]:
    return [0 if account is None else account.lamports for account in accounts]


TOKEN_ACCOUNT_BYTES, MINT_BYTES = 165, 82
_TOKEN_2022_KINDS = {1: "mint", 2: "account"}
"""Kinds of Token-2022 accounts with extensions, by the byte that follows the part common to all
accounts."""
_PROGRAM_NAMES = {True: "spl-token", False: "spl-token-2022"}


def read_token_account(account: Account | None) -> TokenAccount | None:
    """Returns the decoded token account; None if ``account`` is not an initialized token
    account."""
    data = _token_data(account, TOKEN_ACCOUNT_BYTES, "account")
    return None if data is None or not _begun(data[108:109]) else TokenAccount.from_bytes(data)


def read_mint(account: Account | None) -> Mint | None:
    data = _token_data(account, MINT_BYTES, "mint")
    return None if data is None or not _begun(data[45:46]) else Mint.from_bytes(data)


def _begun(state: bytes) -> bool:
    return state != b"\0"


def _token_data(account: Account | None, size: int, kind: str) -> bytes | None:
    if account is None or account.owner not in TOKEN_PROGRAMS:
        return None
    data = bytes(account.data)
    if len(data) == size:
        return data
    if account.owner == TOKEN or len(data) <= TOKEN_ACCOUNT_BYTES:
        return None
    return data[:size] if _TOKEN_2022_KINDS.get(data[TOKEN_ACCOUNT_BYTES]) == kind else None


def token_amount(units: int, decimals: int) -> dict[str, Any]:
    """Returns an amount in the form of Solana's JSON-RPC. Calculate with ``amount``; ``uiAmount``
    is a float."""
    exact = Decimal(units).scaleb(-decimals)
    text = f"{exact:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return {
        "amount": str(units),
        "decimals": decimals,
        "uiAmount": float(exact),
        "uiAmountString": text,
    }


def account_document(account: Account, encoding: str, decimals: int | None) -> dict[str, Any]:
    """Returns an account in Solana's JSON. ``decimals`` are those of a token account's mint, None
    for other accounts."""
    data: Any = [base64.b64encode(bytes(account.data)).decode(), "base64"]
    if encoding == "base58":
        data = [base58.encode(bytes(account.data)), "base58"]
    elif encoding == "jsonParsed":
        data = _parsed(account, decimals) or data
    return {
        "data": data,
        "executable": account.executable,
        "lamports": account.lamports,
        "owner": str(account.owner),
        "rentEpoch": account.rent_epoch,
        "space": len(account.data),
    }


def _parsed(account: Account, decimals: int | None) -> dict[str, Any] | None:
    token, mint = read_token_account(account), read_mint(account)
    if token is not None and decimals is not None:
        kind, info = "account", _token_info(token, decimals)
    elif mint is not None:
        kind = "mint"
        info = {
            "decimals": mint.decimals,
            "freezeAuthority": _shown(mint.freeze_authority),
            "isInitialized": mint.is_initialized,
            "mintAuthority": _shown(mint.mint_authority),
            "supply": str(mint.supply),
        }
    else:
        return None
    return {
        "parsed": {"info": info, "type": kind},
        "program": _PROGRAM_NAMES[account.owner == TOKEN],
        "space": len(account.data),
    }


def _token_info(token: TokenAccount, decimals: int) -> dict[str, Any]:
    info: dict[str, Any] = {
        "isNative": token.is_native is not None,
        "mint": str(token.mint),
        "owner": str(token.owner),
        "state": "frozen" if str(token.state).endswith("Frozen") else "initialized",
        "tokenAmount": token_amount(token.amount, decimals),
    }
    if token.delegate is not None:
        info["delegate"] = str(token.delegate)
        info["delegatedAmount"] = token_amount(token.delegated_amount, decimals)
    if token.close_authority is not None:
        info["closeAuthority"] = str(token.close_authority)
    if token.is_native is not None:
        info["rentExemptReserve"] = token_amount(token.is_native, decimals)
    return info


def _shown(key: Pubkey | None) -> str | None:
    return None if key is None else str(key)


Decimals = Callable[[Pubkey], int | None]
"""A function that returns the decimals of a mint, or None if there is no such mint."""


def moved(outcome: TransactionOutcome, decimals: Decimals) -> dict[str, Any]:
    """Returns the four members of ``meta`` with coin and token balances before and after a
    transaction."""
    return {
        "preBalances": lamports_of(outcome.before),
        "postBalances": lamports_of(outcome.after),
        "preTokenBalances": _tokens(outcome.before, decimals),
        "postTokenBalances": _tokens(outcome.after, decimals),
    }


def _tokens(accounts: Sequence[Account | None], decimals: Decimals) -> list[dict[str, Any]]:
    balances = []
    for index, account in enumerate(accounts):
        token = read_token_account(account)
        places = None if token is None else decimals(token.mint)
        if account is not None and token is not None and places is not None:
            balances.append(
                {
                    "accountIndex": index,
                    "mint": str(token.mint),
                    "owner": str(token.owner),
                    "programId": str(account.owner),
                    "uiTokenAmount": token_amount(token.amount, places),
                }
            )
    return balances


def status_of(error: Any) -> dict[str, Any]:
    return {"Ok": None} if error is None else {"Err": error}


def record_meta(
    outcome: TransactionOutcome, details: TransactionMetadata, decimals: Decimals
) -> dict[str, Any]:
    """Returns the ``meta`` that ``getTransaction`` answers for an executed transaction."""
    return {
        **moved(outcome, decimals),
        "err": outcome.error,
        "status": status_of(outcome.error),
        "fee": details.fee(),
        "logMessages": details.logs(),
        "innerInstructions": inner_instructions(details),
        "computeUnitsConsumed": details.compute_units_consumed(),
        "loadedAddresses": {"writable": [], "readonly": []},
        "rewards": [],
    }


def inner_instructions(details: TransactionMetadata) -> list[dict[str, Any]]:
    """Returns the instructions that programs called, in Solana's JSON, grouped by the instruction
    that caused them."""
    return [
        {
            "index": index,
            "instructions": [
                _instruction(inner.instruction(), inner.stack_height()) for inner in caused
            ],
        }
        for index, caused in enumerate(details.inner_instructions())
        if caused
    ]


def _instruction(called: CompiledInstruction, height: int | None) -> dict[str, Any]:
    return {
        "programIdIndex": called.program_id_index,
        "accounts": list(bytes(called.accounts)),
        "data": base58.encode(bytes(called.data)),
        "stackHeight": height,
    }


def transaction_document(transaction: VersionedTransaction) -> dict[str, Any]:
    """Returns a transaction in the encoding ``json``."""
    message = transaction.message
    header = message.header
    document: dict[str, Any] = {
        "accountKeys": [str(key) for key in message.account_keys],
        "header": {
            "numRequiredSignatures": header.num_required_signatures,
            "numReadonlySignedAccounts": header.num_readonly_signed_accounts,
            "numReadonlyUnsignedAccounts": header.num_readonly_unsigned_accounts,
        },
        "recentBlockhash": str(message.recent_blockhash),
        "instructions": [_instruction(instruction, 1) for instruction in message.instructions],
    }
    if isinstance(message, MessageV0):
        document["addressTableLookups"] = []
    return {
        "signatures": [str(signature) for signature in transaction.signatures],
        "message": document,
    }
