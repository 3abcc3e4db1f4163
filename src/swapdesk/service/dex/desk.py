"""The DEX half of the order desk: permissions, signatures, creation and confirmation of orders.

A swap that its venue rejects is refused before the quote is consumed. A transaction is accepted for
an order only if the chain knows it, it comes from the order's owner, and it has the order's call or
message (contract 10.12).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.node_http import NodeError
from swapdesk.chain.rpc.evm import Transaction
from swapdesk.chain.rpc.solana import SolanaClient
from swapdesk.service.access import Caller
from swapdesk.service.errors import ServiceError, invalid
from swapdesk.service.orders.draft import is_address, unusable, usable
from swapdesk.service.orders.presentation import METADATA, metadata_of, visible
from swapdesk.service.room import Room, Shared
from swapdesk.service.store.records import StoredOrder, StoredQuote, SwapTerms
from swapdesk.service.venues.adapter import Transient
from swapdesk.service.venues.onchain.adapter import (
    Deal,
    DexRefused,
    DexVenue,
    Plan,
    PreparedSwap,
    Progress,
    RouteExecution,
    SwapToPrepare,
)
from swapdesk.wire.dex import (
    Approval,
    ApproveAnswer,
    ApproveRequest,
    ChainSignaturesRequest,
    ConfirmTransactionRequest,
    SignatureRequirement,
)
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.encoding.timestamps import parse_rfc3339, rfc3339
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.exchanges import ExchangeRequest
from swapdesk.wire.orders import OrderStatusCode
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.service.venues.onchain.reader import OnchainReader

log = logging.getLogger(__name__)

OWNER = "addressFrom"
CONFIRMED = "confirmed"
CONFIRMED_HASH = "confirmedHash"
SOURCE_CHAIN = "sourceChain"
BY_VENUE = "settledByVenue"
SOUGHT = "sought"
"""Key in an order's ``detail``: when the chain was last searched for a transaction that no client
reported."""

_QUOTE_ENDS = "quoteExpires"

Detail = dict[str, str | bool | None]
"""Members of ``StoredOrder.detail``; the constants above are some of their names."""

_TRANSFER = "0x" + keccak(b"Transfer(address,address,uint256)").hex()
_EVM_HASH = re.compile(r"0x[0-9a-f]{64}")
_SOLANA_SIGNATURE = re.compile(r"[1-9A-HJ-NP-Za-km-z]{64,88}")


class Foreign(Exception):
    """Raised if the transaction that was reported for an order was not made for this order."""


class Head(Struct, frozen=True):
    """The newest block of a chain.

    ``timestamp`` is in seconds since 1970; None on a chain whose blocks state no time.
    """

    height: int
    timestamp: int | None = None


class Sightings(Protocol):
    """Finds the transactions of orders on one chain. Methods that ask the chain's node raise
    NodeError."""

    def spelled(self, text: str) -> str | None:
        """Returns a transaction hash in its canonical spelling; None if the text is not a
        transaction hash on this kind of chain."""
        ...

    async def knows(self, order: StoredOrder, sent: str) -> bool:
        """Returns whether the chain already knows the transaction with the hash ``sent``. Raises
        NodeError, and Foreign if the transaction is not the order's."""
        ...

    async def sought(self, order: StoredOrder, sold: Token, bought: Token) -> list[str]:
        """Searches for an order's transaction that no client reported; returns the hashes of
        possible transactions, oldest first. Returns an empty list if the chain cannot be searched
        for these tokens. Raises NodeError."""
        ...

    async def warm(self) -> None: ...

    async def head(self) -> Head: ...

    async def close(self) -> None: ...


class EvmSightings:
    def __init__(self, reader: OnchainReader) -> None:
        self._reader = reader

    def spelled(self, text: str) -> str | None:
        return text.lower() if _EVM_HASH.fullmatch(text.lower()) else None

    async def knows(self, order: StoredOrder, sent: str) -> bool:
        transaction = await self._reader.client.transaction(sent)
        if transaction is None:
            return False
        if not _is_of(transaction, order):
            raise Foreign
        return True

    async def sought(self, order: StoredOrder, sold: Token, bought: Token) -> list[str]:
        topics: list[str | None]
        if sold.address is not None:
            token, topics = sold.address, [_TRANSFER, _topic(str(order.detail[OWNER]))]
        elif bought.address is not None:
            token, topics = bought.address, [_TRANSFER, None, _topic(order.receiver_address)]
        else:
            return []
        logs = await self._reader.client.logs(token, topics)
        return list(dict.fromkeys(log.transaction for log in logs if log.transaction is not None))

    async def warm(self) -> None:
        await self._reader.view()

    async def head(self) -> Head:
        head = await self._reader.client.head()
        return Head(head.number, head.timestamp)

    async def close(self) -> None:
        await self._reader.close()


