"""How tests start a wallet agent: the real program, with key files that are cheap to derive."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from swapdesk.secret import Secret
from swapdesk.wallet.client import WalletClient

CHEAP = (
    "-I",
    "-c",
    "import sys; from swapdesk.agent.__main__ import main; main(sys.argv[1:], cost=1024)",
)
"""The agent's own entry with a light scrypt for new files; what it reads is bounded as ever."""

PASSPHRASE = Secret("correct horse battery staple")

Start = Callable[..., Awaitable[WalletClient]]
