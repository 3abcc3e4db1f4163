"""Others who use the sandbox while a demonstration runs: private sends of another partner, paid
from accounts of their own, to addresses that nobody used before."""

from __future__ import annotations

import hashlib
import logging
import random
from decimal import ROUND_DOWN, Decimal

from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import ClientError
from swapdesk.client.sandbox_control import SandboxControl
from swapdesk.clock import Clock
from swapdesk.wire.exchanges import PrivateSendRequest
from swapdesk.wire.orders import OrderStatusCode
from swapdesk.wire.quotes import PrivateSendQuery
from swapdesk.wire.tokens import Token

COUNT = 8
_ALIKE = 4
"""So many of them send about as much as the one who is watched."""
_SPREAD = 240.0
"""World seconds within which they come."""
_LOOK = 30.0
"""World seconds between two looks of theirs at their orders."""

log = logging.getLogger(__name__)


def unused_address(token: Token, *names: object) -> str:
    """An address on the token's chain that no key of anybody leads to."""
    seed = hashlib.sha256("\0".join(map(str, names)).encode()).digest()
    return derive_address(token.chain_data.kind, seed)


class Customer:
    """One of them, with a moment to come, an amount and a receiver."""

    def __init__(self, name: str, token: Token, amount: Decimal, rng: random.Random, place: int):
        self.name = name
        self._token = token
        share = rng.uniform(0.985, 1.015) if place < _ALIKE else rng.uniform(0.3, 3.0)
        places = Decimal(1).scaleb(-min(token.decimals, 6))
        self.amount = (amount * Decimal(f"{share:.6f}")).quantize(places, ROUND_DOWN)
        self.comes_after = rng.uniform(0.0, _SPREAD)
        self._route = rng.random()

    async def send(
        self, api: PartnerApi, control: SandboxControl, clock: Clock, speed: Decimal
    ) -> None:
        """Come, create an order, pay it and wait for its end; who is refused goes away."""
        await clock.sleep(self.comes_after / float(speed))
        try:
            found = await api.get_private_send_quotes(
                PrivateSendQuery(amount=self.amount, from_=self._token.id)
            )
            quotes = [quote for quote in found.quotes if quote.quote_id and quote.amount_out]
            if not quotes:
                return
            quote = quotes[int(self._route * len(quotes))]
            receiver = unused_address(self._token, "receiver", self.name)
            receipt = await api.create_private_send(
                PrivateSendRequest(quote_id=quote.quote_id, address_to=receiver)
            )
            order = receipt.made
            await control.deposit(order.service_id, payer=self.name)
            while (order.status or 0) < OrderStatusCode.FINISHED:
                await clock.sleep(_LOOK / float(speed))
                order = await api.get_order(order.service_id)
        except ClientError as error:
            log.info("a customer of the sandbox went away: %s", error)
