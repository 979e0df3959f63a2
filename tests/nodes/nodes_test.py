# SPDX-License-Identifier: BSL-1.0
"""`ration run --nodes` with real processes.

usage: nodes_test.py [CLASS]    RATION_PROGRAM and RATION_WANDERER name the program and a policy
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

from nodes_case import HEAD, HERE, LONG, Nodes, PATIENCE, RATION, ROOT, children_of, is_alive, job


class NodesTest(Nodes):
    def test_jobs_run_on_both_nodes_and_end_well(self) -> None:
        self.start("".join(job(name, 20, most=1) for name in "abcd"))
        out, _ = self.finish()
        self.assertEqual({event["how"] for event in self.events("job_ended")}, {"finished"})
        self.assertEqual(len(self.events("job_ended")), 4)
        nodes = {event["devices"].split(":")[0] for event in self.events("job_started")}
        self.assertEqual(nodes, {"local-1", "local-2"})
        self.assert_devices_used_once()
        self.assertIn("node local-1 is up, with 2 devices", out)
        self.assertIn("on node local-1", {event["placement"] for event in self.events("job_started")})
        self.assert_nothing_left()
        decisions = len(self.events("decision"))
        replayed = subprocess.run([RATION, "replay", "log.jsonl", "--policy", "max_min"], cwd=self.folder / "work", capture_output=True, text=True,
                                  timeout=PATIENCE)
        self.assertIn(f"{decisions} of {decisions} decisions the same", replayed.stdout + replayed.stderr)

    def test_a_job_waits_for_a_folder_that_its_node_does_not_have_yet(self) -> None:
        self.head = HEAD.replace("count = 4", "count = 1")
        late = self.folder / "work" / "late"
        late.mkdir()
        script = "touch began; until test -e end; do sleep 0.1; done"
        jobs = [job(name, 1, most=1, more=more).replace(json.dumps([sys.executable, str(HERE / "job.py"), "1"]), json.dumps(["sh", "-c", run]))
                for name, run, more in (("first", script, ""), ("late", "true", 'directory = "late"'))]
        self.start("".join(jobs), "--policy", "fifo", nodes="local:1")
        self.until((self.folder / "work" / "began").exists, "the first job runs")
        late.rmdir()
        (self.folder / "work" / "end").touch()
        self.until(lambda: any("it cannot be launched now: enter the working directory late" in event["message"] for event in self.events("warning")), "ration warns")
        late.mkdir()
        self.finish()
        self.assertEqual([(event["job"], event["how"]) for event in self.events("job_ended")], [("first", "finished"), ("late", "finished")])

    def test_the_log_has_infinities_as_the_node_read_them(self) -> None:
        script = "for i in 1 2 3 4; do echo loss=-inf; sleep 0.2; done; sleep 30"
        text = job("a", 1, most=1, more=r"log = 'loss=(?<loss>\S+)'")
        self.start(text.replace(json.dumps([sys.executable, str(HERE / "job.py"), "1"]), json.dumps(["sh", "-c", script])), nodes="local:1")
        self.finish(code=1)
        self.assertEqual([event["how"] for event in self.events("job_ended")], ["diverged"])
        self.assertEqual({event["value"] for event in self.events("progress")}, {"-inf"})

    def test_a_policy_for_one_pool_uses_the_devices_of_all_nodes(self) -> None:
        self.start("".join(job(name, 20) for name in "ab"), "--policy", "loss_delta_ratio")
        self.finish()
        started = [event["devices"].split(",") for event in self.events("job_started")]
        self.assertEqual({device.split(":")[0] for devices in started for device in devices}, {"local-1", "local-2"})
        self.assertEqual(sum(map(len, started)), 4, started)
        self.assert_devices_used_once()

    def test_speeds_are_estimated_from_what_the_nodes_report(self) -> None:
        self.start("".join(job(name, 200) for name in "ab"), "--policy", "pollux")  # the first 5 s of a job are not measured
        self.finish()
        shown = [event["columns"] for event in self.events("decision") if event["columns"]["jobs/id"]]
        goodput = shown[0]["jobs/goodput"]
        width = len(goodput) // 2
        self.assertEqual(goodput[1], 1)  # unknown before the first step
        measured = [columns["jobs/goodput"][1:width] for columns in shown]
        self.assertTrue(any(min(speeds) > 2 for speeds in measured), measured)  # a step takes 0.05 s, and more on a busy machine
        self.assertGreater(max(workers for columns in shown for workers in columns["jobs/workers"]), 0)
        self.assertTrue(all("jobs/bottleneck" not in columns for columns in shown))  # nodes do not report the CPU that jobs use

    def test_phases_and_estimators_that_are_not_there_are_refused(self) -> None:
        self.start('phases = { models = "phases.json" }\n' + job("a", 1))
        _, err = self.finish(2)
        self.assertIn("nodes do not report the CPU and the memory that jobs use, from which ration estimates phases; leave 'phases' out, "
                      "or run without --nodes", err)
        self.start('estimators = ["./nowhere.so"]\n' + job("a", 1))
        _, err = self.finish(2)
        self.assertIn("nowhere.so: ", err)
        self.assertEqual(self.launches(), [])

    def test_jobs_that_no_node_can_run_are_refused_before_one_starts(self) -> None:
        self.start(job("a", 1).replace("bounds = { gpu = { min = 1, max = 2 } }", "").replace("deadlines =", "# deadlines ="))
        _, err = self.finish(2)
        self.assertIn("job 'a' uses no devices, which --nodes shares out; add bounds = { gpu = { min = 1, max = 4 } }, or run it without --nodes", err)
        self.start(job("a", 1), "--policy", "equal_share")
        _, err = self.finish(2)
        self.assertIn("policy 'equal_share' grants no devices, which --nodes shares out; choose another one: ration policies lists them", err)
        self.start(job("a", 1, least=3, most=4))
        _, err = self.finish(3)
        self.assertIn("job 'a' needs 3 devices on one node, and the largest node has 2; lower its 'min'", err)
        self.assertEqual(self.launches(), [])
        self.assert_nothing_left()

    def test_a_jobs_file_that_no_pipe_holds_reaches_the_nodes(self) -> None:
        self.start(job("a", 1) + "# padding\n" * 20000)
        self.finish()
        self.assertEqual([event["how"] for event in self.events("job_ended")], ["finished"])

    def test_after_its_controller_was_killed_the_same_command_continues_a_job_that_never_runs_twice(self) -> None:
        text = job("a", 100, more='checkpoint = "saved"')
        self.start(text)
        self.until(lambda: len(self.events("progress")) > 10, "the job trains")
        self.kill_controller()
        self.assertTrue(is_alive(int(self.launches()[0][4])), "the job trains on")
        self.start(text)
        out, _ = self.finish()
        self.assertIn("agents of a killed run still train these jobs; they save and stop them, then the jobs continue", out)
        first, second = self.launches()
        self.assertGreaterEqual(int(second[3]), 10, "it continues from what the first one has saved at its end")
        self.assertEqual([(event["how"], event["step"]) for event in self.events("job_ended")], [("finished", 100)])
        self.assertEqual(list((self.folder / "work").glob(".*.ration")), [])
        self.assert_nothing_left()

    def test_ctrl_c_ends_the_wait_for_agents_of_a_killed_controller(self) -> None:
        text = job("a", LONG, more='checkpoint = "saved"')
        self.start(text)
        self.until(lambda: len(self.events("progress")) > 0, "the job trains")
        self.kill_controller()
        for pid in self.agents:
            os.kill(pid, signal.SIGSTOP)
        self.start(text)
        self.assertIn("agents of a killed run still train these jobs", self.run.stdout.readline())
        self.run.send_signal(signal.SIGINT)
        self.finish(4)
        self.assertEqual(len(self.launches()), 1)
        for pid in self.agents:
            os.kill(pid, signal.SIGCONT)

    def test_a_killed_agent_costs_its_job_a_restart_from_its_checkpoint(self) -> None:
        self.start(job("a", 120, more='checkpoint = "saved"'))
        self.until(lambda: (self.folder / "work" / "saved" / "step").exists(), "the job has saved")
        first = self.events("job_started")[0]["devices"].split(":")[0]
        agent = self.agent_of_first_job()
        os.kill(agent, signal.SIGKILL)
        _, err = self.finish()
        self.assertGreater(int(self.launches()[-1][3]), 0, self.launches())
        self.assertGreater(int(self.launches()[-1][1]), 1)
        messages = {(event["subject"], event["message"]) for event in self.events("warning")}
        self.assertIn((f"node {first}", "its command has ended; it is started again"), messages)
        self.assert_devices_used_once()
        self.assert_nothing_left()

    def test_the_jobs_of_an_agent_that_is_terminated_continue_elsewhere(self) -> None:
        self.start(job("a", 60, more='checkpoint = "saved"'))
        self.until(lambda: (self.folder / "work" / "saved" / "step").exists(), "the job has saved")
        os.kill(self.agent_of_first_job(), signal.SIGTERM)
        self.finish()
        self.assertEqual([(event["how"], event["step"]) for event in self.events("job_ended")], [("finished", 60)])
        first, second = (event["devices"].split(":")[0] for event in self.events("job_started"))
        self.assertNotEqual(first, second)
        self.assertEqual([event["step"] for event in self.events("progress")], list(range(1, 61)), "each step once")
        self.assert_nothing_left()

    def test_a_job_that_sigterm_reaches_before_its_agent_has_not_ended(self) -> None:
        """As Slurm ends a step: the signal goes to all processes of it."""
        self.start(job("a", 60, more='checkpoint = "saved"'))
        self.until(lambda: (self.folder / "work" / "saved" / "step").exists(), "the job has saved")
        agent, child = self.agent_of_first_job(), int(self.launches()[0][4])
        os.kill(agent, signal.SIGSTOP)
        os.kill(child, signal.SIGTERM)
        self.wait_for_end([child])
        os.kill(agent, signal.SIGTERM)
        os.kill(agent, signal.SIGCONT)
        self.finish()
        self.assertEqual([(event["how"], event["step"]) for event in self.events("job_ended")], [("finished", 60)])
        self.assertEqual(len(self.launches()), 2)

    def test_ctrl_c_ends_all_jobs_on_all_nodes(self) -> None:
        self.start(job("a", LONG) + job("b", LONG))
        self.until(lambda: len(self.launches()) >= 2, "both jobs run")
        self.run.send_signal(signal.SIGINT)
        self.finish(4)
        self.assertEqual([event["how"] for event in self.events("job_ended")], ["stopped", "stopped"])
        self.assert_nothing_left()

    def test_an_agent_that_stands_still_for_a_moment_costs_nothing(self) -> None:
        self.start(job("a", 60))
        self.until(lambda: self.events("progress"), "the job reports")
        agent = self.agent_of_first_job()
        os.kill(agent, signal.SIGSTOP)
        time.sleep(2)
        os.kill(agent, signal.SIGCONT)
        self.finish()
        self.assertEqual(len(self.launches()), 1)
        self.assertEqual(self.events("warning"), [])

    def test_a_job_moves_between_nodes_as_the_policy_says_and_loses_no_step(self) -> None:
        policy = os.environ["RATION_WANDERER"]
        self.start(job("a", 50, more='checkpoint = "saved"'), "--policy", policy)
        self.finish()
        nodes = [event["devices"].split(":")[0] for event in self.events("job_started")]
        self.assertGreaterEqual(len([pair for pair in zip(nodes, nodes[1:]) if pair[0] != pair[1]]), 2, nodes)
        incarnations = [int(line[1]) for line in self.launches()]
        self.assertEqual(incarnations, sorted(set(incarnations)))
        steps = [event["step"] for event in self.events("progress")]
        self.assertEqual(steps, list(range(1, 51)), "each step once")
        self.assertEqual([event["how"] for event in self.events("job_ended")], ["finished"])
        self.assert_devices_used_once()
        self.assert_nothing_left()

    def test_the_commands_of_the_page_work(self) -> None:
        page = (ROOT / "docs" / "cluster.md").read_text()
        commands = [line[2:] for line in re.search(r"```console\n(\$ ration run jobs.toml --nodes.*?)```", page, re.S)[1].splitlines() if "local:2" in line]
        self.assertEqual(len(commands), 2)
        place = self.folder / "example"
        shutil.copytree(ROOT / "examples" / "nodes", place)
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "ration").symlink_to(RATION)
        environment = {**os.environ, "XDG_RUNTIME_DIR": str(self.folder / "runtime"), "PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
        for command in commands:
            if "| jq" in command and shutil.which("jq") is None:
                command = command.partition(" | jq")[0]
            done = subprocess.run(["sh", "-ec", command], cwd=place, env=environment, capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("local-2:cpu-0" if "--json" in command else "node local-2 is up", done.stdout)

    def test_the_page_names_a_test_for_each_failure(self) -> None:
        page = (ROOT / "docs" / "cluster.md").read_text()
        tests = "".join((ROOT / "tests" / folder / "CMakeLists.txt").read_text() for folder in ("nodes", "slurm"))
        rows = [row for table in re.findall(r"\| failure \| reaction \| test \|\n\|---.*?\n\n", page, re.S) for row in table.splitlines()[2:] if row]
        self.assertGreater(len(rows), 12)
        for row in rows:
            names = re.findall(r"`([a-z.]+[/.])(\w+)`", row.split(" | ")[-1])
            self.assertTrue(names, row)
            for folder, name in names:
                self.assertTrue(folder + name in tests or re.search(rf"ITEMS.*\b{name}(Test)?\b", tests, re.I), row)

    def test_a_command_that_prints_something_else_is_no_node(self) -> None:
        err = self.refused("print('Welcome')")
        self.assertIn("no node is up; test the command of --nodes by hand", err)
        self.assertEqual(self.run.returncode, 3)
        err = self.refused("print('x' * (1 << 20))")
        self.assertIn("node n1: its command prints more than 65536 bytes, and no message; test it by hand", err)

    def test_another_version_ends_the_conversation_with_a_sentence(self) -> None:
        err = self.refused("import json, sys\ns = json.loads(sys.stdin.readline())['s']\n"
                           "print(json.dumps({'op': 'hello', 's': s, 'q': 1, 'clock': 1, 'version': 2}), flush=True)\nsys.stdin.read()")
        self.assertIn("node n1: the other side speaks version 2 of the wire, and this one version 1; install the same version of ration on all nodes", err)
        self.assertEqual(self.run.returncode, 3)

    def test_a_node_answers_another_version_and_broken_lines(self) -> None:
        hello = {"op": "hello", "s": "x", "q": 1, "clock": 0, "version": 7}
        answer = subprocess.run([RATION, "node"], input="banner\n" + json.dumps(hello) + "\n", capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(answer.returncode, 2)
        self.assertIn("speaks version 7 of the wire", json.loads(answer.stdout)["message"])
        nothing = subprocess.run([RATION, "node"], input="x" * (1 << 20), capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((nothing.returncode, nothing.stdout), (2, ""))
        self.assertIn("standard input: no message of a controller came; ration run --nodes starts this command", nothing.stderr)

    def test_a_node_that_does_not_see_the_folder_of_the_controller_says_so(self) -> None:
        orders = [{"op": "hello", "version": 1, "run": "1-test", "node": "n1", "lease": 10**10, "beat": 10**9, "directory": str(self.folder),
                   "output": str(self.folder / "absent"), "marker": "jobs.toml"},
                  {"op": "file", "text": HEAD + job("a", 1)}, {"op": "dance"}, {"op": "begin", "backend": "auto", "cpus": None, "devices": None}]
        lines = "".join(json.dumps({**order, "s": "x", "q": number, "clock": 0}) + "\n" for number, order in enumerate(orders, 1))
        environment = {**os.environ, "XDG_RUNTIME_DIR": str(self.folder / "runtime")}
        answer = subprocess.run([RATION, "node"], input=lines, env=environment, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(answer.returncode, 3, answer.stdout)
        unknown, missing = (json.loads(line)["message"] for line in answer.stdout.splitlines())
        self.assertEqual(unknown, "unknown message 'dance'; use the same version of ration on all nodes")
        self.assertEqual(missing, f"{self.folder}/absent: this node does not see the folder of the controller, so that a job could not continue on "
                                  "another node; start ration in a folder that all nodes share")
        self.assertEqual(self.left_in_runtime(), [])

    def test_an_agent_that_lies_is_not_believed(self) -> None:
        script = """import json, sys, time
