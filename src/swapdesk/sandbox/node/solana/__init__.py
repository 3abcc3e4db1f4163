"""The embedded Solana chain, and what the rest of the sandbox may ask of it.

Clients send JSON-RPC to ``POST /solana`` and need no token. Inside the process the sandbox uses
``SolanaNode`` (``node.py``):

``await node.call(chain, method, params)``
    Returns what a client gets from the same method.
``await node.fund(address, units, mint)``
    Sends SOL, or tokens of a catalogue mint, by a real transaction of the faucet.
``node.keypair(name)``
    Returns a key of the sandbox, always the same in one sandbox. ``faucet`` holds SOL from the
    beginning, and ``mint`` may make tokens of every catalogue mint.

Guarantees, and rules for callers:

- Programs run in LiteSVM. Blockhashes and history are kept by this package, because LiteSVM has
  only one blockhash and forgets what it executed. A blockhash is valid for 150 blocks. A block
  begins every 400 ms of sandbox time, whatever the speed of the world. A transaction is executed
  only once, also after ``kill -9``, and the same message with another signature is not executed
  either.
- Every answer is durable: a transaction and the accounts that it changed are one frame of the
  log, which is on disk before any client gets an answer. A start restores the accounts and
  executes nothing again. A transaction that failed in a program is also stored, and has paid its
  fee.
- There is one producer and nothing is ever rolled back, so that every commitment reads the
  newest state. A transaction is ``processed`` at once, and ``confirmed`` and ``finalized`` some
  blocks later.
- Transactions are refused if they have more than 1232 bytes, lookup tables, a version above 0, or
  a durable nonce, with which a signature would never expire.
- Solana's own programs are those of LiteSVM: System, Token, Token-2022, Associated Token Account,
  Memo, Compute Budget. Other programs cannot be deployed: transactions that name a loader are
  refused.
"""
