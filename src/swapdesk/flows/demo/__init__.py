"""Demonstrations, each carried out in the sandbox while it is shown.

``stage`` has, for each demonstration, its table of stages, the facts known at a stage and the texts
made from them. ``demonstration`` carries one out: it creates and pays an order as Alice, and
records the facts of each stage, so that going back shows what was seen then.

Every fact is read: from the order and the journal, from the blocks of the local chains
(``client.chain_lookup``), and from what the exchanges tell the sandbox's control interface.
``customers`` are others who use the sandbox at the same time. ``link_search`` looks for a path from
Alice to Bob in the blocks that were read, and says what can still be compared; it has no side
effects.

The service chooses the coin between the two exchanges of a private route, and mostly one that no
local chain has. Some exchanges do not trade such coins; a route that begins at one of those leads
over Ether, so that every payment can be followed.
"""
