"""Paid calls of the API: the wallet signs one payment for each call (contract 14.1 to 14.4, x402).

If the service answers a call with status 402, its payment terms become a document to sign and a
promise of the same amount. The agent judges the document like any payload. It also requires a
spending policy that limits the token, and compares the price with the contract's (14.10).

The user is not asked about each call. The user is told when a price is paid for the first time, and
is asked once if the payee or the token is new.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.chain.deployments import CALL_ASSETS, CallAsset
from swapdesk.chain.node_http import NodeError
from swapdesk.chain.typed_data import Domain, authorization_document
from swapdesk.client.chain_lookup import NodeReader
from swapdesk.client.errors import NotPaid
from swapdesk.client.payments import (
    Authorization,
    CallAuthorization,
    PaymentTerms,
    RequiredPayment,
    payment_header,
)
from swapdesk.clock import Clock
from swapdesk.flows.failure_messages import IN_DESK
from swapdesk.flows.notation import grouped_address
from swapdesk.flows.transactions import NotSignable
from swapdesk.flows.wallet.chain_links import LIVE_CONFIRMATIONS, is_private_node
from swapdesk.flows.wallet.local_wallet import LocalWallet, own_promise
from swapdesk.flows.wallet.wallet_words import failure_of_wallet
from swapdesk.wallet.accounts import Account, ChainLink, Kind
from swapdesk.wallet.answers import Review, Signature, objections
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import (
    Asset,
    ChainStep,
    DepositPromise,
    Promise,
    Purpose,
    TypedDataPayload,
)
from swapdesk.wallet.protocol import WalletError
from swapdesk.wallet.rule_codes import CALL_PAYEE_CHANGED
from swapdesk.wallet.spending import plain_amount
from swapdesk.wire.encoding.numbers import from_base_units
from swapdesk.wire.operation import Operation
from swapdesk.wire.price_tiers import PriceTier

SIGNING_SECONDS = 60.0
NODE = "you: name its node under rpc of this profile"
CONSENT = (
    "you: give the command in a terminal, or swapdesk wallet policy set --call-payee {payee},"
    f" {IN_DESK}"
)
"""Who acts next if calls would be paid to a new payee, in words for the user."""
LOOK = "you: look at what the service asks for; nothing was signed"
_PAID = {
    PriceTier.FREE: "each call",
    PriceTier.READ: "each read",
    PriceTier.STATUS: "each look at orders",
    PriceTier.QUOTE: "each request for quotes",
    PriceTier.EXCHANGE: "each create or confirmation",
}
"""The words for one call of each price tier."""


async def _no_passphrase() -> None:
    """Leaves the wallet locked. This is the default where no user can type the pass phrase."""


class NewPayee(Struct, frozen=True):
    """A question to the user before API calls are paid to a new payee or in a new token. To agree,
    the user types ``phrase``; later calls are then paid without a question."""

    payee: str
    lines: tuple[str, ...]
    phrase: str


async def _nobody(asked: NewPayee) -> bool:
    return False


class CallPayer:
    """Pays API calls from the wallet's first EVM account. ``told`` gets a sentence when a price is
    paid for the first time. ``consent`` asks the user about a new payee and returns True if the
    user agrees."""

    def __init__(
        self, wallet: Callable[[], LocalWallet], clock: Clock, told: Callable[[str], None]
    ) -> None:
        self._wallet = wallet
        self._clock = clock
        self.told = told
        self.unlock: Callable[[], Awaitable[None]] = _no_passphrase
        self.consent: Callable[[NewPayee], Awaitable[bool]] = _nobody
        self._prices: set[tuple[PriceTier, str, int]] = set()
        self._declined: set[tuple[str, str]] = set()
        """The pairs of token contract and payee that the user declined; later calls do not ask
        about them."""

    async def pay(
        self, required: RequiredPayment, operation: Operation
    ) -> tuple[str, CallAuthorization]:
        """Signs the payment of one call. Returns the value of its HTTP header, and a record of the
        payment. Raises NotPaid."""
        if required.reason and not required.ways:
            raise NotPaid(f"the payment was not taken: {required.reason}", "NOT_PAID", LOOK)
        if required.problem:
            raise NotPaid(required.problem, "NOT_PAID", LOOK)
        try:
            async with asyncio.timeout(SIGNING_SECONDS) as limit:
                return await self._paid(required.ways, operation, limit)
        except TimeoutError:
            raise NotPaid("the wallet took more than a minute", "NOT_PAID", LOOK) from None
        except WalletError as error:
            failure = failure_of_wallet(error)
            raise NotPaid(failure.cause, failure.code, failure.next) from None
        except NotSignable as refused:
            words = " ".join(objections(refused.findings))
            raise NotPaid(words, refused.code, refused.next(LOOK)) from None

    async def look(self, payment: CallAuthorization) -> CallAuthorization:
        """Returns the payment with its field ``taken`` read from the chain: None if the node did
        not answer. The payment is unchanged if the wallet has no node for its chain."""
        link = next(
            (
                candidate
                for candidate in self._wallet().links
                if candidate.chain_id == payment.chain_id
            ),
            None,
        )
        if link is None:
            return payment
        node = NodeReader(link.name, link.rpc)
        try:
            taken = await node.authorization_used(
                payment.chain_id, payment.asset, payment.payer, payment.nonce
            )
        except NodeError:
            return replace(payment, taken=None)
        return replace(payment, taken=taken)

    async def _paid(
        self, ways: tuple[PaymentTerms, ...], operation: Operation, limit: asyncio.Timeout
    ) -> tuple[str, CallAuthorization]:
        wallet = self._wallet()
        terms, link, asset = _way(ways, wallet)
        if link not in wallet.links:
            # Known before the service told of its chains, which costs, too.
            await wallet.close()
            wallet.links = (*wallet.links, link)
        client = await wallet.client()
        account = await self._account(client, wallet)
        reviewed = partial(self._reviewed, client, account, terms, link, asset, operation)
        amount = plain_amount(from_base_units(terms.units, asset.decimals))
        review, given = await reviewed()
        if review.phrase is not None and not review.refused:
            limit.reschedule(None)
            await self._agreed(review, terms, asset, amount)
            # Whoever thought it over has used up the time of the first document.
            limit.reschedule(asyncio.get_running_loop().time() + SIGNING_SECONDS)
            review, given = await reviewed()
        if review.refused:
            raise NotSignable(review.findings)
        if account.address not in client.accounts.unlocked:
            await (self.unlock() if wallet.live else wallet.unlock())
        signed = await client.sign(review, review.phrase)
        assert isinstance(signed, Signature), "a document gets a signature"
        price = (operation.price_tier, asset.symbol, terms.units)
        if price not in self._prices:
            self._prices.add(price)
            self.told(
                f"Calls are paid by {account.name} ({grouped_address(account.address)}):"
                f" {amount} {asset.symbol} for {_PAID[operation.price_tier]}, to {terms.pay_to}."
            )
        payment = CallAuthorization(
            amount=amount,
            symbol=asset.symbol,
            chain=link.name,
            chain_id=terms.chain_id,
            asset=terms.asset,
            payer=account.address,
            payee=terms.pay_to,
            nonce=given.nonce,
            ends=datetime.fromtimestamp(given.valid_before, UTC),
        )
        return payment_header(terms, replace(given, signature=signed.signature)), payment

    async def _account(self, client: WalletClient, wallet: LocalWallet) -> Account:
        await wallet.prepare_sandbox()
        accounts = await client.read_accounts()
        account = accounts.first(Kind.EVM)
        if account is None:
            raise NotPaid(
                "the wallet has no EVM account that could pay calls",
                "NO_ACCOUNT",
                "you: swapdesk wallet new, while no desk is open",
            )
        return account

    async def _agreed(self, review: Review, terms: PaymentTerms, asset: Asset, amount: str) -> None:
        """Asks the user about a new payee or token. Raises NotPaid if the user declines, and
        NotSignable if the review is about anything else."""
        codes = {finding.code for finding in review.findings}
        if CALL_PAYEE_CHANGED not in codes or review.phrase != terms.pay_to[-4:]:
            raise NotSignable(review.findings)
        payee = NewPayee(
            terms.pay_to,
            (
                "The service wants its calls to be paid to somebody else, or in another token,"
                " than before.",
                f"This one: {amount} {asset.symbol} to {terms.pay_to}.",
                "The next ones are paid without a question.",
            ),
            review.phrase,
        )
        key = (terms.asset, terms.pay_to)
        if key not in self._declined and await self.consent(payee):
            return
        self._declined.add(key)
        raise NotPaid(
            f"calls were paid to somebody else or in another token before, not to {terms.pay_to}",
            CALL_PAYEE_CHANGED,
            CONSENT.format(payee=terms.pay_to),
        )

    async def _reviewed(
        self,
        client: WalletClient,
        account: Account,
        terms: PaymentTerms,
        link: ChainLink,
        asset: Asset,
        operation: Operation,
    ) -> tuple[Review, Authorization]:
        ends = self._clock.now() + timedelta(seconds=terms.seconds)
        nonce = "0x" + os.urandom(32).hex()
        before = int(ends.timestamp())
        domain = Domain(terms.name, terms.version, terms.chain_id, terms.asset)
        document = authorization_document(
            domain, account.address, terms.pay_to, terms.units, 0, before, nonce
        )
        deposit = DepositPromise(
            operation.name, terms.pay_to, None, terms.units, ends, tier=operation.price_tier
        )
        own = own_promise(secrets.token_hex(16), account.address, link, asset, ends, 0)
        promise: Promise = replace(
            own, sell_units=terms.units, recipient=terms.pay_to, valid_until=ends, deposit=deposit
        )
        step = ChainStep(nonce, 0, 1, complete=True, chained=False)
        review = await client.review(TypedDataPayload(Purpose.CALL, document, step), promise)
        return review, Authorization(account.address, 0, before, nonce, "")


def _way(
    ways: tuple[PaymentTerms, ...], wallet: LocalWallet
) -> tuple[PaymentTerms, ChainLink, Asset]:
    for terms in ways:
        for known in CALL_ASSETS:
            if (known.chain_id, known.contract) == (terms.chain_id, terms.asset):
                asset = Asset(known.symbol, known.decimals, known.contract)
                return terms, _link(known, wallet), asset
    raise NotPaid("calls are paid in no token that is known here", "NOT_PAID", LOOK)


def _link(known: CallAsset, wallet: LocalWallet) -> ChainLink:
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
