"""Bundles the deposits of a batch of orders into UserOperations (ERC-4337), submits them and
follows them.

``Bundler`` is the interface; ``NodeBundler`` uses nodes that speak ERC-7769. The callers store a
bundle and decide when to submit it; submitting it again is harmless.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.calldata.erc20 import BALANCE_OF, TRANSFER
from swapdesk.chain.deployments import ENTRY_POINT, SANDBOX_ACCOUNT_FACTORY
from swapdesk.chain.node_http import NodeError, NodeUncertain, NodeUnreachable
from swapdesk.chain.rpc.evm import (
    Call,
    EvmClient,
    EvmRefused,
    balance_of,
    calling,
    code_at,
    digest,
    fields,
    octets,
    quantity,
    read_receipt,
    revert_words,
)
from swapdesk.chain.smart_account import (
    CREATE_ACCOUNT,
    DEPOSIT_OF,
    FEE_FIELDS,
    GAS_FIELDS,
    GET_NONCE,
    MOST_CALLS,
    EntryPointVersion,
    InnerCall,
    UserOperation,
    account_address,
    encode_batch,
    nonce_key,
    operation_json,
    read_outcome,
    user_operation_hash,
)
from swapdesk.service.venues.onchain.reader import OnchainReader


class BundlerUnreachable(Exception):
    """Raised if the bundler did not answer. The bundler may still have accepted the operation;
    submitting the operation again is safe."""


class BundleRefused(Exception):
    """Raised if the bundler rejects the operation. ``code`` is the JSON-RPC code; ``words`` come
    from the bundler and are untrusted."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(words)
        self.code = code
        self.words = words


class OperationPayment(Struct, frozen=True):
    """A deposit to pay from the smart account, in smallest units. ``token`` is a contract, None for
    the native coin."""

    token: str | None
    to: str
    units: int


class BuiltOperation(Struct, frozen=True):
    """An unsigned operation. ``payments`` are positions in the list given to ``Bundler.build``.
    ``version``, the EntryPoint contract's, determines how the owner signs ``hash``."""

    payments: tuple[int, ...]
    operation: UserOperation
    hash: bytes
    entry_point: str
    version: EntryPointVersion
    chain_id: int
    funding: Call
    """The call by which the owner funds the smart account. If the bundle pays coins, the call
    carries ``Build.deposit_needed``; otherwise the owner must send that amount separately."""
    token_amount: int | None = None
    """Units of the token that ``funding`` transfers; 0 if none is needed, None for the native
    coin."""


class Build(Struct, frozen=True):
    """The operations of a bundle, at least one for each token. ``deposit_needed`` is the amount, in
    wei, that the account still lacks for coins and gas. ``account_balance`` is in wei, too."""

    account: str
    operations: tuple[BuiltOperation, ...]
    deposit_needed: int
    account_balance: int


class Landed(Struct, frozen=True):
    """The outcome of an operation in a block. ``success`` says whether the inner calls succeeded;
    they can fail although the transaction succeeds. ``reason`` is the error of the inner calls;
    empty if not stated."""

    transaction_hash: str
    height: int
    confirmations: int
    success: bool
    reason: str = ""


class Bundler(Protocol):
    """Builds bundles, submits them and looks up their outcome. Methods raise BundlerUnreachable if
    the bundler does not answer."""

    def serves(self, chain: str) -> bool:
        """Returns whether bundles can be built for the chain with this short name."""

    async def account_of(self, chain: str, owner: str) -> str:
        """Returns the address of the owner's smart account, whether or not the account is
        deployed."""

    async def build(
        self, chain: str, multi_id: str, owner: str, payments: Sequence[OperationPayment]
    ) -> Build:
        """Builds operations that make these payments. Building a batch's operations again yields
        the same nonces, so only one set can be executed. Raises BundleRefused, and ValueError if
        ``payments`` is empty."""

    async def submit(self, chain: str, operation: UserOperation) -> str:
        """Submits a signed operation; returns its hash, 0x-hex. Raises BundleRefused."""

    async def landed(self, chain: str, operation_hash: str) -> Landed | None:
        """Returns the outcome of an operation; None while the operation is not in a block."""


AROUND_GAS = 40_000
"""Gas that the smart account needs for its own work, in addition to the gas of the payments."""
COIN_GAS, TOKEN_GAS = 46_000, 75_000
"""Upper bounds of gas for a payment in coins and in tokens."""