class SolanaSightings:
    """Finds transactions on Solana, where a transaction's id is the payer's signature."""

    def __init__(self, client: SolanaClient) -> None:
        self._client = client

    def spelled(self, text: str) -> str | None:
        return text if _SOLANA_SIGNATURE.fullmatch(text) else None

    async def knows(self, order: StoredOrder, sent: str) -> bool:
        from swapdesk.service.venues.onchain.atoll import signed_by_payer

        if not signed_by_payer(bytes.fromhex(str(metadata_of(order)["data"])), sent):
            raise Foreign
        return await self._client.status(sent) is not None

    async def sought(self, order: StoredOrder, sold: Token, bought: Token) -> list[str]:
        from swapdesk.service.venues.onchain.atoll import signed_by_payer

        message = bytes.fromhex(str(metadata_of(order)["data"]))
        signatures = await self._client.signatures(str(order.detail[OWNER]))
        return [
            signature for signature in reversed(signatures) if signed_by_payer(message, signature)
        ]

    async def warm(self) -> None:
        await self._client.block_height()

    async def head(self) -> Head:
        return Head(await self._client.block_height())

    async def close(self) -> None:
        await self._client.close()


def _topic(address: str) -> str:
    return "0x" + address[2:].lower().rjust(64, "0")


def _is_of(transaction: Transaction, order: StoredOrder) -> bool:
    metadata = metadata_of(order)
    return (
        transaction.to == metadata["to"]
        and transaction.sender == order.detail[OWNER]
        and transaction.data == bytes.fromhex(str(metadata["data"])[2:])
        and transaction.value == int(str(metadata["value"]))
    )


T = TypeVar("T")


async def asked(answer: Awaitable[T]) -> T:
    """Awaits and returns the answer of a venue or chain. Converts exceptions to ServiceError:
    VALIDATION_ERROR or INVALID_SWAP for a refusal, SERVICE_UNAVAILABLE for no answer."""
    try:
        return await answer
    except DexRefused as refused:
        if refused.field is not None:
            raise invalid(refused.field, refused.reason) from refused
        reason = refused.reason[0].upper() + refused.reason[1:]
        raise ServiceError(ErrorCode.INVALID_SWAP, f"{reason}.") from refused
    except NodeError as error:
        log.warning("a chain does not answer: %s", error)
        raise ServiceError(
            ErrorCode.SERVICE_UNAVAILABLE, "The chain does not answer at present. Try again."
        ) from error


_TRIES = 5


