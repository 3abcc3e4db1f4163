"""Opening the keys for a signing session: in the sandbox by itself, live by the pass phrase."""

from __future__ import annotations

from swapdesk.flows.signing.signing_session import SigningSession
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.wallet.errors import WrongPassphrase

WRONG = "No key opened with that pass phrase."


async def is_shut(wallet: LocalWallet, address: str) -> bool:
    """Whether this account cannot sign before the wallet is unlocked. Raises WalletError."""
    return address not in (await wallet.accounts()).unlocked


async def open_keys(wallet: LocalWallet, address: str, session: SigningSession) -> None:
    """Unlock the wallet. In the sandbox once, whatever comes of it; live until the account is
    open, asking the trader through the session. Raises WalletError."""
    if not await is_shut(wallet, address):
        return
    if not wallet.live:
        await wallet.unlock()
        return
    said = ""
    while await is_shut(wallet, address):
        phrase = await session.passphrase(said)
        try:
            closed = await wallet.unlock(phrase)
        except WrongPassphrase:
            said = WRONG
        else:
            said = " ".join(f"{one.file} stays closed: {one.reason}." for one in closed)
