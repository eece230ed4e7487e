"""Messages between ranks that greet each other, made and read anew: nothing here is trainx's."""
import struct

CHALLENGE, HELLO, WELCOME, FAILURE = 0, 1, 2, 9


def frame(kind, payload):
    return struct.pack("<IB", len(payload), kind) + payload


def text(words):
    return struct.pack("<q", len(words)) + words


def take(stream):
    """(kind, payload) of the next message; (None, b"") at the end."""
    def exactly(size):
        data = b""
        while len(data) < size:
            more = stream.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data
    try:
        size, kind = struct.unpack("<IB", exactly(5))
        return kind, exactly(size)
    except (EOFError, OSError):
        return None, b""
