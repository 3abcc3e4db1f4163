"""Every client that asks over HTTP, with the httpx2 client inside it, none connected; and a node
that a test answers for."""

from __future__ import annotations

from collections.abc import Callable

import httpx2

from swapdesk.chain.rpc.evm import EvmClient
from swapdesk.chain.rpc.ledger import LedgerClient
from swapdesk.chain.rpc.solana import SolanaClient
from swapdesk.client.credentials import Credentials
from swapdesk.client.sandbox_control import SandboxControl
from swapdesk.client.transport import ApiTransport
from swapdesk.clock import SystemClock
from swapdesk.secret import Secret

URL = "http://127.0.0.1:9"
_CREDENTIALS = Credentials.of_key("key", "secret")

CLIENTS: dict[str, Callable[[], httpx2.AsyncClient]] = {
    "service": lambda: ApiTransport(f"{URL}/v2", _CREDENTIALS, clock=SystemClock())._http,
    "control": lambda: SandboxControl(f"{URL}/sandbox", Secret("token"))._client,
    "evm": lambda: EvmClient(URL)._http,
    "ledger": lambda: LedgerClient(URL, "token")._http,
    "solana": lambda: SolanaClient(URL)._http,
}


def node_transport(
    answer: Callable[[httpx2.Request], httpx2.Response],
) -> httpx2.AsyncBaseTransport:
    """A node that answers as a test says. Its bytes come as from a socket: read once, by the
    client alone."""

    def respond(request: httpx2.Request) -> httpx2.Response:
        given = answer(request)
        return httpx2.Response(
            given.status_code, headers=given.headers, stream=httpx2.ByteStream(given.content)
        )

    return httpx2.MockTransport(respond)
