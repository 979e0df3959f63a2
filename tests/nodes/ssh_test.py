# SPDX-License-Identifier: BSL-1.0
"""`ration run --nodes 'ssh {host} ration node'` through OpenSSH: a server of this test on the loopback interface, with its own keys.

RATION_PROGRAM and RATION_BREATHER name the program and a policy. Without sshd (package openssh-server) the test is skipped.
"""
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
if SSHD is None or shutil.which("ssh") is None:
    print("skipped: OpenSSH's client or server is missing (Debian: openssh-client, openssh-server)")
    sys.exit(77)

from nodes_case import HEAD, PATIENCE, RATION, children_of  # noqa: E402
from span_case import SpanCase  # noqa: E402

SERVER = """Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PrintMotd no
SetEnv HOME={home} XDG_RUNTIME_DIR={runtime}
"""
CLIENT = """Port {port}
AddressFamily inet
User {user}
IdentityFile {folder}/user
IdentitiesOnly yes
UserKnownHostsFile {folder}/known_hosts
BatchMode yes
"""
PRIVILEGE_SEPARATION = pathlib.Path("/run/sshd")  # a folder that Debian's sshd needs when it runs as root


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


class SshTest(SpanCase):
    def setUp(self) -> None:
        super().setUp()
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.ssh = pathlib.Path(holder.name)
        (self.ssh / "home").mkdir()
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.ssh / key], check=True)
        self.start_server()

    def start_server(self) -> None:
        port = free_port()
        values = {"folder": self.ssh, "home": self.ssh / "home", "runtime": self.folder / "runtime", "port": port, "user": pwd.getpwuid(os.getuid()).pw_name}
        (self.ssh / "server").write_text(SERVER.format(**values))
        (self.ssh / "client").write_text(CLIENT.format(**values))
        public = " ".join((self.ssh / "host.pub").read_text().split()[:2])
        (self.ssh / "known_hosts").write_text("".join(f"[{host}]:{port} {public}\n" for host in ("127.0.0.1", "localhost")))
        if os.getuid() == 0 and not PRIVILEGE_SEPARATION.exists():
            PRIVILEGE_SEPARATION.mkdir(mode=0o755)
            self.addCleanup(PRIVILEGE_SEPARATION.rmdir)
        log = (self.ssh / "log").open("w")
        self.addCleanup(log.close)
        server = subprocess.Popen([SSHD, "-D", "-e", "-f", self.ssh / "server"], stderr=log)
        self.addCleanup(lambda: (server.terminate(), server.wait()))
        end = time.monotonic() + PATIENCE
        while subprocess.run(["ssh", "-F", self.ssh / "client", "localhost", "true"], capture_output=True).returncode != 0:
            if server.poll() is not None or time.monotonic() > end:
                self.fail("sshd does not answer:\n" + (self.ssh / "log").read_text())
            time.sleep(0.1)

    def start_on_hosts(self, program: str = RATION, lease: str = "60s", stop: str = "60s") -> None:
        self.head = HEAD.replace("count = 4", "count = 2")
        self.start_span(stop=stop, options=("--hosts", "127.0.0.1,localhost", "--node-lease", lease), nodes=f"ssh -F {self.ssh}/client {{host}} {program} node")

    def client_of(self, host: str) -> int:
        """Some shells start the last command of a script as their child, others replace themselves by it."""
        shells = children_of(self.run.pid)
        for pid in [*shells, *(child for shell in shells for child in children_of(shell))]:
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if words[0] == b"ssh" and host.encode() in words:
                return pid
        self.fail(f"no ssh to {host}")

    def test_an_elastic_job_grows_over_two_hosts_and_shrinks_back(self) -> None:
        (self.ssh / "home" / ".bashrc").write_text("echo Welcome to this host\ncd /\n")
        self.start_on_hosts()
        self.finish()
        worlds = self.worlds()
        self.assertEqual([[part[:5] for part in worlds[number]] for number in sorted(worlds)], [
            [["0", "2", "1", "0", "2"]], [["0", "4", "2", "0", "2"], ["2", "4", "2", "1", "2"]], [["0", "2", "1", "0", "2"]]])
        self.assertRegex(worlds[2][1][5], r"^(127\.0\.0\.1|localhost):2[0-9]{4}$")
        self.assertEqual([event["step"] for event in self.events("progress")], list(range(1, self.STEPS + 1)), "each step once")
        self.assert_loss_is_continuous()
        self.assertEqual([event["how"] for event in self.events("job_ended")], ["finished"])
        # Both hosts are this machine
        self.assertEqual([event for event in self.events("warning") if not event["subject"].endswith(", cpus")], [])
        self.assert_devices_used_once()
        self.assert_nothing_left()

    def test_a_connection_that_ends_loses_no_step(self) -> None:
        """The ranks on that node train on. The run ends without waiting for a rank that has left."""
        self.start_on_hosts(lease="5s", stop="1h")
        self.until_spanning()
        os.kill(self.client_of("localhost"), signal.SIGKILL)
        self.finish()
        self.assertIn(("node localhost", "its command has ended; it is started again"), [(event["subject"], event["message"]) for event in self.events("warning")])
        self.assertEqual({event["step"] for event in self.events("progress")}, set(range(1, self.STEPS + 1)))
        self.assert_loss_is_continuous()
        self.assertEqual([event["how"] for event in self.events("job_ended")], ["finished"])
        self.assert_nothing_left()

    def test_a_host_without_ration_is_left_out(self) -> None:
        self.start_on_hosts(program="no-such-program")
        _, err = self.finish(3)
        self.assertRegex(err, "no-such-program: (command )?not found")
        self.assertIn("no node is up; test the command of --nodes by hand", err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
