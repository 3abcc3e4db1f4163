"""The bundler of the embedded EVM chains (ERC-4337): takes signed UserOperations and puts them
into blocks through the EntryPoint.

It answers the bundler's JSON-RPC beside the chain's own, at the same address. ``operations``
executes an operation before it is taken; ``submission`` keeps what was taken, sends bundles and
reads from the chain what became of them; ``methods`` is the JSON-RPC and says what gas an
operation needs.

What became of an operation is always read from the chain, by the EntryPoint's event: the
transaction around it succeeds whether its calls did or not. An operation is never executed twice,
because its nonce is in the EntryPoint.

Bounds: at most ``MOST_OPERATIONS`` in a bundle, no paymasters, no aggregators, no delegated
accounts (EIP-7702), and none of the rules about opcodes and storage (ERC-7562), which need
traces.
"""
