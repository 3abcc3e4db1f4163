"""For plain HTTP no list of authorities is read, and whoever asks anyway trusts nobody."""

from __future__ import annotations

import ssl
from collections.abc import Callable

import httpx
import pytest

from swapdesk.certificates import certificates
from swapdesk.chain.rpc.ledger import LedgerClient
from swapdesk.chain.rpc.solana import SolanaClient
from swapdesk.client.credentials import Credentials
from swapdesk.client.sandbox_control import SandboxControl
from swapdesk.client.transport import ApiTransport
from swapdesk.clock import SystemClock
from swapdesk.secret import Secret

URL = "http://127.0.0.1:9"
CREDENTIALS = Credentials.of_key("key", "secret")


def test_plain_http_reads_no_authorities_and_trusts_none() -> None:
    context = certificates(httpx.URL(f"{URL}/v2"))
    assert isinstance(context, ssl.SSLContext)
    assert context.get_ca_certs() == []
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert certificates(httpx.URL("https://api.example/v2")) is True


@pytest.mark.parametrize(
    "asks",
    [
        lambda: ApiTransport(f"{URL}/v2", CREDENTIALS, clock=SystemClock())._http,
        lambda: SandboxControl(f"{URL}/sandbox", Secret("token"))._client,
        lambda: LedgerClient(URL, "token")._http,
        lambda: SolanaClient(URL)._http,
    ],
    ids=["the API", "the sandbox's control", "the sandbox's ledger", "a Solana node"],
)
async def test_clients_of_this_machine_begin_without_authorities(
    asks: Callable[[], httpx.AsyncClient],
) -> None:
    assert _context_of(asks()).get_ca_certs() == []


async def test_a_node_behind_tls_is_held_against_the_authorities() -> None:
    context = _context_of(SolanaClient("https://node.example")._http)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.get_ca_certs()


def _context_of(client: httpx.AsyncClient) -> ssl.SSLContext:
    transport = client._transport
    assert isinstance(transport, httpx.AsyncHTTPTransport)
    context = transport._pool._ssl_context
    assert context is not None
    return context
