"""Keys: their files, the directory of a profile, and keys in the open while they are used.

``key_file`` reads and writes one file and the directory of a profile, and bounds what opening a
file may cost. ``material`` says where keys come from and which of them everybody has.
"""
