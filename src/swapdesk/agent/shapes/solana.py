"""Reads Solana messages that consist of known instructions only, and determines who pays whom.

A transaction in which another account pays too is a swap: all of it is executed, or nothing.
"""

from __future__ import annotations

import binascii
import hashlib
from base64 import b64decode
from collections.abc import Iterator

from solders.hash import Hash
from solders.message import Message, MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from swapdesk.agent.shapes.claim import (
    Act,
    Claim,
    ClaimField,
    Meaning,
    Outflow,
    PayloadRefused,
)
from swapdesk.chain import solana as messages
from swapdesk.chain.solana import (
    PACKET_BYTES,
    AdvanceNonce,
    ComputeLimit,
    ComputePrice,
    CreateTokenAccount,
    Known,
    Memo,
    Revoke,
    TransactionRefused,
    Transfer,
    TransferChecked,
    Unknown,
    fee_of,
    read_transaction,
    token_account,
)
from swapdesk.wallet.promise import Promise

_MOST_BASE64 = 4 * (PACKET_BYTES // 3 + 1)


def read_message(encoded: str, promise: Promise) -> Claim:
    """Returns the decoded content of a base64 Solana transaction. Instead of a token account, the
    claim names its owner if known. Raises PayloadRefused if any instruction is not exactly
    known."""
    transaction = _transaction(encoded)
    body = transaction.message
    if not isinstance(body, Message | MessageV0):
        raise PayloadRefused("SOLANA_UNREADABLE", "a message of this version is not taken")
    try:
        message = messages.read_message(body)
    except TransactionRefused as refusal:
        raise PayloadRefused("SOLANA_UNREADABLE", str(refusal)) from refusal
    reader = _Reader(promise, message)
    for instruction in message.instructions:
        reader.take(instruction)
    _refuse_unexplained(message)
    signed = to_bytes_versioned(body)
    payer = str(message.payer)
    fields = (
        ClaimField("message.payer", "Pays the fee", "fee payer", payer),
        *(
            ClaimField(f"message.signers[{i}]", f"Signs too {i}", "co-signer", str(key))
            for i, key in enumerate(message.signers)
            if i
        ),
        *reader.fields,
        ClaimField("message.fee", "Network fee", "network fee", fee_of(message)),
        ClaimField("message.blockhash", "Lifetime", "lifetime", str(Hash(message.blockhash))),
    )
    if len(reader.arriving) > 1:
        raise PayloadRefused("SOLANA_SEVERAL_TOKENS", "several tokens arrive by it")
    shape, act, title = reader.what()
    return Claim(
        shape=shape,
        act=act,
        title=title,
        contract=None,
        chain_id=None,
        content=hashlib.sha256(signed).digest(),
        fields=fields,
        target="payee",
        outflows=tuple(reader.outflows),
        allowed=tuple(reader.revoked),
        bought=next(iter(reader.arriving), None),
        solana=True,
        signed_first=frozenset(_right_signatures(transaction, message.signers, signed)),
    )


def _transaction(encoded: object) -> VersionedTransaction:
    if type(encoded) is not str or len(encoded) > _MOST_BASE64:
        raise PayloadRefused("SOLANA_UNREADABLE", "it is no serialized transaction")
    try:
        return read_transaction(b64decode(encoded, validate=True))
    except (binascii.Error, TransactionRefused, ValueError) as error:
        raise PayloadRefused("SOLANA_UNREADABLE", "it is no serialized transaction") from error


def _right_signatures(
    transaction: VersionedTransaction, signers: tuple[Pubkey, ...], signed: bytes
) -> Iterator[str]:
    for key, signature in zip(signers, transaction.signatures, strict=True):
        if signature.verify(key, signed):
            yield str(key)


def _refuse_unexplained(message: messages.ReadMessage) -> None:
    written, signing = {message.payer}, {message.payer}
    for instruction in message.instructions:
        if isinstance(instruction, Unknown):
            continue
        for account in instruction.build().accounts:
            if account.is_writable:
                written.add(account.pubkey)
            if account.is_signer:
                signing.add(account.pubkey)
    if set(message.written) != written or set(message.signers) != signing:
        raise PayloadRefused(
            "SOLANA_ACCOUNT_UNEXPLAINED", "its accounts are not those that its instructions need"
        )


class _Reader:
    def __init__(self, promise: Promise, message: messages.ReadMessage) -> None:
        self._account = promise.account
        self._deposits = {deposit.address for deposit in promise.deposits}
        self._bundled = promise.bundle is not None
        self._sold = promise.sell.contract
        self._assets = {asset.contract: asset for asset in (promise.sell, promise.buy)}
        self._owners = _owners(promise, message)
        self.fields: list[ClaimField] = []
        self.outflows: list[Outflow] = []
        self.revoked: list[Outflow] = []
        self.arriving: set[str | None] = set()
        self._index = -1
        self._paying = all(
            _payer_of(instruction) in (None, self._account) for instruction in message.instructions
        )
        self._seen: set[type] = set()

    def what(self) -> tuple[str, Act, str]:
        """Returns (shape, act, title) of the whole message. Raises PayloadRefused if the message
        both ends an allowance and pays."""
        if self.revoked:
            if self.outflows or self.arriving:
                raise PayloadRefused("SOLANA_MIXED", "it ends an allowance and pays in one")
            return "Solana revocation", "allow", "An end of an allowance"
        if self.arriving:
            return "Solana swap", "swap", "A swap in one transaction"
        if self._bundled:
            count = len(self.outflows)
            paid = f"{count} payment{'' if count == 1 else 's'}, all or none"
            return "Solana bundle", "bundle", f"A bundle: {paid}"
        return "Solana payment", "pay", "A payment"

    def take(self, instruction: Known | Unknown) -> None:
        self._index += 1
        if isinstance(instruction, AdvanceNonce):
            raise PayloadRefused(
                "SOLANA_DURABLE_NONCE", "with a durable nonce the signature would never expire"
            )
        if isinstance(instruction, Transfer):
            self._transfer(instruction)
        elif isinstance(instruction, TransferChecked):
            self._tokens(instruction)
        elif isinstance(instruction, Revoke):
            self._revoked(instruction)
        elif isinstance(instruction, CreateTokenAccount):
            self._opened(instruction)
        elif isinstance(instruction, Memo):
            self._add("memo", "Memo", "tag", instruction.text)
        elif isinstance(instruction, ComputeLimit):
            self._once(ComputeLimit)
            self._add("units", "Compute units", "fee part", instruction.units)
        elif isinstance(instruction, ComputePrice):
            self._once(ComputePrice)
            self._add("price", "Priority fee", "fee part", instruction.micro_lamports)
        else:
            raise PayloadRefused(
                "SOLANA_INSTRUCTION_UNKNOWN", f"instruction {self._index + 1} is not known here"
            )

    def _once(self, kind: type) -> None:
        if kind in self._seen:
            raise PayloadRefused("SOLANA_REPEATED", "it states its fee twice")
        self._seen.add(kind)

    def _transfer(self, transfer: Transfer) -> None:
        if str(transfer.source) == self._account:
            self._leaves(None, transfer.lamports, str(transfer.destination))
        else:
            self._add("source", "Paid by", "counterparty", str(transfer.source))
            self._arrives(None, transfer.lamports, str(transfer.destination))

    def _tokens(self, transfer: TransferChecked) -> None:
        mint = str(transfer.mint)
        asset = self._assets.get(mint)
        if asset is not None and asset.decimals != transfer.decimals:
            raise PayloadRefused("SOLANA_DECIMALS", "it counts the token in other units")
        to = self._owner_of(transfer.destination, transfer.mint, transfer.program)
        if str(transfer.owner) == self._account:
            if transfer.source != token_account(transfer.owner, transfer.mint, transfer.program):
                raise PayloadRefused(
                    "SOLANA_SOURCE_UNKNOWN", "tokens leave from an account that is not derived"
                )
            self._add("mint", "Token sold", "sold token", mint)
            self._leaves(mint, transfer.units, to)
        else:
            self._add("owner", "Paid by", "counterparty", str(transfer.owner))
            self._add("source", "Paid from", "label", str(transfer.source))
            self._add("mint", "Token bought", "bought token", mint)
            self._arrives(mint, transfer.units, to)
        self._add("decimals", "Decimals", "proof", transfer.decimals)
        self._add("program", "Token program", "label", str(transfer.program))

    def _revoked(self, revoke: Revoke) -> None:
        """Adds the claim's fields for a revocation. Raises PayloadRefused unless its token account
        is the one derived from the owner and the confirmed token."""
        mint = self._sold
        if mint is None or not _is_derived(revoke, mint):
            raise PayloadRefused(
                "SOLANA_SOURCE_UNKNOWN", "it is about an account that is not derived"
            )
        self._add("owner", "Owner", "owner", str(revoke.owner))
        self._add("mint", "Token", "sold token", mint)
        field = self._add("units", "May be taken", "allowed units", 0)
        self._add("program", "Token program", "label", str(revoke.program))
        self.revoked.append(Outflow(mint, 0, field))

    def _leaves(self, token: str | None, units: int, to: str) -> None:
        field = self._add("units", "You pay", "sold units", units)
        self._add("destination", "Paid to", "payee" if self._paying else "counterparty", to)
        self.outflows.append(Outflow(token, units, field, to))

    def _arrives(self, token: str | None, units: int, to: str) -> None:
        self._add("units", "You get", "least units", units)
        self._add("destination", "Arrives at", "receiver", to)
        self.arriving.add(token)

    def _opened(self, creation: CreateTokenAccount) -> None:
        ours = str(creation.payer) == self._account
        self._add("payer", "Rent paid by", "owner" if ours else "label", str(creation.payer))
        self._add("owner", "Account for", "rent payee" if ours else "label", str(creation.owner))
        self._add("mint", "Holds token", "rent token" if ours else "label", str(creation.mint))

    def _owner_of(self, account: Pubkey, mint: Pubkey, program: Pubkey) -> str:
        for owner in self._owners:
            if token_account(owner, mint, program) == account:
                return str(owner)
        if account in self._owners and str(account) not in self._deposits:
            raise PayloadRefused("SOLANA_NO_TOKEN_ACCOUNT", "tokens go to no token account")
        return str(account)

    def _add(self, path: str, label: str, meaning: Meaning, value: int | str) -> ClaimField:
        number = self._index + 1
        field = ClaimField(
            f"instructions[{self._index}].{path}", f"{label} ({number})", meaning, value
        )
        self.fields.append(field)
        return field


def _owners(promise: Promise, message: messages.ReadMessage) -> list[Pubkey]:
    named = [promise.account, promise.recipient]
    named += [deposit.address for deposit in promise.deposits]
    keys: list[Pubkey] = list(message.signers)
    for text in named:
        try:
            keys.append(Pubkey.from_string(text))
        except ValueError:
            # A recipient on another chain has no token account here.
            continue
    return keys


def _is_derived(revoke: Revoke, mint: str) -> bool:
    try:
        return revoke.source == token_account(
            revoke.owner, Pubkey.from_string(mint), revoke.program
        )
    except ValueError:
        return False


def _payer_of(instruction: Known | Unknown) -> str | None:
    if isinstance(instruction, Transfer):
        return str(instruction.source)
    if isinstance(instruction, TransferChecked):
        return str(instruction.owner)
    return None
