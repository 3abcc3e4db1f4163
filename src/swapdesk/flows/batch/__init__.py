"""Pays many recipients from one file: the file is read, judged row by row, planned as groups, and
created once. A group is at most 50 orders that sell on one chain and are created by one call.

``reading`` turns the bytes of a file into a ``Sheet`` of ``rows``. ``planner`` finds the order of
each row, or its problems, without making the screen wait; the result is a ``plan``. Up to this
point no order is created, and the only request is ``GET /minMax``. ``creation`` creates the groups
of a plan, and ``batches`` keeps them in the journal.

``group_payment`` pays the deposits of one group and continues from any step that the journal has.
It asks the service what is to be signed and compares that with the orders (``building``). On Solana
it sends one wallet transaction for each part of the deposits. On EVM chains the wallet's
transactions fund the owner's smart account, whose operations pay the deposits. All of this is
signed under a promise, which limits what may be signed.

``bundles`` keeps in the journal what is built, signed and sent. ``progress`` reads from the journal
how far a batch and each of its groups is, where the money is and what came of the orders.

- An operation is signed under an intent id made of the group, the token and the part. A bundle that
  is built a second time has the same nonce, so the wallet signs it only in place of the first one.
- Amounts are limited by the confirmed rows, and the orders are read twice.
- Nothing new is signed while a transaction that may still be executed pays the same orders.
- Submitting records a payment for each order (``payments``), so that nothing else pays the order.
- Groups that one smart account pays on a chain are paid one after another (``bundles``).

``withdrawing`` pays what remains in the smart account back to its owner. A bundle that was built
before a withdrawal has to be built again.
"""
