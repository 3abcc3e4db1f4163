"""Swaps on chains of this run of the desk: new ones, and those an earlier run left open.

Each has a session that whoever shows it looks at; the work goes on without anybody looking, up
to the next question. Keys are opened when they are first needed: in the sandbox by itself, live
by the pass phrase, which a swap whose payment is already signed does not need.
"""

from __future__ import annotations

from dataclasses import replace

from swapdesk.flows.dex.dex_plan import SwapPlan
from swapdesk.flows.dex.dex_promise import NoDexSwap
from swapdesk.flows.dex.dex_swap import DexSwapFlow
from swapdesk.flows.dex.dex_words import AGAIN, goes_on
from swapdesk.flows.dex.swap_signing import SwapSigning
from swapdesk.flows.failure_messages import NOTHING_SENT, Failure
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.signing.running_signings import RunningSignings
from swapdesk.flows.signing.signing_keys import is_shut, open_keys
from swapdesk.flows.transactions.outcome import Outcome, refused, still_open
from swapdesk.flows.wallet.wallet_words import failure_of_wallet
from swapdesk.wallet.errors import WalletError
from swapdesk.wire.encoding.numbers import NumberError


class RunningSwaps(RunningSignings[SwapSigning]):
    """By the ids of their intents."""

    FAILURES = (WalletError, NoDexSwap, NumberError)

    @property
    def waiting(self) -> list[SwapSigning]:
        """Those on which nothing goes on without the trader, oldest first."""
        return [one for one in self.open if one.waits]

    def begin(
        self, intent: Intent, *, wallet: str = "", plan: SwapPlan | None = None
    ) -> SwapSigning:
        """The session of a swap that was just confirmed; :meth:`run` does the work."""
        return self._session(intent, fresh=True, wallet=wallet, plan=plan)

    def left_open(self) -> list[SwapSigning]:
        """Sessions for what the journal has open and nobody here works on. Raises
        JournalUnavailable."""
        found = self._desk.journal.swaps.open_swaps()
        return [self._session(one, fresh=False) for one in found if self.known(one.id) is None]

    def _session(
        self, intent: Intent, *, fresh: bool, wallet: str = "", plan: SwapPlan | None = None
    ) -> SwapSigning:
        link = self._desk.wallet.link(intent.token_in.chain)
        session = SwapSigning(
            intent,
            self._desk.journal,
            self._desk.clock,
            lambda: self._changed(intent.id),
            fresh=fresh,
            wallet=wallet,
            coin=self._coin(intent.token_in.chain),
            plan=plan,
            confirmations=link.confirmations if link is not None else 0,
        )
        return self._kept(session)

    async def _work(self, session: SwapSigning) -> Outcome | None:
        await self._name_account(session)
        if session.fresh or not self._desk.wallet.live:
            await self._open_keys(session)
        outcome = await self._once(session)
        while (
            outcome is not None
            and outcome.open
            and self._desk.wallet.live
            and await self._shut(session)
        ):
            await self._open_keys(session)
            outcome = await self._once(session)
        return outcome

    async def _once(self, session: SwapSigning) -> Outcome | None:
        desk, link = self._desk, self._desk.link
        flow = DexSwapFlow(
            link.api,
            link.exchange,
            desk.journal,
            desk.clock,
            await desk.wallet.client(),
            session.look,
            watch=session,
        )
        if not session.fresh:
            return await flow.take_on(session.intent)
        session.fresh = False
        return await flow.swap(session.intent, session.plan)

    def _failed(self, session: SwapSigning, error: Exception) -> Outcome:
        """The wallet could not be asked before the flow began, or it is no swap on chains."""
        if not isinstance(error, WalletError):
            failure = Failure(f"This swap cannot be signed here: {error}.", NOTHING_SENT, AGAIN)
            return refused("NOT_CONFIRMABLE", failure)
        told = failure_of_wallet(error)
        if session.fresh:
            return refused(told.code, told)
        said = goes_on(told.cause, "as it was left", told.next)
        return replace(still_open(told.code, said), order_id=session.order_id)

    async def _name_account(self, session: SwapSigning) -> None:
        terms = session.intent.dex
        if session.wallet or terms is None:
            return
        accounts = (await self._desk.wallet.accounts()).accounts
        found = next((one for one in accounts if one.address == terms.sender), None)
        session.wallet = found.name if found is not None else ""

    async def _shut(self, session: SwapSigning) -> bool:
        terms = session.intent.dex
        return terms is not None and await is_shut(self._desk.wallet, terms.sender)

    async def _open_keys(self, session: SwapSigning) -> None:
        if session.intent.dex is not None:
            await open_keys(self._desk.wallet, session.intent.dex.sender, session)
