# SPDX-License-Identifier: BSL-1.0
"""What each script of this folder starts with: the client, and a way to take turns with the test."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.environ["RATION_TEST_CLIENT"])
from ration import progress  # noqa: E402  pylint: disable=wrong-import-position,unused-import


def turn(word):
    """Reports to the test how far the script is, and waits for the test to answer."""
    sys.stdout.write(word + "\n")
    sys.stdout.flush()
    sys.stdin.readline()
