"""The wallet agent: the process with the keys, and the gate every payload passes.

It is started by ``wallet.agent_process`` and imported by nobody. It reads chains for itself and
decides by the rules of ``gate`` whether a payload may be signed.
"""
