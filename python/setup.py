# SPDX-License-Identifier: BSL-1.0
"""The one thing that pyproject.toml cannot say: the header of the plugin ABI goes into the wheel, for `python3 -m ration.policy build`."""
import pathlib
import shutil
import sys

from setuptools import setup
from setuptools.command.build_py import build_py

HEADER = pathlib.Path("ration/plugin/abi.h")


class WithHeader(build_py):
    def run(self) -> None:
        super().run()
        source = pathlib.Path(__file__).resolve().parents[1] / "include" / HEADER
        if not source.exists():
            sys.exit(f"there is no {source}: build the wheel in a checkout of ration")
        target = pathlib.Path(self.build_lib, "ration/policy/include", HEADER)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


setup(cmdclass={"build_py": WithHeader})
