"""What accounts hold, as a command prints it: at once, or chain by chain as they answer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from swapdesk.cli.output import Form, Output, cells
from swapdesk.flows.notation import exact_amount, usd
from swapdesk.flows.notation.amounts import split_at_point
from swapdesk.flows.wallet.chain_holdings import ChainAllowances, ChainHoldings


class BalanceTable:
    """Balances as sentences or as one table, which may come chain by chain."""

    WHOLE, REST = 9, 19
    """Places before the point, and the point with what follows, that every part has room for."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._told = 0
        self._least: tuple[int, ...] | None = None
        self._headed = False

    def heard(self, holdings: Sequence[ChainHoldings]) -> None:
        """Print what has answered since the last time, and say what could not be read. They have
        one order: what answers early waits for those before it."""
        if self._least is None:
            names = max((cells(_holder(one)) for one in holdings), default=0)
            chains = max((cells(one.chain_name) for one in holdings), default=0)
            self._least = (names, chains, self.WHOLE + self.REST, 6, 11)
        answered = list(takewhile(lambda one: not one.reading, holdings))
        new, self._told = answered[self._told :], len(answered)
        self.add(new)

    def add(self, told: Sequence[ChainHoldings]) -> None:
        """Print all of these, and say which could not be read."""
        self._output.talk(*(unread_words(one) for one in told if one.problem is not None))
        held = [
            (
                _holder(one),
                one.chain_name,
                "?" if each.amount is None else exact_amount(each.amount),
                each,
            )
            for one in told
            for each in one.holdings
        ]
        if self._output.form is Form.PLAIN:
            self._output.say(
                *(f"{who} has {amount} {each.asset.symbol} on {chain}."
                  for who, chain, amount, each in held)
            )  # fmt: skip
            return
        rows = [
            (who, chain, self._aligned(amount), each.asset.symbol,
             "" if each.usd is None else usd(each.usd))
            for who, chain, amount, each in held
        ]  # fmt: skip
        heads = ("account", "chain", "amount", "token", "usd")
        self._output.table(heads, rows, numbers=(2,), least=self._least, headed=not self._headed)
        self._headed = self._headed or bool(rows)

    def _aligned(self, amount: str) -> str:
        """With its point where that of every other part is."""
        if self._least is None:
            return amount
        whole, rest, _ = split_at_point(amount)
        return whole.rjust(self.WHOLE) + rest.ljust(self.REST)


def _holder(one: ChainHoldings) -> str:
    """``trading``, or ``smart account of trading``."""
    return one.account.name if one.smart is None else f"smart account of {one.account.name}"


def unread_words(one: ChainHoldings | ChainAllowances) -> str:
    """Why a chain could not be read, where its money is, and who acts."""
    return (
        f"{one.chain_name} could not be read: {one.problem}. What is there stays there."
        f" Next: {one.next or 'you: give the command again'}."
    )
