"""Nothing is signed beyond what was confirmed, whatever a service rewrites in whichever answer.

There is a service that may lie in every answer, the wallet that signs for whoever believes it, and
what is true all the same. Each history is of one kind of signature. What the service says of
tokens, prices, payees and amounts is true or not, before somebody confirms and again after. The
promise is made of it by the desk's own code, and judged and signed by the agent's; the nodes tell
the truth. What was signed is held against what a person confirmed, in whole tokens by their names,
counted as the chains count.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from decimal import ROUND_DOWN, Decimal
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest
from msgspec import Struct, to_builtins
from msgspec.structs import replace
from pydantic import ValidationError

from agent.gate_world import (
    CHAIN_ID,
    GENESIS,
    MALLORY,
    NOW,
    PERMIT2_DOMAIN,
    PERMIT_NONCE,
    PERMIT_ROUTER,
    PORTAL,
    ROUTER,
    SEPARATORS,
    SETTLEMENT,
    SETTLEMENT_DOMAIN,
    TOKEN_DOMAIN,
    TRAP,
    USDC,
    WETH,
)
from agent.honest import DOCUMENTS
from agent.node import URL, Contract, Move, Node, chains, token, word
from flows.orders import intent, order
from sampling import examples
from swapdesk.acts import State
from swapdesk.agent.gate.rules.deposit import LONGEST_CALL
from swapdesk.agent.gate.words import amount
from swapdesk.agent.process.service import answered
from swapdesk.agent.process.wallet_session import OpenedWallet
from swapdesk.agent.typed_data import read_document
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.calldata import erc20, permit2, venues
from swapdesk.chain.calldata.method import CalldataError
from swapdesk.chain.deployments import (
    CALL_ASSETS,
    ENTRY_POINT,
    PERMIT2,
    SANDBOX_ACCOUNT_FACTORY,
    SANDBOX_CHAIN_IDS,
)
from swapdesk.chain.smart_account import (
    DEPOSIT_OF,
    GET_NONCE,
    EntryPointVersion,
    InnerCall,
    UserOperation,
    account_address,
    decode_batch,
    encode_batch,
    nonce_key,
    operation_json,
)
from swapdesk.chain.typed_data import Domain, authorization_document
from swapdesk.client.errors import NotPaid
from swapdesk.client.payments import PaymentTerms, RequiredPayment
from swapdesk.clock import SystemClock
from swapdesk.flows.batch.building import (
    funding_payload,
    funding_promise,
    item_promise,
    operation_payload,
)
from swapdesk.flows.batch.bundles import Bundle, BundleDeposit, BundleItem
from swapdesk.flows.deposits.wallet_funding import deposit_payload, deposit_promise
from swapdesk.flows.dex.dex_plan import promise_of
from swapdesk.flows.intents.intent import DexTerms, Intent, TokenFacts
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payments import Sum
from swapdesk.flows.transactions import NotAgreed
from swapdesk.flows.wallet.call_payments import CallPayer
from swapdesk.flows.wallet.local_wallet import LocalWallet, own_promise
from swapdesk.paths import Home
from swapdesk.secret import Secret, SecretBytes
from swapdesk.settings import load_settings
from swapdesk.wallet.accounts import Account, Accounts, ChainLink, Kind, WalletPlace
from swapdesk.wallet.answers import SignedTransaction
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import (
    Asset,
    ChainStep,
    Payload,
    Promise,
    Purpose,
    TakenOut,
    TransactionPayload,
    TypedDataPayload,
    WithdrawalPromise,
)
from swapdesk.wallet.protocol import AgentOperation, Frame, Refused
from swapdesk.wallet.spending import Limit, PolicyToken, SpendingPolicy, SpendWindow
from swapdesk.wire.chains import Chain
from swapdesk.wire.encoding.numbers import NumberError, to_base_units
from swapdesk.wire.operations import OPERATIONS
from swapdesk.wire.tokens import Token

PHRASE = Secret("correct horse battery staple")
ETHEREUM, BASE = "ethereum", "base"
BASE_ID = SANDBOX_CHAIN_IDS + 8453
WBTC = Asset("WBTC", 8, "0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599")
PEPE = Asset("PEPE", 18, "0x6982508145454Ce325dDbE47a25d4ec3d2311933")
TETHER = Asset("USDT", 6, "0xdAC17F958D2ee523a2206206994597C13D831ec7")
TETHER_OF_BASE = Asset("USDT", 6, "0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2")
ETH = Asset("ETH", 18, None)
DOLLAR = Asset("USDC", 6, CALL_ASSETS[0].contract)
WETH_OF_BASE = Asset("WETH", 18, "0x4200000000000000000000000000000000000006")
TRUE: Mapping[str, Mapping[str, Asset]] = {
    ETHEREUM: {one.symbol: one for one in (USDC, TETHER, WETH, WBTC, PEPE, ETH)},
    BASE: {one.symbol: one for one in (DOLLAR, TETHER_OF_BASE, WETH_OF_BASE, ETH)},
}
"""By the short names of chains and the symbols of their tokens."""
IDS = {ETHEREUM: CHAIN_ID, BASE: BASE_ID}
CALL_DOMAIN = Domain("USD Coin", "2", BASE_ID, str(DOLLAR.contract))
HELD = 10**30
DEPOSIT = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"
KINDS = ("decimals", "contract", "price", "payee", "amount")
"""What is rewritten."""


class Service:
    """Tells the truth, or with ``rate`` something else, of one kind alone where ``only`` names it:
    one lie among truths is the one that is believed. ``lies`` are the kinds of what it told."""

    def __init__(self, random: Random, rate: float, only: str | None = None) -> None:
        self.random = random
        self.rate = rate
        self.only = only
        self.lies: set[str] = set()

    def rewrites(self, kind: str) -> bool:
        if self.random.random() >= self.rate or self.only not in (None, kind):
            return False
        self.lies.add(kind)
        return True

    def listed(self, symbol: str, chain: str = ETHEREUM) -> TokenFacts:
        """A row of its token list."""
        true = TRUE[chain][symbol]
        return TokenFacts(
            symbol.encode().hex().ljust(24, "0"),
            symbol,
            chain,
            chain.title(),
            "evm",
            self.contract(true.contract, chain),
            self.decimals(true.decimals),
            IDS[chain],
        )

    def decimals(self, true: int) -> int:
        if not self.rewrites("decimals"):
            return true
        return max(0, true + self.random.choice([-6, -2, -2, -1, 1, 2, 12, 249]))

    def contract(self, true: str | None, chain: str = ETHEREUM) -> str | None:
        if not self.rewrites("contract"):
            return true
        return self.random.choice([one.contract for one in TRUE[chain].values()] + [TRAP])

    def payee(self, true: str) -> str:
        return self.random.choice([MALLORY, TRAP, ROUTER]) if self.rewrites("payee") else true

    def units(self, true: int) -> int:
        if not self.rewrites("amount"):
            return true
        dearer = [true + 1, true * 2, true * 100, true * 10**12, (1 << 160) - 1]
        return self.random.choice([*dearer, max(true - 1, 0), 0])

    def price(self, true: Decimal) -> Decimal:
        if not self.rewrites("price"):
            return true
        return true * self.random.choice([Decimal("0.001"), Decimal("0.5"), Decimal(100)])


class Taken(Struct, frozen=True):
    """What a payload lets leave, as whoever made it knows: ``units`` of a token (None: the coin)
    go to ``payee`` or may be taken by it."""

    token: str | None
    units: int
    payee: str


class Got(Struct, frozen=True):
    """At least ``units`` of a token arrive at ``to`` on ``chain``."""

    token: str | None
    units: int
    to: str
    chain: str = ETHEREUM


class Confirmed(Struct, frozen=True):
    """What a person said yes to, in whole tokens and by their names: at most ``most`` of ``sold``
    leaves to one of ``payees``, and at least ``least`` of ``bought`` arrives at ``to``."""

    chain: str
    sold: str
    most: Decimal
    payees: frozenset[str]
    bought: str = ""
    least: Decimal = Decimal(0)
    to: str = ""
    chain_out: str = ETHEREUM

    def hold(self, taken: Sequence[Taken], got: Got | None) -> None:
        """Nothing beyond it was signed, counted as the chains do."""
        token = TRUE[self.chain][self.sold]
        for one in taken:
            assert one.token == token.contract, (one, self)
            assert one.payee in self.payees, (one, self)
        # An order may ask for one part in ten thousand above what was confirmed.
        most = int(self.most.scaleb(token.decimals))
        assert sum(one.units for one in taken) <= most + most // 10_000, (taken, self)
        if self.bought:
            wanted = TRUE[self.chain_out][self.bought]
            assert (got.token, got.to, got.chain) == (wanted.contract, self.to, self.chain_out)
            assert got.units >= int(self.least.scaleb(wanted.decimals)), (got, self)


class _InProcess(WalletClient):
    """The agent's own table of what may be asked, without a pipe between."""

    def __init__(self, opened: OpenedWallet) -> None:
        self._opened = opened
        self.gone = None
        self.accounts = Accounts((), (), (), False)

    async def ask(self, operation: AgentOperation, /, **arguments: Any) -> Any:
        secrets = {name: one for name, one in arguments.items() if isinstance(one, Secret)}
        held = {name: SecretBytes(one.reveal().encode()) for name, one in secrets.items()}
        plain = {name: one for name, one in arguments.items() if name not in held}
        frame = Frame({"do": operation, **to_builtins(plain)}, held)
        try:
            return (await answered(self._opened, operation, frame))[0]
        except Refused as refusal:
            raise Refused(refusal.code, refusal.words, refusal.findings) from None

    async def close(self) -> None:
        """Nothing runs beside the test."""


