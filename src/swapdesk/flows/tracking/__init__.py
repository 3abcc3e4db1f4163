"""All orders together: followed live, folded forward, announced.

``tracking`` commits a state before it announces it. Estimates and times of an order under way are
announced first and committed later, many as one (``order_writes``): after a kill the service
states them again. It begins with the orders that may still change and the newest ones; the others
are read while the desk is in use, and one that is asked for earlier comes from the journal
(``Tracker.recall``).
"""
