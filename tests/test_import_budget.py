"""What loads when: a command line and a first frame wait for nothing they do not use."""

from __future__ import annotations

import importlib.util
import json
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec import Struct

from cached_catalog import cache_catalog
from harness import environment
from patience import PATIENCE
from swapdesk.paths import Home
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.tui import session

SERVER = ("uvicorn", "starlette", "uvloop", "httptools")
CHAINS = ("web3", "eth_account", "solders", "coincurve")
HEAVY = (*SERVER, *CHAINS, "websockets")
CHAIN_PARTS = ("eth_abi", "eth_keys", "eth_utils")

_STEP = """
import sys
{statement}
told = [name for name in {names!r} if name in sys.modules]
assert told == {allowed!r}, told
"""


class Step(Struct, frozen=True):
    """What a process does, and modules that are not loaded after it but for ``allowed``."""

    statement: str
    names: tuple[str, ...]
    allowed: tuple[str, ...] = ()


def run(program: str, home: Path) -> str:
    """What a fresh process writes."""
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def program_of(*steps: Step) -> str:
    return "".join(
        _STEP.format(statement=step.statement, names=step.names, allowed=list(step.allowed))
        for step in steps
    )


def run_of(*arguments: str) -> str:
    return f"from swapdesk.cli.main import run; assert run({list(arguments)!r}) == 0"


SCREENS = ("textual", "rich")
CLIENTS = ("httpx2", "pydantic")
OTHER_MODELS = tuple(
    f"swapdesk.wire.{name}" for name in ("account", "dex", "exchanges", "multi", "quotes")
)
NEEDED_BY_NOTHING = (*HEAVY, *SCREENS, *CLIENTS, "swapdesk.flows", "swapdesk.wire")


STEPS = {
    "commands": (
        Step("import swapdesk.cli.main", (*HEAVY, *SCREENS, *CLIENTS, "sqlite3", "asyncio")),
        # What needs no service loads no client.
        *(
            Step(run_of(*words), NEEDED_BY_NOTHING)
            for words in (
                ("--version",),
                ("config", "show"),
                ("config", "show", "--json"),
                ("swap", "-h"),
            )
        ),
        Step(run_of("-h"), (*HEAVY, "textual", *CLIENTS)),
        # A command that connects loads nothing of quotes, and no model of other operations.
        Step(
            "import swapdesk.cli.session, swapdesk.cli.order_reports\n"
            "import swapdesk.flows.connected_desk, swapdesk.flows.creation.resume",
            (*HEAVY, "textual", "swapdesk.flows.quotes", *OTHER_MODELS),
        ),
        Step(
            "import swapdesk.cli.creation, swapdesk.cli.order_watch",
            (*SERVER, *CHAINS, "textual"),
        ),
    ),
    # The desk's half of the wallet loads no chain library.
    "wallet": (
        Step(
            "import swapdesk.wallet.client, swapdesk.wallet.sandbox_passphrase",
            (*HEAVY, *CHAIN_PARTS, "Crypto", "swapdesk.agent", "sqlite3"),
        ),
        Step(
            "import swapdesk.flows.signing.wallet_signing, swapdesk.tui.screens.wallets\n"
            "import swapdesk.cli.main",
            (*CHAINS, *CHAIN_PARTS, "swapdesk.agent", "swapdesk.sandbox"),
        ),
    ),
    # The agent is ready before chain libraries load. They come while the first key is derived;
    # web3 and its HTTP, which read a node's answer without a bound, do not come at all.
    "agent": (
        Step(
            "import swapdesk.agent.process.service",
            (*HEAVY, "eth_abi", "eth_utils", "httpx2", "aiohttp", "textual"),
        ),
        Step(
            "import swapdesk.agent.process.wallet_session as o; o.load_signing()",
            ("web3", "aiohttp", "textual"),
        ),
    ),
}
"""One after the other, in a process of each."""


@pytest.mark.parametrize("process", STEPS)
def test_what_is_not_used_is_not_loaded(process: str, tmp_path: Path) -> None:
    run(program_of(*STEPS[process]), tmp_path)


def test_fields_of_models_are_types_and_no_text_to_be_evaluated(tmp_path: Path) -> None:
    """A module with postponed annotations has the name ``annotations``."""
    statement = (
        "import swapdesk.wire.events\n"
        "from swapdesk.wire.operations import OPERATIONS\n"
        "from swapdesk.wire.model import RequestModel, WireModel\n"
        "[(row.result, row.path_parameters, row.query, row.body) for row in OPERATIONS]\n"
        "kinds = [*WireModel.__subclasses__(), *RequestModel.__subclasses__()]\n"
        "assert len(kinds) > 30\n"
        "assert not [k for k in kinds if hasattr(sys.modules[k.__module__], 'annotations')]"
    )
    run(program_of(Step(statement, HEAVY)), tmp_path)