class _Wallet(LocalWallet):
    made: WalletClient

    async def client(self) -> WalletClient:
        return self.made

    async def prepare_sandbox(self) -> tuple[Account, ...]:
        return ()


class Trader:
    """A wallet with one open key on two chains, whose nodes tell the truth."""

    def __init__(self, opened: OpenedWallet, directory: Path) -> None:
        self.opened = opened
        self.clock = opened.clock
        separators = dict(SEPARATORS)
        dollar = authorization_document(CALL_DOMAIN, MALLORY, MALLORY, 1, 0, 1, "0x" + "00" * 32)
        separators[DOLLAR.contract] = read_document(dollar).domain_separator
        nodes = {}
        for chain, tokens in TRUE.items():
            contracts = {
                str(one.contract): token(one.decimals, one.symbol, HELD)
                for one in tokens.values()
                if one.contract is not None
            }
            # A contract that agrees with whatever the list said of it would be an own token.
            contracts[TRAP] = token(6, "TRAP", HELD)
            for one in (ROUTER, PERMIT_ROUTER, SETTLEMENT, PORTAL, PERMIT2, ENTRY_POINT):
                contracts[one] = Contract({})
            contracts[SANDBOX_ACCOUNT_FACTORY] = Contract({})
            contracts[SETTLEMENT].calls[venues.NONCE_USED.selector] = word(0)
            contracts[PERMIT2].calls[permit2.NONCE_BITMAP.selector] = word(0)
            contracts[ENTRY_POINT].calls[GET_NONCE.selector] = lambda data: word(
                GET_NONCE.read(data)["key"] << 64
            )
            contracts[ENTRY_POINT].calls[DEPOSIT_OF.selector] = word(0)
            for contract in contracts.values():
                contract.calls.setdefault(erc20.AUTHORIZATION_STATE.selector, word(0))
                contract.calls.setdefault(erc20.NONCES.selector, word(PERMIT_NONCE))
            for address, separator in separators.items():
                if address in contracts and separator is not None:
                    contracts[address].calls[erc20.DOMAIN_SEPARATOR.selector] = separator
            nodes[chain] = Node(IDS[chain], GENESIS, contracts)
            nodes[chain].coins = HELD
        self.nodes: dict[str, Node] = nodes
        opened._chains = chains(opened.records.genesis, **nodes)
        self.account = Account("", Kind.EVM, "", "sandbox", None, None, self.clock.now())  # type: ignore[arg-type]
        self.links = tuple(
            ChainLink(name, Kind.EVM, one.chain_id, URL, 1) for name, one in nodes.items()
        )
        self.client = _InProcess(opened)
        self.wallet = _Wallet(load_settings({}, Home.at(directory)), self.clock, self.links)
        self.wallet.made = self.client
        self._number = 0
        self.said: list[str] = []
        """Why the last one was not signed."""
        self.purposes: set[Purpose] = set()
        """Of everything that was signed."""
        self.paid_calls: set[str] = set()
        """Who was paid for calls."""
        self.flips: TokenFacts | None = None
        """A row of the list that the contract agrees with when it is first asked."""

    async def begin(self) -> None:
        self.account = await self.client.create(Kind.EVM, "", PHRASE)
        for one in self.nodes.values():
            one.contracts[self.smart_account] = Contract({})

    @property
    def address(self) -> str:
        return self.account.address

    @property
    def smart_account(self) -> str:
        return account_address(self.address)

    def next(self) -> int:
        """A day and more later, so that no limit remembers the history before."""
        self._number += 1
        self.flips = None
        self.clock.advance_to(self._number * 90_000.0)
        for one in self.nodes.values():
            one.time = int(self.clock.now().timestamp())
        return self._number

    def soon(self, minutes: int = 20) -> int:
        return int((self.clock.now() + timedelta(minutes=minutes)).timestamp())

    @contextmanager
    def _lying_once(self, row: TokenFacts) -> Iterator[None]:
        contract = self.nodes[row.chain].contracts.get(row.contract or "")
        if contract is None:
            yield
            return
        true = contract.calls[erc20.DECIMALS.selector]
        contract.calls[erc20.DECIMALS.selector] = word(row.decimals)
        try:
            yield
        finally:
            contract.calls[erc20.DECIMALS.selector] = true

    async def signs(
        self,
        payload: Payload,
        promise: Promise,
        confirmed: Confirmed,
        taken: Sequence[Taken],
        got: Got | None = None,
    ) -> bool:
        """Whether it is signed: by whoever sees nothing refused and is asked for no phrase."""
        node = self.nodes.get(promise.chain)
        if node is not None:
            node.moves = self._moves(payload, taken, got)
        flips, self.flips = self.flips, None
        lying = nullcontext() if flips is None else self._lying_once(flips)
        try:
            with lying:
                review = await self.client.review(payload, promise)
            self.said = [one.code for one in review.findings]
            if review.refused or review.phrase is not None:
                return False
            signed = await self.client.sign(review)
        except Refused as refused:
            self.said = [refused.code, str(refused)]
            return False
        if isinstance(signed, SignedTransaction):
            self.opened.records.move(signed.hash, State.DONE, among=(State.PREPARED,))
            node.nonce += 1
        self.purposes.add(payload.purpose)
        confirmed.hold(taken, got)
        shown = [one.signed for one in review.lines if one.units is not None]
        true = TRUE[confirmed.chain][confirmed.sold]
        for one in taken:
            assert amount(one.units, true) in shown, (shown, one)
        return True

    def _moves(self, payload: Payload, taken: Sequence[Taken], got: Got | None) -> list[Move]:
        if not isinstance(payload, TransactionPayload):
            return []
        data = bytes.fromhex(payload.data[2:10])
        if data in (erc20.APPROVE.selector, permit2.APPROVE.selector):
            return []
        payer = self.smart_account if payload.purpose is Purpose.WITHDRAW else self.address
        moves = [Move(one.token, payer, one.payee, one.units) for one in taken]
        if got is not None and got.chain == ETHEREUM:
            moves.append(Move(got.token, ROUTER, got.to, got.units))
        return moves


