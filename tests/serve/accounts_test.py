# SPDX-License-Identifier: BSL-1.0
"""A service of root for two accounts of the machine: whose rights the jobs have, and what a hostile user reaches."""
import contextlib
import grp
import http.client
import json
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import sys
import time
import unittest

from support import JOB, PATIENCE, RATION, ROOT, Connection, ServiceTest, in_process_of, send

REPORT = """
import ration.progress
progress = ration.progress.open()
progress.listen()
progress.hello()
for step in range(1, 2000):
    progress.step(step, loss=1 / step)
    if progress.command(0.05):
        print("a command came", flush=True)
        break
"""
PRELOADED = """
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void begin(void) {
    FILE* const out = fopen(getenv("SEEN"), "a");
    if (out != NULL && fprintf(out, "%d %d\\n", (int)getuid(), (int)geteuid()) > 0) fclose(out);
}
"""


def account(name: str) -> pwd.struct_passwd | None:
    with contextlib.suppress(KeyError):
        return pwd.getpwnam(name)
    return None


FIRST, SECOND = account("games"), account("man")
ADMINS = "adm"


@unittest.skipUnless(os.geteuid() == 0, "only root can start jobs of other users")
@unittest.skipUnless(shutil.which("setpriv"), "setpriv is missing")
@unittest.skipUnless(FIRST and SECOND, "this machine lacks the accounts games and man")
class AccountsTest(ServiceTest):
    def setUp(self) -> None:
        super().setUp()
        self.kill()
        self.folder.chmod(0o711)
        try:
            subprocess.run([RATION, "--version"], user=FIRST.pw_uid, group=FIRST.pw_gid, extra_groups=[], cwd="/", capture_output=True, check=True)
        except PermissionError:
            self.skipTest("another user cannot start the program where it is")
        (self.folder / "serve.toml").write_text(f'admin_group = "{ADMINS}"\n')
        self.begin()
        self.homes = {}
        for user in (FIRST, SECOND):
            self.homes[user] = self.folder / user.pw_name
            self.homes[user].mkdir(mode=0o700)
            os.chown(self.homes[user], user.pw_uid, user.pw_gid)
        self.secret = self.folder / "secret"
        self.secret.write_text("step,loss\n1,0.5\nof root\n")
        self.secret.chmod(0o600)

    def begin(self) -> None:
        self.start("--config", str(self.folder / "serve.toml"))

    def run_as(self, user: pwd.struct_passwd, command: str, *words: object, groups: str = "--clear-groups", code: int = 0) -> str:
        """A command of ration in the folder of the user."""
        become = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", groups, RATION, command, "--state", self.state]
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.homes[user])}
        done = subprocess.run([*map(str, [*become, *words])], cwd=self.homes[user], env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return (done.stdout + done.stderr).strip()

    def request(self, user: pwd.struct_passwd | None, method: str, path: str, body: object = None, groups: tuple = ()) -> tuple[int, dict]:
        text = None if body is None else json.dumps(body)
        if user is None:
            return send(self.state / "socket", method, path, text)
        return tuple(in_process_of(user.pw_uid, user.pw_gid, groups, lambda: send(self.state / "socket", method, path, text)))

    def submit_as(self, user: pwd.struct_passwd, script: str, keys: str = "", **members: object) -> dict:
        """By a client of the API, with an empty environment."""
        self.key = getattr(self, "key", 0) + 1
        definition = JOB.replace('["true"]', json.dumps(["sh", "-c", script])) + keys
        body = {"key": str(self.key), "definition": definition, "directory": str(self.homes[user]), "environment": []} | members
        status, reply = self.request(user, "POST", "/v1/jobs", body)
        self.assertEqual(status, 201, reply)
        return reply

    def ended(self, job: dict) -> dict:
        def seen() -> dict:
            return self.request(None, "GET", f"/v1/jobs/{job['id']}")[1]
        self.wait_for(lambda: seen()["stage"] in ("COMPLETED", "FAILED", "HALTED"))
        return seen()

    def running(self, job: dict) -> dict | None:
        for one in self.request(None, "GET", "/v1/running")[1]["jobs"]:
            if one["id"] == job["id"]:
                return one
        return None


class Rights(AccountsTest):
    def test_each_job_runs_as_the_user_who_submitted_it(self) -> None:
        script = "id -u; id -ru; id -g; id -G; echo $HOME $USER $LOGNAME; pwd; touch made"
        for user in (FIRST, SECOND):
            job = self.submit_as(user, script, 'on_end = ["sh", "-c", "id -u > ended"]\n')
            self.assertEqual((job["uid"], job["tenant"]), (user.pw_uid, user.pw_name))
            self.assertEqual(self.ended(job)["stage"], "COMPLETED")
            groups = " ".join(map(str, sorted(os.getgrouplist(user.pw_name, user.pw_gid))))
            log = pathlib.Path(job["log"])
            self.assertEqual(log.read_text().splitlines(), [str(user.pw_uid), str(user.pw_uid), str(user.pw_gid), groups, f"{user.pw_dir} {user.pw_name} {user.pw_name}",
                                                            str(self.homes[user])])
            self.wait_for(lambda user=user: (self.homes[user] / "ended").exists() and (self.homes[user] / "ended").read_text())
            self.assertEqual((self.homes[user] / "ended").read_text(), f"{user.pw_uid}\n")
            for path in (log, log.parent, self.homes[user] / "made", log.with_suffix(".hooks.log")):
                self.assertEqual(path.stat().st_uid, user.pw_uid, path)
            self.assertEqual(log.parent.stat().st_mode & 0o777, 0o700)
        own = self.ration("submit", "--", "sh", "-c", "id -u")
        self.ration("wait", own)
        self.assertEqual((self.state / f"jobs/{own}.log").read_text(), "0\n")

    def test_users_see_and_stop_their_own_jobs_and_administrators_all(self) -> None:
        label = self.run_as(FIRST, "submit", "--name", "vae", "--", "sh", "-c", "echo words of one; exec sleep 300")
        self.assertEqual(label, "vae-1")
        self.wait_for(lambda: "words of one" in self.run_as(FIRST, "logs", label) if self.job(label)["stage"] == "PROCESSING" else False)
        self.assertIn("vae-1", self.run_as(FIRST, "status"))
        self.assertEqual(self.run_as(SECOND, "status"), "no job was submitted")
        unknown = "ration: job 'vae-1' is unknown; list the jobs with ration status"
        for command in ("status", "logs", "cancel", "pause", "wait"):
            self.assertEqual(self.run_as(SECOND, command, label, code=2), unknown, command)
        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/pause")):
            self.assertEqual(self.request(SECOND, method, f"/v1/jobs/1{path}")[0], 404)
        self.assertEqual(self.request(SECOND, "GET", "/v1/running")[1]["jobs"], [])
        self.assertEqual(self.request(SECOND, "POST", "/v1/service/drain")[0], 403)
        log = self.state / f"users/{FIRST.pw_uid}/vae-1.log"
        self.assertEqual(in_process_of(SECOND.pw_uid, SECOND.pw_gid, (), lambda: os.access(log, os.R_OK)), False)
        admins = grp.getgrnam(ADMINS).gr_gid
        self.assertIn("vae-1", self.run_as(SECOND, "status", groups=f"--groups={ADMINS}"))
        self.assertEqual(len(self.request(SECOND, "GET", "/v1/running", groups=(admins,))[1]["jobs"]), 1)
        plugin = {"policy": str(self.homes[SECOND] / "evil.so")}
        self.assertEqual(self.request(SECOND, "POST", "/v1/service/policy", plugin, groups=(admins,)),
                         (403, {"error": "only the user of the service may load a plugin: name a policy that ration contains"}))
        self.assertEqual(self.request(SECOND, "POST", "/v1/service/policy", {"policy": "none"}, groups=(admins,))[0], 200)
        self.run_as(SECOND, "cancel", label, groups=f"--groups={ADMINS}")
        self.assertEqual(self.run_as(FIRST, "wait", label, code=4), "")
        self.assertEqual(self.job(label)["stage"], "HALTED")

    def test_jobs_of_a_user_report_and_take_commands(self) -> None:
        (self.folder / "report.py").write_text(REPORT)
        shutil.copytree(ROOT / "python/ration", self.folder / "python/ration")
        job = self.submit_as(FIRST, f"exec /usr/bin/python3 {self.folder}/report.py", environment=[f"PYTHONPATH={self.folder}/python", "PYTHONDONTWRITEBYTECODE=1"])
        self.wait_for(lambda: (self.running(job) or {}).get("value") is not None, interval=0.2)
        self.assertTrue(self.running(job)["continues"])  # it listens for commands in the folder of its user
        self.request(FIRST, "DELETE", f"/v1/jobs/{job['id']}")
        self.assertEqual(self.ended(job)["stage"], "HALTED")
        self.assertEqual(pathlib.Path(job["log"]).read_text(), "a command came\n")

    def test_a_restart_takes_the_jobs_of_users_over(self) -> None:
        go = self.homes[FIRST] / "go"
        jobs = [self.submit_as(FIRST, f"until test -e {go}; do sleep 0.05; done; exit {code}") for code in (0, 7)]
        self.wait_for(lambda: all(self.request(None, "GET", f"/v1/jobs/{job['id']}")[1]["stage"] == "PROCESSING" for job in jobs))
        self.kill()
        go.touch()
        ends = pathlib.Path(jobs[0]["log"]).parent
        self.wait_for(lambda: len(list(ends.glob("*.end"))) == 2)
        self.begin()
        self.assertEqual([(job["stage"], job["exit_code"]) for job in map(self.ended, jobs)], [("COMPLETED", 0), ("FAILED", 7)])


class Hostile(AccountsTest):
    def test_links_in_the_folder_of_a_user_lead_to_nothing_of_root(self) -> None:
        job = self.submit_as(FIRST, f"rm {self.state}/users/{FIRST.pw_uid}/a-1.log; ln -s {self.secret} {self.state}/users/{FIRST.pw_uid}/a-1.log; exit 3")
        self.assertEqual((self.ended(job)["exit_code"], "of root" in self.ended(job)["why"]), (3, False))
        self.assertNotIn("of root", self.ration("logs", "a-1", code=2))
        folder = self.state / "users" / str(FIRST.pw_uid)
        before = self.secret.read_text()
        for name in ("a-2.log", "a-3.hooks.log", "a-4.1.end", "a-5.checkpoint"):
            in_process_of(FIRST.pw_uid, FIRST.pw_gid, (), lambda name=name: os.symlink(self.secret, folder / name))
        jobs = [self.submit_as(FIRST, "echo written", 'on_end = ["echo", "written"]\n') for _ in range(4)]
        ends = [self.ended(job) for job in jobs]
        self.assertEqual([end["stage"] for end in ends], ["FAILED", "COMPLETED", "COMPLETED", "COMPLETED"])
        self.assertIn("permission denied", ends[0]["why"])
        self.assertEqual(self.secret.read_text(), before)

    def test_files_for_the_cache_are_opened_with_the_rights_of_the_user(self) -> None:
        self.kill()
        (self.folder / "serve.toml").write_text('cache = "64KiB"\nshared_cache = { round = 1 }\n')
        self.begin()
        own = self.homes[FIRST] / "data"
        own.write_bytes(b"x" * 5000)
        self.submit_as(FIRST, "sleep 300", f'reads = ["{self.secret}", "{own}"]\n')

        def events() -> list[dict]:
            return [json.loads(line) for line in (self.state / "events.jsonl").read_text().splitlines()]
        self.wait_for(lambda: any(event["event"] == "item" for event in events()))
        self.assertEqual([event["item"] for event in events() if event["event"] == "item"], [str(own)])
        warnings = [event["message"] for event in events() if event["event"] == "warning"]
        self.assertIn(f"{self.secret} cannot be opened (Permission denied); correct the path in 'reads', which is relative to the job's directory", warnings)

    def test_paths_of_a_job_are_opened_with_the_rights_of_its_user(self) -> None:
        own = self.homes[FIRST] / "own.csv"
        own.write_text("step,loss\n")
        os.chown(own, FIRST.pw_uid, FIRST.pw_gid)
        jobs = [self.submit_as(FIRST, "sleep 300", f'metrics = {{ csv = "{path}", loss = "loss" }}\n') for path in (self.secret, own)]
        self.wait_for(lambda: all(map(self.running, jobs)))

        def add_rows() -> bool:
            for path in (self.secret, own):
                with path.open("a") as file:
                    file.write("2,0.25\n")
            return self.running(jobs[1])["value"] is not None
        self.wait_for(add_rows, interval=0.3)
        self.assertIsNone(self.running(jobs[0])["value"])
        closed = self.folder / "closed"
        (closed / "open").mkdir(parents=True)
        closed.chmod(0o700)
        for directory in (closed, closed / "open"):
            end = self.ended(self.submit_as(FIRST, "touch made", directory=str(directory)))
            self.assertEqual((end["stage"], "permission denied" in end["why"]), ("FAILED", True), end["why"])
        self.assertFalse((closed / "open" / "made").exists())
        for job in jobs:
            self.request(FIRST, "DELETE", f"/v1/jobs/{job['id']}")

    @unittest.skipUnless(shutil.which("cc"), "a C compiler is missing")
    def test_the_environment_of_a_job_does_not_act_on_root(self) -> None:
        seen = self.homes[FIRST] / "seen"
        (self.folder / "preloaded.c").write_text(PRELOADED)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.folder / "preloaded.so", self.folder / "preloaded.c"], check=True)
        job = self.submit_as(FIRST, "true", environment=[f"LD_PRELOAD={self.folder}/preloaded.so", f"SEEN={seen}"])
        self.assertEqual(self.ended(job)["stage"], "COMPLETED")
        lines = seen.read_text().splitlines()
        self.assertEqual(set(lines), {f"{FIRST.pw_uid} {FIRST.pw_uid}"})
        self.assertGreaterEqual(len(lines), 2)  # also the process that waits for the job

    def test_a_user_gets_neither_the_tenant_nor_the_turn_of_others(self) -> None:
        body = {"key": "k", "definition": JOB, "directory": "/", "environment": []}
        for tenant in (SECOND.pw_name, "root", "invented"):
            refused = self.request(FIRST, "POST", "/v1/jobs", body | {"definition": JOB + f'tenant = "{tenant}"\n'})
            self.assertEqual(refused, (403, {"error": f"tenant '{tenant}' is not yours: name your user or a group that has you"}))
        for one in (body | {"priority": 1}, body | {"definition": JOB + "priority = 1\n"}):
            refused = self.request(FIRST, "POST", "/v1/jobs", one)
            self.assertEqual(refused, (403, {"error": "only root and the admin group may give a priority above 0: leave it out"}))
        own = self.request(FIRST, "POST", "/v1/jobs", body | {"definition": JOB + f'tenant = "{FIRST.pw_name}"\n', "priority": -1})
        self.assertEqual((own[0], own[1]["tenant"]), (201, FIRST.pw_name))
        after = self.request(SECOND, "POST", "/v1/jobs", body | {"key": "after", "after": [own[1]["id"]]})
        self.assertEqual(after, (400, {"error": f"job {own[1]['id']} of 'after' is unknown: name a submitted job"}))
        stranger = tuple(in_process_of(60_003, 60_003, (), lambda: send(self.state / "socket", "POST", "/v1/jobs", json.dumps(body))))
        self.assertEqual(stranger, (403, {"error": "no account has the number 60003 of your user: add one"}))

    def test_the_files_of_the_service_are_closed(self) -> None:
        self.ended(self.submit_as(FIRST, "true"))
        open_to_all = {self.state, self.state / "socket", self.state / "users", self.state / "progress"}
        for path in (self.state, *self.state.glob("*"), *self.state.glob("jobs/*"), *self.state.glob("users/*")):
            mode = path.lstat().st_mode & 0o077
            self.assertEqual(mode, (0o066 if path.is_socket() else 0o011) if path in open_to_all else 0, path)
        for folder in open_to_all:
            self.assertFalse(in_process_of(FIRST.pw_uid, FIRST.pw_gid, (), lambda folder=folder: not folder.is_socket() and os.access(folder, os.W_OK)), folder)

    def test_admin_group_names_a_group(self) -> None:
        self.kill()
        for group, sentence in (("no-such-group", "ration: use admin_group no-such-group: invalid value; create the group, or name another one"),
                                ("", "'admin_group' is empty; name a group, or leave it out")):
            (self.folder / "serve.toml").write_text(f'admin_group = "{group}"\n')
            done = subprocess.run([RATION, "serve", "--state", self.state, "--config", self.folder / "serve.toml"], env=self.environment, capture_output=True, text=True,
                                  check=False, timeout=PATIENCE)
            self.assertEqual((done.returncode, done.stderr.endswith(sentence + "\n")), (2, True), done.stderr)

    def test_a_user_cannot_take_all_connections(self) -> None:
        def connect() -> Connection:
            one = Connection(str(self.state / "socket"))
            while True:
                with contextlib.suppress(BlockingIOError):  # the service has not accepted the earlier ones yet
                    one.connect()
                    return one
                time.sleep(0.01)

        def try_one_more() -> bool:
            with contextlib.ExitStack() as held:
                *_, last = [held.enter_context(contextlib.closing(connect())) for _ in range(20)]
                try:
                    last.request("GET", "/v1/jobs")
                    return last.getresponse().status == 200
                except (OSError, http.client.HTTPException):
                    return False  # closed without an answer
        self.assertFalse(in_process_of(FIRST.pw_uid, FIRST.pw_gid, (), try_one_more))
        self.assertTrue(try_one_more())  # root

    def test_many_requests_at_once_are_all_answered(self) -> None:
        def ask_all() -> list:
            with contextlib.ExitStack() as held:
                connections = [held.enter_context(contextlib.closing(Connection(str(self.state / "socket")))) for _ in range(12)]
                for number, one in enumerate(connections):
                    while one.sock is None:
                        with contextlib.suppress(BlockingIOError):  # the service has not accepted the earlier ones yet
                            one.connect()
                    body = {"key": f"{number}", "definition": JOB, "directory": "/", "environment": []}
                    one.request("POST", "/v1/jobs", json.dumps(body))
                    one.sock.shutdown(socket.SHUT_WR)
                return [(answer.status, json.loads(answer.read())["id"]) for answer in (one.getresponse() for one in connections)]
        for account in (FIRST, SECOND):
            answers = in_process_of(account.pw_uid, account.pw_gid, (), ask_all)
            self.assertEqual([status for status, _ in answers], 12 * [201])
            self.assertEqual(len({number for _, number in answers}), 12)
        self.assertEqual(len(self.ask("GET", "/v1/jobs")[1]["jobs"]), 24)

    def test_several_users_together_cannot_take_all_connections(self) -> None:
        def connect_as(uid: int) -> socket.socket:
            one = socket.socket(socket.AF_UNIX)
            self.addCleanup(one.close)
            os.seteuid(uid)
            try:
                one.connect(str(self.state / "socket"))
            finally:
                os.seteuid(0)
            one.setblocking(False)
            return one

        def is_open(one: socket.socket) -> bool:
            try:
                return one.recv(1) != b""
            except BlockingIOError:
                return True
            except ConnectionResetError:
                return False
        idle = [connect_as(60_001 + i // 16) for i in range(80)]
        late = connect_as(60_100)
        self.assertEqual(self.ask("GET", "/v1/jobs")[0], 200)
        self.assertGreater(sum(map(is_open, idle)), 50, "root was answered only when idle connections had ended")
        self.assertTrue(is_open(late))


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "only root has a folder of its own in place of /var/lib")
class Default(AccountsTest):
    def test_clients_find_the_service_of_root(self) -> None:
        if subprocess.run(["unshare", "--mount", "true"], check=False).returncode != 0:
            self.skipTest("the kernel refuses another mount namespace")
        home = self.homes[FIRST]
        become = f"setpriv --reuid={FIRST.pw_uid} --regid={FIRST.pw_gid} --clear-groups env -i HOME={home} PATH={os.environ['PATH']}"
        shutil.copytree(ROOT / "python/ration", self.folder / "python/ration")
        python = f"/usr/bin/python3 -B -c 'import sys; sys.path.insert(0, \"{self.folder}/python\"); import ration; print(ration.jobs()[0].label)'"
        script = (f"mount -t tmpfs none /var/lib && mkdir -p /var/lib/ration-serve && mount --bind {self.state} /var/lib/ration-serve && cd {home} && "
                  f"label=$({become} {RATION} submit --name found -- true) && {become} {RATION} wait $label && {become} {python}")
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, check=False, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "found-1\n", ""))


del AccountsTest  # it has no tests itself

if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
