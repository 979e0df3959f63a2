# SPDX-License-Identifier: BSL-1.0
"""An LSTM over sequences of different lengths, packed: the rows that the garment covers; loss: softmax cross-entropy."""

from training import main

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from rows import ROW, RowClassifier


def covered_rows(images):
    """From the first to the last row that is not blank, moved to the front, as a packed batch; a blank image keeps one row."""
    covered = images.amax(dim=2) > 0
    first = covered.float().argmax(dim=1)
    last = ROW - 1 - covered.flip(1).float().argmax(dim=1)
    lengths = torch.where(covered.any(dim=1), last - first + 1, torch.ones_like(first))
    order = (first.unsqueeze(1) + torch.arange(ROW)).remainder(ROW)
    moved = images.gather(1, order.unsqueeze(2).expand_as(images))
    return pack_padded_sequence(moved, lengths, batch_first=True, enforce_sorted=False)


class DynamicRNN(RowClassifier):
    def __init__(self):
        super().__init__(nn.LSTM(ROW, 48, batch_first=True))

    def forward(self, images):
        return super().forward(covered_rows(images))


if __name__ == "__main__":
    main(DynamicRNN, steps=1200, report_every=25, batch=32)
