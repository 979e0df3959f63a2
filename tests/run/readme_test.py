# SPDX-License-Identifier: BSL-1.0
"""The jobs file of README.md, with scripts that print what it describes."""
import re

from support import HERE, RunTest, main, of

SCRIPTS = {"cnn.py": 'print(f"step {step} loss {1 / step:.3f}", flush=True)', "vae.py": 'print(f"epoch {step}: val_loss={4 / step}, lr=0.1", flush=True)'}


class Readme(RunTest):
    def test_its_jobs_file_reads_both_jobs_to_their_objective(self) -> None:
        readme = (HERE.parents[1] / "README.md").read_text(encoding="utf-8")
        (text,) = re.findall(r"```toml\n(.*?)```", readme, re.DOTALL)
        self.assertLessEqual(text.count("\n"), 12)
        (self.folder / "jobs.toml").write_text(text)
        for name, report in SCRIPTS.items():
            (self.folder / name).write_text(f"import time\nfor step in range(1, 21):\n    {report}; time.sleep(0.05)\n")
        done = self.run_jobs("--log", "log.jsonl")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([(e["job"], e["tier"]) for name in ("cnn", "vae") for e in of(self.events(), "tier_reached", name)],
                         [("cnn", 1), ("cnn", 2), ("vae", 1), ("vae", 2)])


main()
