# SPDX-License-Identifier: BSL-1.0
"""An LSTM with a conditional random field on top; loss: negative log-likelihood of a label sequence.

The task is synthetic: sequences of garments whose classes follow a random chain, each class shown by a random image of it. The
images are real, their order is not. The chain is the same for every seed.
"""

from training import main

import torch
from torch import nn

CLASSES = 10
LENGTH = 8


class CRF(nn.Module):
    """A linear chain: the score of a label sequence is the sum of its emissions, its transitions and its first label's start."""

    def __init__(self, classes: int):
        super().__init__()
        self.start = nn.Parameter(torch.zeros(classes))
        self.transitions = nn.Parameter(torch.zeros(classes, classes))  # from row to column

    def score(self, emissions, labels):
        """Of one label sequence (n, length) per row of emissions (n, length, classes)."""
        emitted = emissions.gather(2, labels.unsqueeze(2)).sum(dim=(1, 2))
        return emitted + self.start[labels[:, 0]] + self.transitions[labels[:, :-1], labels[:, 1:]].sum(dim=1)

    def log_partition(self, emissions):
        """Logarithm of the sum of exp(score) over all label sequences, by the forward recursion."""
        reach = self.start + emissions[:, 0]
        for emission in emissions.unbind(1)[1:]:
            reach = torch.logsumexp(reach.unsqueeze(2) + self.transitions, dim=1) + emission
        return torch.logsumexp(reach, dim=1)

    def negative_log_likelihood(self, emissions, labels):
        return (self.log_partition(emissions) - self.score(emissions, labels)).mean()


class LSTMCRF(nn.Module):
    def __init__(self):
        super().__init__()
        self.shrink = nn.AvgPool2d(4)
        self.lstm = nn.LSTM(7 * 7, 48, batch_first=True)
        self.emit = nn.Linear(48, CLASSES)
        self.crf = CRF(CLASSES)

    def loss(self, images, labels):
        features, _ = self.lstm(self.shrink(images).flatten(2))
        return self.crf.negative_log_likelihood(self.emit(features), labels)


def chained_batches(images, labels, size):
    """Without end: (size, LENGTH) images and labels whose classes follow one fixed chain."""
    chain = torch.softmax(2 * torch.randn(CLASSES, CLASSES, generator=torch.Generator().manual_seed(0)), dim=1)
    of_class = labels.argsort().reshape(CLASSES, -1)  # the data set has equally many images of each class
    while True:
        classes = [torch.randint(CLASSES, (size,))]
        for _ in range(LENGTH - 1):
            classes.append(torch.multinomial(chain[classes[-1]], 1).squeeze(1))
        sequence = torch.stack(classes, dim=1)
        drawn = of_class[sequence, torch.randint(of_class.shape[1], sequence.shape)]
        yield images[drawn].float() / 255, sequence


if __name__ == "__main__":
    main(LSTMCRF, steps=2000, report_every=40, batches=chained_batches, batch=32)
