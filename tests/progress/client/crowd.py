# SPDX-License-Identifier: BSL-1.0
"""Threads, a signal handler and a forked child on one handle: every step of this process counts once."""
import os
import signal
import threading
import time

from common import progress

p = progress.open()
calls = [0]


def from_handler(*_):
    calls[0] += 1
    p.step(calls[0], 1.0)


def steps(count):
    for step in range(count):
        p.step(step, 1.0)


signal.signal(signal.SIGPROF, from_handler)
signal.setitimer(signal.ITIMER_PROF, 0.005, 0.005)  # of CPU time: signals do not overwhelm a slow machine
threads = [threading.Thread(target=steps, args=(2000,)) for _ in range(4)]
for thread in threads:
    thread.start()
child = os.fork()
if child == 0:
    steps(1000)
    p.bye(0)
    os._exit(0)
steps(2000)
for thread in threads:
    thread.join()
os.waitpid(child, 0)
signal.setitimer(signal.ITIMER_PROF, 0)
while p._finite:  # the test reads all the while: there will be room
    p.heartbeat()
    time.sleep(0.001)
p.eval(10000 + calls[0], "expected", 10000 + calls[0])
p.bye(0)
while p._outbox:
    p.heartbeat()
    time.sleep(0.001)
