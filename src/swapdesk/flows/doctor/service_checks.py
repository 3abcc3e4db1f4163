"""Checks of the sandbox's run file, the service, its clock and the nodes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from swapdesk.chain.node_http import NodeError
from swapdesk.client.api import PartnerApi
from swapdesk.client.chain_lookup import NodeReader
from swapdesk.client.credentials import Credentials, CredentialsError
from swapdesk.client.errors import AccessError, ClientError
from swapdesk.client.transport import RetryPolicy
from swapdesk.clock import Clock
from swapdesk.flows.catalog.catalog_refresh import all_chains
from swapdesk.flows.connection import (
    NotConfigured,
    clock_problem,
    live_connection,
    sandbox_connection,
)
from swapdesk.flows.doctor.home_checks import (
    Finding,
    as_root,
    line_of_profile,
    ok,
    secret_file,
    shared,
    type_secret,
    unchecked,
    wrong,
)
from swapdesk.flows.notation import capital, duration
from swapdesk.flows.wallet.chain_links import live_links
from swapdesk.installation import shell_word
from swapdesk.paths import Home
from swapdesk.settings import Settings
from swapdesk.wallet.accounts import ChainLink, Kind

T = TypeVar("T")

ANSWER_SECONDS = 5.0
"""The longest time, in seconds, to wait for an answer of the service."""


def check_run_file(home: Home, ready: Mapping[str, Any] | None) -> Finding:
    """Checks the run file, in which a sandbox writes its addresses and keys. ``ready`` is the
    file's content, or None if no sandbox answers."""
    file = home.sandbox_run_file
    found = shared("run file", file)
    if found is not None:
        return found
    if not file.exists():
        return ok("run file", "No sandbox runs; a command that needs one starts it.")
    if ready is None:
        sentence = f"No sandbox answers where {file} says."
        return wrong("run file", sentence, f"rm {shell_word(file)}")
    return ok("run file", f"The sandbox of process {ready['pid']} runs.")


async def check_service(
    settings: Settings, ready: Mapping[str, Any] | None, clock: Clock
) -> list[Finding]:
    """Checks the service, its clock, the credentials and the nodes. ``ready`` is the content of a
    running sandbox's run file, or None if no sandbox runs."""
    if not settings.live and ready is None:
        return [unchecked("service", "No sandbox runs.")]
    url = settings.url.value if ready is None else str(ready["url"])
    if url is None:
        sentence = f"Profile {settings.profile.value} has no url."
        return [wrong("service", sentence, line_of_profile(settings, "url"))]
    credentials, refused = _credentials(settings, ready)
    try:
        api = PartnerApi(url, credentials, clock=clock, policy=RetryPolicy(attempts=1))
    except CredentialsError as error:
        return [wrong("service", f"{error}.", _mend_url(settings))]
    async with api:
        try:
            await _soon(api.health())
        except (ClientError, TimeoutError) as error:
            why = str(error) or "no answer in time"
            sentence = f"{api.url} does not answer ({why})."
            return [wrong("service", sentence, _mend_url(settings)), *refused]
        return [
            ok("service", f"{api.url} answers."),
            _clock(api, settings),
            *(refused or [await _accepted(api, settings, ready)]),
            *await _nodes(api, settings, ready),
        ]


def _credentials(
    settings: Settings, ready: Mapping[str, Any] | None
) -> tuple[Credentials, list[Finding]]:
    try:
        connection = live_connection(settings) if ready is None else sandbox_connection(ready)
        return connection.credentials, []
    except (NotConfigured, CredentialsError) as error:
        if any(problem.key == "secret_file" for problem in settings.problems):
            return Credentials(), [unchecked("credentials", "The secret cannot be read.")]
        sentence = f"{capital(str(error))}."
        return Credentials(), [wrong("credentials", sentence, _mend_credentials(settings))]