def asset_of(facts: TokenFacts) -> Asset:
    return Asset(facts.symbol, facts.decimals, facts.contract)


def opened_wallet(directory: Path) -> OpenedWallet:
    place = WalletPlace(str(directory / "keys"), "sandbox")
    opened = OpenedWallet(place, lambda: None, cost=2)
    opened.clock = SystemClock(wall=lambda: NOW)
    return opened


T = TypeVar("T")
SLIPPAGE = Decimal("0.5")
PRICES = {"USDC": Decimal(1), "WETH": Decimal(2_500), "ETH": Decimal(2_500),
          "WBTC": Decimal(100_000), "PEPE": Decimal("0.00001")}  # fmt: skip
READ = next(one for one in OPERATIONS if one.name == "get_order")


def confirmed_intent(
    trader: Trader, service: Service, sold: str, bought: str, provider: str, chain_out: str
) -> Intent:
    """What somebody confirms who types an amount and reads the rest off the service."""
    random = service.random
    amount = Decimal(random.choice(["10", "0.5", "2.25", "1000"]))
    price = service.price(PRICES[sold] / PRICES[bought])
    listed = service.listed(sold)
    flips(trader, service, listed)
    return intent(
        token_in=listed,
        token_out=service.listed(bought, chain_out),
        amount_in=amount,
        amount_out=(amount * price).quantize(Decimal("1e-6"), ROUND_DOWN),
        route="dex",
        provider=provider,
        quote_id=f"q-{random.random()}",
        valid_until=trader.clock.now() + timedelta(minutes=5),
        recipient=trader.address,
        dex=DexTerms(trader.address, SLIPPAGE, 10**16),
    )


