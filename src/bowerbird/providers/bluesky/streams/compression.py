"""Messages that were compressed with a dictionary, unpacked within bounds."""

from __future__ import annotations

from collections.abc import Callable

import zstandard

_MAGIC = b"\x37\xa4\x30\xec"
_LARGEST_DICTIONARY = 1024 * 1024
LARGEST_MESSAGE = 8 * 1024 * 1024
"""Of the unpacked message; no record of the network comes near it."""


def is_dictionary(body: bytes) -> bool:
    return body.startswith(_MAGIC) and len(body) <= _LARGEST_DICTIONARY and dictionary_id(body) > 0


def dictionary_id(body: bytes) -> int:
    return int.from_bytes(body[4:8], "little")


class WrongDictionary(ValueError):
    """The messages of this connection were packed with another dictionary than ours: none of them can be read."""


def unpacker(dictionary: bytes) -> Callable[[bytes], bytes]:
    """Turns one message into its text; raises ValueError for one that it cannot unpack."""
    if not dictionary:
        return bytes
    unpack = zstandard.ZstdDecompressor(dict_data=zstandard.ZstdCompressionDict(dictionary)).decompress

    def unpacked(message: bytes) -> bytes:
        try:
            # The frame says how much memory it wants, and it may lie.
            if zstandard.frame_content_size(message) > LARGEST_MESSAGE:
                raise ValueError("a message too large to unpack")
            return unpack(message, max_output_size=LARGEST_MESSAGE)
        except zstandard.ZstdError as error:
            _compare(message, dictionary_id(dictionary))
            raise ValueError(f"cannot unpack: {error}") from error

    return unpacked


def _compare(message: bytes, ours: int) -> None:
    try:
        theirs = zstandard.get_frame_parameters(message).dict_id
    except zstandard.ZstdError:
        return
    if theirs != ours:
        raise WrongDictionary(f"messages are packed with dictionary {theirs}, the host gave {ours}")
