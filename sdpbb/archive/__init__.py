"""Nested values in one file, without pickle: what a run leaves behind to be continued from.

    write_archive(path, "checkpoint", value)
    value = read_archive(path, "checkpoint")

A value is None, a bool, an int of any size, a float, a str, a NumPy array or scalar of numbers or
bools, a member of an enum, or a dataclass, tuple, list or dict with str keys of values. Dataclasses
and enums are those that are registered by `@stored`, and are stored by their names. An object or
array that is in several places of a value (itself, not its equal) is stored once, and is one object
after reading.

    stored.py                the registry of dataclasses and enums
    file.py                  the file: its head, its checksums, and all that can be wrong with it
    items.py                 how values are a JSON document and a list of arrays
    encoder.py, decoder.py   to them, and back
"""

from sdpbb.archive.file import ArchiveHeader, read_archive, read_header, write_archive

__all__ = ["ArchiveHeader", "read_archive", "read_header", "write_archive"]
