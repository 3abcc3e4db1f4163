"""The DEX half of the order desk: permissions, signature chains, creates, confirmations.

Everything a venue says no to is refused before the quote is consumed. Which transaction counts
for an order is decided in ``confirmations``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.clock import Clock
from swapdesk.service.access import Caller
from swapdesk.service.catalog import ServiceCatalog
from swapdesk.service.dex.confirmations import Confirmations
from swapdesk.service.dex.dex_mapping import Detail, deal_of_quote, detail_of, execution_of
from swapdesk.service.dex.transaction_check import Sightings, asked
from swapdesk.service.errors import invalid
from swapdesk.service.orders.quote_use import unusable, usable
from swapdesk.service.orders.recipients import is_address
from swapdesk.service.store.protocol import Store
from swapdesk.service.store.records import StoredOrder, StoredQuote
from swapdesk.service.venues.adapter import Transient
from swapdesk.service.venues.onchain.adapter import (
    CHAIN_ERRORS,
    Deal,
    DexVenue,
    Progress,
)
from swapdesk.service.venues.registry import Venues
from swapdesk.wire.dex import (
    Approval,
    ApproveAnswer,
    ApproveRequest,
    ChainSignaturesRequest,
    ConfirmTransactionRequest,
    SignatureRequirement,
)
from swapdesk.wire.exchanges import ExchangeRequest
from swapdesk.wire.tokens import Token


class DexDesk:
    """``sightings`` are the chains by short name."""

    def __init__(
        self,
        store: Store,
        catalog: ServiceCatalog,
        venues: Venues,
        sightings: Mapping[str, Sightings],
        clock: Clock,
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._venues = venues
        self._clock = clock
        self._confirmations = Confirmations(store, catalog, sightings, clock)

    async def approve(self, caller: Caller, request: ApproveRequest) -> ApproveAnswer:
        """What the owner still has to send or to sign; nothing once the venue may take the
        tokens. Raises ServiceError: INVALID_SWAP, VALIDATION_ERROR, SERVICE_UNAVAILABLE."""
        deal, venue = await self._deal(caller, request.quote_id)
        owner = _owner(request.address_from, deal)
        missing = await asked(
            venue.permission(deal, owner, by_permit=request.use_permit is not False)
        )
        approvals = [
            Approval(
                data="0x" + each.data.hex(),
                to=each.to,
                from_=owner,
                from_chain=deal.token_in.chain_data,
            )
            for each in missing.approvals
        ]
        return ApproveAnswer(approvals=approvals, signatures=list(missing.signatures))

    async def allowance(self, caller: Caller, request: ApproveRequest) -> bool:
        """Whether the venue may take the tokens already. Raises as ``approve``."""
        deal, venue = await self._deal(caller, request.quote_id)
        return await asked(venue.allowed(deal, _owner(request.address_from, deal)))

    async def next_signatures(
        self, caller: Caller, request: ChainSignaturesRequest
    ) -> list[SignatureRequirement]:
        """What follows a signed step. Raises as ``approve``."""
        deal, venue = await self._deal(caller, request.quote_id)
        given = request.previous_signature
        if request.signature_key != given.key:
            raise invalid("signatureKey", "is not the key of the signature", request.signature_key)
        owner = _owner(request.address_from, deal)
        return await asked(venue.next_signature(deal, owner, given, request.signature_step))

    async def _deal(self, caller: Caller, quote_id: str) -> tuple[Deal, DexVenue]:
        quote = usable(
            await self._store.get_quote(caller.partner.partner_id, quote_id),
            "exchange",
            self._clock.now(),
        )
        return self._of(quote)

    def _of(self, quote: StoredQuote) -> tuple[Deal, DexVenue]:
        venue = self._venues.dex(quote.legs[0]) if quote.route == "dex" else None
        if venue is None:
            raise unusable()
        return deal_of_quote(quote, self._catalog), venue

    async def prepare(self, quote: StoredQuote, request: ExchangeRequest) -> Detail:
        """What an order of the quote keeps, its transaction among it. Raises as ``approve``."""
        deal, venue = self._of(quote)
        if request.address_from is None:
            raise invalid("addressFrom", "is required for a DEX route")
        owner = _owner(request.address_from, deal)
        prepared = await asked(
            venue.prepare(
                deal,
                owner,
                _spelled(request.address_to, deal.token_out),
                request.signatures or (),
                self._clock.now(),
            )
        )
        return detail_of(deal, owner, prepared)

    async def confirm(self, caller: Caller, request: ConfirmTransactionRequest) -> bool:
        """As :meth:`Confirmations.confirm`."""
        return await self._confirmations.confirm(caller, request)

    async def progress(self, order: StoredOrder) -> Progress:
        """Where an order stands now. Raises Transient when its chain does not answer."""
        venue = self._venues.dex(order.legs[0])
        if venue is None:
            raise Transient(f"venue {order.legs[0]} is not configured")
        try:
            noted = await self._confirmations.sought(order)
            order = replace(order, detail={**order.detail, **noted})
            execution = execution_of(order, self._catalog, self._clock.now())
            progress = await venue.progress(execution)
        except CHAIN_ERRORS as error:
            raise Transient(str(error)) from error
        return replace(progress, notes={**noted, **progress.notes})


def _owner(address: str, deal: Deal) -> str:
    if not is_address(address, deal.token_in):
        chain = deal.token_in.chain_data.name
        raise invalid("addressFrom", f"Not an address of {chain}.", address)
    return _spelled(address, deal.token_in)


def _spelled(address: str, token: Token) -> str:
    """An address of the token's chain in its one spelling."""
    return checksummed(address) if token.chain_data.kind == "evm" else address
