"""Follows all orders live, merges their states forward only, and announces changes.

``tracking`` commits a state before it announces the state. Estimates and times of an order under
way are announced first and committed later, many at a time (``order_writes``), because the service
states them again after a kill.

Orders that may still change and the newest orders are loaded first, the others while the desk is in
use. An order that is needed earlier is read from the journal (``Tracker.recall``).
"""
