"""One token of a line, chosen among all that its words could mean."""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.flows.catalog.token_row import TokenRow
from swapdesk.wire.tokens import Token

BOUGHT_KEY, SOLD_KEY = "tab", "shift+tab"
"""The keys that walk through what the token bought, or the one sold, could be."""


@dataclass(frozen=True)
class TokenChoice:
    """One token of the line with all it could have been."""

    token: Token
    rows: tuple[TokenRow, ...]
    at: int

    @property
    def row(self) -> TokenRow:
        return self.rows[self.at]

    @property
    def tied(self) -> bool:
        """Whether nothing but the order of names put the first candidate first."""
        return len(self.rows) > 1 and self.rows[0].order[:4] == self.rows[1].order[:4]

    @property
    def chains(self) -> int:
        """On how many chains it could be."""
        return len({row.chain for row in self.rows})

    def question(self, key: str = BOUGHT_KEY) -> str:
        """Of a choice that is tied: what ``key`` chooses among."""
        row = self.row
        return f"{row.symbol} is on {self.chains} chains: {key} chooses, now {row.chain_name}"

    @property
    def brief(self) -> str:
        """How much else it could be, in a few words; empty where there is no choice."""
        if len(self.rows) < 2:
            return ""
        if self.chains == 1:
            return f"{self.row.symbol} on {self.row.chain_name} is {len(self.rows)} tokens"
        return f"{self.row.symbol} is on {self.chains} chains"

    def hint(self, *, private: bool = False) -> str | None:
        """What else it could be; None where there is no choice."""
        if len(self.rows) < 2:
            return None
        symbol, chain, chains = self.row.symbol, self.row.chain_name, self.chains
        if chains == 1:
            return f"{symbol} on {chain} is {len(self.rows)} tokens, the first chosen"
        can = "can be sent" if private else "is"
        return f"{symbol} {can} on {chains} chains, {chain} chosen"
