# SPDX-License-Identifier: BSL-1.0
"""The program of examples/quickstart.sh: `ration run` on this machine, and no other command."""
import os
import pathlib
import subprocess

from support import RATION, RunTest, main, of, trainer

PLUGIN = str(pathlib.Path(os.environ["RATION_PLUGINS"]) / "tradl.so")


class Quickstart(RunTest):
    def call(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run([RATION, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=100, check=False)

    def test_it_compares_a_policy_and_a_plugin(self) -> None:
        self.write(trainer("early", 0.9, 1, 0.4, 0.05), trainer("late", 0.6, 1))
        done = self.run_jobs("--compare", f"tradl,{PLUGIN}", "--log", "log.jsonl", "--quiet")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([run["policy"] for run in of(self.events(), "run")], ["tradl", PLUGIN, "none"])
        self.assertIn("time to Acceptable", done.stdout)

    def test_it_refuses_the_other_commands(self) -> None:
        done = self.call("report", "latest")
        self.assertEqual((done.returncode, done.stderr), (2, "ration: unknown command 'report'; use one of: run\n"))
        done = self.call("run", "jobs.toml", "--nodes", "local:2")
        self.assertEqual(done.returncode, 2)
        self.assertTrue(done.stderr.startswith("ration: unknown option '--nodes'; use one of: "), done.stderr)

    def test_its_help_names_the_whole_program(self) -> None:
        done = self.call("--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("examples/build.sh ration builds", " ".join(done.stdout.split()))


main()
