# pragma version 0.4.3
event Bumped:
    who: indexed(address)
    count: uint256

count: public(uint256)

@external
def bump(by: uint256):
    assert by < 100, "too much"
    self.count += by
    log Bumped(who=msg.sender, count=self.count)

@external
def refuse():
    raw_revert(abi_encode(convert(7, uint256), method_id=method_id("Refused(uint256)")))

@external
@payable
def give(to: address):
    send(to, msg.value)

@external
@view
def now() -> uint256:
    return block.timestamp

@external
def spin():
    for i: uint256 in range(10000000):
        self.count = i
