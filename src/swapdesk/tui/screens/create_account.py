"""The half of the create screen that asks the wallet: which account pays a swap on chains, and
which ones a recipient can be.

The wallet starts with the first of them; the form is there meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on
from textual.message import Message

from swapdesk.tui.messages import BalanceKnown
from swapdesk.tui.screens.create_sending import Sending
from swapdesk.tui.screens.create_words import Step, said_sent
from swapdesk.tui.widgets.check_line import Check, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from swapdesk.flows.dex.swap_account import SwapAccount
    from swapdesk.flows.intents.intent import DexTerms, Intent
    from swapdesk.flows.quotes.quoting import QuoteBoard
    from swapdesk.flows.quotes.ranking import RankedQuote
    from swapdesk.wallet.accounts import Account

ASKING = "the wallet is asked for its account"


class PaidFromWallet(Sending):
    """``account`` is None until the wallet named one; ``no_account`` says why it did not."""

    board: QuoteBoard
    row: RankedQuote
    account: SwapAccount | None = None
    no_account: str = ""
    own_balance: Decimal | None = None

    @dataclass
    class AccountRead(Message):
        """As much as is known of the account."""

        found: SwapAccount

    @dataclass
    class AccountFailed(Message):
        """Why no account can pay this."""

        said: str

    @property
    def on_chain(self) -> bool:
        return self.row.on_chain

    @dataclass
    class OwnAccountsRead(Message):
        """Accounts of the wallet that recipient or refund address may name."""

        accounts: tuple[Account, ...]

    def find_account(self) -> None:
        """Ask the wallet, in the background: which account pays a swap on chains, and else which
        ones can be paid."""
        if self.link is None:
            return
        work = self._find_account() if self.on_chain else self._find_own()
        self.run_worker(work, group="wallet", exclusive=True, exit_on_error=False)

    async def _find_own(self) -> None:
        """A wallet that cannot be asked has none to name; nothing here depends on it."""
        from swapdesk.flows.wallet.own_accounts import own_accounts, own_balance
        from swapdesk.wallet.errors import WalletError

        try:
            found = await own_accounts(self.desk, self.board.token_out, self.board.token_in)
        except WalletError:
            return
        if found:
            self.post_message(self.OwnAccountsRead(found))
        sold = self.board.token_in
        self.post_message(BalanceKnown(sold.id, await own_balance(self.desk, sold)))

    @on(BalanceKnown)
    def _balance_known(self, event: BalanceKnown) -> None:
        self.own_balance = event.amount
        self.show()

    @property
    def have(self) -> Decimal | None:
        """What the own wallet has of the token sold, as far as that is known."""
        return self.own_balance if self.account is None else self.account.balance

    def balances_changed(self) -> None:
        account = self.account
        if self.on_chain and account is not None and account.plan is not None:
            work = self._read_again(account)
            self.run_worker(work, group="wallet", exclusive=True, exit_on_error=False)
            return
        self.own_balance = None
        self.show()
        self.find_account()

    async def _read_again(self, account: SwapAccount) -> None:
        from swapdesk.flows.dex.swap_account import read_again
        from swapdesk.flows.wallet.wallet_words import failure_of_wallet
        from swapdesk.wallet.errors import WalletError

        try:
            found = await read_again(self.desk, account, self.board.token_in)
        except WalletError as error:
            failure = failure_of_wallet(error)
            self.post_message(self.AccountFailed(f"{failure.cause} Next {failure.next}."))
        else:
            self.post_message(self.AccountRead(found))

    @on(OwnAccountsRead)
    def _own_read(self, event: OwnAccountsRead) -> None:
        self.accounts_known(event.accounts, None)
        self.show()

    async def _find_account(self) -> None:
        from swapdesk.flows.dex.swap_account import NoSwapAccount, find_account, with_plan
        from swapdesk.flows.wallet.wallet_words import failure_of_wallet
        from swapdesk.wallet.errors import WalletError

        found = None
        try:
            async for found in find_account(self.desk, self.board.token_in, self.board.token_out):
                self.post_message(self.AccountRead(found))
            if found is not None:
                found = await with_plan(self.desk, found, self.row.quote_id)
                self.post_message(self.AccountRead(found))
        except NoSwapAccount as none:
            self.post_message(self.AccountFailed(str(none)))
        except WalletError as error:
            failure = failure_of_wallet(error)
            self.post_message(self.AccountFailed(f"{failure.cause} Next {failure.next}."))

    @on(AccountRead)
    def _account_read(self, event: AccountRead) -> None:
        self.account, self.no_account = event.found, ""
        self.accounts_known(event.found.own, event.found.payee)
        self.show()

    @on(AccountFailed)
    def _account_failed(self, event: AccountFailed) -> None:
        self.no_account = event.said
        self.show()

    def accounts_known(self, accounts: Sequence[Account], payee: Account | None) -> None:
        """The form may name it."""

    def lack(self) -> str:
        """Why the wallet cannot pay this now, in a few words; empty when it can."""
        if not self.on_chain:
            return ""
        if self.no_account or self.account is None:
            return self.no_account.rstrip(".") or ASKING
        board = self.board
        return self.account.lack(board.amount_in(self.row), board.token_in.symbol) or ""

    def lack_check(self) -> Check | None:
        """The same as the last line of the panel."""
        said = self.lack()
        if not said:
            return None
        waits = said == ASKING or (self.account is not None and self.account.filling)
        return Check(Verdict.UNKNOWN if waits else Verdict.REFUSED, said)

    def dex_terms(self) -> DexTerms | None:
        """What is confirmed beside the intent; None for every other route."""
        if not self.on_chain or self.account is None:
            return None
        from swapdesk.flows.catalog.coin_price import coin_price
        from swapdesk.flows.intents.intent import SLIPPAGE, terms_of

        chain, asked = self.board.token_in.chain_data, self.board.wish.on_chain.slippage
        return terms_of(
            self.row.quote,
            self.account.account.address,
            coin_price(self.desk.catalog, chain.short_name),
            SLIPPAGE if asked is None else asked,
            kind=chain.kind,
        )

    def _send(self, intent: Intent) -> None:
        if intent.dex is None:
            super()._send(intent)
            return
        if self.step is not Step.READY:
            return
        self.sent_intent = intent.id
        self.step, self._said = Step.SENT, said_sent(self.now())
        self.step_changed("sent")
        name = self.account.name if self.account is not None else ""
        plan = self.account.plan if self.account is not None else None
        # Not awaited here: the pages above the first one, this one among them, go.
        self.app.call_later(self.controls.signing.swap, intent, wallet=name, plan=plan)
