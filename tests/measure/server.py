# SPDX-License-Identifier: BSL-1.0
"""A server for one request at a time. usage: server.py SOCKET MILLISECONDS [MODE]

A request takes MILLISECONDS of sleep. Modes: `dies` ends at its first request, `wrong` answers with another line, `deaf` does not listen.
Writes its pid to `launches`.
"""
import os
import pathlib
import socket
import sys
import time

PATH, MILLISECONDS, MODE = sys.argv[1], float(sys.argv[2]), (sys.argv[3:] or ["good"])[0]

with open("launches", "a", encoding="ascii") as out:
    out.write(f"{os.getpid()} {pathlib.Path(PATH).name}\n")
if MODE == "deaf":
    time.sleep(600)
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(PATH)
    listener.listen()
    connection, _ = listener.accept()
    with connection, connection.makefile("rwb", buffering=0) as stream:
        for line in stream:
            time.sleep(MILLISECONDS / 1000)
            if MODE == "dies":
                sys.exit("no memory left")
            stream.write(b"done\n" if MODE == "wrong" else line)
