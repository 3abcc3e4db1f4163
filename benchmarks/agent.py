"""The wallet agent: from nothing to a signature, and what a gated signature costs."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from msgspec.structs import replace

from benchmarks.report import Case, Figures
from swapdesk.secret import Secret, SecretBytes
from swapdesk.wallet.accounts import ChainLink, Kind, WalletPlace
from swapdesk.wallet.client import AGENT, WalletClient
from swapdesk.wallet.promise import Asset, ChainStep, Promise, Purpose, TypedDataPayload

OVERHEAD_SECONDS = 0.8
BARE_SECONDS = 0.005
READ_SECONDS = 0.040
POLICY_SECONDS = 0.001
SIGNED_TODAY = 200
"""Payments of the last day that are counted for each check."""
REQUESTS = 60
_USDC = Asset("USDC", 6, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913")
_ROUTER = "0x568ba20066d0503329631401d74238b25Fbe8E4a"
_CHAIN_ID = 1_337_008_453
_PASSPHRASE = Secret("a pass phrase for figures")

REMEMBERING = (
    "-I",
    "-c",
    """
import sys
from msgspec.structs import replace
from swapdesk.agent.__main__ import main
import swapdesk.agent.process.payload_assessment as looking

read, seen = looking.read_facts, []

async def read_once(client, needs, promise, now, call=None):
    if not seen:
        seen.append(await read(client, needs, promise, now, call))
    return replace(seen[0], facts=replace(seen[0].facts, now=now))

looking.read_facts = read_once
main(sys.argv[1:])
""",
)
"""The agent with what the node said the first time, to see what is its own."""


def run(rounds: int) -> list[Case]:
    figures = Figures()
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        place = WalletPlace(str(directory / "keys"), "sandbox")
        address = asyncio.run(_made(place))
        arguments = [str(directory / "chains"), address, str(_USDC.contract)]
        node = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.chain_node", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        stack.callback(node.communicate)
        assert node.stdout is not None
        url = node.stdout.readline().strip()
        place = replace(place, chains=(ChainLink("base", Kind.EVM, _CHAIN_ID, url, 2),))
        rounds = max(3, rounds)
        derivations = [_derivation() for _ in range(rounds)]
        totals = [asyncio.run(_first_signature(place, address)) for _ in range(rounds)]
        asyncio.run(_signatures(place, address, figures, REMEMBERING, "gated signature"))
        asyncio.run(_signatures(place, address, figures, AGENT, "with the node"))
    _policy_checks(figures)
    return [
        _overhead(totals, derivations),
        figures.limit("agent: review and sign", "gated signature", BARE_SECONDS, "ms", 1e3),
        figures.limit("agent: the same, node asked", "with the node", READ_SECONDS, "ms", 1e3),
        figures.limit("agent: spending policy", "policy check", POLICY_SECONDS, "ms", 1e3),
    ]


async def _made(place: WalletPlace) -> str:
    client = await WalletClient.start(place)
    account = await client.create(Kind.EVM, "", _PASSPHRASE)
    await client.close()
    return account.address


def _derivation() -> float:
    """Seconds that scrypt alone takes here, at the cost of a new key file."""
    begin = time.perf_counter()
    hashlib.scrypt(b"x", salt=b"y" * 32, n=1 << 18, r=8, p=1, maxmem=1 << 29, dklen=32)
    return time.perf_counter() - begin


def _overhead(totals: list[float], derivations: list[float]) -> Case:
    """The quickest of each, because neighbours only add to them."""
    value = min(totals) - min(derivations)
    name = f"agent: to a signature, less {min(derivations) * 1e3:.0f} ms"
    return Case(name, "overhead", "limit", value, OVERHEAD_SECONDS, 1.0, count=len(totals))


async def _first_signature(place: WalletPlace, address: str) -> float:
    """Seconds from nothing to a signature."""
    begin = time.perf_counter()
    client = await WalletClient.start(place)
    await client.unlock(_PASSPHRASE)
    review = await client.review(_permit(address), _promise(address, os.urandom(8).hex()))
    await client.sign(review)
    took = time.perf_counter() - begin
    await client.close()
    return took


async def _signatures(
    place: WalletPlace, address: str, figures: Figures, program: tuple[str, ...], name: str
) -> None:
    client = await WalletClient.start(place, program=program)
    await client.unlock(_PASSPHRASE)
    payload = _permit(address)
    for i in range(REQUESTS + 5):
        promise = _promise(address, os.urandom(8).hex())
        begin = time.perf_counter()
        await client.sign(await client.review(payload, promise))
        if i >= 5:
            figures.add(name, time.perf_counter() - begin)
    await client.close()


def _policy_checks(figures: Figures) -> None:
    """A day's payments on disk, a sealed policy, and one more payment held to it."""
    from swapdesk.agent.keys.key_file import Scrypt
    from swapdesk.agent.spending.limits import Spend, Spending, judge
    from swapdesk.agent.spending.policy_file import PolicyKeeper
    from swapdesk.agent.transactions.file import RecordsFile, SpentRecord, count
    from swapdesk.wallet.spending import Limit, PolicyToken, Price, SpendingPolicy, SpendWindow

    dollar = PolicyToken(_CHAIN_ID, _USDC.contract, 6, "USDC", "base")
    coin = PolicyToken(_CHAIN_ID, None, 18, "ETH", "base")

    def payment(number: int) -> Spending:
        paid = Spend(dollar.key, 10**6, "0xaccount")
        gas = Spend(coin.key, 10**12, "0xaccount", "gas")
        content = number.to_bytes(32, "big")
        return Spending(_CHAIN_ID, (paid,), ("0xpayee",), content, f"nonce {number}", gas)

    limits = [
        Limit(window, Decimal(10**6), token) for window in SpendWindow for token in (None, dollar)
    ]
    prices = (Price(dollar, Decimal(1)), Price(coin, Decimal(3_000)))
    policy = SpendingPolicy(tuple(limits), prices, payees=("0xpayee",))
    with tempfile.TemporaryDirectory() as name:
        file = RecordsFile(Path(name), writable=True)
        record = SpentRecord(file, time.monotonic)
        keeper = PolicyKeeper(Path(name), "sandbox", lambda: record)
        scrypt = Scrypt.fresh(1024)
        keeper.write_sealed(policy, scrypt.derive(SecretBytes.of(_PASSPHRASE)), scrypt)
        now = datetime.now(UTC)
        with file.transaction() as connection:
            for number in range(SIGNED_TODAY):
                count(connection, payment(number), record.now(now))
        one = payment(SIGNED_TODAY)
        for _ in range(REQUESTS):
            begin = time.perf_counter()
            held = keeper.for_signing()
            assert held is not None
            found = judge(held, one, record.past(now, one), record.now(now))
            figures.add("policy check", time.perf_counter() - begin)
            assert not found
        file.close()


