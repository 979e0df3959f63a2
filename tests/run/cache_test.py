# SPDX-License-Identifier: BSL-1.0
"""The cache of `ration run`: files that jobs read, kept in memory by the policy shared_cache."""
import ctypes
import json
import mmap
import os
import pathlib
import re
import resource
import subprocess

from support import HERE, PATIENCE, RATION, RunTest, job, main

LIBC = ctypes.CDLL(None, use_errno=True)
SIZE = 40_000  # of each file; not a whole number of pages
HEAD = 'policy = "none"\ncpus = 1\ntick = "200ms"\nshared_cache = { round = 1 }\n'


def resident(path: pathlib.Path) -> float:
    """The part of the file's pages in memory, by mincore(2)."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE) as pages:
        count = -(-len(pages) // mmap.PAGESIZE)
        states = (ctypes.c_ubyte * count)()
        first = ctypes.c_char.from_buffer(pages)
        result = LIBC.mincore(ctypes.c_void_p(ctypes.addressof(first)), ctypes.c_size_t(len(pages)), states)
        del first
        assert result == 0, os.strerror(ctypes.get_errno())
        return sum(state & 1 for state in states) / count


def locked(process: subprocess.Popen) -> int:
    """KiB that the kernel has locked for the process."""
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmLck:"):
            return int(line.split()[1])
    return -1


def may_lock(size: int) -> bool:
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    return os.geteuid() == 0 or limit == resource.RLIM_INFINITY or limit >= size


def lock_little() -> None:
    """In the child: as without the rights of root, and with the limit of locked memory of an old kernel."""
    LIBC.prctl(24, 14, 0, 0, 0)  # PR_CAPBSET_DROP, CAP_IPC_LOCK
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))


class Cache(RunTest):
    def data(self, name: str) -> pathlib.Path:
        """A file that is on the disk and not in memory."""
        path = self.folder / name
        with path.open("wb") as file:
            file.write(os.urandom(SIZE))
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        if resident(path) > 0:
            self.skipTest("files in this folder stay in memory, as in a tmpfs")
        return path

    def two_tenants(self, seconds: float, cache: str = 'cache = "80000B"\n', command: list[str] | None = None) -> None:
        """Both read one file, by two paths, and each reads a separate one; two of the three fit."""
        for name in ("common", "a", "b"):
            self.data(name)
        (self.folder / "link").unlink(missing_ok=True)
        (self.folder / "link").symlink_to("common")
        sleep = command or ["/bin/sleep", str(seconds)]
        self.write(job("first", sleep, 'tenant = "a"\nreads = ["common", "a"]'),
                   job("second", sleep, 'tenant = "b"\nreads = ["link", "b", "common"]'), head=cache + HEAD)

    def named(self, kind: str) -> list[dict]:
        return [event for event in self.events() if event["event"] == kind]

    def record(self, seconds: float) -> None:
        self.two_tenants(seconds)
        done = self.run_jobs("--log", "log.jsonl", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_chosen_files_are_locked_and_the_others_leave_memory(self) -> None:
        self.two_tenants(60)
        run = self.start("--log", "log.jsonl", "--quiet")

        def loaded() -> set[str]:
            held = {}
            for event in self.named("item") if (self.folder / "log.jsonl").exists() else []:
                held[event["item"]] = event["after"]
            return {pathlib.Path(item).name for item, after in held.items() if after > 0}
        first = self.wait_for(lambda: len(loaded()) == 2 and loaded())
        self.assertIn("common", first)
        self.assertGreaterEqual(locked(run), 2 * SIZE // 1024)
        (mine,) = first - {"common"}
        (other,) = {"a", "b"} - {mine}
        # Own files take turns
        self.wait_for(lambda: any(pathlib.Path(e["item"]).name == mine and e["after"] == 0 for e in self.named("item")))
        self.wait_for(lambda: resident(self.folder / mine) == 0)
        self.wait_for(lambda: other in loaded())
        self.assertEqual(resident(self.folder / "common"), 1)
        run.send_signal(2)
        out, err = run.communicate(timeout=PATIENCE)
        self.assertEqual(run.returncode, 4, out + err)
        of_common = [e for e in self.named("item") if pathlib.Path(e["item"]).name in ("common", "link")]
        self.assertEqual([e["after"] for e in of_common], [SIZE], "one file by two paths is read once, and stays")
        self.assertEqual(of_common[0]["reason"], "the item serves its readers in this round")

    def test_a_file_is_counted_once_and_a_log_of_rounds_can_be_replayed(self) -> None:
        self.record(4.5)
        rounds = self.named("item_decision")
        self.assertGreaterEqual(len(rounds), 3)
        first_end = self.named("job_ended")[0]["t"]
        for one in (one for one in rounds if one["t"] < first_end):
            self.assertEqual(one["columns"]["nodes/capacity.cache"], [80_000])
            self.assertEqual(len(one["items"]), 3)
            self.assertEqual(one["tenants"], ["a", "b"])
            after = {**one["columns"], **one["columns_after"]}
            self.assertEqual(sum(after["jobs/held.cache"]), 2 * SIZE)
            self.assertEqual(after["nodes/free.cache"], [0])
        self.assertEqual(rounds[0]["columns"]["jobs/benefit"], [SIZE, SIZE, SIZE, 0, 0, SIZE])

        def replayed(*more: str) -> dict:
            done = subprocess.run([RATION, "replay", "log.jsonl", "--policy", "shared_cache,none", "--json", *more], cwd=self.folder,
                                  text=True, capture_output=True, timeout=PATIENCE, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            (run,) = json.loads(done.stdout)
            return {one["policy"]: one for one in run["replayed"]}
        again = replayed()
        self.assertEqual(again["shared_cache"]["decisions"], len(rounds))
        self.assertEqual(again["shared_cache"]["same"], len(rounds))
        self.assertEqual(again["none"]["decisions"], len(self.named("decision")))
        subprocess.run([RATION, "report", "log.jsonl", "--out", "page.html"], cwd=self.folder, check=True, capture_output=True, timeout=PATIENCE)
        page = (self.folder / "page.html").read_text()
        self.assertIn('"39.1 KiB","the item serves its readers in this round"', page)
        self.assertNotIn('"item_decision"', page)
        # In a partition each tenant has room for one file, and both choose the common one
        divided = replayed("--set", "shared_cache.mode=partition")["shared_cache"]
        self.assertLess(divided["same"], len(rounds))
        self.assertIn(pathlib.Path(divided["first"]["job"]).name, ("a", "b"))

    def test_without_a_cache_the_run_warns_and_locks_nothing(self) -> None:
        self.two_tenants(1, cache="")
        done = self.run_jobs("--log", "log.jsonl", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("cache: 'reads' of jobs has no effect without a cache; add cache = \"20GiB\" at the top", done.stderr)
        self.assertEqual(self.named("item") + self.named("item_decision"), [])
        self.assertEqual(resident(self.folder / "common"), 0)

    def test_a_dry_run_prints_the_first_choice_and_reads_nothing(self) -> None:
        self.two_tenants(1)
        done = self.run_jobs("--dry-run", "--explain")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("and keep in memory, of 78.1 KiB for the files that jobs read", done.stdout)
        self.assertRegex(done.stdout, r"\n  common +39.1 KiB\n +because the item serves its readers in this round\n")
        planned = [json.loads(line) for line in self.run_jobs("--dry-run", "--json").stdout.splitlines()]
        self.assertEqual([one["bytes"] for one in planned if "item" in one], [SIZE, SIZE])
        self.assertEqual(resident(self.folder / "common"), 0)

    def test_the_example_of_the_page_prints_what_the_page_says(self) -> None:
        page = (HERE.parents[1] / "docs" / "shared-cache.md").read_text()
        section = page.split("## Under ration run")[1].split("\n## ")[0]
        jobs, printed = (re.search(f"```{kind}\n(.*?)```", section, re.DOTALL)[1] for kind in ("toml", "text"))
        (self.folder / "data").mkdir()
        for name in set(re.findall(r"data/\w+\.bin", jobs)):
            with (self.folder / name).open("wb") as file:
                file.truncate(1 << 30)  # without a block on the disk
        (self.folder / "jobs.toml").write_text(jobs)
        if not may_lock(2 << 30):
            self.skipTest("this user may not lock 2 GiB of memory")
        done = self.run_jobs("--dry-run", "--explain")
        self.assertIn(printed, done.stdout, done.stderr)

    def test_a_run_that_cannot_have_the_cache_is_refused(self) -> None:
        self.two_tenants(1)
        refused = self.run_jobs(preexec_fn=lock_little)
        self.assertEqual(refused.returncode, 3, refused.stderr)
        self.assertIn("jobs.toml:1:9: 'cache' is 78.1 KiB, and this process may lock 64 KiB of memory; raise that limit (ulimit -l, or "
                      "LimitMEMLOCK= of a service), or write a smaller cache", refused.stderr)
        self.assertIn("jobs.toml:1:9: 'cache' is the memory of one machine, and --nodes names several; leave 'cache' out",
                      self.run_jobs("--nodes", "local:2").stderr)
        self.two_tenants(1, cache='cache = "4000TiB"\n')
        self.assertRegex(self.run_jobs().stderr, r"'cache' is 4000 TiB, and this machine has .* of memory; write a smaller cache")
        (self.folder / "common").unlink()
        self.assertIn("'common' cannot be opened (No such file or directory); correct the path in 'reads', which is relative to the "
                      "job's directory", self.run_jobs().stderr)

    def test_a_parameter_that_is_wrong_is_named_with_its_place(self) -> None:
        self.two_tenants(1, cache='cache = "80000B"\n')
        text = (self.folder / "jobs.toml").read_text()
        (self.folder / "jobs.toml").write_text(text.replace("round = 1", 'mode = "fair"'))
        done = self.run_jobs()
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("jobs.toml:5:", done.stderr)
        self.assertIn("pf", done.stderr)
        self.assertIn("--set: ", self.run_jobs("--set", "shared_cache.round=-1").stderr)


main()
