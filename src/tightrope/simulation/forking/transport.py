"""Messages between a process and those that hold its environments: pickles and their lengths, over a socket."""

from __future__ import annotations

import os
import pickle
import socket
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

_LENGTH = struct.Struct("<Q")
_MOST_AT_ONCE = 1 << 20


class ConnectionEnd(NamedTuple):
    """One side's end of what lies between a process that asks and one that answers."""

    messages: socket.socket
    line: socket.socket
    """Nothing is ever sent on it: all it can tell is that the other side has closed its end."""

    def close(self) -> None:
        """Hang up."""
        self.line.close()
        self.messages.close()

    def descriptors(self) -> tuple[int, int]:
        """To be given to another process, which makes an end of them; see ``end_of``."""
        return self.messages.fileno(), self.line.fileno()


def two_ends() -> tuple[ConnectionEnd, ConnectionEnd]:
    """A new connection."""
    messages, line = socket.socketpair(), socket.socketpair()
    return ConnectionEnd(messages[0], line[0]), ConnectionEnd(messages[1], line[1])


def end_of(descriptors: Sequence[int]) -> ConnectionEnd:
    """The end that another process, or this one's parent, has given."""
    for descriptor in descriptors:
        # Of what the environment starts, nothing is to hold it open.
        os.set_inheritable(descriptor, False)
    messages, line = descriptors
    return ConnectionEnd(socket.socket(fileno=messages), socket.socket(fileno=line))


def send(to: socket.socket, message: Any, *descriptors: int) -> None:
    """Send a message; descriptors of open files go with it."""
    body = pickle.dumps(message, protocol=5)
    if descriptors:
        socket.send_fds(to, [_LENGTH.pack(len(body))], descriptors)
        to.sendall(body)
    else:
        to.sendall(_LENGTH.pack(len(body)) + body)


def receive(from_: socket.socket) -> Any:
    """The next message; EOFError when nobody is there any more."""
    return pickle.loads(_exactly(from_, _LENGTH.unpack(_exactly(from_, _LENGTH.size))[0]))


def receive_with_descriptors(from_: socket.socket) -> tuple[Any, Sequence[int]]:
    """The next message, and the open files that came with it."""
    head, descriptors, _, _ = socket.recv_fds(from_, _LENGTH.size, len(ConnectionEnd._fields))
    if not head:
        raise EOFError
    head += _exactly(from_, _LENGTH.size - len(head))
    body = _exactly(from_, _LENGTH.unpack(head)[0])
    return pickle.loads(body), descriptors


def _exactly(from_: socket.socket, count: int) -> bytes:
    parts, missing = [], count
    while missing:
        part = from_.recv(min(missing, _MOST_AT_ONCE))
        if not part:
            raise EOFError
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
