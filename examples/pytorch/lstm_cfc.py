# SPDX-License-Identifier: BSL-1.0
"""An LSTM over the rows under a fully connected head; loss: softmax cross-entropy."""

from training import main

from torch import nn

from rows import CLASSES, ROW, RowClassifier


class LSTMCFC(RowClassifier):
    def __init__(self):
        super().__init__(nn.LSTM(ROW, 48, batch_first=True))
        self.head = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, CLASSES))


if __name__ == "__main__":
    main(LSTMCFC, steps=1400, report_every=25)
