# pragma version 0.4.3
# Calls the factory of an operation's initCode for the EntryPoint, from an address of its own.

MAX_INIT: constant(uint256) = 1024


@external
def createSender(initCode: Bytes[MAX_INIT]) -> address:
    factory: address = convert(convert(slice(initCode, 0, 20), bytes20), address)
    success: bool = False
    answer: Bytes[32] = b""
    success, answer = raw_call(
        factory,
        slice(initCode, 20, len(initCode) - 20),
        max_outsize=32,
        revert_on_failure=False,
    )
    if not success or len(answer) < 32:
        return empty(address)
    return convert(convert(answer, uint256) & (2**160 - 1), address)
