"""Archives: nested values in one file, without pickle. Checkpoints are archives.

    write_archive(path, "checkpoint", value)
    value = read_archive(path, "checkpoint")

A value is None, a bool, an int of any size, a float, a str, a NumPy array or scalar of numbers or
bools, a member of an enum, or a dataclass, tuple, list or dict with str keys of values. Dataclasses
and enums are those that are registered by `@stored`, and are stored by their names. An object or
array that is in several places of a value (itself, not its equal) is stored once, and is one object
after reading.

    stored.py                the registry of dataclasses and enums
    file.py                  the file: header, document, arrays and checksums
    encoder.py, decoder.py   values as a JSON document and a list of arrays, and back
"""

from sdpbb.archive.file import ArchiveHeader, read_archive, read_header, write_archive

__all__ = ["ArchiveHeader", "read_archive", "read_header", "write_archive"]
