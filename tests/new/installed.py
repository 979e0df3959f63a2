# SPDX-License-Identifier: BSL-1.0
"""An install of this build for the tests of a module, as a user of ration has one, and nothing else of ration on the PATH."""
import os
import pathlib
import subprocess
import tempfile
import unittest

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]


class Installed(unittest.TestCase):
    """`self.folder` is empty at each test's start; `self.prefix` is the install, made once."""

    @classmethod
    def setUpClass(cls) -> None:
        kept = tempfile.TemporaryDirectory(prefix="ration-test-")
        cls.addClassCleanup(kept.cleanup)
        cls.prefix = pathlib.Path(kept.name, "prefix")
        for component in ("ration-development", "ration-program"):
            subprocess.run(["cmake", "--install", os.environ["RATION_BUILD"], "--prefix", cls.prefix, "--component", component],
                           check=True, capture_output=True)
        cls.environment = dict(os.environ, PATH=f"{cls.prefix}/bin:{os.environ['PATH']}", CMAKE_PREFIX_PATH=str(cls.prefix),
                               XDG_RUNTIME_DIR=kept.name)
        cls.environment.pop("MAKEFLAGS", None)

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="ration-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_in(self, folder, *words, **environment) -> subprocess.CompletedProcess:
        return subprocess.run([str(w) for w in words], cwd=folder, env=dict(self.environment, **environment), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=300)

    def succeed(self, folder, *words, **environment) -> str:
        done = self.run_in(folder, *words, **environment)
        self.assertEqual(done.returncode, 0, f"{' '.join(map(str, words))}\n{done.stdout}")
        return done.stdout
