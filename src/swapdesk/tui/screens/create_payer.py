"""What the wallet says to a create: which account pays a swap on chains, and which ones a recipient
can be. The wallet starts with the first question; the form is there meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual.message import Message

from swapdesk.tui.messages import BalanceKnown
from swapdesk.tui.widgets.form_fields import Check, Verdict

if TYPE_CHECKING:
    from decimal import Decimal

    from swapdesk.flows.desk import Desk
    from swapdesk.flows.dex.swap_account import SwapAccount
    from swapdesk.flows.intents.intent import DexTerms
    from swapdesk.flows.quotes.quoting import QuoteResult
    from swapdesk.flows.quotes.ranking import RankedQuote
    from swapdesk.wallet.accounts import Account
    from swapdesk.wallet.errors import WalletError

ASKING = "the wallet is asked for its account"


@dataclass
class AccountRead(Message):
    """As much as is known of the account."""

    found: SwapAccount


@dataclass
class AccountFailed(Message):
    """Why no account can pay this."""

    said: str


@dataclass
class OwnAccountsRead(Message):
    """Accounts of the wallet that recipient or refund address may name."""

    accounts: tuple[Account, ...]


class Payer:
    """The account that pays, as far as it is known. Questions to the wallet are coroutines for a
    worker; their answers are posted to the page, which hands them back (``read``, ``failed``)."""

    def __init__(self, desk: Desk, post: Callable[[Message], object]) -> None:
        self._desk = desk
        self._post = post
        self.account: SwapAccount | None = None
        """None until the wallet named one."""
        self.own_balance: Decimal | None = None
        self._problem = ""

    @property
    def balance(self) -> Decimal | None:
        """What the own wallet has of the token sold, as far as that is known."""
        return self.own_balance if self.account is None else self.account.balance

    def read(self, found: SwapAccount) -> None:
        self.account, self._problem = found, ""

    def failed(self, said: str) -> None:
        self._problem = said

    def lack(self, board: QuoteResult, row: RankedQuote) -> str:
        """Why the wallet cannot pay this now, in a few words; empty when it can."""
        if not row.on_chain:
            return ""
        if self._problem or self.account is None:
            return self._problem.rstrip(".") or ASKING
        return self.account.lack(board.amount_in(row), board.token_in.symbol) or ""

    def lack_check(self, board: QuoteResult, row: RankedQuote) -> Check | None:
        """The same as the last line of the panel."""
        said = self.lack(board, row)
        if not said:
            return None
        waits = said == ASKING or (self.account is not None and self.account.filling)
        return Check(Verdict.UNKNOWN if waits else Verdict.REFUSED, said)

    def dex_terms(self, board: QuoteResult, row: RankedQuote) -> DexTerms | None:
        """What is confirmed beside the intent; None for every other route."""
        if not row.on_chain or self.account is None:
            return None
        from swapdesk.flows.catalog.coin_price import coin_price
        from swapdesk.flows.intents.intent import SLIPPAGE, terms_of

        chain, asked = board.token_in.chain_data, board.wish.on_chain.slippage
        return terms_of(
            row.quote,
            self.account.account.address,
            coin_price(self._desk.catalog, chain.short_name),
            SLIPPAGE if asked is None else asked,
            kind=chain.kind,
        )

    # questions to the wallet

    def find(self, board: QuoteResult, row: RankedQuote) -> Coroutine[Any, Any, None]:
        """Which account pays a swap on chains; else which ones can be paid."""
        return self._find_account(board, row) if row.on_chain else self._find_own(board)

    def find_again(self, board: QuoteResult, row: RankedQuote) -> Coroutine[Any, Any, None]:
        """The same, after money of the wallet moved."""
        if row.on_chain and self.account is not None and self.account.plan is not None:
            return self._read_again(self.account, board)
        self.own_balance = None
        return self.find(board, row)

    async def _find_own(self, board: QuoteResult) -> None:
        """A wallet that cannot be asked has none to name; nothing here depends on it."""
        from swapdesk.flows.wallet.own_accounts import own_accounts, own_balance
        from swapdesk.wallet.errors import WalletError

        try:
            found = await own_accounts(self._desk, board.token_out, board.token_in)
        except WalletError:
            return
        if found:
            self._post(OwnAccountsRead(found))
        self._post(BalanceKnown(board.token_in.id, await own_balance(self._desk, board.token_in)))

    async def _find_account(self, board: QuoteResult, row: RankedQuote) -> None:
        from swapdesk.flows.dex.swap_account import NoSwapAccount, find_account, with_plan
        from swapdesk.wallet.errors import WalletError

        found = None
        try:
            async for found in find_account(self._desk, board.token_in, board.token_out):
                self._post(AccountRead(found))
            if found is not None:
                found = await with_plan(self._desk, found, row.quote_id)
                self._post(AccountRead(found))
        except NoSwapAccount as none:
            self._post(AccountFailed(str(none)))
        except WalletError as error:
            self._post(_failed(error))

    async def _read_again(self, account: SwapAccount, board: QuoteResult) -> None:
        from swapdesk.flows.dex.swap_account import read_again
        from swapdesk.wallet.errors import WalletError

        try:
            self._post(AccountRead(await read_again(self._desk, account, board.token_in)))
        except WalletError as error:
            self._post(_failed(error))


def _failed(error: WalletError) -> AccountFailed:
    from swapdesk.flows.wallet.wallet_words import failure_of_wallet

    failure = failure_of_wallet(error)
    return AccountFailed(f"{failure.cause} Next {failure.next}.")
