"""Every command of the command line once, against a service that may be a newer one.

A scene makes what it needs with the service as it is (``prepare``), and its command is then run
with the service as it is or as it will be. What both print is compared as :func:`told`.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from cli.desks import run_here
from cli.lying_service import rewriting_service
from cli.newer_answers import Newer, without_added
from harness import Result, Sandbox, home_of, wait_for
from swapdesk.cli.contract_commands import commands
from swapdesk.cli.main import swapdesk
from swapdesk.clock import SystemClock
from swapdesk.flows.wallet.chain_links import sandbox_links
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.paths import Home
from swapdesk.settings import load_settings
from wallet.agents import CHEAP

BITCOIN = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
RECEIVER = "0x" + "1a" * 20
RECEIVERS = ("0x" + "2b" * 20, "0x" + "3c" * 20)
UNLISTED = "0x" + "ee" * 20

NOT_ASKING = {
    "serve": "it is the service",
    "node": "it is the chains",
    "partner sums": "it reads the store of the service",
    "partner payout": "it writes to the store of the service",
    "partner create": "it writes to the store of the service",
    "partner list": "it reads the store of the service",
    "partner show": "it reads the store of the service",
    "partner key": "it writes to the store of the service",
    "partner revoke": "it writes to the store of the service",
    "partner suspend": "it writes to the store of the service",
    "partner tier": "it writes to the store of the service",
    "partner override": "it writes to the store of the service",
    "partner origin": "it writes to the store of the service",
    "partner reverse": "it writes to the store of the service",
    "tape run": "it plays keys",
    "demo": "it makes a sandbox of its own, or opens the desk",
    "support open": "it reads a file",
    "completion": "it prints what a shell runs",
    "profile list": "it reads the configuration",
    "profile use": "it writes the configuration",
    "listen": "it posts until it is ended",
    "schema": "it prints what this program knows of itself",
    "errors": "it prints what this program knows of itself",
    "commands": "it prints what this program knows of itself",
    "trigger NAME": "it asks the control of a sandbox",
    "trigger list": "it asks the control of a sandbox",
    "trigger clear": "it asks the control of a sandbox",
    "trigger clock": "it asks the control of a sandbox",
    "trigger run": "it asks the control of a sandbox, and creates as swap does",
}
"""Commands that hear no answer of a service."""


class Front(Struct):
    """A home whose service stands behind a proxy; ``newer`` says what the proxy changes."""

    sandbox: Sandbox
    home: Path
    newer: Newer = field(default_factory=Newer)
    signed: list[str] = field(default_factory=list)
    """Batches that may hold what the next one needs, until they have ended."""
    ids: list[str] = field(default_factory=list)
    """Of what was made here, so that outputs can be compared without them."""
    stands: bool = False
    """Whether the smart account is known to stand."""

    def __call__(self, *words: str) -> Result:
        return run_here(*words, home=self.home)

    def made(self, *words: str) -> Any:
        """What a command prints that has to succeed."""
        result = self(*words, "--json")
        assert result.code == 0, (words, result)
        return result.document

    def forget_tokens(self) -> None:
        """The next command reads the list of tokens anew."""
        for path in (self.home / "profiles" / "sandbox").glob("catalog.db*"):
            path.unlink()

    def file(self, name: str, text: str) -> str:
        path = self.home / name
        path.write_text(text)
        return str(path)


@contextmanager
def front(sandbox: Sandbox, home: Path) -> Iterator[Front]:
    """A home of its own without a wallet, behind a proxy."""
    standing = Front(sandbox, home)
    with rewriting_service(
        sandbox.ready["url"],
        lambda *answer: standing.newer.body(*answer),
        lambda frame: standing.newer.frame(frame),
    ) as url:
        ready = {**sandbox.ready, "url": url}
        home_of(replace(sandbox, ready=ready), home, place=0, wallet=False)
        yield standing


def give_wallet(front: Front) -> None:
    """Accounts of its own, for the hundreds of commands of a full run that pay from them."""
    asyncio.run(_make_accounts(front))
    # The first look at them has the faucet give what new accounts get.
    front.made("wallet", "balance")
    for account in front.made("wallet", "list")["accounts"]:
        if account["kind"] == "evm":
            gift = {"chain": "base", "address": account["address"], "amount": 1_000_000}
            front.sandbox.control("POST", "/faucet", {**gift, "token": "USDC"})


async def _make_accounts(front: Front) -> None:
    """With key files that are cheap to open."""
    settings = load_settings({}, Home.at(front.home))
    links = sandbox_links(front.sandbox.ready)
    wallet = LocalWallet(settings, SystemClock(), links, program=CHEAP)
    try:
        await wallet.prepare_sandbox()
    finally:
        await wallet.close()


Words = tuple[str, ...]


class Scene(Struct, frozen=True):
    """A command: ``prepare`` makes what it needs and gives the rest of its words. ``raw``: it
    prints what the service says as it came."""

    command: str
    prepare: Callable[[Front], Words] = lambda _: ()
    raw: bool = False
    name: str = ""

    def __str__(self) -> str:
        return f"{self.command} {self.name}".strip()

    def run(self, front: Front, newer: Newer) -> Result:
        """With the service of today first, then with ``newer``."""
        words = self.prepare(front)
        front.forget_tokens()
        front.newer = newer
        try:
            return front(*self.command.split(), *words)
        finally:
            front.newer = Newer()
            front.forget_tokens()


# What commands need


def _order(front: Front, *words: str) -> str:
    wanted = words or (*CEX, "--to", RECEIVER)
    return _known(front, front.made("swap", *wanted, "--yes")["order"]["serviceId"])


def _known(front: Front, made: str) -> str:
    front.ids.append(made)
    return made


def _completed(front: Front) -> str:
    order = _order(front, *CEX, "--to", RECEIVER, "--fund")
    wait_for(
        lambda: front("orders", "watch", order, "--timeout", "30", "--json").code == 0,
        what="the order",
    )
    return order


def _private(front: Front) -> str:
    made = front.made("send", "0.5", "eth.ethereum", "--to", RECEIVER, "--yes")
    return _known(front, made["order"]["serviceId"])


def _payable(front: Front) -> str:
    return _order(front, "20", "usdc.base", "eth.arbitrum", "--to", RECEIVER)


def _batch_file(front: Front) -> str:
    rows = "".join(f"{one},{150 + at},ETH,arbitrum,USDC.base\n" for at, one in enumerate(RECEIVERS))
    return front.file("payout.csv", f"to,sell_amount,buy,chain,sell\n{rows}")


def _paid_file(front: Front) -> str:
    """A file, once the smart account stands: the first bundle of all makes it."""
    file = _batch_file(front)
    if not front.stands:
        front.made("batch", "run", file, "--yes", "--again")
        front.stands = True
    return file


def _batch(front: Front, *steps: str) -> str:
    file = _paid_file(front) if steps else _batch_file(front)
    for open_one in front.signed:
        front("batch", "resume", open_one, "--yes", "--json")
    front.signed.clear()
    found = _known(front, front.made("batch", "create", file, "--yes", "--again")["batch"])
    for step in steps:
        front.made("batch", step, found, *(("--yes",) if step == "sign" else ()))
    front.signed.append(found)
    return found


def _quote_id(front: Front) -> str:
    quotes = front.made("quote", "20", "usdc.base", "weth.base", "--type", "dex")["quotes"]
    return next(str(one["quoteId"]) for one in quotes if one["swap"] == "fa")


def _transaction(front: Front) -> str:
    """The newest of the wallet, which is confirmed."""
    front.made("swap", *DEX, "--provider", "ba", "--yes")
    return str(front.made("wallet", "transactions")["transactions"][-1]["hash"])


def _withdrawn(front: Front, *words: str) -> Words:
    """The words, once nothing is left for them."""
    front("wallet", "withdraw", *words)
    return words


def _fresh(front: Front) -> str:
    """A file that is not there."""
    path = front.home / "case.json"
    path.unlink(missing_ok=True)
    return str(path)


DEX = ("20", "usdc.base", "weth.base", "--type", "dex")
CEX = ("0.05", "btc.bitcoin", "eth.ethereum", "--provider", "hy")
"""One venue: which others answer in time, and which is best, differs from run to run."""

WRITTEN = (
    Scene("quote", lambda _: (*CEX, "--json")),
    Scene("quote", lambda _: (*CEX,), name="table"),
    Scene("quote", lambda _: (*CEX, "--explain"), name="explained"),
    Scene("quote", lambda _: ("20", "usdc.base", "weth.base", "--json"), name="on chains"),
    Scene("quote", lambda _: ("0.000001", *CEX[1:3], "--json"), name="too little"),
    Scene("swap", lambda _: (*CEX, "--to", RECEIVER, "--yes", "--json")),
    Scene("swap", lambda _: (*CEX, "--to", RECEIVER, "--yes"), name="told"),
    Scene("swap", lambda _: (*CEX, "--to", RECEIVER, "--dry-run", "--json"), name="dry"),
    Scene("swap", lambda _: (*CEX, "--to", RECEIVER, "--yes", "--fund", "--json"), name="funded"),
    Scene("swap", lambda _: (*DEX, "--provider", "ba", "--yes", "--json"), name="approval"),
    Scene("swap", lambda _: (*DEX, "--provider", "fa", "--yes", "--json"), name="permit"),
    Scene("swap", lambda _: (*DEX, "--provider", "is", "--yes", "--json"), name="chained"),
    Scene("swap", lambda _: (*DEX, "--provider", "fa", "--dry-run", "--json"), name="permit, dry"),
    Scene("send", lambda _: ("0.5", "eth.ethereum", "--to", RECEIVER, "--yes", "--json")),
    Scene("sign", lambda f: (_quote_id(f), "--dry-run", "--json")),
    Scene("fund", lambda f: (_payable(f), "--yes", "--json")),
    Scene("fund", lambda f: (_completed(f), "--yes", "--json"), name="paid before"),
    Scene("batch template"),
    Scene("batch plan", lambda f: (_batch_file(f), "--json")),
    Scene("batch create", lambda f: (_batch_file(f), "--yes", "--again", "--json")),
    Scene("batch build", lambda f: (_batch(f), "--json")),
    Scene("batch sign", lambda f: (_batch(f, "build"), "--yes", "--json")),
    Scene("batch submit", lambda f: (_batch(f, "build", "sign"), "--json")),
    Scene("batch status", lambda f: (_batch(f, "build", "sign", "submit"), "--json")),
    Scene("batch status", lambda f: (_batch(f),), name="told"),
    Scene("batch resume", lambda f: (_batch(f, "build"), "--yes", "--json")),
    Scene("batch run", lambda f: (_paid_file(f), "--yes", "--again", "--json")),
    Scene("batch export", lambda f: (_batch(f),)),
    Scene("tokens", lambda _: ("usd", "--limit", "200", "--json")),
    Scene("tokens", lambda _: (UNLISTED, "--json"), name="contract"),
    Scene("orders list", lambda f: ("--filter", _order(f), "--json")),
    Scene("orders list", lambda f: ("--filter", _order(f)), name="table"),
    Scene("orders show", lambda f: (_order(f), "--json")),
    Scene("orders show", lambda f: (_order(f),), name="told"),
    Scene("orders show", lambda f: (_private(f), "--json"), name="private"),
    Scene("orders show", lambda f: (_completed(f), "--json"), name="completed"),
    Scene("orders show", lambda _: ("nosuchorder1234", "--json"), name="missing"),
    Scene("orders watch", lambda f: (_completed(f), "--timeout", "20", "--json")),
    Scene("orders watch", lambda f: (_order(f), "--timeout", "2", "--json"), name="waiting"),
    Scene("why", lambda f: (_order(f), "--json")),
    Scene("why", lambda f: (f"Where is my order {_order(f)}?",), name="told"),
    Scene("inspect", lambda f: (_order(f),)),
    Scene("inspect", lambda _: ("nosuchorder1234", "--reads", "0"), name="missing"),
    Scene("support bundle", lambda f: (_order(f), "--out", _fresh(f), "--json")),
    Scene("orders put-away", lambda f: (_order(f), "--json")),
    Scene("orders export", lambda f: ("--filter", _order(f), "--format", "json")),
    Scene("account limits", lambda _: ("--json",)),
    Scene("account commissions", lambda _: ("--json",)),
    Scene("account chart", lambda _: ("--json",)),
    Scene("api", lambda _: ("GET", "/rateLimits"), raw=True),
    Scene("api", lambda _: ("GET", "/swaps"), raw=True, name="list"),
    Scene("api", lambda _: ("GET", "/orders/nosuchorder1234", "--json"), name="error"),
    Scene("wallet list", lambda _: ("--json",)),
    Scene("wallet balance", lambda _: ("--json",)),
    Scene("wallet allowances", lambda _: ("--json",)),
    Scene("wallet transactions", lambda _: ("--json",)),
    Scene("wallet policy show", lambda _: ("--json",)),
    Scene("wallet revoke", lambda _: ("usdc", "fa", "--chain", "base", "--yes", "--json")),
    Scene("wallet bump", lambda f: (_transaction(f), "--yes", "--json")),
    Scene("wallet cancel", lambda f: (_transaction(f), "--yes", "--json")),
    Scene("wallet withdraw", lambda f: _withdrawn(f, "--chain", "base", "--yes", "--json")),
    Scene("wallet export", lambda _: ("nobody", "--json")),
    Scene("wallet import", lambda _: ("--json",)),
    Scene("wallet new", lambda _: ("--kind", "tron", "--json")),
    Scene("wallet policy set", lambda _: ("--per-day", "usdc.base=1000000000", "--json")),
    Scene("wallet lock", lambda _: ("--json",)),
)


def _unwritten() -> Iterator[Scene]:
    """A command that takes nothing is called with ``--json``, unless a scene is written for it."""
    known = {scene.command for scene in WRITTEN} | NOT_ASKING.keys()
    of_all = {option.name for option in swapdesk.params}
    for name, command in commands().items():
        if name not in known and all(option.name in of_all for option in command.params):
            yield Scene(name, lambda _: ("--json",))


SCENES = (*WRITTEN, *_unwritten())


# What is compared

_VARIES = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?( UTC)?"), "TIME"),
    (re.compile(r"\b\d\d:\d\d(:\d\d)?\b"), "TIME"),
    (re.compile(r"\bbc1[a-z0-9]*(?: [a-z0-9]{1,4}){5,}…?"), "ID"),
    (re.compile(r"\b(?=\w*[a-z])(?=\w*[A-Z])[A-Za-z0-9]{20,}\b"), "ID"),
    (re.compile(r"\b0x(?: ?[0-9a-fA-F]{1,4}){3,}…?\b"), "ID"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "ID"),
    (re.compile(r"(?<![.\d])\b(?=[a-f]*\d)[0-9a-f]{8}\b"), "ID"),
    (re.compile(r"\b(?=[A-Za-z0-9_-]*\d)(?=[A-Za-z0-9_-]*[A-Za-z])[A-Za-z0-9_-]{6,}…?\b"), "ID"),
    (re.compile(r"(\d[\d,]*h ?)?(\d+m ?)?\b\d+(\.\d+)? ?(ms|min|s|m|h)\b"), "SPAN"),
    (re.compile(r"[-<−]?\d[\d,]*(\.\d+)?"), "N"),
    (re.compile(r" {2,}"), "  "),
    (re.compile(r"-{3,}"), "---"),
)


def blurred(text: str) -> str:
    for pattern, word in _VARIES:
        text = pattern.sub(word, text)
    return text.rstrip()


def _lines(value: Any, path: str, out: set[str]) -> None:
    """Every value of a document under its path, and how long each list is."""
    if isinstance(value, dict):
        for name, one in value.items():
            _lines(one, f"{path}.{blurred(name)}", out)
    elif isinstance(value, list):
        out.add(f"{path}: {len(value)} of them")
        for one in value:
            _lines(one, f"{path}[]", out)
    else:
        out.add(f"{path}: {blurred(value) if isinstance(value, str) else _plain(value)}")


def _plain(value: Any) -> str:
    return json.dumps(value) if value is None or isinstance(value, bool) else "N"


def documents(text: str) -> list[Any] | None:
    """The JSON documents of some lines; None when it is other text."""
    try:
        return [json.loads(line, parse_float=str) for line in text.splitlines()]
    except ValueError:
        return None


_AT_ITS_END = re.compile(r"\.(nonRefundable|transactions)\b|Elapsed")
"""Members that an order gets a moment after it is completed, or has by then."""
_ON_ITS_WAY = re.compile(r"\.(money|next|orderState): ")
"""What a batch says of orders that go on while it is told."""


_SETTLING = ("swap approval", "swap permit", "swap chained")
_UNTIL_SETTLED = re.compile(
    r"out\.(order\.)?(\w*[sS]tatus(Label)?|\w*OutHash|hashUrl|orderFinishedReceived): "
)
"""What a swap on chains says of its order, which may be settled by the time that it is told."""


def told(scene: Scene, result: Result, front: Front) -> list[str]:
    """Exit code, output and talk without what legitimately varies, a line for each fact."""
    out = {f"exit {result.code}"}
    for stream, text in (("out", result.stdout), ("err", result.stderr)):
        for made in front.ids:
            text = re.sub(rf"\b({made}|{made[:8]}|{made[:6]})\b", "ID", text)
        found = documents(text)
        if found is None:
            out |= {f"{stream} {blurred(line)}" for line in text.splitlines()}
        for one in found or ():
            _lines(without_added(one) if scene.raw else one, stream, out)
    moving = scene.command.startswith("batch")
    return sorted(
        line
        for line in out
        if not (
            _AT_ITS_END.search(line)
            or (moving and _ON_ITS_WAY.search(line))
            or (str(scene) in _SETTLING and _UNTIL_SETTLED.match(line))
        )
    )
