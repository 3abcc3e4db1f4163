"""The demonstrations: a private send, a swap, a swap on a chain and an order that is stuck, each
carried out in the sandbox while it is shown.

``private_send`` lets Alice pay Bob and notes each of nine stages as it comes: ``Stage`` is what is
known at one of them, and going back shows what was noted. Every fact is read: from the order and
the journal (Alice), from the blocks of the local chains (``client.chain_transfers``), and from
what the exchanges tell the sandbox's control (the service). ``panes`` turns a stage into the three
panes, ``stage_texts`` has the words. ``customers`` are others who use the sandbox meanwhile.

``link_search`` looks for what leads from Alice to Bob in the blocks that were read, and says what
can still be compared; both are pure.

The middle of a private route is the service's choice, and mostly a coin that no local chain has.
``MIDDLE_BY`` names an exchange that trades neither of those, so that the first leg pays the middle
on a local chain, too, and all of it can be followed.
"""
