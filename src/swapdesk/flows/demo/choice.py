"""Which demonstration is wanted, checked before anything begins."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec import Struct

from swapdesk.flows.catalog.resolution import resolve
from swapdesk.flows.demo.demonstration import Demonstration
from swapdesk.flows.demo.demos import DEMOS
from swapdesk.flows.quotes.amount_check import check_amount
from swapdesk.wallet.accounts import Kind
from swapdesk.wire.quotes import RouteType
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk


class DemoRefused(Exception):
    """What was chosen cannot be shown; ``field`` is at fault, and the text says why."""

    def __init__(self, field: str, said: str) -> None:
        super().__init__(said)
        self.field = field


class DemoChoice(Struct, frozen=True):
    """``amount`` and ``token`` as typed; None takes those of the demonstration, None for
    ``speed`` the world as it runs."""

    name: str = "private"
    seed: int = 7
    speed: Decimal | None = None
    amount: str | None = None
    token: str | None = None

    def begin(self, desk: Desk, tag: str) -> Demonstration:
        """The demonstration on a connected desk that has its catalogue. Raises DemoRefused."""
        demo = DEMOS[self.name]
        sold = self._token(desk, self.token or demo.sell)
        bought = sold if demo.buy is None else self._token(desk, demo.buy)
        if sold.id == bought.id and demo.buy is not None:
            raise DemoRefused("token", f"This demonstration buys {demo.buy}; sell another token.")
        if demo.route is RouteType.DEX and not _sold_beside(bought, sold):
            chain = bought.chain_data.name
            raise DemoRefused(
                "token",
                f"This demonstration sells tokens with a contract on {chain} for {bought.symbol};"
                f" {sold.symbol} on {sold.chain_data.name} is none of them.",
            )
        amount = demo.amount if self.token is None else self._worth(desk, demo.amount, sold)
        if self.amount is not None:
            check = check_amount(self.amount, sold)
            if check.amount is None or not check.ok:
                raise DemoRefused("amount", check.problem or "Type an amount.")
            amount = check.amount
        return Demonstration(desk, demo, (sold, bought), amount, seed=self.seed, tag=tag)

    def _token(self, desk: Desk, spec: str) -> Token:
        found = resolve(spec, desk.catalog)
        if found.token is None:
            raise DemoRefused("token", found.problem or "There is no such token.")
        local = {link.name for link in desk.chain_links() if link.kind is Kind.EVM}
        if found.token.chain not in local:
            raise DemoRefused(
                "token",
                f"{found.token.symbol} is on {found.token.chain_data.name}, whose payments the"
                f" sandbox does not show in blocks. It does on {', '.join(sorted(local))}.",
            )
        return found.token

    def _worth(self, desk: Desk, amount: Decimal, token: Token) -> Decimal:
        """About as much of another token as the demonstration pays of its own."""
        price = desk.catalog.row(token.id)
        usual = resolve(DEMOS[self.name].sell, desk.catalog).token
        of_usual = desk.catalog.row(usual.id) if usual is not None else None
        if price is None or of_usual is None or not price.price or not of_usual.price:
            return amount
        worth = amount * of_usual.price / price.price
        return worth.quantize(Decimal(1) if worth > 10 else Decimal("0.001"))


def _sold_beside(bought: Token, sold: Token) -> bool:
    """Whether a transaction may swap one for the other: the coin would only be wrapped."""
    return sold.chain == bought.chain and sold.has_dex and sold.address is not None
