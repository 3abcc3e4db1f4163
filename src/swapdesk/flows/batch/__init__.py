"""Many recipients from one file: read, judged row by row, planned as groups, created once.

``reading`` turns bytes into a ``Sheet`` of cells, ``judging`` one row of it into an order or
its problems, whose tokens ``sheet_tokens`` finds once for all rows, ``planner`` does both for a
whole file without holding the screen up, and ``plan`` is what comes out. Nothing of that asks
for money or sends anything but ``GET /minMax``.
``creation`` creates the groups of a plan; ``batch_log`` holds what became of every row.

``settling`` pays the deposits of one group, from wherever the journal has it: ``building`` asks
what is to be signed and holds it against the orders (``payable``, ``group_orders``), ``paying``
sends the wallet's transactions, ``operations`` has UserOperations signed, ``submitting`` hands
signatures over once, ``parts`` pays on Solana. ``standing`` reads from the journal
(``bundle_log``) how far that is and where the money is; ``group_signing`` is what a screen shows.

- The intent of an operation is the group's, the token's and its part. A bundle that is built
  again has the same nonce, and the wallet signs one in place of the other only.
- Amounts are bounded by the rows as they were confirmed, and orders are looked at twice.
- Nothing is signed beside a transaction that may still be executed.
- Submitting notes a payment for each order (``call_log``), which no other payment passes.
- Groups that one smart account pays on a chain go one after another (``shared_account``). What
  stays in it ``withdrawing`` pays back to its owner; a bundle built before that is built again.
"""
