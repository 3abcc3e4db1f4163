"""One reading of the wallet: what its accounts have on each chain and who may take of it, told
while the chains answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from swapdesk.client.sandbox_control import SandboxControl
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.wallet.chain_holdings import ChainAllowances, ChainHoldings
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.flows.wallet.sandbox_gifts import fill_wallet
from swapdesk.wallet.accounts import Account, Accounts
from swapdesk.wallet.promise import Asset


@dataclass(frozen=True)
class Told:
    """What was read last; ``read_only``: another desk has the wallet. ``reading``: balances are
    still to come. ``smart``: what smart accounts of these accounts hold. ``answered`` are chains
    of accounts, each (address, chain), in the order of their first answers: a late one does not
    move what is shown already."""

    accounts: tuple[Account, ...] = ()
    holdings: tuple[ChainHoldings, ...] = ()
    allowances: tuple[ChainAllowances, ...] = ()
    read_only: bool = False
    problems: tuple[str, ...] = ()
    reading: bool = False
    smart: tuple[ChainHoldings, ...] = ()
    answered: tuple[tuple[str, str], ...] = ()

    @property
    def placed(self) -> tuple[ChainHoldings, ...]:
        """What the accounts hold, those that answered first on top."""
        rank = {one: place for place, one in enumerate(self.answered)}
        return tuple(sorted(self.holdings, key=lambda one: rank.get(one.place, len(rank))))

    def with_answers(self, holdings: tuple[ChainHoldings, ...]) -> Told:
        """The same with more of what was read."""
        known = set(self.answered)
        new = tuple(one.place for one in holdings if not one.reading and one.place not in known)
        return replace(self, holdings=holdings, answered=(*self.answered, *new))

    def in_order(self, holdings: tuple[ChainHoldings, ...]) -> Told:
        """The same once every chain answered: in the order of the wallet, as commands have it."""
        return replace(self, holdings=holdings, answered=())

    def anew(self, accounts: Accounts) -> Told:
        """What is known before any chain was asked again. What may be taken stands as it was read
        until it is read anew, and so does the order of the chains."""
        return Told(
            accounts.accounts,
            allowances=self.allowances,
            read_only=accounts.read_only,
            problems=tuple(f"{one.file}: {one.reason}." for one in accounts.unusable),
            reading=True,
            answered=self.answered,
        )


class WalletReading:
    """``owned`` names smart accounts as :meth:`LocalWallet.smart_holdings` asks for them, and may
    raise JournalUnavailable. ``control`` is the sandbox's, None live: new accounts are made there
    and filled by its faucet. ``made`` is told how many."""

    def __init__(
        self,
        wallet: LocalWallet,
        control: SandboxControl | None,
        owned: Callable[[], Mapping[tuple[str, str], Sequence[Asset]]],
        *,
        heard: Callable[[Told], object],
        made: Callable[[int], object],
    ) -> None:
        self._wallet = wallet
        self._control = control
        self._owned = owned
        self._heard = heard
        self._made = made

    async def read(self, known: Told | None) -> Told:
        """All of it, after ``known``; ``heard`` is told of parts. Raises WalletError and
        OSError."""
        wallet = self._wallet
        made = await wallet.prepare_sandbox()
        told = (known or Told()).anew(await wallet.accounts())
        if known is None:
            self._heard(told)
        if made:
            self._made(len(made))
        if self._control is not None and not wallet.live:
            gifts = await fill_wallet(wallet, self._control)
            told = replace(told, problems=told.problems + gifts.problems)
        told = await self._balances(told, first=known is None or not known.holdings)
        told = replace(told, smart=await self._smart(), reading=False)
        self._heard(told)
        return replace(told, allowances=await wallet.allowances())

    async def _balances(self, told: Told, *, first: bool) -> Told:
        """Of all chains. At the first reading each is told as it answers; later what was read
        before stands until all of them did, and they stand in the order of the wallet."""

        def heard(holdings: tuple[ChainHoldings, ...]) -> None:
            nonlocal told
            told = told.with_answers(holdings)
            if first:
                self._heard(told)

        holdings = await self._wallet.holdings(heard=heard)
        return told.with_answers(holdings) if first else told.in_order(holdings)

    async def _smart(self) -> tuple[ChainHoldings, ...]:
        """What smart accounts hold. A journal that cannot be read knows of none, and says so by
        itself."""
        try:
            return await self._wallet.smart_holdings(self._owned())
        except JournalUnavailable:
            return ()
