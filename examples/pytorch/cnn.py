# SPDX-License-Identifier: BSL-1.0
"""A convolutional classifier; loss: cross-entropy."""

from training import main

from torch import nn
from torch.nn import functional


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 8, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(16 * 7 * 7, 64), nn.ReLU(), nn.Linear(64, 10))

    def loss(self, images, labels):
        return functional.cross_entropy(self.layers(images.unsqueeze(1)), labels)


if __name__ == "__main__":
    main(CNN, steps=2000, report_every=40)