def flips(trader: Trader, service: Service, row: TokenFacts) -> None:
    """Some contracts agree with the list when they are first asked, and tell the truth then."""
    if "decimals" in service.lies and service.random.random() < 0.5:
        service.lies.add("first answer")
        trader.flips = row


def confirmed_by(made: Intent, payees: set[str]) -> Confirmed:
    return Confirmed(ETHEREUM, made.token_in.symbol, made.amount_in, frozenset(payees))


def buying(made: Intent, payees: set[str]) -> Confirmed:
    """The same with what has to arrive: what was quoted less the slippage."""
    out = made.token_out
    least = made.amount_out * (100 - SLIPPAGE) / 100
    digits = Decimal(1).scaleb(-TRUE[out.chain][out.symbol].decimals)
    return replace(
        confirmed_by(made, payees),
        bought=out.symbol,
        least=least.quantize(digits, ROUND_DOWN),
        to=made.recipient,
        chain_out=out.chain,
    )


class Unwritable(Exception):
    """By what the service says nobody can write it down: nothing comes of it."""


def written(make: Callable[..., T], *arguments: Any, **named: Any) -> T:
    try:
        return make(*arguments, **named)
    except (NumberError, ValidationError, NotAgreed):
        # More digits than the token is said to have, or an amount that is none.
        raise Unwritable from None


def call(purpose: Purpose, to: str | None, data: bytes, value: int = 0) -> TransactionPayload:
    return TransactionPayload(purpose, to or ROUTER, "0x" + data.hex(), value)


