"""A chain as the gate reads it: it tells the truth about itself and about known contracts, and
at an attacker's contract whatever the payload would like to hear."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from msgspec import Struct, field

from agent.node import text_word, word
from swapdesk.agent.gate.case import (
    Facts,
    GasPlan,
    PastSignatures,
    Policy,
    Read,
    needed,
)
from swapdesk.agent.shapes.claim import Claim
from swapdesk.agent.typed_data import read_document
from swapdesk.chain.calldata import erc20, permit2, venues
from swapdesk.chain.deployments import (
    ENTRY_POINT,
    ENTRY_POINT_08,
    PERMIT2,
    SANDBOX_ACCOUNT_FACTORY,
    SANDBOX_VENUES,
    Role,
    VenueContract,
)
from swapdesk.chain.smart_account import GET_NONCE
from swapdesk.wallet.answers import BalanceChange, Review, Simulation
from swapdesk.wallet.promise import Asset, Promise

NOW = datetime(2026, 11, 20, 14, 2, 30, tzinfo=UTC)
SECONDS = int(NOW.timestamp())
CHAIN_ID = 1_337_000_001
OTHER_CHAIN_ID = 1_337_008_453
GENESIS = "0x" + "9e" * 32

ALICE = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
BOB = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
MALLORY = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
"""A thief's own account, without code."""
TRAP = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
"""A thief's contract."""
DEPOSIT = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"
USDC = Asset("USDC", 6, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")
WETH = Asset("WETH", 18, "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2")
ETH = Asset("ETH", 18, None)
ROUTER, PERMIT_ROUTER, SETTLEMENT, PORTAL = (one.address for one in SANDBOX_VENUES)

SELL = 1_000_000_000
LEAST = 298_823_000_000_000_000
QUOTED = 300_331_000_000_000_000
GAS = 10**16

PERMIT_NONCE = 17
PERMIT2_NONCE = 3
USED_NONCE = 5
"""Of everything that is not counted upward, this one was used."""

PROMISE = Promise(
    intent_id="i-1",
    account=ALICE,
    chain="eth",
    chain_id=CHAIN_ID,
    sell=USDC,
    sell_units=SELL,
    buy=WETH,
    chain_out="eth",
    least_units=LEAST,
    quoted_units=QUOTED,
    recipient=ALICE,
    venue="is",
    quote_id="q-1",
    valid_until=NOW + timedelta(minutes=5),
    gas_units=GAS,
    chain_out_id=CHAIN_ID,
)
POLICY = Policy(ALICE, CHAIN_ID, GENESIS, SANDBOX_VENUES, smart_accounts=True)
TRUSTED_TRAP = (*SANDBOX_VENUES, VenueContract("is", Role.SETTLEMENT, TRAP))
"""Venues of a policy that takes the thief's contract for one of the quote's venue."""

CODE = b"\x60\x80"
SYMBOLS = {one.contract: one.symbol for one in (USDC, WETH)}
DECIMALS = {one.contract: one.decimals for one in (USDC, WETH)}
_WITH_CODE = {
    USDC.contract,
    WETH.contract,
    PERMIT2,
    TRAP,
    ENTRY_POINT,
    ENTRY_POINT_08,
    SANDBOX_ACCOUNT_FACTORY,
    *(one.address for one in SANDBOX_VENUES),
}
TOKEN_DOMAIN = {
    "name": "USD Coin",
    "version": "2",
    "chainId": CHAIN_ID,
    "verifyingContract": USDC.contract,
}
PERMIT2_DOMAIN = {"name": "Permit2", "chainId": CHAIN_ID, "verifyingContract": PERMIT2}
SETTLEMENT_DOMAIN = {
    "name": "Isthmus Settlement",
    "version": "2",
    "chainId": CHAIN_ID,
    "verifyingContract": SETTLEMENT,
}


def _separator(domain):
    document = {
        "types": {"X": [{"name": "x", "type": "bool"}]},
        "primaryType": "X",
        "domain": domain,
        "message": {"x": True},
    }
    return read_document(document).domain_separator


SEPARATORS = {
    domain["verifyingContract"]: _separator(domain)
    for domain in (TOKEN_DOMAIN, PERMIT2_DOMAIN, SETTLEMENT_DOMAIN)
}


def changes(*moved: tuple[str, Asset, int]) -> Simulation:
    return Simulation(
        100,
        tuple(
            BalanceChange(holder, asset.symbol, asset.contract, asset.decimals, units)
            for holder, asset, units in moved
        ),
        120_000,
    )


SWAPPED = changes((ALICE, USDC, -SELL), (ALICE, WETH, QUOTED))
NOTHING_MOVES = changes()


class World(Struct, frozen=True):
    """What the chain answers; ``balance`` is what the account holds of every token."""

    simulation: Simulation | None = None
    balance: int = 10 * SELL
    native: int = 10**19
    blocks_left: int = 120
    chain_id: int | None = CHAIN_ID
    genesis: str = GENESIS
    decimals: dict[str | None, int] = field(default_factory=lambda: DECIMALS)
    sequence: int = 0
    """Of operations of smart accounts, the next one."""

    def facts(
        self, claim: Claim, promise: Promise, policy: Policy, memory: PastSignatures = ()
    ) -> Facts:
        code, reads = (set(), set()) if claim.solana else needed(claim, promise, policy, memory)
        executed = claim.solana or not (claim.typed or claim.act == "bundle")
        return Facts(
            now=NOW,
            chain_id=self.chain_id,
            genesis_hash=self.genesis,
            code={one: CODE if one in _WITH_CODE else b"" for one in code},
            answers={read: self._answer(read, claim, promise) for read in reads},
            native=self.native,
            gas=GasPlan(150_000, 10**9) if executed and not claim.solana else None,
            simulation=self.simulation if executed else None,
            blocks_left=self.blocks_left if claim.solana else None,
            time=SECONDS,
            bought_symbol=SYMBOLS.get(promise.buy.contract, promise.buy.symbol),
            bought_decimals=DECIMALS.get(promise.buy.contract, promise.buy.decimals),
        )

    def _answer(self, read: Read, claim: Claim, promise: Promise) -> bytes:
        selector = read.data[:4]
        known = read.contract in SEPARATORS
        if selector == erc20.DOMAIN_SEPARATOR.selector:
            return SEPARATORS.get(read.contract, claim.domain_separator or b"")
        if selector == erc20.DECIMALS.selector:
            return word(self.decimals.get(read.contract, _hoped(read.contract, promise).decimals))
        if selector == erc20.SYMBOL.selector:
            name = SYMBOLS.get(read.contract, _hoped(read.contract, promise).symbol)
            return text_word(name)
        if selector == erc20.BALANCE_OF.selector:
            return word(self.balance)
        if selector == erc20.NONCES.selector:
            wished = next((number for _, number in claim.numbers("nonce")), 0)
            return word(PERMIT_NONCE if known else wished)
        if selector == permit2.ALLOWANCE.selector:
            return word(0, 0, PERMIT2_NONCE)
        if selector == permit2.NONCE_BITMAP.selector:
            asked = permit2.NONCE_BITMAP.read(read.data)["word"]
            return word(1 << USED_NONCE if asked == 0 else 0)
        if selector == GET_NONCE.selector:
            return word(GET_NONCE.read(read.data)["key"] << 64 | self.sequence)
        if selector == venues.NONCE_USED.selector:
            asked = venues.NONCE_USED.read(read.data)["nonce"]
            return word(int(known and asked == USED_NONCE))
        if selector == erc20.AUTHORIZATION_STATE.selector:
            asked = erc20.AUTHORIZATION_STATE.read(read.data)["nonce"]
            return word(int(known and asked == USED_NONCE.to_bytes(32, "big")))
        raise AssertionError(f"nothing answers {read.data.hex()}")


def _hoped(contract: str, promise: Promise) -> Asset:
    """The token that the promise takes it for."""
    taken = () if promise.withdrawal is None else promise.withdrawal.taken
    assets = (promise.sell, promise.buy, *(each.asset for each in taken))
    return next((one for one in assets if one.contract == contract), WETH)


def codes(verdict: Review) -> set[str]:
    return {one.code for one in verdict.findings}
