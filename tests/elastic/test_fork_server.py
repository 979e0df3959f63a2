# SPDX-License-Identifier: BSL-1.0
"""The fork server of `preload`, asked by a fake for ration: what a launched process has, and when the server refuses."""
import array
import ctypes
import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

import support
from ration import fork_server

TOKEN = "fedcba9876543210"
SESSION, GATE = 0, 4  # of spawn_stage
SHOW = """
import os, sys
def show(*values):  # in one write: ranks share the output
    os.write(1, (" ".join(map(str, values)) + chr(10)).encode())
show(__name__, sys.argv[1:], os.getcwd(), os.environ["SHOWN"], os.environ.get("RANK"), os.getsid(0) == os.getpid(), "colorsys" in sys.modules)
show([entry for entry in open("/proc/self/environ").read().split(chr(0)) if entry.startswith("RATION_TOKEN")])
sys.exit(7)
"""
THREADS = """
import os, torch
torch.exp(torch.randn(2000000))
print(torch.get_num_threads(), len(os.listdir("/proc/self/task")) > 1)
"""
NUMBERS = "import numpy, os\nos.write(1, f'{numpy.random.random()} '.encode())\n"  # in one write: ranks share the output
NUMPY = "import random as standard\nrandom = standard.Random(1)\n"  # after a fork Python seeds its own generator only, so not this one


