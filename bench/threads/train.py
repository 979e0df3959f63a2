# SPDX-License-Identifier: BSL-1.0
"""A job of threads.py: trains a small model for some seconds beside its peers, and prints its steps per second and its loss after five steps.

    train.py MODEL FOLDER NUMBER PEERS SECONDS
"""
import pathlib
import sys
import time

import torch
from torch import nn

FIRST_STEPS = 5


class Recurrent(nn.Module):
    """An LSTM that reads 28 rows of 28 values."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(28, 64, batch_first=True)
        self.head = nn.Linear(64, 10)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(rows)[0][:, -1])


class Transformer(nn.Module):
    """Four blocks on characters, of the size of nanoGPT's example for a CPU."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(65, 128)
        block = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
        self.blocks = nn.TransformerEncoder(block, 4)
        self.head = nn.Linear(128, 65)

    def forward(self, characters: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(self.embedding(characters))).flatten(0, 1)


def convolutional() -> nn.Module:
    return nn.Sequential(nn.Unflatten(1, (1, 28)), nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(32 * 14 * 14, 10))


def problem(name: str) -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    """The model, a batch of inputs and its labels."""
    if name == "transformer":
        return Transformer(), torch.randint(65, (12, 64)), torch.randint(65, (12 * 64,))
    model = {"cnn": convolutional, "lstm": Recurrent}[name]()
    return model, torch.randn(64, 28, 28), torch.randint(10, (64,))


def wait_for_peers(folder: pathlib.Path, number: str, peers: int) -> None:
    (folder / f"ready.{number}").touch()
    while len(list(folder.glob("ready.*"))) < peers:
        time.sleep(0.01)


def main() -> None:
    name, folder, number, peers, seconds = sys.argv[1:]
    torch.manual_seed(1)
    model, inputs, labels = problem(name)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> float:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    loss = [step() for _ in range(FIRST_STEPS)][-1]
    wait_for_peers(pathlib.Path(folder), number, int(peers))
    steps, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < float(seconds):
        step()
        steps += 1
    print("result", steps / (time.perf_counter() - begin), loss)


main()