class DexDesk(Room):
    def __init__(self, shared: Shared, sightings: Mapping[str, Sightings]) -> None:
        super().__init__(shared)
        self._sightings = sightings

    async def approve(self, caller: Caller, request: ApproveRequest) -> ApproveAnswer:
        """Returns the calls to send and the documents to sign before the venue may take the tokens;
        both may be empty. Raises ServiceError: INVALID_SWAP, VALIDATION_ERROR,
        SERVICE_UNAVAILABLE."""
        deal, venue = await self._deal(caller, request.quote_id)
        owner = _owner(request.address_from, deal)
        missing = await asked(
            venue.permission(deal, owner, by_permit=request.use_permit is not False)
        )
        approvals = [
            Approval(
                data="0x" + call.data.hex(),
                to=call.to,
                from_=owner,
                from_chain=deal.token_in.chain_data,
            )
            for call in missing.approvals
        ]
        return ApproveAnswer(approvals=approvals, signatures=list(missing.signatures))

    async def allowance(self, caller: Caller, request: ApproveRequest) -> bool:
        """Returns True if the venue may already take the tokens that the quote sells. Raises like
        ``approve``."""
        deal, venue = await self._deal(caller, request.quote_id)
        return await asked(venue.allowed(deal, _owner(request.address_from, deal)))

    async def next_signatures(
        self, caller: Caller, request: ChainSignaturesRequest
    ) -> list[SignatureRequirement]:
        """Returns the documents that the owner must sign next, after the signature given in the
        request. Raises like ``approve``."""
        deal, venue = await self._deal(caller, request.quote_id)
        given = request.previous_signature
        if request.signature_key != given.key:
            raise invalid("signatureKey", "is not the key of the signature", request.signature_key)
        owner = _owner(request.address_from, deal)
        return await asked(venue.next_signature(deal, owner, given, request.signature_step))

    async def _deal(self, caller: Caller, quote_id: str) -> tuple[Deal, DexVenue]:
        quote = usable(
            await self._store.quotes.get(caller.partner.partner_id, quote_id),
            "exchange",
            self._clock.now(),
        )
        return self._of(quote)

    def _of(self, quote: StoredQuote) -> tuple[Deal, DexVenue]:
        venue = self._venues.dex(quote.legs[0]) if quote.route == "dex" else None
        if venue is None:
            raise unusable()
        return self._agreed(quote, quote.expires), venue

    def _agreed(self, terms: SwapTerms, expires: datetime) -> Deal:
        token_in = self._catalog.token_of_order(terms.token_in_id)
        token_out = self._catalog.token_of_order(terms.token_out_id)
        return Deal(terms.quote_id, token_in, token_out, Plan.from_json(terms.plan), expires)

    async def prepare(self, quote: StoredQuote, request: ExchangeRequest) -> Detail:
        """Returns the ``detail`` to store with the order of a quote, including the transaction to
        send. Raises like ``approve``."""
        deal, venue = self._of(quote)
        if request.address_from is None:
            raise invalid("addressFrom", "is required for a DEX route")
        owner = _owner(request.address_from, deal)
        prepared = await asked(
            venue.prepare(
                SwapToPrepare(
                    deal,
                    owner,
                    receiver=_spelled(request.address_to, deal.token_out),
                    signatures=request.signatures or (),
                    now=self._clock.now(),
                )
            )
        )
        return _detail_of(deal, owner, prepared)

    async def confirm(self, caller: Caller, request: ConfirmTransactionRequest) -> bool:
        """Records the owner's report of the order's transaction, or the owner's consent that the
        venue settles the order. Returns False if the chain does not know the transaction yet.
        Raises NOT_FOUND, BAD_REQUEST, ALREADY_SUBMITTED, VALIDATION_ERROR if the transaction is not
        the order's, INVALID_SWAP if the order has ended."""
        for _ in range(_TRIES):
            order = await self._found(caller, request.id)
            if order.detail.get(BY_VENUE) is True:
                noted = _confirmed_without_hash(order, request)
            else:
                noted = await self._confirmed_by_hash(order, request)
            if isinstance(noted, bool):
                return noted
            now = self._clock.now()
            changed = replace(order, detail=order.detail | noted, modified=now, due_at=now)
            if await self._store.orders.advance(
                changed, expected_version=order.version, before=order.status
            ):
                return True
        raise ServiceError(
            ErrorCode.SERVICE_UNAVAILABLE, "The order changes at this moment. Try again."
        )

    async def _found(self, caller: Caller, service_id: str) -> StoredOrder:
        order = await self._store.orders.get(caller.partner.partner_id, service_id)
        if order is None or not visible(order.created, self._clock.now()):
            raise ServiceError(ErrorCode.NOT_FOUND, "There is no such order.")
        if order.route != "dex":
            raise invalid("id", "is no DEX order: its deposit is seen without this", service_id)
        return order

    async def _confirmed_by_hash(
        self, order: StoredOrder, request: ConfirmTransactionRequest
    ) -> Detail | bool:
        """Returns the ``detail`` to record for the reported hash; True if already recorded, False
        if the chain does not know it. Raises like ``confirm``."""
        if request.tx_hash is None:
            raise ServiceError(
                ErrorCode.BAD_REQUEST, "txHash is required: this order is settled on a chain."
            )
        chain = str(order.detail[SOURCE_CHAIN])
        sightings = self._sightings[chain]
        sent = sightings.spelled(request.tx_hash)
        if sent is None:
            raise invalid("txHash", "is no transaction hash of this chain", request.tx_hash)
        confirmed = order.detail.get(CONFIRMED_HASH)
        if confirmed is not None:
            if confirmed == sent:
                return True
            raise ServiceError(
                ErrorCode.ALREADY_SUBMITTED, "This order was confirmed with another transaction."
            )
        # One that expired unconfirmed may still have been paid in time: it gets its hash.
        if order.status not in (OrderStatusCode.WAITING, OrderStatusCode.EXPIRED):
            raise _ended()
        try:
            if not await asked(sightings.knows(order, sent)):
                return False
        except Foreign:
            reason = "is not the transaction of this order"
            raise invalid("txHash", reason, request.tx_hash) from None
        other = await self._store.orders.of_transaction(chain, sent)
        if other is not None and other != order.service_id:
            raise invalid("txHash", "was confirmed for another order", request.tx_hash)
        return {CONFIRMED: True, CONFIRMED_HASH: sent}

    async def _sought(self, order: StoredOrder) -> dict[str, str]:
        """Searches the chain, when a search is due, for an order's transaction that no client
        reported; returns the changes of ``detail``. Skips orders whose creating call is not paid
        for yet, because a match would belong to another order."""
        if not order.told or CONFIRMED_HASH in order.detail or order.detail.get(BY_VENUE) is True:
            return {}
        execution = self._execution(order)
        if order.status != OrderStatusCode.WAITING or execution.now < execution.deadline:
            return {}
        moment = "expiry" if execution.now >= order.expires else "deadline"
        if order.detail.get(SOUGHT) == moment:
            return {}
        chain = str(order.detail[SOURCE_CHAIN])
        sightings, deal = self._sightings[chain], execution.deal
        for sent in await sightings.sought(order, deal.token_in, deal.token_out):
            if await self._belongs(order, chain, sent):
                return {CONFIRMED_HASH: sent}
        return {SOUGHT: moment}

    async def _belongs(self, order: StoredOrder, chain: str, sent: str) -> bool:
        try:
            is_known = await self._sightings[chain].knows(order, sent)
        except Foreign:
            return False
        return is_known and await self._store.orders.of_transaction(chain, sent) in (
            None,
            order.service_id,
        )

    def _execution(self, order: StoredOrder) -> RouteExecution:
        return RouteExecution(
            deal=self._agreed(order, parse_rfc3339(str(order.detail[_QUOTE_ENDS]))),
            owner=str(order.detail[OWNER]),
            receiver=order.receiver_address,
            notes={name: text for name, text in order.detail.items() if isinstance(text, str)},
            confirmed=order.detail.get(CONFIRMED) is True,
            hash=order.text(CONFIRMED_HASH),
            deadline=datetime.fromtimestamp(int(str(metadata_of(order)["deadline"])), UTC),
            now=self._clock.now(),
        )

    async def progress(self, order: StoredOrder) -> Progress:
        venue = self._venues.dex(order.legs[0])
        if venue is None:
            raise Transient(f"venue {order.legs[0]} is not configured")
        try:
            noted = await self._sought(order)
            order = replace(order, detail={**order.detail, **noted})
            progress = await venue.progress(self._execution(order))
        except NodeError as error:
            raise Transient(str(error)) from error
        return replace(progress, notes={**noted, **progress.notes})


