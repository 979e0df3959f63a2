# SPDX-License-Identifier: BSL-1.0
"""The short form of a benchmark that runs PyTorch jobs. It claims only what no load of the machine can change.

usage: short_test.py SCRIPT [ARGUMENT...]    RATION_PROGRAM names the program
"""
import importlib.util
import os
import sys

if importlib.util.find_spec("torch") is None:
    print(f"skipped: {sys.executable} has no PyTorch; run cmake/packages.sh pytorch")
    sys.exit(77)
os.environ["RATION_TORCH_PYTHON"] = sys.executable
os.execv(sys.executable, [sys.executable, "-B", *sys.argv[1:], "--short"])
