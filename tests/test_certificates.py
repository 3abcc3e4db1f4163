"""For plain HTTP no list of authorities is read, and whoever asks anyway trusts nobody."""

from __future__ import annotations

import ssl
from collections.abc import Callable

import httpx2
import pytest

from http_clients import CLIENTS, URL
from swapdesk.certificates import certificates
from swapdesk.chain.rpc.solana import SolanaClient


def test_plain_http_reads_no_authorities_and_trusts_none() -> None:
    context = certificates(httpx2.URL(f"{URL}/v2"))
    assert isinstance(context, ssl.SSLContext)
    assert context.get_ca_certs() == []
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert certificates(httpx2.URL("https://api.example/v2")) is True


@pytest.mark.parametrize("asks", CLIENTS.values(), ids=list(CLIENTS))
async def test_clients_of_this_machine_begin_without_authorities(
    asks: Callable[[], httpx2.AsyncClient],
) -> None:
    assert _context_of(asks()).get_ca_certs() == []


async def test_a_node_behind_tls_is_held_against_the_authorities() -> None:
    context = _context_of(SolanaClient("https://node.example")._http)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.get_ca_certs()


def _context_of(client: httpx2.AsyncClient) -> ssl.SSLContext:
    transport = client._transport
    assert isinstance(transport, httpx2.AsyncHTTPTransport)
    context = transport._pool._ssl_context
    assert context is not None
    return context
