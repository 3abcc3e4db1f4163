"""Simulated customers who use the sandbox while a demonstration runs. They make private sends as
another partner, paid from accounts of their own, to addresses that nobody used before."""

from __future__ import annotations

import hashlib
import logging
import random
from collections.abc import Awaitable, Callable
from decimal import ROUND_DOWN, Decimal

from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import ClientError
from swapdesk.client.sandbox_control import SandboxControl
from swapdesk.clock import Clock
from swapdesk.wire.exchanges import PrivateSendRequest
from swapdesk.wire.orders import OrderStatusCode
from swapdesk.wire.quotes import PrivateSendQuery, PrivateSendQuote
from swapdesk.wire.tokens import Token

MIDDLE_BY = "pl"
"""The code of the exchange Pell. Its private routes lead over Ether, which a local chain has."""
AHEAD = 120.0
"""Sandbox seconds before Alice begins, so that other customers come first."""
COUNT = 8
ALIKE = 5
"""The number of customers who send about as much as Alice, through the same exchange."""
_EARLY = 3
"""How many of the ``ALIKE`` customers come before Alice; the rest pay at the same time as Alice."""
_SPREAD = 240.0
"""Seconds of sandbox time, from the start of the demonstration, within which the customers come."""
_LOOK = 30.0
"""Seconds of sandbox time between two checks by a customer whether their own order has ended."""
_SHORTEST, _LONGEST = 0.1, 1.0
"""The shortest and longest pause in real seconds before the sandbox's speed is read again."""

log = logging.getLogger(__name__)


def unused_address(token: Token, *names: object) -> str:
    """Returns an address that nobody has a signing key for. The same ``names`` give the same
    address."""
    seed = hashlib.sha256("\0".join(map(str, names)).encode()).digest()
    return derive_address(token.chain_data.kind, seed)


async def world_wait(seconds: float, clock: Clock, speed: Callable[[], float]) -> None:
    """Waits for ``seconds`` of sandbox time. ``speed`` is called regularly, because the user may
    change it."""
    while seconds > 0:
        fast = speed()
        passing = max(_SHORTEST, min(seconds / fast, _LONGEST))
        await clock.sleep(passing)
        seconds -= passing * fast


class Customer:
    """A simulated customer, who acts after ``comes_after`` sandbox seconds. If ``place`` is below
    ``ALIKE``, they send about as much as Alice."""

    def __init__(self, name: str, token: Token, amount: Decimal, rng: random.Random, place: int):
        self.name = name
        self._token = token
        self._alike = place < ALIKE
        # What arrives of it is within the fees below what Alice pays.
        share = rng.uniform(1.0, 1.005) if self._alike else rng.uniform(0.3, 3.0)
        places = Decimal(1).scaleb(-min(token.decimals, 6))
        self.amount = (amount * Decimal(f"{share:.6f}")).quantize(places, ROUND_DOWN)
        late = self._alike and place >= _EARLY
        self.comes_after = rng.uniform(AHEAD if late else 0.0, AHEAD if place < _EARLY else _SPREAD)
        self._route = rng.random()

    async def send(
        self, api: PartnerApi, control: SandboxControl, wait: Callable[[float], Awaitable[None]]
    ) -> None:
        """Plays this customer: creates a private send, pays it and waits for its end. ``wait``
        counts sandbox seconds."""
        await wait(self.comes_after)
        try:
            quotes = await self._quotes(api, [MIDDLE_BY]) if self._alike else []
            quotes = quotes[:1] or await self._quotes(api)
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
                await wait(_LOOK)
                order = await api.get_order(order.service_id)
        except ClientError as error:
            log.info("a customer of the sandbox went away: %s", error)

    async def _quotes(
        self, api: PartnerApi, first: list[str] | None = None
    ) -> list[PrivateSendQuote]:
        query = PrivateSendQuery(
            amount=self.amount, from_=self._token.id, in_leg_included_swaps=first
        )
        answer = await api.get_private_send_quotes(query)
        return [quote for quote in answer.quotes if quote.quote_id and quote.amount_out]
