"""One reading of the wallet: what its accounts have on each chain and who may take of it, told
while the chains answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from swapdesk.client.sandbox_control import SandboxControl
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.wallet.chain_holdings import ChainAllowances, ChainHoldings
from swapdesk.flows.wallet.faucet_topup import fill_wallet
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.wallet.accounts import Account, Accounts
from swapdesk.wallet.promise import Asset


@dataclass(frozen=True)
class Told:
    """What was read last; ``read_only``: another desk has the wallet. ``reading``: balances are
    still to come. ``holdings`` are in the order of the wallet, also while some have not answered.
    ``smart``: what smart accounts of these accounts hold."""

    accounts: tuple[Account, ...] = ()
    holdings: tuple[ChainHoldings, ...] = ()
    allowances: tuple[ChainAllowances, ...] = ()
    read_only: bool = False
    problems: tuple[str, ...] = ()
    reading: bool = False
    smart: tuple[ChainHoldings, ...] = ()

    def anew(self, accounts: Accounts) -> Told:
        """What is known before any chain was asked again. What may be taken stands as it was read
        until it is read anew."""
        return Told(
            accounts.accounts,
            allowances=self.allowances,
            read_only=accounts.read_only,
            problems=tuple(f"{one.file}: {one.reason}." for one in accounts.unusable),
            reading=True,
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
        before stands until all of them did."""

        def heard(holdings: tuple[ChainHoldings, ...]) -> None:
            if first:
                self._heard(replace(told, holdings=holdings))

        return replace(told, holdings=await self._wallet.holdings(heard=heard))

    async def _smart(self) -> tuple[ChainHoldings, ...]:
        """What smart accounts hold. A journal that cannot be read knows of none, and says so by
        itself."""
        try:
            return await self._wallet.smart_holdings(self._owned())
        except JournalUnavailable:
            return ()
