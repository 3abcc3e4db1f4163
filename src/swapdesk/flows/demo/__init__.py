"""Demonstrations, each carried out in the sandbox while it is shown. ``stage`` has the table of
stages of each demonstration, the facts known at a stage and the texts made from them.
``demonstration`` carries one out: it creates and pays an order as Alice, and records the facts of
each stage, so that going back shows what was known then. Every fact is read: from the order and the
journal, from the blocks of the local chains (``client.chain_lookup``), and from what the exchanges
tell the sandbox's control interface.

``customers`` simulates other users of the sandbox at the same time. ``link_search`` searches the
blocks for a path of payments from Alice to Bob, and says what a watcher can still compare.

The service chooses the coin between the two exchanges of a private route, usually one that no local
chain has. Some exchanges do not trade such coins; a route that begins at one of those leads over
Ether, so that every payment can be followed.
"""
