"""Demonstrations, each carried out in the sandbox while it is shown.

``stage`` has a table of stages for each, what is known at one and its texts, and ``demonstration``
carries any of them out: it lets Alice create and pay an order, notes what is known at each stage,
and keeps that, so that going back shows what was seen. Every fact is read: from the order and the
journal, from the blocks of the local chains (``client.chain_lookup``), and from what the exchanges
tell the sandbox's control. ``customers`` are others who use the sandbox meanwhile.

``link_search`` looks for what leads from Alice to Bob in the blocks that were read, and says what
can still be compared; it is pure.

The middle of a private route is the service's choice, and mostly a coin that no local chain has. A
route that begins at an exchange that trades neither of those leads over Ether, so that all of it
can be followed.
"""
