"""Writes an .npy file: make_npy.py FILE HEADER HEX [VERSION]."""

import struct
import sys

path, header, data = sys.argv[1:4]
version = int(sys.argv[4]) if len(sys.argv) > 4 else 1
text = header.encode() + b"\n"
length = struct.pack("<H" if version == 1 else "<I", len(text))
with open(path, "wb") as file:
    file.write(b"\x93NUMPY" + bytes([version, 0]) + length + text)
    file.write(bytes.fromhex(data))