async def deposit(trader: Trader, service: Service, sold: str) -> bool:
    made = confirmed_intent(trader, service, sold, "WETH", "ba", ETHEREUM)
    asked = Decimal(service.units(int(made.amount_in * 10**4))) / 10**4
    expires = trader.clock.now() + timedelta(minutes=30)
    told = written(order, made, deposit_address=DEPOSIT, in_amount=asked, expires=expires)
    tracked = TrackedOrder(told, made, None, ended=False, seen_at=told.created, source="create")
    promise = written(deposit_promise, tracked, trader.account, None)
    again = promise.deposit
    # The order as it is told once more, after it was compared and released.
    later = replace(
        promise,
        sell=replace(promise.sell, contract=service.contract(promise.sell.contract)),
        deposit=replace(
            again, address=service.payee(again.address), units=service.units(again.units)
        ),
    )
    payload = written(deposit_payload, later)
    taken = [Taken(later.sell.contract, later.deposit.units, later.deposit.address)]
    return await trader.signs(payload, promise, confirmed_by(made, {DEPOSIT}), taken)


async def token_deposit(trader: Trader, service: Service) -> bool:
    return await deposit(trader, service, service.random.choice(["USDC", "WBTC", "PEPE"]))


async def coin_deposit(trader: Trader, service: Service) -> bool:
    return await deposit(trader, service, "ETH")


async def approval(trader: Trader, service: Service) -> bool:
    sold = service.random.choice(["USDC", "WBTC", "PEPE"])
    made = confirmed_intent(trader, service, sold, "WETH", "ba", ETHEREUM)
    promise = written(promise_of, made)
    spender, units = service.payee(ROUTER), min(service.units(promise.sell_units), (1 << 256) - 1)
    contract = service.contract(promise.sell.contract)
    if service.random.random() < 0.5:
        payload = call(Purpose.APPROVE, contract, erc20.APPROVE.call(spender, units))
    else:
        units = min(units, (1 << 160) - 1)
        data = permit2.APPROVE.call(contract or ROUTER, spender, units, trader.soon())
        payload = call(Purpose.APPROVE, PERMIT2, data)
    taken = [Taken(contract, units, spender)] if units else []
    return await trader.signs(payload, promise, confirmed_by(made, {ROUTER}), taken)


def document(name: str, domain: dict[str, Any], **message: Any) -> dict[str, Any]:
    return DOCUMENTS[name].message(**message).payload.document | {"domain": domain}


def signable(purpose: Purpose, told: dict[str, Any], key: str) -> TypedDataPayload:
    return TypedDataPayload(purpose, told, ChainStep(key, 0, 1, complete=True, chained=False))


async def permit(trader: Trader, service: Service) -> bool:
    """EIP-2612 of the dollar, or a document of Permit2."""
    random = service.random
    sold = random.choice(["USDC", "USDC", "WBTC"])
    made = confirmed_intent(trader, service, sold, "WETH", "is", ETHEREUM)
    promise = written(promise_of, made)
    spender = service.payee(SETTLEMENT)
    units = min(service.units(promise.sell_units), (1 << 160) - 1)
    contract = service.contract(promise.sell.contract) or ROUTER
    if sold == "USDC" and random.random() < 0.5:
        domain = {**TOKEN_DOMAIN, "verifyingContract": contract}
        if service.rewrites("domain"):
            domain["version"] = "1"
        told = document(
            "Permit", domain, owner=trader.address, spender=spender, value=str(units),
            nonce=PERMIT_NONCE, deadline=trader.soon(),
        )  # fmt: skip
    else:
        permitted = {"token": contract, "amount": str(units)}
        told = document(
            "PermitTransferFrom", PERMIT2_DOMAIN, permitted=permitted, spender=spender,
            nonce=str(random.getrandbits(64)), deadline=trader.soon(),
        )  # fmt: skip
    payload = signable(Purpose.APPROVE, told, "permit")
    taken = [Taken(contract, units, spender)] if units else []
    return await trader.signs(payload, promise, confirmed_by(made, {SETTLEMENT}), taken)


