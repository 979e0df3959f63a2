# SPDX-License-Identifier: BSL-1.0
"""A classifier that reads an image as a sequence of its 28 rows."""

from torch import nn
from torch.nn import functional

ROW = 28
CLASSES = 10


class RowClassifier(nn.Module):
    """One recurrent layer over the rows (batch first) and a linear layer over its final state, both directions if it has two."""

    def __init__(self, recurrent: nn.RNNBase):
        super().__init__()
        self.recurrent = recurrent
        self.head = nn.Linear(recurrent.hidden_size * (2 if recurrent.bidirectional else 1), CLASSES)

    def forward(self, rows):
        _, state = self.recurrent(rows)
        hidden = state[0] if isinstance(state, tuple) else state  # an LSTM's state is (hidden, cell)
        return self.head(hidden.transpose(0, 1).flatten(1))

    def loss(self, images, labels):
        return functional.cross_entropy(self(images), labels)
