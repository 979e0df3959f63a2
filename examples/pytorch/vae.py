# SPDX-License-Identifier: BSL-1.0
"""A variational autoencoder; loss: reconstruction (binary cross-entropy summed over the pixels) plus divergence, per image."""

from training import main

import torch
from torch import nn
from torch.nn import functional

PIXELS = 28 * 28
HIDDEN = 256
LATENT = 16


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(PIXELS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 2 * LATENT))
        self.decoder = nn.Sequential(nn.Linear(LATENT, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, PIXELS))

    def loss(self, images, _labels):
        pixels = images.flatten(1)
        mean, log_variance = self.encoder(pixels).chunk(2, dim=1)
        drawn = mean + torch.exp(log_variance / 2) * torch.randn_like(mean)
        reconstruction = functional.binary_cross_entropy_with_logits(self.decoder(drawn), pixels, reduction="sum")
        divergence = (mean.square() + log_variance.exp() - log_variance - 1).sum() / 2
        return (reconstruction + divergence) / len(images)


if __name__ == "__main__":
    main(VAE, steps=1800, report_every=40)