def _least(service: Service, promise: Promise) -> int:
    """What has to arrive by the document."""
    least = promise.least_units
    if service.rewrites("price"):
        least = max(service.random.choice([least - 1, least // 100, 1, least + 1]), 0)
    return least


async def signed_order(trader: Trader, service: Service) -> bool:
    sold = service.random.choice(["USDC", "WBTC"])
    made = confirmed_intent(trader, service, sold, "WETH", "is", ETHEREUM)
    promise = written(promise_of, made)
    units, least = service.units(promise.sell_units), _least(service, promise)
    to, contract = service.payee(promise.recipient), service.contract(promise.sell.contract)
    bought = service.contract(promise.buy.contract)
    told = document(
        "Order", SETTLEMENT_DOMAIN, owner=trader.address, sellToken=contract or ROUTER,
        buyToken=bought or ROUTER, receiver=to, sellAmount=str(units), feeAmount="0",
        buyAmount=str(least), validTo=trader.soon(), nonce=str(service.random.getrandbits(60)),
    )  # fmt: skip
    payload = signable(Purpose.ORDER, told, "order")
    taken, got = [Taken(contract or ROUTER, units, SETTLEMENT)], Got(bought, least, to)
    return await trader.signs(payload, promise, buying(made, {SETTLEMENT}), taken, got)


async def swap(trader: Trader, service: Service) -> bool:
    sold, bought = service.random.choice([("USDC", "WETH"), ("WBTC", "USDC"), ("USDC", "WBTC")])
    made = confirmed_intent(trader, service, sold, bought, "ba", ETHEREUM)
    promise = written(promise_of, made)
    units, least = service.units(promise.sell_units), _least(service, promise)
    to = service.payee(promise.recipient)
    path = [
        service.contract(promise.sell.contract) or ROUTER,
        service.contract(promise.buy.contract) or ROUTER,
    ]
    data = venues.SWAP_TOKENS.call(units, least, path, to, trader.soon())
    payload = call(Purpose.SWAP, ROUTER, data)
    taken, got = [Taken(path[0], units, ROUTER)], Got(path[1], max(least, promise.least_units), to)
    signed = await trader.signs(payload, promise, buying(made, {ROUTER}), taken, got)
    assert not signed or least >= promise.least_units
    return signed


async def bridge(trader: Trader, service: Service) -> bool:
    """What arrives is of another chain, which has a node of its own."""
    bought = service.random.choice(["USDC", "WETH"])
    made = confirmed_intent(trader, service, "USDC", bought, "me", BASE)
    promise = written(promise_of, made)
    units, least = service.units(promise.sell_units), _least(service, promise)
    to, contract = service.payee(promise.recipient), service.contract(promise.sell.contract)
    out = service.contract(promise.buy.contract, BASE)
    destination = BASE_ID + 1 if service.rewrites("chain") else BASE_ID
    data = venues.SEND.call(
        contract or ROUTER, units, destination, out or ROUTER, least, to, trader.soon()
    )
    chain = BASE if destination == BASE_ID else "elsewhere"
    taken = [Taken(contract or ROUTER, units, PORTAL)]
    got = Got(out or ROUTER, least, to, chain)
    payload = call(Purpose.SWAP, PORTAL, data)
    return await trader.signs(payload, promise, buying(made, {PORTAL}), taken, got)


def bundle_of(trader: Trader, service: Service, multi_id: str) -> tuple[Token, Bundle, BundleItem]:
    """Two deposits of one token, and an operation as the service makes it."""
    listed = service.listed(service.random.choice(["USDC", "WBTC", "PEPE"]))
    flips(trader, service, listed)
    asset, expires = asset_of(listed), trader.clock.now() + timedelta(minutes=20)
    rows = [written(to_base_units, one, asset.decimals) for one in (Decimal(3), Decimal("4.5"))]
    deposits = tuple(
        BundleDeposit(at, f"o-{at}", DEPOSIT, units, expires) for at, units in enumerate(rows)
    )
    contract = service.contract(asset.contract)
    calls = [
        _paying(contract, service.payee(one.address), service.units(one.units)) for one in deposits
    ]
    operation = UserOperation(
        sender=service.payee(trader.smart_account),
        nonce=nonce_key(multi_id, asset.contract, 0) << 64,
        call_data=encode_batch(calls),
        call_gas_limit=300_000,
        verification_gas_limit=200_000,
        pre_verification_gas=100_000,
        max_fee_per_gas=10**9,
        max_priority_fee_per_gas=10**9,
    )
    told = {
        "userOperation": operation_json(operation, with_signature=False),
        "entryPoint": service.payee(ENTRY_POINT),
        "entryPointVersion": "0.7",
        "chainId": IDS[ETHEREUM],
    }
    item = BundleItem(
        listed.id, asset.symbol, asset.decimals, asset.contract, 0, deposits, sum(rows), told
    )
    chain = Chain(id="1", name="Ethereum", short_name=ETHEREUM, kind="evm", chain_id=IDS[ETHEREUM])
    coin = Token(
        id="e" * 24,
        chain=ETHEREUM,
        chain_data=chain,
        decimals=18,
        symbol="ETH",
        name="Ether",
        price=Decimal(2_500),
    )
    built = Bundle("evm", ETHEREUM, trader.address, operation.sender, (item,), gas_units=10**16)
    return coin, built, item


def _paying(contract: str | None, to: str, units: int) -> InnerCall:
    if contract is None:
        return InnerCall(to, max(units, 1))
    return InnerCall(contract, 0, erc20.TRANSFER.call(to, units))


def _taken(call: InnerCall) -> Taken:
    if not call.data:
        return Taken(None, call.value, checksummed(call.to))
    told = erc20.TRANSFER.read(call.data)
    return Taken(call.to, told["amount"], told["to"])


async def bundle(trader: Trader, service: Service) -> bool:
    multi_id = f"group-{service.random.random()}"
    coin, built, item = bundle_of(trader, service, multi_id)
    promise = item_promise(multi_id, coin, built, item)
    data = bytes.fromhex(item.document["userOperation"]["callData"][2:])
    taken = [_taken(one) for one in decode_batch(data, EntryPointVersion.V07)]
    confirmed = Confirmed(ETHEREUM, item.symbol, Decimal("7.5"), frozenset({DEPOSIT}))
    return await trader.signs(operation_payload(item), promise, confirmed, taken)


async def funding(trader: Trader, service: Service) -> bool:
    multi_id = f"fund-{service.random.random()}"
    coin, built, item = bundle_of(trader, service, multi_id)
    contract = service.contract(item.contract)
    need = Sum(item.symbol, item.decimals, item.contract, service.units(item.sum.units))
    promise = funding_promise(multi_id, coin, built, need)
    payload = funding_payload(built, replace(need, contract=contract))
    confirmed = Confirmed(ETHEREUM, item.symbol, Decimal("7.5"), frozenset({trader.smart_account}))
    return await trader.signs(
        payload, promise, confirmed, [Taken(contract, need.units, built.sender)]
    )


async def withdrawal(trader: Trader, service: Service) -> bool:
    """What the smart account holds is told by the chain; the list names what is asked after."""
    sold = service.random.choice(["USDC", "WBTC", "PEPE"])
    listed = asset_of(service.listed(sold))
    link = trader.links[0]
    try:
        held = await trader.client.smart_account(trader.address, ETHEREUM, [listed])
    except Refused:
        return False
    (balance,) = held.balances
    if not balance.units:
        return False
    units = 10 ** TRUE[ETHEREUM][sold].decimals
    asset = balance.asset if service.random.random() < 0.7 else listed
    own = own_promise(
        f"w-{service.random.random()}", trader.address, link, asset, trader.clock.now(), 10**16,
        WithdrawalPromise((TakenOut(asset, units),)),
    )  # fmt: skip
    contract, to = service.contract(asset.contract), service.payee(trader.address)
    amount = service.units(units)
    call_ = _paying(contract, to, amount)
    account = service.payee(trader.smart_account)
    payload = call(Purpose.WITHDRAW, account, encode_batch([call_]))
    confirmed = Confirmed(ETHEREUM, sold, Decimal(1), frozenset({trader.address}))
    taken = [Taken(contract, amount, to)]
    return await trader.signs(payload, own, confirmed, taken)


async def limited(trader: Trader, service: Service) -> bool:
    """A policy is sealed by what the list says, and lets whole tokens leave as it was set."""
    sold = service.random.choice(["USDC", "WBTC", "PEPE"])
    listed = service.listed(sold)
    token = PolicyToken(listed.chain_id, listed.contract, listed.decimals, sold, ETHEREUM)
    most = Decimal(1)
    policy = SpendingPolicy((Limit(SpendWindow.PAYMENT, most, token),))
    try:
        await trader.client.set_policy(policy, PHRASE)
    except Refused:
        return False
    true = TRUE[ETHEREUM][sold]
    if listed.contract != true.contract:
        # It limits another token, by its contract, which is what is printed.
        await trader.client.set_policy(SpendingPolicy(), PHRASE)
        return False
    honest = replace(listed, contract=true.contract, decimals=true.decimals)
    made = replace(confirmed_intent(trader, service, sold, "WETH", "ba", ETHEREUM), token_in=honest)
    made = replace(made, amount_in=Decimal(service.random.choice(["0.5", "1", "1.0001", "25"])))
    try:
        promise = written(promise_of, made)
        data = erc20.APPROVE.call(ROUTER, promise.sell_units)
        taken = [Taken(true.contract, promise.sell_units, ROUTER)]
        confirmed = Confirmed(ETHEREUM, sold, min(most, made.amount_in), frozenset({ROUTER}))
        payload = call(Purpose.APPROVE, true.contract, data)
        return await trader.signs(payload, promise, confirmed, taken)
    finally:
        await trader.client.set_policy(SpendingPolicy(), PHRASE)


async def paid_calls(trader: Trader, service: Service) -> bool:
    """Nobody is asked for each: a policy says how much leaves in a day, the contract what a call
    costs, and whoever is paid first is the only one, since nobody agrees to another."""
    listed = service.listed("USDC", BASE)
    token = PolicyToken(BASE_ID, listed.contract, listed.decimals, "USDC", BASE)
    policy = SpendingPolicy((Limit(SpendWindow.DAY, Decimal(1), token),))
    try:
        await trader.client.set_policy(policy, PHRASE)
    except Refused:
        return False
    payer = CallPayer(lambda: trader.wallet, trader.clock, lambda _: None)
    paid = 0
    for _ in range(4):
        terms = _terms(service)
        try:
            await payer.pay(RequiredPayment((terms,)), READ)
        except NotPaid:
            continue
        assert terms.asset == DOLLAR.contract
        assert terms.chain_id == BASE_ID
        assert terms.units <= 10 * 100, "ten times the price of a look at an order"
        trader.paid_calls.add(terms.pay_to)
        assert len(trader.paid_calls) == 1
        paid += terms.units
        trader.purposes.add(Purpose.CALL)
    assert paid <= 10 ** TRUE[BASE]["USDC"].decimals
    await trader.client.set_policy(SpendingPolicy(), PHRASE)
    return paid > 0


def _terms(service: Service) -> PaymentTerms:
    asset, payee = service.contract(DOLLAR.contract, BASE) or ROUTER, service.payee(DEPOSIT)
    units = service.units(100)
    if service.rewrites("price"):
        units = service.random.choice([101, 900_000, 10**12])
    chain_id = IDS[ETHEREUM] if service.rewrites("chain") else BASE_ID
    accepted = {"payTo": payee, "amount": str(units)}
    seconds = int(LONGEST_CALL.total_seconds()) // 2
    name, version = str(CALL_DOMAIN.name), str(CALL_DOMAIN.version)
    return PaymentTerms(chain_id, asset, units, payee, seconds, name, version, accepted)


class Way(Struct, frozen=True):
    """``play`` tells whether anything was signed; ``unsaid`` are kinds of lies for which there is
    no word in it: no price where nothing is bought, and no first answer of a coin."""

    play: Callable[[Trader, Service], Awaitable[bool]]
    purposes: frozenset[Purpose]
    unsaid: frozenset[str] = frozenset()
    bounded: bool = False
    """More may be asked for than the policy lets leave, without any lie."""


def way(play: Any, purpose: Purpose, *unsaid: str, bounded: bool = False) -> Way:
    return Way(play, frozenset({purpose}), frozenset(unsaid), bounded)


WAYS = {
    "deposit of a token": way(token_deposit, Purpose.DEPOSIT),
    "deposit of the coin": way(coin_deposit, Purpose.DEPOSIT, "first answer"),
    "approval": way(approval, Purpose.APPROVE),
    "permit": way(permit, Purpose.APPROVE),
    "order": way(signed_order, Purpose.ORDER),
    "swap": way(swap, Purpose.SWAP),
    "bridge": way(bridge, Purpose.SWAP),
    "bundle": way(bundle, Purpose.BUNDLE, "price"),
    "funding": way(funding, Purpose.FUND, "price"),
    "withdrawal": way(withdrawal, Purpose.WITHDRAW, "price", "first answer"),
    "policy": way(limited, Purpose.APPROVE, "payee", "amount", "first answer", bounded=True),
    "call": way(paid_calls, Purpose.CALL, "first answer", bounded=True),
}
HISTORIES = 10_000


async def play(directory: Path, way: Way, histories: range) -> Counter[str]:
    """How often each kind of lie was told, and what came of it."""
    trader = Trader(opened_wallet(directory), directory)
    await trader.begin()
    met: Counter[str] = Counter()
    for number in histories:
        random = Random(number)
        only = random.choice([None, *KINDS, "decimals", "contract"])
        service = Service(random, random.choice([0.0, 0.1, 0.3, 0.5]), only)
        trader.next()
        try:
            signed = await way.play(trader, service)
        except (CalldataError, OverflowError, Unwritable):
            # By so many decimals it is no number of a chain, and nobody can write it down.
            signed = False
        assert signed or service.lies or way.bounded, (number, trader.said)
        met.update([*service.lies, "signed" if signed else "not signed"])
    assert trader.purposes == way.purposes
    return met


@pytest.mark.parametrize("name", WAYS)
def test_nothing_is_signed_beyond_what_was_confirmed(tmp_path: Path, name: str) -> None:
    part = examples(HISTORIES, part=10) // len(WAYS) + 1
    first = list(WAYS).index(name) * part
    met = asyncio.run(play(tmp_path, WAYS[name], range(first, first + part)))
    wanted = {"signed", "not signed", "first answer", *KINDS} - WAYS[name].unsaid
    assert set(met) >= wanted, wanted - set(met)


def test_every_kind_of_signature_by_which_something_leaves_is_played() -> None:
    played = frozenset().union(*(one.purposes for one in WAYS.values()))
    assert played == set(Purpose) - {Purpose.REVOKE, Purpose.CANCEL, Purpose.DEPLOY}