def _promise(address: str, intent: str) -> Promise:
    return Promise(
        intent_id=intent,
        account=address,
        chain="base",
        chain_id=_CHAIN_ID,
        sell=_USDC,
        sell_units=10**8,
        buy=Asset("ETH", 18, None),
        chain_out="base",
        least_units=1,
        quoted_units=10**16,
        recipient=address,
        venue="fa",
        quote_id="quote",
        valid_until=datetime.now(UTC) + timedelta(minutes=10),
        gas_units=10**16,
    )


def _permit(address: str) -> TypedDataPayload:
    fields = {"owner": "address", "spender": "address"}
    fields |= dict.fromkeys(("value", "nonce", "deadline"), "uint256")
    domain = {"name": "string", "version": "string", "chainId": "uint256"}
    domain["verifyingContract"] = "address"
    document = {
        "types": {
            "EIP712Domain": [{"name": n, "type": t} for n, t in domain.items()],
            "Permit": [{"name": n, "type": t} for n, t in fields.items()],
        },
        "primaryType": "Permit",
        "domain": {
            "name": "USD Coin",
            "version": "2",
            "chainId": _CHAIN_ID,
            "verifyingContract": _USDC.contract,
        },
        "message": {
            "owner": address,
            "spender": _ROUTER,
            "value": 10**8,
            "nonce": 0,
            "deadline": int(time.time()) + 540,
        },
    }
    step = ChainStep(key="permit", step=0, total=1, complete=True, chained=False)
    return TypedDataPayload(Purpose.APPROVE, json.loads(json.dumps(document)), step)
