"""The wallet agent: the process with the keys, and the gate every payload passes.

It is started by ``wallet.agent_process`` as ``python -I -m swapdesk.agent`` and imported by
nobody. It reads chains for itself and decides by the rules of ``gate`` whether a payload may be
signed. Nothing is signed that the gate has not judged, whatever the desk says.
"""
