"""Messages that were compressed with a dictionary, unpacked within bounds."""

from __future__ import annotations

import zstandard

from bowerbird.providers.page import MAX_MESSAGE_VALUES, check_values

_MAGIC = b"\x37\xa4\x30\xec"
_LARGEST_DICTIONARY = 1024 * 1024
LARGEST_MESSAGE = 2 * 1024 * 1024
"""Of the unpacked message; no record of the network comes near it."""
LARGEST_BATCH = 32 * 1024 * 1024
"""Of all messages that are heard together: a few packed bytes may be many unpacked ones."""


def is_dictionary(body: bytes) -> bool:
    return body.startswith(_MAGIC) and len(body) <= _LARGEST_DICTIONARY and dictionary_id(body) > 0


def dictionary_id(body: bytes) -> int:
    return int.from_bytes(body[4:8], "little")


class WrongDictionary(ValueError):
    """The messages of this connection were packed with another dictionary than ours: none of them can be read."""


class Unpacker:
    """Turns messages of one connection into their texts, so many bytes at most between two calls of `begin`."""

    def __init__(self, dictionary: bytes) -> None:
        self._id = dictionary_id(dictionary)
        self._unpack = _decompressor(dictionary) if dictionary else None
        self._left = LARGEST_BATCH

    def begin(self) -> None:
        """The next messages are of another batch: what was unpacked before is not held any more."""
        self._left = LARGEST_BATCH

    def text(self, message: bytes) -> bytes:
        """The message unpacked; raises ValueError for one that cannot be, or would be too large or of too many values."""
        text = message if self._unpack is None else self._unpacked(self._unpack, message)
        if len(text) > MAX_MESSAGE_VALUES:
            check_values(text)
        return text

    def _unpacked(self, unpack: zstandard.ZstdDecompressor, message: bytes) -> bytes:
        try:
            # The frame says how much memory it wants, and it may lie.
            if zstandard.frame_content_size(message) > LARGEST_MESSAGE:
                raise ValueError("a message too large to unpack")
            text = unpack.decompress(message, max_output_size=min(LARGEST_MESSAGE, self._left))
        except zstandard.ZstdError as error:
            _compare(message, self._id)
            raise ValueError(f"cannot unpack: {error}") from error
        self._left = max(self._left - len(text), 1)
        return text


def _decompressor(dictionary: bytes) -> zstandard.ZstdDecompressor:
    return zstandard.ZstdDecompressor(
        dict_data=zstandard.ZstdCompressionDict(dictionary), max_window_size=max(LARGEST_MESSAGE, 1024)
    )


def _compare(message: bytes, ours: int) -> None:
    try:
        theirs = zstandard.get_frame_parameters(message).dict_id
    except zstandard.ZstdError:
        return
    if theirs != ours:
        raise WrongDictionary(f"messages are packed with dictionary {theirs}, the host gave {ours}")
