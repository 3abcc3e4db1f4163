"""A service that may lie in every answer, the wallet that signs for whoever believes it, and what
is true all the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct

from agent.gate_world import (
    CHAIN_ID,
    GENESIS,
    MALLORY,
    NOW,
    PERMIT_NONCE,
    PERMIT_ROUTER,
    PORTAL,
    ROUTER,
    SEPARATORS,
    SETTLEMENT,
    TRAP,
    USDC,
    WETH,
)
from agent.node import URL, Contract, Move, Node, chains, token, word
from swapdesk.agent.gate.words import amount
from swapdesk.agent.process.service import answered
from swapdesk.agent.process.wallet_session import OpenedWallet
from swapdesk.agent.typed_data import read_document
from swapdesk.chain.calldata import erc20, permit2, venues
from swapdesk.chain.deployments import (
    CALL_ASSETS,
    ENTRY_POINT,
    PERMIT2,
    SANDBOX_ACCOUNT_FACTORY,
    SANDBOX_CHAIN_IDS,
)
from swapdesk.chain.smart_account import DEPOSIT_OF, GET_NONCE, account_address
from swapdesk.chain.typed_data import Domain, authorization_document
from swapdesk.clock import SystemClock
from swapdesk.flows.intents.intent import TokenFacts
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.paths import Home
from swapdesk.secret import Secret, SecretBytes
from swapdesk.settings import load_settings
from swapdesk.wallet.accounts import Account, Accounts, ChainLink, Kind, WalletPlace
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import Asset, Payload, Promise, Purpose, TransactionPayload
from swapdesk.wallet.protocol import AgentOperation, Frame, Refused
from swapdesk.wallet.transactions import SignedTransaction, TransactionState

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


class _InProcess:
    """The agent's own table of what may be asked, without a pipe between."""

    gone = None

    def __init__(self, opened: OpenedWallet) -> None:
        self._opened = opened

    async def ask(
        self,
        operation: AgentOperation,
        arguments: Mapping[str, Any] | None = None,
        **secrets: Secret | None,
    ) -> Any:
        held = {name: SecretBytes(one.reveal().encode()) for name, one in secrets.items() if one}
        frame = Frame({"do": operation, **(arguments or {})}, held)
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
        agent: Any = _InProcess(opened)
        self.client = WalletClient(agent, Accounts((), (), (), False))
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
            self.said = [refused.code.value, str(refused)]
            return False
        if isinstance(signed, SignedTransaction):
            states = frozenset({TransactionState.SIGNED})
            self.opened.records.move(signed.hash, TransactionState.SUCCEEDED, among=states)
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
