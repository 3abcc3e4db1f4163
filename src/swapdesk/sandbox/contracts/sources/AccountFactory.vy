# pragma version 0.4.3
# Makes smart accounts at addresses that are known before they stand.

BEFORE: constant(Bytes[19]) = x"602d3d8160093d39f3363d3d373d3d3d363d73"
AFTER: constant(Bytes[15]) = x"5af43d82803e903d91602b57fd5bf3"

interface Account:
    def initialize(owner: address): nonpayable

accountImplementation: public(address)


@internal
@pure
def _salt(owner: address, salt: uint256) -> bytes32:
    return keccak256(abi_encode(owner, salt))


@internal
@view
def _place(owner: address, salt: uint256) -> address:
    made: bytes32 = keccak256(
        concat(BEFORE, convert(self.accountImplementation, bytes20), AFTER)
    )
    place: bytes32 = keccak256(
        concat(b"\xff", convert(self, bytes20), self._salt(owner, salt), made)
    )
    return convert(convert(place, uint256) & (2**160 - 1), address)


@external
@view
def getAddress(owner: address, salt: uint256) -> address:
    return self._place(owner, salt)


@external
def createAccount(owner: address, salt: uint256) -> address:
    """The account of this owner; the one that stands, if it does."""
    place: address = self._place(owner, salt)
    if place.is_contract:
        return place
    made: address = create_minimal_proxy_to(
        self.accountImplementation, salt=self._salt(owner, salt)
    )
    extcall Account(made).initialize(owner)
    return made
