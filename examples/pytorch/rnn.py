# SPDX-License-Identifier: BSL-1.0
"""A plain recurrent network (tanh) over the rows; loss: softmax cross-entropy."""

from training import main

from torch import nn

from rows import ROW, RowClassifier


def build():
    return RowClassifier(nn.RNN(ROW, 64, batch_first=True))


if __name__ == "__main__":
    main(build, steps=3000, report_every=50)
