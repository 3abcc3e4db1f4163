"""Clients of HTTP read no authorities for plain HTTP, and let a kept connection go before any
server does."""

from __future__ import annotations

import asyncio
import re
import ssl
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

import swapdesk
from http_clients import CLIENTS, URL
from own_certificate import own_certificate
from swapdesk.certificates import VARIABLE, certificates, trust
from swapdesk.chain.node_http import NodeUnreachable
from swapdesk.chain.rpc.solana import SolanaClient
from swapdesk.clock import SystemClock
from swapdesk.sandbox.http_server import build_server


@pytest.fixture(params=CLIENTS.values(), ids=list(CLIENTS))
def asking(request: pytest.FixtureRequest) -> httpx2.AsyncClient:
    """Each client of this machine."""
    client: httpx2.AsyncClient = request.param()
    return client


def pool_of(client: httpx2.AsyncClient) -> Any:
    transport: Any = client._transport
    return transport._pool


@pytest.fixture(autouse=True)
def nobody_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr("swapdesk.certificates._chosen", None)


def test_plain_http_reads_no_authorities_and_trusts_none() -> None:
    context = certificates(httpx2.URL(f"{URL}/v2"))
    assert isinstance(context, ssl.SSLContext)
    assert context.get_ca_certs() == []
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert certificates(httpx2.URL("https://api.example/v2")) is True


def test_clients_of_this_machine_begin_without_authorities(asking: httpx2.AsyncClient) -> None:
    assert pool_of(asking)._ssl_context.get_ca_certs() == []


def test_a_node_behind_tls_is_held_against_the_authorities() -> None:
    context = pool_of(SolanaClient("https://node.example")._http)._ssl_context
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.get_ca_certs()


async def test_a_server_is_trusted_by_the_chosen_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind a proxy that opens connections with an authority of its company."""
    own, other = own_certificate(tmp_path, "own"), own_certificate(tmp_path, "other")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(own)
    asked = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 38\r\n\r\n")
        writer.write(b'{"jsonrpc":"2.0","id":1,"result":"ok"}')
        await writer.drain()
        writer.close()

    listener = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=server)
    url = f"https://localhost:{listener.sockets[0].getsockname()[1]}"

    async def health() -> Any:
        async with SolanaClient(url) as node:
            return await node.ask("getHealth")

    async with listener:
        for file in ("", str(other.with_suffix(".crt"))):
            trust(file)
            with pytest.raises(NodeUnreachable):
                await health()
        assert asked == []
        trust(str(own.with_suffix(".crt")))
        assert await health() == "ok"
        # Where nobody chose, as in a service, the environment says it.
        monkeypatch.setattr("swapdesk.certificates._chosen", None)
        monkeypatch.setenv(VARIABLE, str(own.with_suffix(".crt")))
        assert await health() == "ok"


def test_a_file_without_certificates_is_named(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    for content in (None, "", "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"):
        if content is not None:
            file.write_text(content)
        trust(str(file))
        with pytest.raises(OSError, match=r"ca\.pem") as refused:
            certificates(httpx2.URL("https://api.example"))
        assert refused.value.filename == str(file)


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers nobody."""


def test_whoever_asks_lets_go_before_the_server(asking: httpx2.AsyncClient) -> None:
    ours = build_server(nothing, SystemClock()).config.timeout_keep_alive
    usual = uvicorn.Config(nothing).timeout_keep_alive
    assert pool_of(asking)._keepalive_expiry < usual < ours


OTHER_HOSTS = {
    "json-schema.org",  # the name of a dialect, which nobody asks
    "no-color.org",  # where a variable is explained
    "sqlite.org",
}
RESERVED = (".example", ".invalid", "example.com", "example.org")


def test_no_host_stands_in_the_program_that_nobody_configured() -> None:
    """No telemetry, no search for updates: what is asked is the user's service and nodes."""
    source = Path(swapdesk.__file__).parent
    files = [*source.rglob("*.py"), *(source / "web_pages").iterdir()]
    texts = "\n".join(one.read_text(encoding="utf-8") for one in files)
    named = set(re.findall(r"(?:https?|wss?)://([A-Za-z][\w-]*(?:\.[\w-]+)+)", texts))
    assert {one for one in named if not one.endswith(RESERVED)} <= OTHER_HOSTS
