# SPDX-License-Identifier: BSL-1.0
"""A gated recurrent unit over the rows; loss: quadratic (mean squared distance to the one-hot class)."""

from training import main

from torch import nn
from torch.nn import functional

from rows import CLASSES, ROW, RowClassifier


class GRU(RowClassifier):
    def __init__(self):
        super().__init__(nn.GRU(ROW, 48, batch_first=True))

    def loss(self, images, labels):
        return functional.mse_loss(self(images), functional.one_hot(labels, CLASSES).float())


if __name__ == "__main__":
    main(GRU, steps=1500, report_every=30)
