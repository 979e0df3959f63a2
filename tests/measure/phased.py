# SPDX-License-Identifier: BSL-1.0
"""A job with phases: two rounds of little CPU and memory, then of half a core and 80 MB. Argument: seconds of each part."""
import sys
import time

part = float(sys.argv[1])
for busy in (False, True, False, True):
    memory = bytearray(80_000_000 if busy else 1)
    memory[::4096] = b"1" * len(memory[::4096])  # so that it is resident
    end = time.monotonic() + part
    while time.monotonic() < end:
        used = time.process_time() + (0.02 if busy else 0.001)
        while time.process_time() < used:
            pass
        time.sleep(0.02)
