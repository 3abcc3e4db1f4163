"""The desk's half of signing: what the desk hands to the wallet agent and what the agent answers.

The agent (``swapdesk.agent``) is a process of its own and the only one with keys. Both sides read
the plain data of this room: ``promise`` (what the user confirmed and what is to be signed),
``answers`` (what the agent found), ``protocol`` (the frames on the pipe).
"""
