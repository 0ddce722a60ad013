"""The schema that a program of Perfetto's carries: descriptors of .proto files lie in it as bytes.

    schema.py PROGRAM OUT    what TracePacket needs of them as a FileDescriptorSet, which protoc reads"""

import re
import sys

from readers import message, varint

ROOT = "protos/perfetto/trace/trace.proto"


def descriptors(program):
    """{name: FileDescriptorProto} of the files in a program. A set of them is field 1, again and
    again; each begins with its name, field 1 too."""
    found = {}
    for name in re.finditer(rb"\n(.)((?:protos|google)/[a-zA-Z0-9_/]+\.proto)", program, re.S):
        if name[1][0] != len(name[2]):
            continue
        for size_bytes in (1, 2, 3):
            at = name.start() - size_bytes
            size, start = varint(program, at)
            if program[at - 1] != 10 or start != name.start():
                continue
            data = program[start:start + size]
            try:
                fields = message(data)
            except (AssertionError, IndexError):
                continue
            if fields[1] == [name[2]] and len(data) > len(found.get(name[2].decode(), b"")):
                found[name[2].decode()] = data
    return found


def put(data):
    size, text = len(data), b"\n"
    while size > 127:
        text += bytes([size & 127 | 128])
        size >>= 7
    return text + bytes([size]) + data


def schema(program):
    """The set of ROOT's file and of all that it imports, those first that others need."""
    found, done = descriptors(program), {}

    def add(name):
        if name not in done:
            done[name] = b""
            for needed in message(found[name])[3]:
                add(needed.decode())
            done[name] = done.pop(name) or put(found[name])

    add(ROOT)
    return b"".join(done.values())


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as f:
        text = schema(f.read())
    with open(sys.argv[2], "wb") as f:
        f.write(text)
