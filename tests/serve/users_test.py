# SPDX-License-Identifier: BSL-1.0
"""Several user accounts: the example of two at once, a service that another account and root use, and one that is out of reach."""
import json
import os
import shutil
import subprocess
import sys
import unittest

from support import JOB, PATIENCE, RATION, ROOT, ServiceTest, in_process_of, send

sys.path.insert(0, str(ROOT / "python"))
from ration.service import Service, ServiceError  # noqa: E402  pylint: disable=wrong-import-position

OWNER, OTHER = 12345, 12346


@unittest.skipUnless(os.geteuid() == 0, "only root can become other users")
@unittest.skipUnless(shutil.which("setpriv"), "setpriv is missing")
class Users(ServiceTest):
    def setUp(self) -> None:
        super().setUp()
        self.kill()
        self.folder.chmod(0o755)
        shutil.rmtree(self.state)
        self.home = self.folder / "owner"
        self.home.mkdir(mode=0o700)
        (self.home / "run").mkdir(mode=0o700)
        for path in (self.home, self.home / "run"):
            os.chown(path, OWNER, OWNER)
        self.state = self.home / "state"
        try:
            subprocess.run([RATION, "--version"], user=OWNER, group=OWNER, extra_groups=[], cwd="/", capture_output=True, check=True)
        except PermissionError:
            self.skipTest("another user cannot start the program where it is")
        self.own = dict(self.environment, XDG_RUNTIME_DIR=str(self.home / "run"))
        roots, self.environment = self.environment, self.own
        self.start(user=OWNER)
        self.environment = roots

    def run_as(self, user: int, *command: object, environment: dict | None = None) -> subprocess.CompletedProcess:
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        return subprocess.run([*become, *map(str, command)], cwd="/", env=environment or self.own, capture_output=True, text=True, check=False, timeout=PATIENCE)

    def request(self, user: int, method: str, path: str, body: object = None) -> tuple[int, dict]:
        """Over the socket."""
        return tuple(in_process_of(user, user, (), lambda: send(self.state / "socket", method, path, body and json.dumps(body))))

    def refusal_of_python(self) -> str:
        try:
            return str(Service(str(self.state)).list_jobs())
        except ServiceError as error:
            return str(error)

    def submission(self, key: str, *command: str) -> dict:
        return {"key": key, "definition": JOB.replace('["true"]', json.dumps(command)), "directory": "/", "environment": [f"PATH={os.environ['PATH']}"]}

    def stage(self, job: int) -> str:
        return self.request(0, "GET", f"/v1/jobs/{job}")[1]["stage"]

    def test_the_kernel_names_the_user_of_a_request(self) -> None:
        for folder in (self.home, self.state):
            folder.chmod(0o711)
        (self.state / "socket").chmod(0o666)  # so that it depends on the service alone
        self.assertEqual(self.request(OTHER, "POST", "/v1/jobs", self.submission("k", "true")), (403, {"error": "the service runs jobs as another user: start a service of your own"}))
        jobs = {user: self.request(user, "POST", "/v1/jobs", self.submission("k", "sh", "-c", "id -u; sleep 60"))[1] for user in (OWNER, 0)}  # a key is of one user
        self.assertEqual([(job["id"], job["uid"], job["tenant"]) for job in jobs.values()], [(1, OWNER, f"uid-{OWNER}"), (2, 0, "root")])
        seen = {user: [job["id"] for job in self.request(user, "GET", "/v1/jobs")[1]["jobs"]] for user in (OWNER, OTHER, 0)}
        self.assertEqual(seen, {OWNER: [1], OTHER: [], 0: [1, 2]})
        self.wait_for(lambda: self.stage(1) == self.stage(2) == "PROCESSING")
        running = {user: [job["id"] for job in self.request(user, "GET", "/v1/running")[1]["jobs"]] for user in (OWNER, OTHER, 0)}
        self.assertEqual(running, seen)
        for user, foreign in ((OWNER, (2,)), (OTHER, (1, 2))):
            for job in foreign:
                for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume")):
                    self.assertEqual(self.request(user, method, f"/v1/jobs/{job}{path}"), (404, {"error": f"job {job} is unknown: list the jobs with ration status"}))
        for method, path in (("POST", "/v1/service/drain"), ("POST", "/v1/service/policy")):
            self.assertEqual(self.request(OTHER, method, path, {"policy": "none"})[0], 403)
        self.assertEqual((self.home / "state/jobs/a-2.log").read_text(), f"{OWNER}\n")  # it runs as the user of the service
        self.assertEqual(self.request(0, "DELETE", "/v1/jobs/1")[0], 202)
        self.assertEqual(self.request(OWNER, "DELETE", "/v1/jobs/1")[1]["id"], 1)
        self.wait_for(lambda: self.stage(1) == "HALTED")
        self.assertEqual(self.stage(2), "PROCESSING")
        self.request(0, "DELETE", "/v1/jobs/2")
        self.wait_for(lambda: self.stage(2) == "HALTED")

    def test_a_service_out_of_reach_is_reported_in_one_sentence(self) -> None:
        self.assertEqual(self.run_as(OWNER, RATION, "submit", "--state", self.state, "--name", "a", "--", "true").stdout, "a-1\n")
        asked = f"ration: ask the service at {self.state}: permission denied; another user owns its folder or its socket: name your own by --state\n"
        read = f"ration: open {self.state}/jobs.db: permission denied{{}}; it belongs to another user: repeat this as that user, or name your own by --state\n"
        self.assertEqual(in_process_of(OTHER, OTHER, (), self.refusal_of_python), f"another user owns the folder of {self.state}; name your own state folder")
        foreign = dict(self.own, XDG_RUNTIME_DIR=str(self.folder))
        state = ("--state", self.state)
        for command in (("submit", *state, "--", "true"), ("drain", *state), ("policy", "set", "none", *state)):
            done = self.run_as(OTHER, RATION, *command, environment=foreign)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "", asked), command)
        for command in (("status",), ("logs", "a-1"), ("cancel", "a-1"), ("resume", "a-1"), ("wait", "a-1"), ("top",)):
            done = self.run_as(OTHER, RATION, *command, *state, environment=foreign)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "", read.format(" (Permission denied)")), command)
            done = self.run_as(0, RATION, *command, *state)  # root reads no list of another user
            self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "", read.format("")), command)
        self.assertEqual(self.run_as(OWNER, RATION, "wait", *state, "a-1").returncode, 0)

    def test_the_example_runs_in_two_accounts_at_once(self) -> None:
        begun = []
        for user in (OWNER, OTHER):
            environment = dict(os.environ, HOME="/nonexistent", TMPDIR="/tmp", RATION_SECONDS="0.2")
            begun.append(subprocess.Popen(["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", ROOT / "examples/service.sh"], cwd="/", env=environment,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        for one in begun:
            out, err = one.communicate(timeout=PATIENCE)
            self.assertEqual((one.returncode, err), (0, ""), out)
            self.assertEqual(out.count(" COMPLETED "), 6, out)
            self.assertRegex(out, r"(?m)^page: http://127\.0\.0\.1:\d+/#token=[0-9a-f]{64}$")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
