"""A small real bundler for tests: real operations, hashes and calldata, a chain in a dictionary.

It speaks the bundler's protocol for its own sake. The test funds accounts and says when blocks
come and what the calls inside do; every hand-in that it took is counted.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct, field

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.calldata import erc20
from swapdesk.chain.deployments import ENTRY_POINT
from swapdesk.chain.rpc.evm import Call
from swapdesk.chain.smart_account import (
    EntryPointVersion,
    InnerCall,
    UserOperation,
    account_address,
    encode_batch,
    operation_json,
    user_operation_hash,
)
from swapdesk.service.bundling import (
    Build,
    BuiltOperation,
    BundleRefused,
    BundlerUnreachable,
    Landed,
    OperationPayment,
)

CHAIN_ID = 1_337_000_001


class PlainBundler(Struct):
    """``funded``: accounts that can pay; ``reverting``: what the calls inside say instead;
    ``silent``: nobody answers; ``deaf``: the answer to a hand-in is lost, once."""

    chain: str = "ethereum"
    funded: set[str] = field(default_factory=set)
    reverting: str | None = None
    refusing: BundleRefused | None = None
    silent: bool = False
    deaf: bool = False
    mining: bool = True
    taken: list[UserOperation] = field(default_factory=list)
    nonces: dict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))
    blocks: dict[str, Landed] = field(default_factory=dict)

    def serves(self, chain: str) -> bool:
        return chain == self.chain

    async def account_of(self, chain: str, owner: str) -> str:
        self._answer()
        return account_address(owner)

    async def build(
        self, chain: str, multi_id: str, owner: str, payments: Sequence[OperationPayment]
    ) -> Build:
        self._answer()
        account = account_address(owner)
        tokens = list(dict.fromkeys(payment.token for payment in payments))
        operations = tuple(self._operation(multi_id, account, token, payments) for token in tokens)
        needed = sum(each.funding.value for each in operations)
        return Build(account, operations, 0 if account in self.funded else needed, 0)

    def _operation(
        self, multi_id: str, account: str, token: str | None, payments: Sequence[OperationPayment]
    ) -> BuiltOperation:
        places = tuple(place for place, one in enumerate(payments) if one.token == token)
        mine = [payments[place] for place in places]
        units = sum(one.units for one in mine)
        digest = hashlib.sha256(f"{multi_id} {token}".encode()).digest()
        key = int.from_bytes(digest[:24], "big")
        operation = UserOperation(
            sender=account,
            nonce=key << 64 | self.nonces[account, key],
            call_data=encode_batch([_call(one) for one in mine]),
            call_gas_limit=100_000 * len(mine),
            verification_gas_limit=150_000,
            pre_verification_gas=50_000,
            max_fee_per_gas=2 * 10**9,
            max_priority_fee_per_gas=10**9,
        )
        gas = operation.required_prefund
        funding = (
            Call(account, value=units + gas)
            if token is None
            else Call(token, erc20.TRANSFER.call(account, units))
        )
        return BuiltOperation(
            payments=places,
            operation=operation,
            hash=_hash(operation),
            entry_point=ENTRY_POINT,
            version=EntryPointVersion.V07,
            chain_id=CHAIN_ID,
            funding=funding,
            token_amount=None if token is None else units,
        )

    async def submit(self, chain: str, operation: UserOperation) -> str:
        self._answer()
        if self.refusing is not None:
            raise self.refusing
        name = "0x" + _hash(operation).hex()
        known = {"0x" + _hash(each).hex() for each in self.taken}
        if name not in known:
            if operation.sender not in self.funded:
                raise BundleRefused(-32500, "AA21 didn't pay prefund")
            key, sequence = divmod(operation.nonce, 1 << 64)
            if self.nonces[operation.sender, key] != sequence:
                raise BundleRefused(-32500, "AA25 invalid account nonce")
            self.taken.append(operation)
            if self.mining:
                self.mine()
        if self.deaf:
            self.deaf = False
            raise BundlerUnreachable("the answer was lost")
        return name

    def mine(self) -> None:
        """Put what was taken into blocks."""
        for operation in self.taken:
            name = "0x" + _hash(operation).hex()
            if name in self.blocks:
                continue
            self.nonces[operation.sender, operation.nonce >> 64] += 1
            height = len(self.blocks) + 1
            sent = "0x" + hashlib.sha256(name.encode()).hexdigest()
            reason = self.reverting
            self.blocks[name] = Landed(sent, height, 1, reason is None, reason or "")

    async def landed(self, chain: str, operation_hash: str) -> Landed | None:
        self._answer()
        return self.blocks.get(operation_hash)

    def _answer(self) -> None:
        if self.silent:
            raise BundlerUnreachable("no answer")

    def signed(self) -> list[dict[str, str]]:
        """What was taken, as JSON-RPC writes it."""
        return [operation_json(each) for each in self.taken]


def _hash(operation: UserOperation) -> bytes:
    return user_operation_hash(operation, ENTRY_POINT, CHAIN_ID)


def _call(payment: OperationPayment) -> InnerCall:
    to = checksummed(payment.to)
    if payment.token is None:
        return InnerCall(to, payment.units)
    return InnerCall(checksummed(payment.token), 0, erc20.TRANSFER.call(to, payment.units))
