# SPDX-License-Identifier: BSL-1.0
"""A classifier in Lightning, as its users write one. It has no code for ration: jobs of packages.toml read the file of its CSVLogger.

usage: lightning_classifier.py [EPOCHS]
"""
import sys

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset, random_split

CLASSES, FEATURES, SAMPLES = 10, 32, 20000


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(FEATURES, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, CLASSES))

    def training_step(self, batch, _):
        features, labels = batch
        loss = functional.cross_entropy(self.layers(features), labels)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        features, labels = batch
        scores = self.layers(features)
        self.log("val_loss", functional.cross_entropy(scores, labels))
        self.log("val_accuracy", (scores.argmax(dim=1) == labels).float().mean(), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-4)


def clusters():
    """Overlapping clusters around three centres for each class."""
    labels = torch.randint(CLASSES, (SAMPLES,))
    centres = 0.6 * torch.randn(CLASSES, 3, FEATURES)
    return TensorDataset(centres[labels, torch.randint(3, (SAMPLES,))] + torch.randn(SAMPLES, FEATURES), labels)


def main():
    lightning.seed_everything(1)
    train, validation = random_split(clusters(), [0.9, 0.1])
    trainer = lightning.Trainer(max_epochs=int(sys.argv[1]) if len(sys.argv) > 1 else 40, accelerator="cpu", log_every_n_steps=10,
                                logger=CSVLogger("lightning_logs", name="classifier", flush_logs_every_n_steps=10),
                                callbacks=[ModelCheckpoint(monitor="val_loss", save_last=True, save_on_exception=True)])
    trainer.fit(Classifier(), DataLoader(train, batch_size=64, shuffle=True), DataLoader(validation, batch_size=1000))


if __name__ == "__main__":
    main()
