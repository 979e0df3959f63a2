# SPDX-License-Identifier: BSL-1.0
"""The service over TCP: who gets an answer, and with which token files and addresses it does not start."""
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from support import JOB, PATIENCE, RATION, ROOT, Connection, ServiceTest

TOKEN = "0123456789abcdef0123456789abcdef"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ListeningTest(ServiceTest):
    """A service that also listens at a loopback address."""

    def start(self, *options: str) -> None:
        self.port = getattr(self, "port", None) or free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        self.write_token(TOKEN + "\n")
        super().start("--listen", f"127.0.0.1:{self.port}", "--token-file", str(self.folder / "token"), *options)

    def write_token(self, text: str, mode: int = 0o600) -> None:
        (self.folder / "token").write_text(text)
        (self.folder / "token").chmod(mode)

    def over_tcp(self, method: str = "GET", path: str = "/v1/jobs", body: str | None = None, token: str | None = TOKEN, **fields: str) -> tuple[int, dict]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        headers = {name.replace("_", "-"): value for name, value in fields.items()}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text)

    def raw(self, text: str) -> int:
        """The status of the answer to these bytes."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as connection:
            connection.sendall(text.encode())
            return int(connection.makefile().readline().split()[1])


class Access(ListeningTest):
    def test_only_the_token_gives_access(self) -> None:
        for wrong in (None, "", TOKEN[:-1], TOKEN + "0", TOKEN[:-1] + "e", "0" * len(TOKEN)):
            with self.subTest(token=wrong):
                status, answer = self.over_tcp(token=wrong)
                self.assertEqual(status, 401)
                self.assertIn("Bearer", answer["error"])
        status, job = self.over_tcp("POST", body=json.dumps({"key": "k", "definition": JOB, "directory": str(self.folder)}))
        self.assertEqual((status, job["uid"]), (201, os.geteuid()))
        self.ration("wait", job["label"])
        self.assertEqual([one["id"] for one in self.over_tcp()[1]["jobs"]], [1])

    def test_pages_of_other_sites_are_refused(self) -> None:
        for host in ("evil.example", f"evil.example:{self.port}", f"127.0.0.1.evil.example:{self.port}", "10.0.0.1", "localhost.", ""):
            with self.subTest(host=host):
                self.assertEqual(self.over_tcp(Host=host)[0], 403)
        for origin in ("http://evil.example", "null", f"https://127.0.0.1:{self.port}", f"http://127.0.0.1:{self.port + 1}", f"http://localhost:{self.port}"):
            with self.subTest(origin=origin):
                self.assertEqual(self.over_tcp(Origin=origin)[0], 403)
        for site in ("cross-site", "same-site"):
            self.assertEqual(self.over_tcp(Sec_Fetch_Site=site)[0], 403)
        self.assertEqual(self.over_tcp(Origin=self.origin, Sec_Fetch_Site="same-origin")[0], 200)
        for host in (f"localhost:{self.port}", "localhost:9000", f"[::1]:{self.port}"):  # also through a forwarded port
            self.assertEqual(self.over_tcp(Host=host)[0], 200)
        self.assertEqual(self.raw(f"GET /v1/jobs HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"), 403)

    def test_a_browser_cannot_use_the_unix_socket(self) -> None:
        for field in ("Origin", "Sec-Fetch-Site"):
            connection = Connection(str(self.state / "socket"))
            connection.request("GET", "/v1/jobs", headers={field: "none"})
            self.assertEqual(connection.getresponse().status, 403)
            connection.close()
        connection = Connection(str(self.state / "socket"))  # through a forwarded port, by a name of another site
        connection.putrequest("GET", "/v1/jobs", skip_host=True)
        connection.putheader("Host", "evil.example")
        connection.endheaders()
        self.assertEqual(connection.getresponse().status, 403)
        connection.close()
        self.assertEqual(self.ask("GET", "/v1/jobs")[0], 200)

    def test_limits_and_messages_that_are_none(self) -> None:
        head = f"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
        self.assertEqual(self.raw("POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4000000\r\n\r\n"), 401)  # before its body
        self.assertEqual(self.raw(head + "Content-Length: 5000000\r\n\r\n"), 413)
        self.assertEqual(self.raw(head + f"X: {'x' * 9000}\r\n\r\n"), 413)
        for twice in ("Host: 127.0.0.1", "Authorization: Bearer x", "Content-Length: 1\r\ncontent-length: 2", "Transfer-Encoding: chunked", "no field", "Bad : field"):
            with self.subTest(line=twice):
                self.assertEqual(self.raw(head + twice + "\r\n\r\n"), 400)
        for line in ("GET", "GET  HTTP/1.1", "GET http://127.0.0.1/ HTTP/1.1", "GET / HTTP/2"):
            self.assertEqual(self.raw(line + "\r\nHost: 127.0.0.1\r\n\r\n"), 400)

    def test_a_head_is_bounded_before_it_is_read(self) -> None:
        self.service.send_signal(signal.SIGSTOP)  # so that all bytes are there at once
        os.waitpid(self.service.pid, os.WUNTRACED)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(str(self.state / "socket"))
            connection.sendall(b"x" * 100_000)
            self.service.send_signal(signal.SIGCONT)
            answer = connection.makefile("rb")
            self.assertIn(b" 413 ", answer.readline())
            self.assertRaises(ConnectionResetError, answer.read)  # the other bytes were never read

    def test_idle_clients_over_tcp_do_not_shut_out_the_socket(self) -> None:
        idle = [socket.create_connection(("127.0.0.1", self.port), PATIENCE) for _ in range(80)]
        self.assertEqual(self.ask("GET", "/v1/jobs")[0], 200)
        self.assertEqual(self.over_tcp()[0], 200)
        for one in idle:
            one.close()


@unittest.skipUnless(os.geteuid() == 0, "needs two other users")
class Foreign(unittest.TestCase):
    """A folder with the socket of another user."""
    USER, OTHER = 12345, 12346

    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rs-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.folder.chmod(0o755)
        self.listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.listener.close)
        self.listener.bind(str(self.folder / "socket"))
        self.listener.listen()
        (self.folder / "socket").chmod(0o666)

    def ask(self, *command: str) -> tuple[int, str]:
        become = f"import os, ration.service; os.setgroups([]); os.setgid({self.USER}); os.setuid({self.USER})"  # another user may not be able to start this Python
        action = f"os.execv({command[0]!r}, {command!r})" if command else f"ration.jobs({str(self.folder)!r})"
        done = subprocess.run([sys.executable, "-c", f"{become}; {action}"], cwd="/", env=dict(os.environ, PYTHONPATH=str(ROOT / "python")), capture_output=True, text=True, check=False,
                              timeout=PATIENCE)
        return done.returncode, done.stderr

    def test_clients_send_nothing_to_it(self) -> None:
        for foreign in (self.folder, self.folder / "socket"):
            os.chown(foreign, self.OTHER, self.OTHER)
            code, text = self.ask(RATION, "drain", "--state", str(self.folder))
            self.assertEqual((code, text), (3, f"ration: ask the service at {self.folder}: permission denied; another user owns its folder or its socket: name your own by --state\n"))
            self.assertIn(f"ServiceError: another user owns {foreign}; name your own state folder", self.ask()[1])
            os.chown(foreign, 0, 0)
        self.listener.setblocking(False)
        self.assertRaises(BlockingIOError, self.listener.accept)


class Page(ServiceTest):
    def test_the_example_of_the_documentation(self) -> None:
        self.kill()
        block = re.search(r"```sh\n(\(umask.*?)```", (ROOT / "docs/serve.md").read_text(), re.DOTALL)[1]
        script = block.replace("ration serve", f"'{RATION}' serve --state '{self.state}' --backend process").replace("8080", str(free_port()))
        lines = script.splitlines()
        lines.insert(2, 'trap "kill $!" EXIT; sleep 0.2')
        done = subprocess.run(["bash", "-ec", "\n".join(lines).replace("curl ", "curl -s --retry 50 --retry-connrefused --retry-delay 1 ")], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('{"jobs":[],"next":null}', done.stdout)


class Refused(ListeningTest):
    def refused(self, address: str, code: int, sentence: str) -> None:
        self.kill()
        self.refused_now(address, code, sentence, self.state)

    def refused_now(self, address: str, code: int, sentence: str, state: pathlib.Path) -> None:
        done = subprocess.run([RATION, "serve", "--state", state, "--backend", "process", "--listen", address, "--token-file", self.folder / "token"], env=self.environment,
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(sentence, done.stderr)

    def test_token_files_and_addresses(self) -> None:
        here = f"127.0.0.1:{self.port}"
        self.refused_now(here, 3, f"listen at {here}", self.folder / "other")  # where the first one still is
        for text, mode, sentence in ((TOKEN, 0o644, "chmod 600"), (TOKEN, 0o640, "chmod 600"), (TOKEN[1:], 0o600, "32 to 512"), (TOKEN + " x", 0o600, "32 to 512"),
                                     ("x" * 5000, 0o600, "larger than 4 KiB")):
            with self.subTest(text=text[:40], mode=mode):
                self.write_token(text, mode)
                self.refused(here, 3, sentence)
        self.write_token(TOKEN)
        for address in ("0.0.0.0:8080", "192.168.0.1:8080", "localhost:8080", "[::]:8080", "unix:/tmp/x", "127.0.0.1", "127.0.0.1:0"):
            with self.subTest(address=address):
                self.refused(address, 2, "not a loopback address with a port")
        if os.geteuid() == 0:
            os.chown(self.folder / "token", 65534, 65534)
            self.refused(here, 3, "another user's")
        (self.folder / "token").unlink()
        self.refused(here, 3, "cannot be opened")
        done = subprocess.run([RATION, "serve", "--listen", here], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
