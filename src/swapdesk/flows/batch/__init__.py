"""Pays many recipients from one file: the file is read, judged row by row, planned as groups, and
created once.

``reading`` turns the bytes of a file into a ``Sheet`` of ``rows``. ``planner`` finds the order of
each row, or its problems, without making the screen wait; the result is a ``plan``. Until then no
money is asked for, and only ``GET /minMax`` is sent. ``creation`` creates the groups of a plan, and
``batches`` keeps them in the journal.

``group_payment`` pays the deposits of one group and continues from any step that the journal
has. It asks the service what is to be signed and compares that with the orders (``building``). It
sends the wallet's transactions (on Solana one for each part), and has the operations of the smart
account signed under a promise, which limits what may be signed.

``bundles`` keeps in the journal what is built, signed and sent. ``progress`` reads from there how
far a batch and each of its groups is, where the money is and what came of the orders.

- An operation is signed under an intent id made of the group, the token and the part. A bundle that
  is built again has the same nonce, so the wallet signs it only in place of the earlier one.
- Amounts are limited by the confirmed rows, and the orders are read twice.
- Nothing new is signed while a transaction that may still be executed pays the same.
- Submitting records a payment for each order (``payments``), so that nothing else pays the order.
- Groups that one smart account pays on a chain are paid one after another (``bundles``).
  ``withdrawing`` pays what remains in the smart account back to its owner. A bundle that was built
  before a withdrawal has to be built again.
"""
