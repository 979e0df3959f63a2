# SPDX-License-Identifier: BSL-1.0
"""What the tests of the PyTorch examples share. Importing it ends the test as skipped where PyTorch is absent."""

import gzip
import pathlib
import struct
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "pytorch"
SKIPPED = 77

try:
    import torch
except ImportError:
    print(f"skipped: {sys.executable} has no PyTorch (cmake/packages.sh pytorch installs it)")
    sys.exit(SKIPPED)

sys.dont_write_bytecode = True
sys.path.insert(0, str(EXAMPLES))


def write_idx(path: pathlib.Path, content: torch.Tensor) -> None:
    header = struct.pack(f">2xBB{content.dim()}I", 0x08, content.dim(), *content.shape)
    path.write_bytes(gzip.compress(header + bytes(content.flatten().tolist())))


def write_data_set(folder: pathlib.Path, of_each_class: int = 20) -> None:
    """A small fake for Fashion-MNIST: noise, brighter from class to class, so that there is something to learn."""
    labels = torch.arange(10).repeat(of_each_class)
    for seed, kind in enumerate(("train", "t10k"), 1):
        noise = torch.rand(len(labels), 28, 28, generator=torch.Generator().manual_seed(seed))
        write_idx(folder / f"{kind}-images-idx3-ubyte.gz", (noise * 25 * (labels.reshape(-1, 1, 1) + 1)).byte())
        write_idx(folder / f"{kind}-labels-idx1-ubyte.gz", labels.byte())


def run_tests() -> None:
    unittest.main(verbosity=2)
