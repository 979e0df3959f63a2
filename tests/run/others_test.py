# SPDX-License-Identifier: BSL-1.0
"""`ration run` in a folder of another user, who puts links and other folders in the way: no file elsewhere is written."""
import os
import unittest

from support import PYTHON, RunTest, job, main, of

NOBODY = 65534


class FoldersOfOthers(RunTest):
    def setUp(self) -> None:
        super().setUp()
        self.target = self.folder / "target"
        self.target.write_text("precious\n")
        self.target.chmod(0o600)

    def swap_while_it_runs(self, owner: int) -> dict:
        """The end of a job whose run folder was replaced by another one, with a link in the place of its output."""
        self.write(job("a", ["sh", "-c", "while ! [ -e swapped ]; do sleep 0.05; done"], 'on_end = ["echo", "of the hook"]'),
                   job("b", [PYTHON, "-c", "print('written by the job')"], 'at = "2s"\non_end = ["echo", "of the hook"]'))
        run = self.start("--log", "log.jsonl")
        runs = self.folder / "ration-output"
        self.wait_for(lambda: (runs / "latest" / "a.log").exists())
        folder = (runs / "latest").resolve()
        folder.rename(runs / "aside")
        folder.mkdir()
        for name in ("b.log", "a.hooks.log", "b.hooks.log", "summary.json", "summary.json.new"):
            (folder / name).symlink_to(self.target)
            os.chown(folder / name, owner, owner, follow_symlinks=False)
        os.chown(folder, owner, owner)
        (self.folder / "swapped").touch()
        run.communicate(timeout=120)
        return of(self.events(), "job_ended", "b")[0]

    def test_a_link_in_a_swapped_folder_is_not_followed(self) -> None:
        end = self.swap_while_it_runs(os.geteuid())
        self.assertEqual(self.target.read_text(), "precious\n")
        self.assertEqual(end["how"], "failed")
        self.assertIn("b.log", end["why"])

    @unittest.skipIf(os.geteuid() != 0, "needs root, to give files to another user")
    def test_nor_is_that_of_another_user(self) -> None:
        self.swap_while_it_runs(NOBODY)
        self.assertEqual(self.target.read_text(), "precious\n")

    @unittest.skipIf(os.geteuid() != 0, "needs root, to give files to another user")
    def test_a_folder_of_runs_that_another_user_has_linked_is_not_used(self) -> None:
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        link = self.folder / "ration-output"
        link.symlink_to(elsewhere)
        os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
        self.write(job("a", ["true"]))
        done = self.run_jobs("--log", "log.jsonl")
        self.assertEqual(os.listdir(elsewhere), [])
        self.assertIn("ration-output", done.stderr)
        self.assertIn("the output of the jobs is in", done.stderr)

    def test_a_link_of_this_user_to_another_disk_works(self) -> None:
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        (self.folder / "ration-output").symlink_to(elsewhere)
        self.write(job("a", ["echo", "hello"]))
        done = self.run_jobs()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((elsewhere / "latest" / "a.log").read_text(), "hello\n")


if __name__ == "__main__":
    main()
