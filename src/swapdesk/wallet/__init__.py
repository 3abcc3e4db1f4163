"""The desk's half of signing: what the desk sends to the wallet agent and what the agent answers.

The agent (``swapdesk.agent``) is a process of its own and the only one with keys. Desk and agent
both use the data types of this package: ``promise`` (what the user confirmed and what is to be
signed), ``answers`` (what the agent found) and ``protocol`` (the frames on the pipe between them).
"""
