"""Many recipients from one file: read, judged row by row, planned as groups, created once.

``reading`` turns bytes into a ``Sheet`` of cells, ``judging`` one row of it into an order or
its problems, whose tokens ``sheet_tokens`` finds once for all rows, ``planner`` does both for a
whole file without holding the screen up, and ``plan`` is what comes out. Nothing of that asks
for money or sends anything but ``GET /minMax``.
``creation`` creates the groups of a plan; ``batch_log`` holds what became of every row.

``settling`` pays the deposits of one group: ``building`` asks what is to be signed and holds it
against the orders (``payable``, ``group_orders``), ``paying`` sends the wallet's transactions,
``submitting`` hands signatures over once, ``parts`` pays on Solana. ``standing`` reads from the
journal (``bundle_log``) how far that is and where the money is; ``group_signing`` is what a
screen shows of it.
"""
