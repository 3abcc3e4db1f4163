from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.deployments import ENTRY_POINT, MULTICALL3, PERMIT2, SANDBOX_VENUES


def test_every_address_has_its_checksum():
    addresses = [PERMIT2, MULTICALL3, ENTRY_POINT, *(one.address for one in SANDBOX_VENUES)]
    assert [checksummed(address) for address in addresses] == addresses
    assert len({address.lower() for address in addresses}) == len(addresses)
