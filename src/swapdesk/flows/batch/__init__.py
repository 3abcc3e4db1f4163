"""Many recipients from one file: read, judged row by row, planned as groups, created once.

``reading`` turns bytes into a ``Sheet`` of ``rows``, ``planner`` finds the order of each row or its
problems without holding the screen up, and ``plan`` is what comes out. Nothing of that asks for
money or sends anything but ``GET /minMax``. ``batches`` has them in the journal.
``creation`` creates the groups of a plan.

``group_payment`` pays the deposits of one group, from wherever the journal has it: it asks what is
to be signed and compares it with the orders (``building``), sends the wallet's transactions, on
Solana part by part, and has UserOperations signed under a promise. ``bundles`` has what is built,
signed and sent in the journal. ``progress`` reads from there how far a batch is and each of its
groups, where the money is and what came of them.

- The intent of an operation is the group's, the token's and its part. A bundle that is built
  again has the same nonce, and the wallet signs one in place of the other only.
- Amounts are bounded by the rows as they were confirmed, and orders are looked at twice.
- Nothing is signed beside a transaction that may still be executed.
- Submitting notes a payment for each order (``payments``), which no other payment passes.
- Groups that one smart account pays on a chain go one after another (``bundles``). What
  stays in it ``withdrawing`` pays back to its owner; a bundle built before that is built again.
"""