class OperationPart(Struct, frozen=True):
    """The payments of one operation, all in one token. ``places`` are their positions among all
    payments. ``number`` is 0 for the first operation with this token, 1 for the second, and so
    on."""

    token: str | None
    number: int
    places: tuple[int, ...]
    calls: tuple[InnerCall, ...]
    units: int

    @property
    def call_gas(self) -> int:
        gas = COIN_GAS if self.token is None else TOKEN_GAS
        return AROUND_GAS + gas * len(self.calls)


def parts_of(payments: Sequence[OperationPayment]) -> tuple[OperationPart, ...]:
    """Divides payments into operations of one token each. Raises ValueError for no payments or a
    payment of 0."""
    if not payments:
        raise ValueError("there is nothing to pay")
    if any(payment.units <= 0 for payment in payments):
        raise ValueError("a payment is of an amount")
    by_token: dict[str | None, list[int]] = {}
    for place, payment in enumerate(payments):
        key = None if payment.token is None else payment.token.lower()
        by_token.setdefault(key, []).append(place)
    return tuple(
        _part(payments, places[first : first + MOST_CALLS], first // MOST_CALLS)
        for places in by_token.values()
        for first in range(0, len(places), MOST_CALLS)
    )


def _part(
    payments: Sequence[OperationPayment], places: Sequence[int], number: int
) -> OperationPart:
    chosen = [payments[place] for place in places]
    return OperationPart(
        token=chosen[0].token,
        number=number,
        places=tuple(places),
        calls=tuple(_call(payment) for payment in chosen),
        units=sum(payment.units for payment in chosen),
    )


def _call(payment: OperationPayment) -> InnerCall:
    if payment.token is None:
        return InnerCall(payment.to, payment.units)
    return InnerCall(payment.token, 0, TRANSFER.call(payment.to, payment.units))


EXECUTION = -32521
"""Error code of the bundler for inner calls that would fail now."""
SALT = 0
_PLENTY = 10**30


class _Seen(Struct, frozen=True):
    stands: bool
    coins: int
    deposit: int
    nonces: tuple[int, ...]
    held: Mapping[str, int]


class NodeBundler:
    def __init__(self, readers: Mapping[str, OnchainReader]) -> None:
        self._readers = readers

    def serves(self, chain: str) -> bool:
        return chain in self._readers

    async def account_of(self, chain: str, owner: str) -> str:
        return account_address(owner, SALT)

    async def build(
        self, chain: str, multi_id: str, owner: str, payments: Sequence[OperationPayment]
    ) -> Build:
        reader, parts = self._readers[chain], parts_of(payments)
        account = account_address(owner, SALT)
        try:
            try:
                seen = await _look(reader.client, account, multi_id, parts)
            except (NodeUnreachable, NodeUncertain):
                # A node that opens its chain only now answers the next question; reading twice
                # harms nobody.
                seen = await _look(reader.client, account, multi_id, parts)
            fees = await reader.client.fees()
            drafts = [
                UserOperation(
                    sender=account,
                    nonce=nonce,
                    call_data=encode_batch(part.calls),
                    call_gas_limit=0,
                    verification_gas_limit=0,
                    pre_verification_gas=0,
                    max_fee_per_gas=fees.most,
                    max_priority_fee_per_gas=fees.priority,
                    factory=None if seen.stands else SANDBOX_ACCOUNT_FACTORY,
                    factory_data=b"" if seen.stands else CREATE_ACCOUNT.call(owner, SALT),
                )
                for part, nonce in zip(parts, seen.nonces, strict=True)
            ]
            operations = []
            for number, (part, draft) in enumerate(zip(parts, drafts, strict=True)):
                whole = await _with_gas(reader.client, part, draft)
                # One operation makes the account, and the others follow it.
                if number:
                    whole = replace(whole, factory=None, factory_data=b"")
                operations.append(whole)
        except EvmRefused as refused:
            raise BundleRefused(refused.code, refused.words) from None
        except NodeError as error:
            raise BundlerUnreachable(str(error)) from error
        coins = sum(part.units for part in parts if part.token is None)
        prefund = sum(operation.required_prefund for operation in operations)
        needed = max(0, coins + max(0, prefund - seen.deposit) - seen.coins)
        chain_id = reader.place.chain_id
        built = tuple(
            BuiltOperation(
                part.places,
                operation,
                user_operation_hash(operation, ENTRY_POINT, chain_id),
                ENTRY_POINT,
                EntryPointVersion.V07,
                chain_id,
                *_funding(account, part, needed, seen.held),
            )
            for part, operation in zip(parts, operations, strict=True)
        )
        return Build(account, built, needed, seen.coins)

    async def submit(self, chain: str, operation: UserOperation) -> str:
        client = self._readers[chain].client
        try:
            return digest(
                await client.ask("eth_sendUserOperation", operation_json(operation), ENTRY_POINT)
            )
        except EvmRefused as refused:
            raise BundleRefused(refused.code, refused.words) from None
        except NodeError as error:
            raise BundlerUnreachable(str(error)) from error

    async def landed(self, chain: str, operation_hash: str) -> Landed | None:
        client = self._readers[chain].client
        try:
            receipt = await client.ask("eth_getUserOperationReceipt", operation_hash)
            if receipt is None:
                return None
            return _read_landed(receipt, operation_hash, await client.height())
        except NodeError as error:
            raise BundlerUnreachable(str(error)) from error


async def _look(
    client: EvmClient, account: str, multi_id: str, parts: Sequence[OperationPart]
) -> _Seen:
    tokens = list(dict.fromkeys(part.token for part in parts if part.token is not None))
    keys = [nonce_key(multi_id, part.token, part.number) for part in parts]
    answers = await client.batch(
        [
            code_at(account),
            balance_of(account),
            calling(Call(ENTRY_POINT, DEPOSIT_OF.call(account))),
            *(calling(Call(ENTRY_POINT, GET_NONCE.call(account, key))) for key in keys),
            *(calling(Call(token, BALANCE_OF.call(account))) for token in tokens),
        ]
    )
    for answer in answers:
        if isinstance(answer, EvmRefused):
            raise answer
    code, coins, deposit, *numbers = answers
    nonces, held = numbers[: len(parts)], numbers[len(parts) :]
    return _Seen(
        stands=bool(octets(code)),
        coins=quantity(coins),
        deposit=_number(deposit),
        nonces=tuple(_number(answer) for answer in nonces),
        held={token: _number(answer) for token, answer in zip(tokens, held, strict=True)},
    )


async def _with_gas(client: EvmClient, part: OperationPart, draft: UserOperation) -> UserOperation:
    """Returns the operation with the bundler's gas limits. For calls that cannot be estimated
    before the account has tokens, the limit is an upper bound."""
    try:
        limits = await _estimated(client, draft)
    except EvmRefused as refused:
        if refused.code != EXECUTION:
            raise
        limits = await _estimated(client, replace(draft, call_data=b""))
        data = draft.call_data
        # Nothing was measured of bytes that were left out.
        limits["preVerificationGas"] += 16 * len(data) * 102 // 100
        limits["callGasLimit"] = part.call_gas
    return replace(
        draft,
        call_gas_limit=limits["callGasLimit"],
        verification_gas_limit=limits["verificationGasLimit"],
        pre_verification_gas=limits["preVerificationGas"],
    )


async def _estimated(client: EvmClient, draft: UserOperation) -> dict[str, int]:
    document = operation_json(draft, with_signature=False)
    for name in (*GAS_FIELDS, *FEE_FIELDS):
        del document[name]
    pretended = {draft.sender: {"balance": hex(_PLENTY)}}
    estimate = fields(
        await client.ask("eth_estimateUserOperationGas", document, ENTRY_POINT, pretended)
    )
    return {name: quantity(estimate.get(name)) for name in GAS_FIELDS}


def _funding(
    account: str, part: OperationPart, needed: int, held: Mapping[str, int]
) -> tuple[Call, int | None]:
    if part.token is None:
        return Call(account, value=needed), None
    missing = max(0, part.units - held[part.token])
    token = checksummed(part.token)
    return Call(token, TRANSFER.call(account, missing)), missing


def _read_landed(document: Any, wanted: str, height: int) -> Landed:
    """Reads the outcome of the operation ``wanted`` from the EntryPoint's event in a bundler's
    receipt. ``height`` is the newest block. Raises NodeUncertain if the event is missing."""
    answer = fields(document)
    inner = fields(answer.get("receipt"))
    receipt = read_receipt(inner, digest(inner.get("transactionHash")))
    for log in receipt.logs:
        if log.address != ENTRY_POINT:
            continue
        outcome = read_outcome(log.topics, log.data)
        if outcome is None or "0x" + outcome.hash.hex() != wanted.lower():
            continue
        reason = ""
        if not outcome.success and isinstance(answer.get("reason"), str):
            reason = revert_words(octets(answer["reason"]))
        confirmations = height - receipt.block + 1
        return Landed(receipt.hash, receipt.block, confirmations, outcome.success, reason)
    raise NodeUncertain("the bundler told a receipt without the operation's event")


def _number(answer: Any) -> int:
    data = octets(answer)
    if len(data) != 32:
        raise NodeUncertain("the node answered no number")
    return int.from_bytes(data, "big")
