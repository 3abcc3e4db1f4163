"""A home whose sandbox has been used before: its chains have begun, its pools stand at the market,
and the wallet there has money on every chain. Made once for all workers; who starts a sandbox on a
copy waits for none of it. What a new home does is tested on new ones.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from forked_processes import in_fresh_interpreters
from patience import PATIENCE

PLACE = "TESTS_FURNISHED_HOME"
"""The variable with the directory that all workers share."""
_MADE = "made"
_KEYS = Path("profiles", "sandbox")


def begin(*, early: bool) -> None:
    """Say where the tests of all workers find the home; with ``early`` it is made meanwhile."""
    os.environ[PLACE] = tempfile.mkdtemp(prefix="furnished-")
    if early:
        with in_fresh_interpreters():
            _early.append(subprocess.Popen([sys.executable, __file__]))


def end() -> None:
    for process in _early:
        process.terminate()
        process.wait()
    shutil.rmtree(os.environ.pop(PLACE), ignore_errors=True)


_early: list[subprocess.Popen[bytes]] = []


def furnish(home: Path, *, wallet: bool) -> None:
    """Fill a new home; the wallet's key files are cheap to open."""
    made = Path(os.environ[PLACE], _MADE)
    if not made.exists():
        subprocess.run([sys.executable, __file__], check=True, timeout=PATIENCE)
    shutil.copytree(made / "sandbox", home / "sandbox")
    if wallet:
        (home / _KEYS).mkdir(parents=True, mode=0o700)
        (home / "profiles").chmod(0o700)
        shutil.copytree(made / _KEYS / "keys", home / _KEYS / "keys")
        shutil.copy2(made / _KEYS / "wallet.passphrase", home / _KEYS / "wallet.passphrase")


def _make(place: Path) -> None:
    """Once: others who come meanwhile wait for it."""
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / _MADE).exists():
            fresh = place / "fresh"
            shutil.rmtree(fresh, ignore_errors=True)
            asyncio.run(_fill(fresh))
            fresh.rename(place / _MADE)


async def _fill(home: Path) -> None:
    """Make the wallet's first accounts, and let the faucet give them what new ones get."""
    from harness import running_sandbox
    from swapdesk.flows.connection import sandbox_connection
    from swapdesk.flows.desk import Desk
    from swapdesk.flows.wallet.chain_links import sandbox_links
    from swapdesk.flows.wallet.local_wallet import LocalWallet
    from swapdesk.flows.wallet.wallet_reading import fill_wallet
    from swapdesk.paths import Home
    from swapdesk.settings import load_settings
    from wallet.agents import CHEAP

    with running_sandbox(home, furnished=False) as sandbox:
        desk = Desk.open(load_settings({}, Home.at(home)))
        await desk.connect(sandbox_connection(sandbox.ready), follow=False)
        await desk.refresh_reference()
        links = sandbox_links(sandbox.ready)
        wallet = LocalWallet(desk.settings, desk.clock, links, desk.catalog, program=CHEAP)
        control = desk.link.control
        assert control is not None
        try:
            await wallet.prepare_sandbox()
            given = await fill_wallet(wallet, control)
            assert not given.problems, given
            while not all(len(held.holdings) > 1 for held in await wallet.holdings()):
                await desk.clock.sleep(0.1)
        finally:
            await wallet.close()
            await desk.close()


if __name__ == "__main__":
    _make(Path(os.environ[PLACE]))
