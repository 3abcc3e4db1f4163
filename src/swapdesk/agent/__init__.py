"""The wallet agent: the process with the keys, and the gate, the set of rules that checks every
payload.

``wallet.client`` starts it as ``python -I -m swapdesk.agent``; nothing imports it. The agent reads
chains itself and decides by the rules of ``gate`` whether a payload may be signed. Nothing is
signed that the gate has not judged, whatever the desk says.
"""
