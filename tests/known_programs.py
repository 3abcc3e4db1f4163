"""Programs of ours that tests start again and again, and what each of them imports."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from execnet.gateway_io import popen_bootstrapline

_TESTS = Path(__file__).parent

_AGENT = (
    "swapdesk.agent.__main__",
    "swapdesk.agent.process.service",
    "swapdesk.agent.process.service",
    "swapdesk.agent.process.wallet_session:load_signing",
)
_ASKING = ("httpcore2._backends.anyio", "anyio._backends._asyncio", "swapdesk.client.*")
"""What a client of HTTP imports with its first question."""
_COMMANDS = (
    *_ASKING,
    "swapdesk.cli.main",
    "swapdesk.cli.*",
    "swapdesk.flows.catalog.*",
    "swapdesk.flows.wallet.*",
    "swapdesk.palette_files",
    "Crypto.Hash.SHA512",
)
_CHAINS = (
    "swapdesk.sandbox.node.evm.standalone",
    "swapdesk.sandbox.node.evm.bundler",
    "swapdesk.sandbox.node.evm.methods",
    "swapdesk.sandbox.node.evm.node",
    "swapdesk.sandbox.node.solana.node",
    "swapdesk.sandbox.evm_world.keeper",
    "swapdesk.sandbox.evm_world.keeper",
)
_SANDBOX = (
    *_CHAINS,
    *_ASKING,
    "swapdesk.sandbox.supervisor",
    "swapdesk.sandbox.service_process",
    "swapdesk.sandbox.node.__main__",
    "uvicorn.protocols.websockets.websockets_sansio_impl",
    "uvicorn.loops.uvloop",
)
_CONFIGURED = (
    *_ASKING,
    "swapdesk.sandbox.configured_service",
    "swapdesk.service.store.postgres",
    "uvicorn.protocols.websockets.websockets_sansio_impl",
    "uvicorn.loops.uvloop",
)
_MODULES = {
    "swapdesk.sandbox.node": _SANDBOX,
    "swapdesk.sandbox.service_process": _SANDBOX,
    "swapdesk": _COMMANDS,
}
"""What is imported before the first fork of a module, ``*`` for all of a package; what stands
behind a colon is called."""


def words_of(args: Any) -> list[str] | None:
    """The words behind the options of the interpreter, when the program is known."""
    if isinstance(args, str | bytes | os.PathLike):
        return None
    first, *words = [os.fspath(each) for each in args]
    if first != sys.executable:
        return None
    if words == ["-u", "-c", popen_bootstrapline]:
        return words[1:]
    while words and words[0] in ("-P", "-I"):
        del words[0]
    if len(words) < 2:
        return None
    if words[:2] == ["-m", "swapdesk.agent"]:
        return ["-c", _cheap_agent(), *words[2:]]
    if words[0] == "-m":
        known = words[1] in _MODULES
    elif words[0] == "-c":
        known = words[1] in _codes()
    else:
        known = words[0].startswith(f"{_TESTS}{os.sep}") and words[0].endswith(".py")
    return words if known else None


def runs_tests(words: Sequence[str]) -> bool:
    """Whether it is a worker of the run, which is told what to do over its standard input."""
    return words[1:] == [popen_bootstrapline]


def _cheap_agent() -> str:
    """The agent that commands start, with key files as light as those of ``wallet.agents``: each
    of the full cost takes half a second to make and as long to open."""
    from wallet.agents import CHEAP

    return CHEAP[-1]


@cache
def _codes() -> dict[str, tuple[str, ...]]:
    """Short programs of the tests, with what is imported before the first fork of one."""
    from wallet.agents import ALLOWING, MOMENTS, dying_at

    dying = {dying_at(moment)[-1]: _AGENT for moment in MOMENTS}
    return {_cheap_agent(): _AGENT, ALLOWING[-1]: _AGENT, **dying}


def imports_of(words: Sequence[str]) -> tuple[str, ...]:
    """What is to be imported before a program of these words is forked."""
    if runs_tests(words):
        return ("loaded_tests:load",)
    if words[0] == "-c":
        return _codes()[words[1]]
    if words[0] != "-m":
        # Programs of the tests are desks, as a rule with a wallet.
        own = Path(words[0]).relative_to(_TESTS).with_suffix("")
        return (*_AGENT, ".".join(own.parts))
    serving = _CONFIGURED if "--config" in words else _SANDBOX
    more = {"serve": serving, "worker": _CONFIGURED, "node": _CHAINS}.get(
        words[2] if len(words) > 2 else "", ()
    )
    return _MODULES[words[1]] + (more if words[1] == "swapdesk" else ())