def _clock(api: PartnerApi, settings: Settings) -> Finding:
    skew = api.skew()
    if not settings.live or skew is None:
        return ok("clock", "The desk takes its time from the service.")
    problem = clock_problem(skew)
    if problem is None:
        return ok("clock", f"The clocks differ by {duration(abs(skew))}.")
    linux = sys.platform.startswith("linux")
    mend = "timedatectl set-ntp true" if linux else "sntp -sS time.apple.com"
    return wrong("clock", problem, as_root(mend))


async def _accepted(
    api: PartnerApi, settings: Settings, ready: Mapping[str, Any] | None
) -> Finding:
    try:
        await _soon(api.get_rate_limits() if api.credentials.writes else api.list_chains())
    except AccessError as error:
        what = "API key and its secret" if api.credentials.writes else "partner id"
        mend = _mend_credentials(settings)
        if ready is not None:
            mend = f"rm {shell_word(settings.home.sandbox_run_file)}"
        return wrong("credentials", f"The service refuses the {what} ({error.code}).", mend)
    except (ClientError, TimeoutError) as error:
        return unchecked("credentials", f"The service did not say ({error}).")
    if not api.credentials.writes:
        return ok("credentials", "The partner id is accepted: reading only.")
    return ok("credentials", "The API key is accepted.")


async def _nodes(
    api: PartnerApi, settings: Settings, ready: Mapping[str, Any] | None
) -> list[Finding]:
    if ready is not None:
        links: Sequence[ChainLink] = sandbox_connection(ready).chains
        return await _asked(links, lambda _: f"kill {int(ready['pid'])}")
    if not settings.rpc.value:
        return [ok("nodes", "No node is configured, so nothing is signed here.")]
    try:
        chains = {chain.short_name.lower(): chain for chain in await _soon(all_chains(api))}
    except (ClientError, TimeoutError) as error:
        return [unchecked("nodes", f"The service did not list its chains ({error}).")]
    links, problems = live_links(settings, lambda name: chains.get(name.lower()))
    linked = {link.name.lower() for link in links}
    others = [name for name in settings.rpc.value if name.lower() not in linked]

    def mend(chain: str) -> str:
        return line_of_profile(settings, "rpc", chain)

    unused = [
        wrong("nodes", sentence, mend(name))
        for name, sentence in zip(others, problems, strict=True)
    ]
    return [*unused, *await _asked(links, mend)]


async def _asked(links: Sequence[ChainLink], mend: Callable[[str], str]) -> list[Finding]:
    problems = list(zip(links, await asyncio.gather(*map(_node_problem, links)), strict=True))
    findings = [
        wrong("nodes", sentence, mend(link.name))
        for link, sentence in problems
        if sentence is not None
    ]
    well = ", ".join(link.name for link, sentence in problems if sentence is None)
    return [*findings, *([ok("nodes", f"Nodes answer for {well}.")] if well else [])]


async def _node_problem(link: ChainLink) -> str | None:
    # The node's address may contain an operator's key, and is not shown.
    node = NodeReader(link.name, link.rpc)
    try:
        if link.kind is Kind.SOLANA:
            await node.slot()
            return None
        chain_id = await node.chain_id()
    except NodeError as error:
        return f"{link.name}: {error}."
    if chain_id != link.chain_id:
        return f"{link.name}: the node is one of chain {chain_id}, not of {link.chain_id}."
    return None


async def _soon(answer: Awaitable[T]) -> T:
    async with asyncio.timeout(ANSWER_SECONDS):
        return await answer


def _mend_url(settings: Settings) -> str:
    if settings.url.origin == "environment":
        return "unset SWAPDESK_API_URL"
    return line_of_profile(settings, "url")


def _mend_credentials(settings: Settings) -> str:
    if "environment" in (settings.key.origin, settings.secret.origin):
        return "read -rs SWAPDESK_API_SECRET && export SWAPDESK_API_SECRET"
    file = secret_file(settings)
    if file is not None:
        return type_secret(file)
    if settings.partner_id.origin == "environment":
        return "read -r SWAPDESK_PARTNER_ID && export SWAPDESK_PARTNER_ID"
    return line_of_profile(settings, "key" if settings.key.value else "partner_id")
