"""Archives: nested values in one file, without pickle. Checkpoints are archives.

    from sdpbb.runtime.archive.file import read_archive, write_archive

    write_archive(path, value)
    value = read_archive(path)

A value is None, a bool, an int of any size, a float, a str, a NumPy array or scalar of numbers or
bools, a member of an enum, or a dataclass, tuple, list or dict with str keys of values. Dataclasses
and enums are those that are registered by `@stored`, and are stored by their full names. An object
or array that is in several places of a value (itself, not its equal) is stored once, and is one
object after reading.
"""
