"""The embedded EVM chains: what the rest of the sandbox may ask of them.

Five chains (``tables.EVM_CHAINS``) run side by side in the node's process. Clients speak
JSON-RPC to ``POST /evm/{shortName}`` and need no token. Inside the process the sandbox uses
``EvmNode`` (``node.py``), reached by ``embedding.open()`` (``embedding.py``):

``node.chains["base"]``
    A ``LiveChain``: ``submit(raw)`` takes a signed transaction, ``head`` is the newest block,
    ``accounts`` what the accounts hold after it, ``changed`` an event set at the next one,
    ``receipt(hash)`` what became of a transaction; ``call`` and ``logs`` work in the reader's
    thread. ``chain`` has all the blocks.
``await node.fund(chain, address, wei)``
    Coins from the faucet, by a real transaction; the hash comes at once.
``await node.confirmed(chain, hash)``
    The receipt, once it is in a block.
``node.account(chain, name)``
    A ``ChainAccount`` for a key of the sandbox (``genesis``): ``address``,
    ``await send(to, value=, payload=, gas=, awaited=)``, and ``await sign(...)``, which only
    signs. The same name gives the same address on every chain and at every start. ``faucet``,
    ``operator`` and the parties of ``sandbox.evm_world`` hold coins from block 0; others are
    funded first.

Promises and duties:

- Addresses and hashes are bytes in here; amounts are whole wei (``int``). Time comes from the
  node's clock.
- What has a receipt is durable. What is only in the pool is gone after ``kill -9``: who must
  not pay twice writes the signed bytes down, submits it, and after a start submits the same bytes
  again, in the order of nonces and before anything new of that account; ``already known`` and
  ``nonce too low`` then mean done or overtaken, which ``receipt(hash)`` tells apart.
- Only executed blocks count as confirmations. A quiet chain makes no blocks, but everything
  sent with ``awaited`` (the default) is followed by the chain's ``confirmations`` - 1 blocks at
  its beat. What the world does for itself, such as moving a pool's price, is sent with
  ``awaited=False``.
- Contracts that stand at an address from the beginning are those of ``sandbox.evm_world``:
  runtime code and storage, no transactions. Another content is another world and refuses the
  data directory of the one before.
- All methods of ``EvmNode``, ``LiveChain`` and ``ChainAccount`` are called on the event loop.
  Nothing there executes code on it: blocks run in the writer's thread of each chain, calls in
  the reader's.
- Faults of a chain are asked for through ``sandbox.faults.ActiveFaults``.
"""
