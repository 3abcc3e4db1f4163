"""The embedded Solana chain: what the rest of the sandbox may ask of it.

Clients speak JSON-RPC to ``POST /solana`` and need no token. Inside the process the sandbox uses
``SolanaNode`` (``node.py``):

``await node.call(chain, method, params)``
    What a client gets from the same method.
``await node.fund(address, units, mint)``
    SOL, or tokens of a catalogue mint, by a real transaction of the faucet.
``node.keypair(name)``
    A key of the sandbox, always the same in one sandbox; ``faucet`` holds SOL from the beginning
    and ``mint`` may make tokens of every catalogue mint.

Promises and duties:

- Programs run in LiteSVM; everything around them is ours, because it keeps one blockhash and
  forgets what it executed. A blockhash is good for 150 blocks, one of which begins every 400 ms
  of sandbox time, however fast the world goes. A transaction is executed once for ever, also
  after ``kill -9``, and by its message as well as by its signature.
- What was answered is durable: a transaction and the accounts that it changed are one frame of the
  log, on the disk before anybody hears of it. A start puts the accounts back and executes nothing
  again. A transaction that failed in a program is recorded too and has paid its fee.
- There is one producer and nothing is ever rolled back, so that every commitment reads the
  newest state. A transaction is ``processed`` at once, ``confirmed`` and ``finalized`` some
  blocks later.
- Refused: more than 1232 bytes, lookup tables, versions above 0, and durable nonces, beside which
  a signature would never expire.
- Solana's own programs are those of LiteSVM: System, Token, Token-2022, Associated Token Account,
  Memo, Compute Budget. Others cannot be deployed: transactions that name a loader are refused.
"""
