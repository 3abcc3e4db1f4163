# pragma version 0.4.3
# Many reads in one call; the selectors of Multicall3, bounded.

MAX_CALLS: constant(uint256) = 64
MAX_INPUT: constant(uint256) = 512
MAX_OUTPUT: constant(uint256) = 512

struct Call3:
    target: address
    allowFailure: bool
    callData: Bytes[MAX_INPUT]

struct Result:
    success: bool
    returnData: Bytes[MAX_OUTPUT]


@external
@payable
def aggregate3(calls: DynArray[Call3, MAX_CALLS]) -> DynArray[Result, MAX_CALLS]:
    results: DynArray[Result, MAX_CALLS] = []
    for one: Call3 in calls:
        success: bool = False
        answer: Bytes[MAX_OUTPUT] = b""
        success, answer = raw_call(
            one.target, one.callData, max_outsize=MAX_OUTPUT, revert_on_failure=False
        )
        assert success or one.allowFailure, "Multicall3: call failed"
        results.append(Result(success=success, returnData=answer))
    return results


@external
@view
def getEthBalance(addr: address) -> uint256:
    return addr.balance


@external
@view
def getBlockNumber() -> uint256:
    return block.number


@external
@view
def getCurrentBlockTimestamp() -> uint256:
    return block.timestamp


@external
@view
def getChainId() -> uint256:
    return chain.id
