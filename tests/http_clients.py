"""Every client that asks over HTTP, with the httpx2 client inside it; none is connected."""

from __future__ import annotations

from collections.abc import Callable

import httpx2

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
    "ledger": lambda: LedgerClient(URL, "token")._http,
    "solana": lambda: SolanaClient(URL)._http,
}
