"""Keys: their files, the directory of a profile, and keys in the open while they are used.

``keystore`` bounds what a file may cost and has the encrypted part of EVM files, ``key_file`` one
file and the directory of a profile, ``material`` where keys come from and those that everybody has.
"""
