"""The embedded EVM chains, and what the rest of the sandbox may ask of them.

Five chains (``tables.EVM_CHAINS``) run side by side in the node's process. Clients send
JSON-RPC to ``POST /evm/{shortName}`` and need no token. Inside the process the sandbox uses
``EvmNode`` (``node.py``), which ``embedding.open()`` returns (``embedding.py``):

``node.chains["base"]``
    A ``LiveChain``: ``submit(raw)`` takes a signed transaction, ``head`` is the newest block,
    ``accounts`` are the accounts after that block, ``changed`` is an event that is set at the
    next block, and ``receipt(hash)`` returns the receipt of a transaction. ``call`` and ``logs``
    run in the reader's thread. ``chain`` has all the blocks.
``await node.fund(chain, address, wei)``
    Sends coins from the faucet by a real transaction; returns its hash at once.
``await node.confirmed(chain, hash)``
    Returns the receipt, once the transaction is in a block.
``node.account(chain, name)``
    Returns a ``ChainAccount`` for a key of the sandbox (``genesis``): ``address``,
    ``await send(to, value=, payload=, gas=, awaited=)``, and ``await sign(...)``, which only
    signs. The same name gives the same address on every chain and at every start. ``faucet``,
    ``operator`` and the parties of ``sandbox.evm_world`` hold coins from block 0; other accounts
    must be funded first.

Guarantees, and rules for callers:

- Addresses and hashes are bytes in this package; amounts are whole wei (``int``). Time comes
  from the node's clock.
- A transaction with a receipt is durable; one that is only in the pool is lost by ``kill -9``.
  A caller that must not pay twice stores the signed bytes before it submits them. After a
  start it submits the same bytes again, in the order of nonces and before any new transaction of
  that account. ``already known`` and ``nonce too low`` then mean that the transaction was
  executed or that another one took its nonce; ``receipt(hash)`` shows which.
- Only executed blocks count as confirmations. A quiet chain makes no blocks, but a transaction
  sent with ``awaited`` (the default) is followed by the chain's ``confirmations`` - 1 blocks at
  its usual interval. Transactions of the world itself, such as moving a pool's price, are sent
  with ``awaited=False``.
- The contracts of block 0 are those of ``sandbox.evm_world``, given as runtime code and
  storage, without transactions. If that content changes, a data directory with the old content
  is refused.
- All methods of ``EvmNode``, ``LiveChain`` and ``ChainAccount`` must be called on the event
  loop. They execute no contract code on the loop: blocks run in the writer's thread of each
  chain, calls in the reader's.
- Faults of a chain come from ``sandbox.faults.ActiveFaults``.
"""
