"""What loads when: a command line and a first frame wait for nothing they do not use."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness import environment

SERVER = ("uvicorn", "starlette", "uvloop", "httptools")
CHAINS = ("web3", "eth_account", "solders", "coincurve")
HEAVY = (*SERVER, *CHAINS, "websockets")

_PROGRAM = """
import json, sys
{statement}
json.dump([name for name in {names!r} if name in sys.modules], sys.stderr)
"""


def loaded(statement: str, names: tuple[str, ...], home: Path) -> list[str]:
    """Which of ``names`` a fresh process has imported after ``statement``."""
    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(statement=statement, names=names)],
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    found: list[str] = json.loads(ended.stderr.splitlines()[-1])
    return found


def run_of(*arguments: str) -> str:
    return f"from swapdesk.cli.main import run; assert run({list(arguments)!r}) == 0"


def test_the_command_line_loads_no_screen_no_chain_and_no_server(tmp_path: Path) -> None:
    names = (*HEAVY, "textual", "rich", "httpx", "pydantic", "sqlite3", "asyncio")
    assert loaded("import swapdesk.cli.main", names, tmp_path) == []


@pytest.mark.parametrize(
    "arguments", [("--version",), ("config", "show"), ("config", "show", "--json"), ("swap", "-h")]
)
def test_what_needs_no_service_loads_no_client(arguments: tuple[str, ...], tmp_path: Path) -> None:
    names = (*HEAVY, "textual", "rich", "httpx", "pydantic", "swapdesk.flows", "swapdesk.wire")
    assert loaded(run_of(*arguments), names, tmp_path) == []


def test_help_loads_no_client(tmp_path: Path) -> None:
    assert loaded(run_of("-h"), (*HEAVY, "textual", "httpx", "pydantic"), tmp_path) == []


def test_commands_load_no_screen_no_chain_and_no_server(tmp_path: Path) -> None:
    statement = "import swapdesk.cli.session, swapdesk.cli.creation, swapdesk.cli.order_watch"
    assert loaded(statement, (*SERVER, *CHAINS, "textual"), tmp_path) == []


@pytest.mark.skipif(
    importlib.util.find_spec("swapdesk.tui.app") is None, reason="this install has no screens"
)
def test_the_desk_loads_no_chain_no_server_and_no_socket_before_its_first_frame(
    tmp_path: Path,
) -> None:
    names = (*HEAVY, "httpx", "pydantic", "swapdesk.wire.orders", "swapdesk.flows.desk")
    assert loaded("import swapdesk.tui.app", names, tmp_path) == []
