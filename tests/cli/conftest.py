"""One sandbox for the tests of commands that speak to a service, and a home it belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.desks import Desk, InProcess
from harness import Sandbox, running_sandbox


@pytest.fixture(scope="package")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A fast sandbox, shared, which ends with these tests: one that idles is not free.

    A test that breaks it puts it right again. Who moves its clock by minutes starts another: a
    live desk bears two between the service's clock and its own."""
    with running_sandbox(tmp_path_factory.mktemp("home"), wallet=True) as running:
        yield running


@pytest.fixture
def clean(sandbox: Sandbox) -> Iterator[Sandbox]:
    """The sandbox, without the faults a test has put into it."""
    yield sandbox
    sandbox.control("DELETE", "/faults")


@pytest.fixture
def desk(clean: Sandbox) -> Desk:
    """The desk of the sandbox's home, as a newcomer has it."""
    return Desk(clean, clean.home, {})


@pytest.fixture
def other_desk(clean: Sandbox, tmp_path: Path) -> Desk:
    """A second partner, from another home."""
    partner = clean.partner("PRO", 1)
    return Desk(
        clean,
        tmp_path,
        {
            "SWAPDESK_API_URL": clean.ready["url"],
            "SWAPDESK_API_KEY": partner["apiKey"],
            "SWAPDESK_API_SECRET": partner["apiSecret"],
        },
    )


@pytest.fixture
def live_desk(clean: Sandbox, tmp_path: Path) -> Desk:
    """A live profile of a second partner, with a node of one chain."""
    partner = clean.partner("PRO", 1)
    (tmp_path / "secret").touch(0o600)
    (tmp_path / "secret").write_text(partner["apiSecret"])
    base = clean.rpc("base")
    (tmp_path / "config.toml").write_text(
        f'[profiles.main]\nurl = "{clean.ready["url"]}"\nkey = "{partner["apiKey"]}"\n'
        f'secret_file = "secret"\n[profiles.main.rpc]\nbase = "{base}"\n'
    )
    return Desk(clean, tmp_path, {"SWAPDESK_PROFILE": "main"})


@pytest.fixture
def here(tmp_path: Path) -> InProcess:
    """Commands run inside the test process, in an empty home and without a service."""
    return InProcess(tmp_path)
