"""An account of the service that sends transactions: the solver's, the relayer's.

What it sends is done once by the contract it is sent to, however often it is sent; so a lost
transaction is simply sent again, and nothing is written down here.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.rpc.evm import Call
from swapdesk.service.venues.onchain.reader import ChainReader

_GAS_SHARE = 4


class HotWallet:
    """One secret key of 32 bytes, on every chain."""

    def __init__(self, secret: bytes, address: str) -> None:
        self._secret = secret
        self.address = checksummed(address)
        self._sending: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def __repr__(self) -> str:
        return f"HotWallet({self.address})"

    async def send(self, reader: ChainReader, to: str, data: bytes) -> str:
        """Send a call; its hash. Raises EvmError: EvmRefused when it would revert."""
        from eth_account import Account

        async with self._sending[reader.place.name]:
            gas = await reader.client.estimate(Call(to, data, sender=self.address))
            fees = await reader.client.fees()
            signed = Account.sign_transaction(
                {
                    "type": 2,
                    "chainId": reader.place.chain_id,
                    "nonce": await reader.client.nonce(self.address),
                    "to": to,
                    "data": data,
                    "value": 0,
                    "gas": gas + gas // _GAS_SHARE,
                    "maxFeePerGas": fees.most,
                    "maxPriorityFeePerGas": fees.priority,
                },
                self._secret,
            )
            return await reader.client.send_raw(bytes(signed.raw_transaction))
