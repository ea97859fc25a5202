"""Messages between a process and those that hold its environments: pickles and their lengths, over a socket."""

from __future__ import annotations

import os
import pickle
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("<Q")
_MOST_AT_ONCE = 1 << 20


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


def receive_with_descriptor(from_: socket.socket) -> tuple[Any, int | None]:
    """The next message, and the open file that came with it."""
    head, descriptors, _, _ = socket.recv_fds(from_, _LENGTH.size, 1)
    if not head:
        raise EOFError
    head += _exactly(from_, _LENGTH.size - len(head))
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    body = _exactly(from_, _LENGTH.unpack(head)[0])
    return pickle.loads(body), next(iter(descriptors), None)


def _exactly(from_: socket.socket, count: int) -> bytes:
    parts, missing = [], count
    while missing:
        part = from_.recv(min(missing, _MOST_AT_ONCE))
        if not part:
            raise EOFError
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
