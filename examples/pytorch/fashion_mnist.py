# SPDX-License-Identifier: BSL-1.0
"""Fashion-MNIST as two tensors, read from the compressed idx files of Debian's dataset-fashion-mnist."""

import gzip
import math
import pathlib
import struct
import zlib

import torch

DEFAULT_FOLDER = "/usr/share/datasets/fashion-mnist"
UNSIGNED_BYTE = 0x08


def read_idx(path: pathlib.Path) -> torch.Tensor:
    """The tensor in an idx file: two zero bytes, element type, rank, one big-endian size per axis, the elements."""
    try:
        with gzip.open(path) as packed:
            content = bytearray(packed.read())
    except (EOFError, zlib.error) as problem:
        raise ValueError(f"{path}: {problem}") from problem
    if len(content) < 4 or content[:3] != bytes([0, 0, UNSIGNED_BYTE]) or len(content) < 4 + 4 * content[3]:
        raise ValueError(f"{path}: not an idx file of unsigned bytes")
    sizes = struct.unpack_from(f">{content[3]}I", content, 4)
    start = 4 + 4 * len(sizes)
    if len(content) != start + math.prod(sizes) or len(content) == start:
        raise ValueError(f"{path}: {len(content) - start} elements where its header has {sizes}")
    return torch.frombuffer(content, dtype=torch.uint8, offset=start).reshape(sizes)


def load(folder: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The 60,000 training images (n, 28, 28), kept as bytes to stay small, and their classes 0 to 9 (n)."""
    images = read_idx(pathlib.Path(folder) / "train-images-idx3-ubyte.gz")
    labels = read_idx(pathlib.Path(folder) / "train-labels-idx1-ubyte.gz")
    if images.shape[1:] != (28, 28) or len(images) != len(labels):
        raise ValueError(f"{folder}: {tuple(images.shape)} images and {len(labels)} labels do not fit together")
    return images, labels.long()
