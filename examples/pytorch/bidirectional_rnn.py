# SPDX-License-Identifier: BSL-1.0
"""A recurrent network (tanh) that reads the rows from the top and from the bottom; loss: softmax cross-entropy."""

from training import main

from torch import nn

from rows import ROW, RowClassifier


def build():
    return RowClassifier(nn.RNN(ROW, 48, batch_first=True, bidirectional=True))


if __name__ == "__main__":
    main(build, steps=1700, report_every=30)
