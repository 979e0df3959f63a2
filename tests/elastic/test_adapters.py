# SPDX-License-Identifier: BSL-1.0
"""The adapters with fakes for the two libraries, which call back in their order."""
import sys

import support

support.need_torch()
import adapters  # noqa: E402  pylint: disable=wrong-import-position


class StandIn(adapters.Adapters):
    python = sys.executable
    path = (support.HERE / "fake_frameworks",)


if __name__ == "__main__":
    support.run_tests()
