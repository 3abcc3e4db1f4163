"""The desk's half of signing: the data that the desk sends to the wallet agent and the agent's
answers. The agent (``swapdesk.agent``) is a process of its own and the only one with keys. Desk and
agent both use the data types of this package: ``promise`` (what the user confirmed, and the
payloads to sign), ``answers`` (the agent's findings) and ``protocol`` (the frames on the sockets
between desk and agent)."""