MODELS = ("pydantic", "pydantic_core", "swapdesk.wire.tokens")
CLIENT = ("httpx2", "swapdesk.client.api", "swapdesk.flows.connection")

_SEARCH = """
import asyncio
from pathlib import Path
from swapdesk.paths import Home
from swapdesk.settings import load_settings
from swapdesk.tui.app import DeskApp
from swapdesk.tui.session import KeyRest
from swapdesk.tui.screens.tokens import TokensScreen
from swapdesk.tui.widgets.line_table import LineTable

class Held(KeyRest):
    async def wait(self):
        await asyncio.Event().wait()

async def search():
    app = DeskApp(load_settings({{}}, Home.at(Path({home!r}))), None)
    app.session.rest = Held()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("t")
        # A starved process is not waited for by the press itself.
        while not isinstance(app.screen, TokensScreen):
            await pilot.pause(0.01)
        await pilot.press(*"usdc")
        table = app.screen_stack[-1].query_one(LineTable)
        while not table.rows:
            await pilot.pause(0.01)
        assert isinstance(app.screen, TokensScreen)
        assert {{row.cells["symbol"].text for row in table.rows[:2]}} == {{"USDC"}}
        assert not app.session.opened

# Where it waits for what never comes, the error says on which line.
asyncio.run(asyncio.wait_for(search(), 40))
"""


def fill_cache(home: Path) -> None:
    """The list of the sandbox's tokens in the cache of its profile."""
    now = datetime(2026, 11, 20, tzinfo=UTC)
    chains, path = build_chains(), Home.at(home).profile("sandbox").catalog
    cache_catalog(path, now, chains, build_tokens(chains, now))


def test_tokens_are_searched_before_models_and_client_are_loaded(tmp_path: Path) -> None:
    fill_cache(tmp_path)
    search = Step(_SEARCH.format(home=str(tmp_path)), (*HEAVY, *MODELS, *CLIENT))
    run(program_of(search), tmp_path)


_CONNECTING = """
import asyncio, contextlib, json, pathlib
from swapdesk.client.errors import ClientError
from swapdesk.client.live import StreamState
from swapdesk.flows import connection
from swapdesk.paths import Home
from swapdesk.settings import load_settings

async def connect():
    environment = {{
        "SWAPDESK_API_URL": "http://127.0.0.1:{port}/v2",
        "SWAPDESK_API_KEY": "key", "SWAPDESK_API_SECRET": "secret",
    }}
    settings = load_settings(environment, Home.at(pathlib.Path({home!r})))
    before = set(sys.modules)
    desk = swapdesk.flows.desk.Desk.open(settings)
    await desk.connect(connection.live_connection(settings))
    with contextlib.suppress(ClientError):
        await desk.link.api.health()
    while desk.link.tracker.stream_state == "resuming":
        await asyncio.sleep(0)
    json.dump(sorted(set(sys.modules) - before), sys.stdout)
    await desk.close()

asyncio.run(connect())
"""


@pytest.mark.skipif(
    importlib.util.find_spec("swapdesk.tui.app") is None, reason="this install has no screens"
)
def test_a_desk_loads_what_each_of_its_beginnings_needs(tmp_path: Path) -> None:
    """No chain, no server and no socket before its first frame, and no client when it opens from
    disk. Whatever a connecting desk imports is in the lists of what is loaded between keys, so that
    no import of its own stops them, and the first request and the stream import next to nothing."""
    opened = (*HEAVY, *CLIENT, "swapdesk.flows.connected_desk", "swapdesk.flows.desk")
    first_frame = (*HEAVY, "httpx2", "pydantic", "swapdesk.wire.orders", "swapdesk.flows.desk")
    connecting = (
        f"import {', '.join(session.LINK)}\nbefore = set(sys.modules)\n"
        "import swapdesk.flows.connected_desk, swapdesk.flows.creation.resume\n"
        "import swapdesk.flows.catalog.catalog_refresh\n"
        "assert not [name for name in set(sys.modules) - before if 'catalog_re' not in name]"
    )
    steps = program_of(
        Step("import swapdesk.tui.app", first_frame),
        Step(f"import {', '.join(session.DESK)}", opened, allowed=("swapdesk.flows.desk",)),
        Step(connecting, (*SERVER, *CHAINS)),
    )
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
    imported = run(steps + _CONNECTING.format(port=port, home=str(tmp_path)), tmp_path)
    libraries = {name.split(".")[0] for name in json.loads(imported)}
    assert not libraries & {"anyio", "websockets", "httpcore2", "Crypto", "swapdesk"}, imported
