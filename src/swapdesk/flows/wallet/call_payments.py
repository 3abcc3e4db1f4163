"""Calls of the API that the wallet pays one by one (contract 14.1 to 14.4, x402).

What a 402 asks for becomes a document and a promise of the same amount; the agent judges it as
every other payload, under a spending policy that limits the token. Nobody is asked for each call:
the first payment of a price is told.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable
from datetime import timedelta

from msgspec.structs import replace

from swapdesk.chain.deployments import CALL_ASSETS, CallAsset
from swapdesk.chain.typed_data import Domain, authorization_document
from swapdesk.client.errors import NotPaid
from swapdesk.client.payments import Authorization, PaymentTerms, RequiredPayment, payment_header
from swapdesk.clock import Clock
from swapdesk.flows.notation import grouped_address
from swapdesk.flows.transactions.transactor import NotSignable
from swapdesk.flows.wallet.chain_links import LIVE_CONFIRMATIONS, is_private_node
from swapdesk.flows.wallet.local_wallet import LocalWallet, own_promise
from swapdesk.flows.wallet.wallet_words import failure_of_wallet
from swapdesk.wallet.accounts import Account, ChainLink, Kind
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import WalletError
from swapdesk.wallet.payload import ChainStep, TypedDataPayload
from swapdesk.wallet.promise import Asset, DepositPromise, Promise, Purpose
from swapdesk.wallet.review import Severity
from swapdesk.wallet.spending import plain_amount
from swapdesk.wallet.transactions import Signature
from swapdesk.wire.encoding.numbers import from_base_units
from swapdesk.wire.operation import Operation
from swapdesk.wire.price_tiers import PriceTier

SIGNING_SECONDS = 60.0
NODE = "you: name its node under rpc of this profile"
LOOK = "you: look at what the service asks for; nothing was signed"
_PAID = {
    PriceTier.FREE: "each call",
    PriceTier.READ: "each read",
    PriceTier.STATUS: "each look at orders",
    PriceTier.QUOTE: "each request for quotes",
    PriceTier.EXCHANGE: "each create or confirmation",
}
"""What is told to cost so much."""


async def _no_passphrase() -> None:
    """Without anybody who could be asked the keys stay as they are."""


class CallPayer:
    """Pays out of the first EVM account of the wallet. ``told`` hears a sentence when a price is
    paid for the first time; ``unlock`` opens the keys of a live wallet."""

    def __init__(
        self, wallet: Callable[[], LocalWallet], clock: Clock, told: Callable[[str], None]
    ) -> None:
        self._wallet = wallet
        self._clock = clock
        self.told = told
        self.unlock: Callable[[], Awaitable[None]] = _no_passphrase
        self._prices: set[tuple[PriceTier, str, int]] = set()

    async def pay(self, required: RequiredPayment, operation: Operation) -> str:
        """The value of the header that pays one call. Raises NotPaid."""
        if required.reason and not required.ways:
            raise NotPaid(f"the payment was not taken: {required.reason}", "NOT_PAID", LOOK)
        if required.problem:
            raise NotPaid(required.problem, "NOT_PAID", LOOK)
        try:
            async with asyncio.timeout(SIGNING_SECONDS):
                return await self._paid(required.ways, operation)
        except TimeoutError:
            raise NotPaid("the wallet took more than a minute", "NOT_PAID", LOOK) from None
        except WalletError as error:
            failure = failure_of_wallet(error)
            raise NotPaid(failure.cause, failure.code, failure.next) from None
        except NotSignable as refused:
            words = " ".join(
                f"{one.words} Rule {one.code}."
                for one in refused.findings
                if one.severity is Severity.REFUSE
            )
            raise NotPaid(words, refused.code, refused.next(LOOK)) from None

    async def _paid(self, ways: tuple[PaymentTerms, ...], operation: Operation) -> str:
        wallet = self._wallet()
        terms, link, asset = _way(ways, wallet)
        if link not in wallet.links:
            # Known before the service told of its chains, which costs, too.
            await wallet.close()
            wallet.links = (*wallet.links, link)
        client = await wallet.client()
        account = await self._account(client, wallet)
        header = await self._signed(client, account, terms, link, asset, operation)
        price = (operation.price_tier, asset.symbol, terms.units)
        if price not in self._prices:
            self._prices.add(price)
            amount = plain_amount(from_base_units(terms.units, asset.decimals))
            self.told(
                f"Calls are paid by {account.name} ({grouped_address(account.address)}):"
                f" {amount} {asset.symbol} for {_PAID[operation.price_tier]}."
            )
        return header

    async def _account(self, client: WalletClient, wallet: LocalWallet) -> Account:
        await wallet.prepare_sandbox()
        accounts = await client.read_accounts()
        account = next((one for one in accounts.accounts if one.kind is Kind.EVM), None)
        if account is None:
            raise NotPaid(
                "the wallet has no EVM account that could pay calls",
                "NO_ACCOUNT",
                "you: swapdesk wallet new",
            )
        return account

    async def _open(self, client: WalletClient, wallet: LocalWallet, account: Account) -> None:
        if account.address not in client.accounts.unlocked:
            await (self.unlock() if wallet.live else wallet.unlock())

    async def _signed(
        self,
        client: WalletClient,
        account: Account,
        terms: PaymentTerms,
        link: ChainLink,
        asset: Asset,
        operation: Operation,
    ) -> str:
        ends = self._clock.now() + timedelta(seconds=terms.seconds)
        nonce = "0x" + os.urandom(32).hex()
        before = int(ends.timestamp())
        domain = Domain(terms.name, terms.version, terms.chain_id, terms.asset)
        document = authorization_document(
            domain, account.address, terms.pay_to, terms.units, 0, before, nonce
        )
        deposit = DepositPromise(operation.name, terms.pay_to, None, terms.units, ends)
        own = own_promise(secrets.token_hex(16), account.address, link, asset, ends, 0)
        promise: Promise = replace(
            own, sell_units=terms.units, recipient=terms.pay_to, valid_until=ends, deposit=deposit
        )
        step = ChainStep(nonce, 0, 1, complete=True, chained=False)
        review = await client.review(TypedDataPayload(Purpose.CALL, document, step), promise)
        if review.refused or review.phrase is not None:
            raise NotSignable(review.findings)
        await self._open(client, self._wallet(), account)
        signed = await client.sign(review)
        assert isinstance(signed, Signature), "a document gets a signature"
        given = Authorization(account.address, 0, before, nonce, signed.signature)
        return payment_header(terms, given)


def _way(
    ways: tuple[PaymentTerms, ...], wallet: LocalWallet
) -> tuple[PaymentTerms, ChainLink, Asset]:
    """The first way whose token is known here, on a chain with a node. Raises NotPaid."""
    for terms in ways:
        for known in CALL_ASSETS:
            if (known.chain_id, known.contract) == (terms.chain_id, terms.asset):
                asset = Asset(known.symbol, known.decimals, known.contract)
                return terms, _link(known, wallet), asset
    raise NotPaid("calls are paid in no token that is known here", "NOT_PAID", LOOK)


def _link(known: CallAsset, wallet: LocalWallet) -> ChainLink:
    """The chain as the wallet has it, or as the configuration names its node."""
    for link in wallet.links:
        if link.chain_id == known.chain_id:
            return link
    node = wallet.settings.rpc.value.get(known.chain)
    if node is None:
        raise NotPaid(
            f"no node of {known.chain} is configured, on which calls are paid",
            "NO_NODE",
            NODE,
        )
    if not is_private_node(node):
        raise NotPaid(f"the node of {known.chain} needs https", "NO_NODE", NODE)
    return ChainLink(known.chain, Kind.EVM, known.chain_id, node, LIVE_CONFIRMATIONS[Kind.EVM])
