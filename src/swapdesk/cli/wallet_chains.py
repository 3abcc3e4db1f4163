"""Balances and allowances on the command line, at once or chain by chain as they answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

from msgspec import Struct

from swapdesk.cli.command_error import Exit
from swapdesk.cli.output import Form, Output, cells
from swapdesk.cli.session import CommandSession
from swapdesk.cli.wallet_session import account_named
from swapdesk.flows.batch.bundle_promise import smart_accounts
from swapdesk.flows.batch.group_status import way_out
from swapdesk.flows.notation import exact_amount, iso, usd
from swapdesk.flows.notation.amounts import split_at_point
from swapdesk.flows.wallet.chain_holdings import ChainAllowances, ChainHoldings
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.wallet.accounts import Account
from swapdesk.wallet.holdings import Allowance
from swapdesk.wire.encoding.numbers import from_base_units, short


class BalancesDocument(Struct, frozen=True):
    """The chains in their order; smart accounts last."""

    balances: tuple[ChainHoldings, ...]


class AllowancesDocument(Struct, frozen=True):
    """The chains in their order."""

    allowances: tuple[ChainAllowances, ...]


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
        f" Next {one.next or 'you: give the command again'}."
    )


def allowed_words(one: Allowance) -> str:
    if one.unlimited:
        return "unlimited"
    return exact_amount(short(from_base_units(one.units, one.token.decimals)))


def spender_words(one: Allowance, named: Callable[[str | None], str | None]) -> str:
    """Whose contract it is, by name, and how it takes."""
    who = named(one.venue) or "not known here"
    return f"{who}, by Permit2 until {iso(one.ends)}" if one.permit2 and one.ends else who


async def show_balances(session: CommandSession, account: str | None) -> int:
    """One document, or the chains in their order; on a terminal as they answer, because a chain
    may be silent for long and a person waits."""
    output, wallet = session.call.output, session.desk.wallet
    whose = await account_or_all(wallet, account)
    owned = smart_accounts(session.desk.journal)
    if output.to_person:
        held = BalanceTable(output)
        told = await wallet.holdings(whose, held.heard)
        smart = await wallet.smart_holdings(owned, whose)
        held.add(smart)
        told += smart
    else:
        told = await wallet.holdings(whose)
        told += await wallet.smart_holdings(owned, whose)
        if output.json:
            output.document(BalancesDocument(tuple(told)))
            output.talk(*(unread_words(one) for one in told if one.problem is not None))
        else:
            BalanceTable(output).add(told)
    output.talk(
        *(
            f"What the smart account on {one.chain_name} has comes back with: {way_out(one.chain)}."
            for one in told
            if one.smart
        )
    )
    return _end_of(told)


async def show_allowances(session: CommandSession, account: str | None) -> int:
    output, wallet = session.call.output, session.desk.wallet
    told = await wallet.allowances(await account_or_all(wallet, account))
    rows = [
        (one.account.name, one.chain_name, each.token.symbol, allowed_words(each),
         each.spender, spender_words(each, session.desk.catalog.provider_name))
        for one in told
        for each in one.allowances
    ]  # fmt: skip
    output.table(
        ("account", "chain", "token", "may take", "spender", "venue"),
        rows,
        numbers=(3,),
        plain=[
            f"{spender} ({who}) may take {amount} {symbol} of {name} on {chain}."
            for name, chain, symbol, amount, spender, who in rows
        ],
        document=AllowancesDocument(tuple(told)),
    )
    if not (rows or output.json) and all(one.problem is None and one.complete for one in told):
        output.talk("Nobody is allowed to take anything.")
    for one in told:
        if not one.complete and one.problem is None:
            output.talk(f"{one.chain_name} does not list every approval: there may be more.")
    output.talk(*(unread_words(one) for one in told if one.problem is not None))
    return _end_of(told)


def _end_of(told: Sequence[ChainHoldings] | Sequence[ChainAllowances]) -> int:
    unread = any(one.problem is not None for one in told)
    return Exit.UNREACHABLE if unread else Exit.DONE


async def account_or_all(wallet: LocalWallet, named: str | None) -> Account | None:
    return None if named is None else account_named(await wallet.accounts(), named)