class ForkServer(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER, as ration does for a launch

    def environment(self, **more):
        return {**os.environ, "PYTHONPATH": f"{support.PACKAGE}:{self.folder}", "PYTHONDONTWRITEBYTECODE": "1", **more}

    def serve(self, *modules):
        """The server, and the socket to it."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        counts = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
        server = subprocess.Popen([sys.executable, "-m", "ration.fork_server", *modules], stdin=theirs, stderr=subprocess.PIPE, text=True,
                                  env=self.environment(RATION_TOKEN="0" * 16, **counts))
        theirs.close()
        self.addCleanup(server.communicate)
        self.addCleanup(server.kill)
        self.addCleanup(ours.close)
        return server, ours

    def launch(self, server, arguments, go=True, **more):
        """Does what fork_server.hpp does. (exit status, output) of the process."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        environment = [f"{name}={value}" for name, value in self.environment(RATION_TOKEN=TOKEN, SHOWN="yes", **more).items()]
        request, output = self.folder / "request", self.folder / "output"
        request.write_text("\0".join(["entry\n", str(len(arguments)), *arguments, *environment, ""]))
        with open(request, "rb") as text, open(output, "wb") as out, open(os.devnull, "rb") as nothing, open(self.folder / "journal", "wb") as journal:
            place = os.open(self.folder, os.O_PATH)
            files = [theirs.fileno(), place, nothing.fileno(), out.fileno(), journal.fileno(), text.fileno()]
            server.sendmsg([b"\1"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))])
            theirs.close()
            os.close(place)
            with ours:
                word, ancillary, _, _ = ours.recvmsg(8, 64)
                pid = struct.unpack("iii", ancillary[0][2])[0]
                self.assertEqual([struct.unpack("=B3xi", one) for one in (word, ours.recv(8))], [(SESSION, 0), (GATE, 0)])
                self.assertEqual(int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]), os.getpid())
                if go:
                    ours.send(b"\1")
                    self.assertEqual(ours.recv(8), b"")  # it runs
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return status, output.read_text()

    def script(self, code):
        (self.folder / "script.py").write_text(code)
        return str(self.folder / "script.py")

    def test_a_launched_process_is_a_script_of_this_job(self):
        server, channel = self.serve("colorsys")  # which nothing else here imports
        self.assertEqual(channel.recv(1), b"\1")
        shown = f"__main__ ['a', 'b c'] {self.folder} yes None True True\n['RATION_TOKEN={TOKEN}']\n"
        self.assertEqual(self.launch(channel, [self.script(SHOW), "a", "b c"]), (7, shown))
        self.assertEqual((self.folder / "journal").read_text(), "entry\n")
        self.assertEqual(self.launch(channel, ["-m", "script", "a", "b c"]), (7, shown))
        self.assertEqual(self.launch(channel, [self.script("import os\nos.kill(os.getpid(), 9)")])[0], -9)
        channel.close()
        self.assertEqual(server.wait(support.PATIENCE), 0)

    def test_a_process_that_is_not_let_through_the_gate_runs_nothing(self):
        _, channel = self.serve("colorsys")
        channel.recv(1)
        self.assertEqual(self.launch(channel, [self.script(SHOW)], go=False), (127, ""))
        self.assertEqual((self.folder / "journal").read_text(), "")

    def test_the_launcher_forks_its_ranks(self):
        _, channel = self.serve("colorsys")
        channel.recv(1)
        show = self.script(SHOW.replace("exit(7)", "exit(0)"))  # a rank that fails ends the others
        status, output = self.launch(channel, ["-m", "ration.ranks", show, "a"], RATION_DEVICES="cpu-0,cpu-1")
        self.assertEqual(status, 0)
        ranks = sorted(line for line in output.splitlines() if line.startswith("__main__"))
        self.assertEqual(ranks, [f"__main__ ['a'] {self.folder} yes {rank} False True" for rank in (0, 1)])

    def test_a_script_ends_as_in_python(self):
        _, channel = self.serve("colorsys")
        channel.recv(1)
        ends = """
import atexit, sys, threading, time
atexit.register(print, "registered")
threading.Thread(target=lambda: (time.sleep(0.1), print("thread"))).start()
print("last line", end="")
"""
        for last, status in (("", 0), ("sys.exit()", 0), ("sys.exit(300)", 44), ("sys.exit('why')", 1), ("raise ValueError('why')", 1)):
            found = self.launch(channel, [self.script(ends + last)])
            self.assertEqual(found[0], status)
            self.assertIn("last line", found[1])
            self.assertIn("thread\nregistered\n", found[1])
            self.assertEqual("why" in found[1], status == 1)

    def test_modules_that_start_a_thread_are_refused(self):
        (self.folder / "threaded.py").write_text("import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()")
        server, channel = self.serve("threaded")
        self.assertEqual(channel.recv(1), b"")
        self.assertEqual((server.wait(support.PATIENCE), server.stderr.read()), (
            1, "ration.fork_server: the modules start threads, which a fork would lose; preload fewer modules\n"))

    def test_a_module_that_is_not_there_ends_the_server(self):
        server, channel = self.serve("no_such_module")
        self.assertEqual(channel.recv(1), b"")
        self.assertEqual(server.wait(support.PATIENCE), 1)
        self.assertIn("No module named 'no_such_module'", server.stderr.read())

    def test_each_launch_and_each_rank_draws_other_numbers(self):
        (self.folder / "numpy.py").write_text(NUMPY)
        _, channel = self.serve("numpy")
        channel.recv(1)
        script, drawn = self.script(NUMBERS), []
        for arguments in ([script], [script], ["-m", "ration.ranks", script]):
            status, output = self.launch(channel, arguments, RATION_DEVICES="cpu-0,cpu-1")
            self.assertEqual(status, 0)
            drawn += output.split()
        self.assertEqual((len(drawn), len(set(drawn))), (4, 4), drawn)

    def test_each_openblas_has_the_threads_of_the_launch(self):
        libraries = {"/with a blank/libopenblas.so.0": "openblas_set_num_threads", "/numpy.libs/libopenblas64_p-r0.so": "openblas_set_num_threads64_",
                     "/numpy.libs/libscipy_openblas64_-fd.so": "scipy_openblas_set_num_threads64_"}
        told = {}

        def load(path):
            if path not in libraries:
                raise OSError(path)
            return types.SimpleNamespace(**{libraries[path]: lambda count: told.update({path: count})})

        paths = ["", *libraries, "/libopenblas.so.0 (deleted)"]
        maps = unittest.mock.mock_open(read_data="".join(f"7f00-7f01 r-xp 00000000 08:01 42 {path}\n" for path in paths))
        torch = unittest.mock.Mock()
        with unittest.mock.patch("builtins.open", maps), unittest.mock.patch("ctypes.CDLL", load), unittest.mock.patch.dict(sys.modules, torch=torch):
            fork_server._set_threads("3,1")
        self.assertEqual(told, dict.fromkeys(libraries, 3))
        torch.set_num_threads.assert_called_once_with(3)

    def test_pytorch_has_the_threads_of_the_launch_and_numpy_other_numbers_each_time(self):
        support.need_torch()
        _, channel = self.serve("torch", "numpy")
        channel.recv(1)
        for count in (1, 2):
            self.assertEqual(self.launch(channel, [self.script(THREADS)], OMP_NUM_THREADS=count), (0, f"{count} {count > 1}\n"))
        drawn = [self.launch(channel, [self.script(NUMBERS)])[1] for _ in range(2)]
        self.assertNotEqual(*drawn)


if __name__ == "__main__":
    support.run_tests()
