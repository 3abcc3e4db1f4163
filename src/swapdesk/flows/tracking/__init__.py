"""All orders: followed live, merged forward, announced.

``tracking`` commits a state before it announces it. Estimates and times of an order under way are
announced first and committed later, many at a time (``order_writes``): after a kill the service
states them again. Orders that may still change and the newest ones are loaded first, the others
while the desk is in use; an order that is needed earlier comes from the journal
(``Tracker.recall``).
"""