s = json.loads(sys.stdin.readline())["s"]
q = 0
def send(**more):
    global q
    q += 1
    print(json.dumps(dict(more, s=s, q=q, clock=1)), flush=True)
while json.loads(sys.stdin.readline())["op"] != "begin":
    pass
send(op="hello", version=1, node="n1", pid=1, devices=["cpu-0"], backend="none", approximate="", **{"capacity.cpu": 1000, "capacity.memory": 1})
row = {"job": "b", "now": "running", "why": "", "incarnation": 1, "held.gpu": 1, "devices": 1, "settled": True, "requested.gpu": 0,
       "resizable": True, "hello": True, "min.gpu": 1, "max.gpu": 1, "used.gpu": 1.0, "attained": 0.0, "restart_cost": 1.0}
while json.loads(sys.stdin.readline())["op"] != "jobs":
    pass
send(op="state", grants=1, more=False, jobs=[row], **{"capacity.gpu": 1})
print("{" + '"half', end="", flush=True)
"""
        (self.folder / "agent.py").write_text(script)
        self.start(job("a", 1), "--hosts", "n1", nodes=f"{sys.executable} {self.folder}/agent.py {{host}}")
        sentences = {"it names job 'b', which it was not given; use the same version of ration on all nodes", "its last message is cut off"}
        self.until(lambda: sentences <= {event["message"] for event in self.events("warning")}, "both are reported")
        self.run.send_signal(signal.SIGINT)
        self.finish(4)
        self.assertEqual(self.launches(), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
