# SPDX-License-Identifier: BSL-1.0
"""An epoch script that trains on as many devices as ration gives it: a small CNN on Fashion-MNIST, evaluated after each epoch.

usage: python3 -m ration.ranks mnist.py [EPOCHS] [DATA]    DATA: a folder with another data set of the same form
"""
import gzip
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Subset, TensorDataset

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import ration  # noqa: E402

DATA = "/usr/share/datasets/fashion-mnist"  # Debian's dataset-fashion-mnist


def read(data, kind):
    def bytes_of(name, header):
        return torch.frombuffer(bytearray(gzip.decompress(pathlib.Path(data, f"{kind}-{name}-ubyte.gz").read_bytes())[header:]), dtype=torch.uint8)

    images = bytes_of("images-idx3", 16).reshape(-1, 1, 28, 28).float() / 255
    return TensorDataset(images, bytes_of("labels-idx1", 8).long())


def train(model, train_set, test_set, epochs):
    run = ration.elastic(batch=256, seed=1)                                               # 1
    model.to(run.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    loader = DataLoader(train_set, batch_sampler=run.batches(len(train_set)))             # 2
    mine = Subset(test_set, run.part(len(test_set)))                                      # 3
    state = {"model": model, "optimizer": optimizer, "schedule": schedule}
    for epoch, batches in run.epochs(loader, len(train_set), epochs, **state):            # 4
        model.train()
        for images, labels in batches:
            optimizer.zero_grad()
            run.backward(functional.cross_entropy(model(images.to(run.device)), labels.to(run.device)))  # 5
            optimizer.step()
        schedule.step()
        accuracy = run.evaluate("accuracy", correct(model, mine, run.device), len(mine))  # 6
        if run.rank == 0:
            print(f"epoch={epoch} accuracy={accuracy:.4f} ranks={run.world}", flush=True)


def correct(model, samples, device):
    model.eval()
    with torch.no_grad():
        return sum(int((model(images.to(device)).argmax(dim=1) == labels.to(device)).sum()) for images, labels in DataLoader(samples, batch_size=1000))


def main(epochs=3, data=DATA):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 13 * 13, 10))
    train(model, read(data, "train"), read(data, "t10k"), int(epochs))


main(*sys.argv[1:])
