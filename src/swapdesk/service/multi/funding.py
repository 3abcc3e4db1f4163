"""Builds what the sender of a batch signs to pay its deposits (contract 9.9 to 9.19).

On an EVM chain, signatures are stored before the bundler gets a bundle, so that a second submission
is refused. On Solana the sender sends transactions of at most ten deposits, with the batch's id as
memo.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from msgspec.structs import replace
from solders.hash import Hash
from solders.instruction import Instruction
from solders.message import MessageV0
from solders.pubkey import Pubkey

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.node_http import NodeError
from swapdesk.chain.rpc.solana import Blockhash
from swapdesk.chain.smart_account import EntryPointVersion, operation_json, signed_digest
from swapdesk.chain.solana import (
    ComputeLimit,
    ComputePrice,
    CreateTokenAccount,
    Memo,
    Transfer,
    TransferChecked,
    pack,
    token_account,
    unsigned,
)
from swapdesk.service.access import Caller
from swapdesk.service.bundling import (
    BuiltOperation,
    Bundler,
    BundleRefused,
    BundlerUnreachable,
    OperationPayment,
)
from swapdesk.service.errors import ServiceError, invalid
from swapdesk.service.multi.bundles import BundleWatch
from swapdesk.service.multi.groups import GroupDesk
from swapdesk.service.orders.draft import is_address
from swapdesk.service.room import Room, Shared
from swapdesk.service.store.records import (
    BundleUnderWay,
    StoredBatch,
    StoredBundle,
    StoredGroup,
    StoredOrder,
)
from swapdesk.service.venues.onchain.documents import read_signature
from swapdesk.wire.encoding.codec import validate
from swapdesk.wire.encoding.numbers import to_base_units
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.multi import (
    MOST_DEPOSITS,
    EvmTransactionData,
    MultiBuildRequest,
    MultiSubmission,
    MultiSubmitRequest,
    MultiTransaction,
    MultiTransactions,
    SolanaTransactionData,
    UserOperation,
)
from swapdesk.wire.orders import OrderStatusCode
from swapdesk.wire.tokens import Token

log = logging.getLogger(__name__)

EVM, SOLANA = "evm", "solana"
_KIND = "sol"

_UNITS = 450_000
"""Compute units for a transaction of ten deposits, each of which opens a token account, with a
margin."""
_MICRO_LAMPORTS = 1_000
_TRIES = 5
_SET_UP_SECONDS = 8.0
_LOOK_SECONDS = 0.1


class BlockhashNode(Protocol):
    """The methods of a Solana node that funding uses. They may raise NodeError."""

    async def latest_blockhash(self) -> Blockhash: ...


class FundingDesk(Room):
    """Builds and submits transactions and bundles that pay the deposits of a batch. If ``bundler``
    is None, batches on EVM chains cannot be paid this way."""

    def __init__(
        self,
        shared: Shared,
        groups: GroupDesk,
        bundler: Bundler | None,
        watch: BundleWatch,
        nodes: Mapping[str, BlockhashNode],
    ) -> None:
        super().__init__(shared)
        self._groups = groups
        self._bundler = bundler
        self._watch = watch
        self._nodes = nodes

    async def build(
        self, caller: Caller, multi_id: str, request: MultiBuildRequest
    ) -> MultiTransactions:
        """Returns what the sender signs to pay the deposits of a batch, or of some of its orders.
        Raises ServiceError: NOT_FOUND, ALREADY_SUBMITTED, VALIDATION_ERROR, SERVICE_UNAVAILABLE."""
        group = await self._groups.found(caller, multi_id)
        if self._kind(group) == _KIND:
            return await self._on_solana(group, request.sender, request.service_ids)
        if self._bundler is None or not self._bundler.serves(group.chain):
            raise invalid(
                "multiId",
                f"the deposits of this group are made one by one on {self._name(group)}",
                multi_id,
            )
        self._check_sender(group, request.sender)
        owner = checksummed(request.sender)
        return await self._bundled(self._bundler, group, owner, request.service_ids)

    async def transactions(self, caller: Caller, multi_id: str, sender: str) -> MultiTransactions:
        """Returns the Solana transactions that pay a batch's deposits. Raises VALIDATION_ERROR for
        another kind of chain; otherwise raises like :meth:`build`."""
        group = await self._groups.found(caller, multi_id)
        if self._kind(group) != _KIND:
            raise invalid(
                "multiId", f"this group sells on {self._name(group)}, not on Solana", multi_id
            )
        return await self._on_solana(group, sender, None)

    async def submit(
        self, caller: Caller, multi_id: str, request: MultiSubmitRequest
    ) -> MultiSubmission:
        """Stores the signatures of the pending bundle and returns the hashes of its operations. The
        service submits the bundle afterwards. Raises ServiceError: NOT_FOUND, VALIDATION_ERROR,
        INVALID_SWAP, SERVICE_UNAVAILABLE."""
        group = await self._groups.found(caller, multi_id)
        submitted = await self._submitted(group, request.signatures)
        self._watch.wake()
        return MultiSubmission(user_op_hashes=[batch.hash for batch in submitted.batches])

    async def _bundled(
        self, bundler: Bundler, group: StoredGroup, owner: str, service_ids: list[str] | None
    ) -> MultiTransactions:
        """Builds and stores a bundle; returns its operations with the calls that the owner sends
        first. Replaces an earlier bundle that was not submitted; both have the same nonces, so only
        one can be executed. Raises VALIDATION_ERROR, ALREADY_SUBMITTED, SERVICE_UNAVAILABLE."""
        earlier = await self._store.groups.bundles(group.partner_id, group.multi_id)
        claimed = frozenset(service_id for bundle in earlier for service_id in bundle.claimed)
        orders = await self._payable(group, service_ids, claimed)
        payments = [self._payment(order) for order in orders]
        try:
            built = await bundler.build(group.chain, group.multi_id, owner, payments)
        except BundlerUnreachable as silence:
            log.warning("group %s: the bundler does not answer: %s", group.multi_id, silence)
            raise _unavailable("bundler") from silence
        except BundleRefused as refused:
            raise invalid("sender", f"the bundle cannot be made: {refused.words}", owner) from None
        bundle = self._bundle(group, owner, orders, built.operations)
        try:
            await self._store.groups.save_bundle(bundle)
        except BundleUnderWay:
            raise _already_submitted() from None
        return MultiTransactions(
            multi_id=group.multi_id,
            chain=EVM,
            transactions=[_told(operation, orders) for operation in built.operations],
            deposit_needed=str(built.deposit_needed),
            sa_current_balance=str(built.account_balance),
        )

    async def _payable(
        self, group: StoredGroup, wanted: Sequence[str] | None, claimed: Collection[str] = ()
    ) -> list[StoredOrder]:
        """Returns the orders with the ids ``wanted`` or, if None, all that await a deposit. Waits a
        few seconds for orders being set up. Raises ALREADY_SUBMITTED for orders of earlier bundles
        (``claimed``) and VALIDATION_ERROR for others that cannot be paid."""
        orders = await self._set_up(group)
        now = self._clock.now()
        if wanted is None:
            open_now = [order for order in orders if _reason(order, now) is None]
            payable = [order for order in open_now if order.service_id not in claimed]
            if not payable and open_now:
                raise _already_submitted()
            if not payable:
                raise invalid("serviceIds", "no order of this group awaits a deposit")
        else:
            payable = self._chosen(orders, wanted, claimed, now)
        for order in payable:
            token = self._token(order)
            if not token.has_bundler:
                raise invalid(
                    "serviceIds", f"{token.symbol} cannot be paid by a bundle", order.service_id
                )
        return payable

    def _chosen(
        self,
        orders: list[StoredOrder],
        wanted: Sequence[str],
        claimed: Collection[str],
        now: datetime,
    ) -> list[StoredOrder]:
        by_id = {order.service_id: order for order in orders}
        for service_id in wanted:
            if service_id not in by_id:
                raise invalid("serviceIds", "is no order of this group", service_id)
        if any(service_id in claimed for service_id in wanted):
            raise _already_submitted()
        for service_id in wanted:
            reason = _reason(by_id[service_id], now)
            if reason is not None:
                raise invalid("serviceIds", reason, service_id)
        return [order for order in orders if order.service_id in set(wanted)]

    async def _set_up(self, group: StoredGroup) -> list[StoredOrder]:
        until = self._clock.monotonic() + _SET_UP_SECONDS
        while True:
            orders = await self._store.groups.orders(group.partner_id, group.multi_id)
            waiting = any(order.status < OrderStatusCode.WAITING for order in orders)
            if not waiting or self._clock.monotonic() >= until:
                return orders
            await self._clock.sleep(_LOOK_SECONDS)

    def _token(self, order: StoredOrder) -> Token:
        return self._catalog.token_of_order(order.token_in_id)

    def _units(self, order: StoredOrder) -> int:
        return to_base_units(order.amount_in, self._token(order).decimals)

    def _payment(self, order: StoredOrder) -> OperationPayment:
        token = self._token(order)
        return OperationPayment(token.address, str(order.deposit_address), self._units(order))

    def _bundle(
        self,
        group: StoredGroup,
        owner: str,
        orders: list[StoredOrder],
        operations: tuple[BuiltOperation, ...],
    ) -> StoredBundle:
        now = self._clock.now()
        return StoredBundle(
            number=0,
            multi_id=group.multi_id,
            partner_id=group.partner_id,
            chain=group.chain,
            created=now,
            modified=now,
            expires=min(order.expires for order in orders),
            state="pending",
            owner=owner,
            batches=tuple(
                StoredBatch(
                    service_ids=_ids(operation, orders),
                    operation=operation_json(operation.operation, with_signature=False),
                    hash="0x" + operation.hash.hex(),
                    entry_point=operation.entry_point,
                    version=operation.version.value,
                )
                for operation in operations
            ),
        )

    async def _submitted(self, group: StoredGroup, signatures: list[str]) -> StoredBundle:
        """Stores the signatures and returns the submitted bundle. Of several concurrent calls, only
        one succeeds. Raises NOT_FOUND (contract 9.18), VALIDATION_ERROR for wrong signatures,
        INVALID_SWAP if orders have expired."""
        for _ in range(_TRIES):
            bundles = await self._store.groups.bundles(group.partner_id, group.multi_id)
            pending = next((bundle for bundle in bundles if bundle.state == "pending"), None)
            if pending is None:
                raise _nothing_awaits(submitted_before=bool(bundles))
            _check(pending, signatures, self._clock.now())
            submitted = replace(
                pending,
                state="submitted",
                modified=self._clock.now(),
                batches=tuple(
                    replace(batch, signature=signature)
                    for batch, signature in zip(pending.batches, signatures, strict=True)
                ),
            )
            if await self._store.groups.move_bundle(submitted, expected="pending"):
                return submitted
        raise _unavailable("bundler")

    async def _on_solana(
        self, group: StoredGroup, sender: str, service_ids: list[str] | None
    ) -> MultiTransactions:
        self._check_sender(group, sender)
        node = self._nodes.get(group.chain)
        if node is None:
            raise _unavailable("chain")
        orders = await self._payable(group, service_ids)
        try:
            recent = await node.latest_blockhash()
        except NodeError as silence:
            raise _unavailable("chain") from silence

        payer, blockhash = Pubkey.from_string(sender), Hash.from_string(recent.blockhash)
        head = [
            ComputeLimit(_UNITS).build(),
            ComputePrice(_MICRO_LAMPORTS).build(),
            Memo(group.multi_id).build(),
        ]
        rows = [self._deposit(payer, order) for order in orders]
        transactions = []
        for run in pack(payer, head, rows, most=MOST_DEPOSITS):
            instructions = [*head, *(instruction for row in run for instruction in rows[row])]
            raw = unsigned(MessageV0.try_compile(payer, instructions, [], blockhash))
            transactions.append(
                MultiTransaction(
                    service_ids=[orders[row].service_id for row in run],
                    tx_data=SolanaTransactionData(data=base64.b64encode(bytes(raw)).decode()),
                )
            )
        return MultiTransactions(multi_id=group.multi_id, chain=SOLANA, transactions=transactions)

    def _deposit(self, payer: Pubkey, order: StoredOrder) -> list[Instruction]:
        token, units = self._token(order), self._units(order)
        receiver = Pubkey.from_string(str(order.deposit_address))
        if token.address is None:
            return [Transfer(payer, receiver, units).build()]
        mint = Pubkey.from_string(token.address)
        opened = CreateTokenAccount(payer, receiver, mint)
        paid = TransferChecked(
            source=token_account(payer, mint),
            mint=mint,
            destination=opened.account,
            owner=payer,
            units=units,
            decimals=token.decimals,
        )
        return [opened.build(), paid.build()]

    def _check_sender(self, group: StoredGroup, sender: str) -> None:
        coin = next(
            (
                token
                for token in self._catalog.tokens
                if token.mainnet and token.chain_data.short_name == group.chain
            ),
            None,
        )
        if coin is None or not is_address(sender, coin):
            raise invalid("sender", f"is no wallet on {self._name(group)}", sender)

    def _kind(self, group: StoredGroup) -> str:
        chain = self._catalog.chain(group.chain)
        return "" if chain is None else chain.kind

    def _name(self, group: StoredGroup) -> str:
        chain = self._catalog.chain(group.chain)
        return group.chain if chain is None else chain.name


def _reason(order: StoredOrder, now: datetime) -> str | None:
    if order.status < OrderStatusCode.WAITING:
        return "is still being set up"
    if order.status != OrderStatusCode.WAITING or order.deposit_address is None:
        return "awaits no deposit"
    if order.expires <= now:
        return "has expired"
    return None


def _already_submitted() -> ServiceError:
    return ServiceError(
        ErrorCode.ALREADY_SUBMITTED,
        "These orders are paid by a bundle that was submitted already. Look at its status.",
    )


def _check(bundle: StoredBundle, signatures: list[str], now: datetime) -> None:
    if len(signatures) != len(bundle.batches):
        raise invalid(
            "signatures",
            f"the bundle has {len(bundle.batches)} batches, each with one signature",
        )
    for place, (batch, signature) in enumerate(zip(bundle.batches, signatures, strict=True)):
        if not signed_by(bundle.owner, signature, batch.hash, batch.version):
            raise invalid(
                f"signatures.{place}", "is not the signature of the sender over this batch"
            )
    if bundle.expires <= now:
        raise ServiceError(
            ErrorCode.INVALID_SWAP,
            "Orders of this bundle have expired. Nothing was submitted; the smart account keeps"
            " what it holds.",
        )


def _ids(built: BuiltOperation, orders: list[StoredOrder]) -> tuple[str, ...]:
    return tuple(orders[place].service_id for place in built.payments)


def _told(built: BuiltOperation, orders: list[StoredOrder]) -> MultiTransaction:
    funding = built.funding
    operation = operation_json(built.operation, with_signature=False)
    return MultiTransaction(
        service_ids=list(_ids(built, orders)),
        tx_data=EvmTransactionData(
            user_op_hash="0x" + built.hash.hex(),
            to=funding.to,
            data="0x" + funding.data.hex(),
            value=str(funding.value),
            chain_id=built.chain_id,
            token_amount=None if built.token_amount is None else str(built.token_amount),
            entry_point=built.entry_point,
            entry_point_version=built.version.value,
            user_operation=validate(UserOperation, operation, side="service"),
        ),
    )


def _nothing_awaits(*, submitted_before: bool) -> ServiceError:
    words = "No bundle of this group awaits its signatures."
    if submitted_before:
        words = (
            "The bundle of this group was submitted already and awaits no signatures. Look at its"
            " status."
        )
    return ServiceError(ErrorCode.NOT_FOUND, words)


def _unavailable(who: str) -> ServiceError:
    return ServiceError(
        ErrorCode.SERVICE_UNAVAILABLE, f"The {who} does not answer. Nothing changed; try again."
    )


def signed_by(owner: str, signature: str, operation_hash: str, version: str) -> bool:
    """Returns whether ``owner``, an address with checksum, signed the operation for this version of
    the EntryPoint. Returns False for signatures that contracts would reject. ``signature`` and
    ``operation_hash`` are 0x-hex."""
    from eth_keys.datatypes import Signature
    from eth_keys.exceptions import BadSignature
    from eth_utils.exceptions import ValidationError

    parts, raw = read_signature(signature), bytes.fromhex(signature[2:])
    if parts is None or raw[64] != parts.v:
        return False
    digest = signed_digest(bytes.fromhex(operation_hash[2:]), EntryPointVersion(version))
    try:
        signer = Signature(raw[:64] + bytes([raw[64] - 27])).recover_public_key_from_msg_hash(
            digest
        )
    except (BadSignature, ValidationError):
        return False
    return signer.to_checksum_address() == owner
