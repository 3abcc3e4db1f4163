"""Where the smart account of an owner stands, or will: computed, and asked of nobody."""

from __future__ import annotations

from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.calldata.method import method
from swapdesk.chain.deployments import SANDBOX_ACCOUNT, SANDBOX_ACCOUNT_FACTORY

CREATE_ACCOUNT = method("createAccount(address,uint256)", "owner salt")
NO_SALT = 0
"""An owner has one account here."""
GET_ADDRESS = method("getAddress(address,uint256)", "owner salt")
OWNER = method("owner()")

# EIP-1167: the code that makes a proxy, around the address of what it stands for.
_BEFORE = bytes.fromhex("602d3d8160093d39f3363d3d373d3d3d363d73")
_AFTER = bytes.fromhex("5af43d82803e903d91602b57fd5bf3")


def account_address(
    owner: str,
    salt: int = 0,
    *,
    factory: str = SANDBOX_ACCOUNT_FACTORY,
    implementation: str = SANDBOX_ACCOUNT,
) -> str:
    """The account that the factory makes for this owner (CREATE2), whether it stands or not."""
    made = keccak(_BEFORE + _octets(implementation) + _AFTER)
    mixed = keccak(_octets(owner).rjust(32, b"\0") + salt.to_bytes(32, "big"))
    place = keccak(b"\xff" + _octets(factory) + mixed + made)
    return checksummed("0x" + place[12:].hex())


def _octets(address: str) -> bytes:
    return bytes.fromhex(address[2:])