def _confirmed_without_hash(
    order: StoredOrder, request: ConfirmTransactionRequest
) -> Detail | bool:
    if request.tx_hash is not None:
        raise invalid("txHash", "belongs to no order that its venue settles", request.tx_hash)
    if order.detail.get(CONFIRMED) is True:
        return True
    if order.status != OrderStatusCode.WAITING:
        raise _ended()
    return {CONFIRMED: True}


def _ended() -> ServiceError:
    return ServiceError(ErrorCode.INVALID_SWAP, "This order can no longer be confirmed.")


def _detail_of(deal: Deal, owner: str, prepared: PreparedSwap) -> Detail:
    detail: Detail = {
        OWNER: owner,
        METADATA: encode_json(prepared.metadata).decode(),
        SOURCE_CHAIN: deal.token_in.chain_data.short_name,
        _QUOTE_ENDS: rfc3339(deal.expires),
        **prepared.notes,
    }
    if prepared.settled_by_venue:
        detail[BY_VENUE] = True
    return detail


def _owner(address: str, deal: Deal) -> str:
    if not is_address(address, deal.token_in):
        chain = deal.token_in.chain_data.name
        raise invalid("addressFrom", f"Not an address of {chain}.", address)
    return _spelled(address, deal.token_in)


def _spelled(address: str, token: Token) -> str:
    return checksummed(address) if token.chain_data.kind == "evm" else address
