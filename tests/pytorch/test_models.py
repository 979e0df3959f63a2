# SPDX-License-Identifier: BSL-1.0
"""The parts of the PyTorch examples, each against an independent answer."""

import itertools
import math
import pathlib
import tempfile
import unittest

import support

import torch
from torch import nn
from torch.nn.utils.rnn import pad_packed_sequence

import dynamic_rnn
import fashion_mnist
import gru
import lstm_cfc
import lstm_crf
import rows
import training
import vae


class RecordedProgress:
    """A fake for the client: keeps what a job reports."""

    def __init__(self):
        self.steps = []

    def step(self, step, loss, total):
        self.steps.append((step, loss, total))


class FixedLosses(nn.Module):
    """Its loss follows a list, whatever the batch."""

    def __init__(self, losses):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.losses = iter(losses)

    def loss(self):
        return self.weight.sum() * 0 + next(self.losses)


def train(losses, steps, report_every):
    progress = RecordedProgress()
    status = training.train(FixedLosses(losses), itertools.repeat(()), 0.1, steps, report_every, progress)
    return status, progress.steps


class LinearChain(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)
        self.crf = lstm_crf.CRF(3).double()
        for parameter in self.crf.parameters():
            nn.init.normal_(parameter)
        self.emissions = torch.randn(2, 4, 3, dtype=torch.double)

    def score(self, row, labels):
        """By the definition, one term at a time."""
        total = self.crf.start[labels[0]].item()
        for place, label in enumerate(labels):
            total += self.emissions[row, place, label].item()
            if place > 0:
                total += self.crf.transitions[labels[place - 1], label].item()
        return total

    def test_score_is_the_sum_of_its_terms(self):
        labels = torch.tensor([[0, 2, 1, 1], [2, 2, 0, 1]])
        scores = self.crf.score(self.emissions, labels)
        for row in range(2):
            self.assertAlmostEqual(scores[row].item(), self.score(row, labels[row].tolist()), places=12)

    def test_partition_is_the_sum_over_all_label_sequences(self):
        partitions = self.crf.log_partition(self.emissions)
        for row in range(2):
            everything = sum(math.exp(self.score(row, labels)) for labels in itertools.product(range(3), repeat=4))
            self.assertAlmostEqual(partitions[row].item(), math.log(everything), places=10)

    def test_likelihood_is_a_probability(self):
        probabilities = []
        for labels in itertools.product(range(3), repeat=4):
            loss = self.crf.negative_log_likelihood(self.emissions[:1], torch.tensor([labels]))
            probabilities.append(math.exp(-loss.item()))
        self.assertAlmostEqual(sum(probabilities), 1, places=10)

    def test_loss_is_the_mean_over_the_batch(self):
        labels = torch.tensor([[0, 2, 1, 1], [2, 2, 0, 1]])
        both = self.crf.negative_log_likelihood(self.emissions, labels)
        each = [self.crf.negative_log_likelihood(self.emissions[i : i + 1], labels[i : i + 1]) for i in range(2)]
        self.assertAlmostEqual(both.item(), (each[0] + each[1]).item() / 2, places=12)

    def test_batches_show_each_class_by_an_image_of_it_along_one_chain(self):
        labels = torch.arange(10).repeat(30)
        images = labels.byte().reshape(-1, 1, 1).expand(-1, 28, 28)
        torch.manual_seed(1)
        shown, sequence = next(lstm_crf.chained_batches(images, labels, 2000))
        self.assertEqual(tuple(shown.shape), (2000, lstm_crf.LENGTH, 28, 28))
        self.assertTrue(torch.equal((shown[:, :, 5, 9] * 255).round().long(), sequence))

        def frequencies(place):
            pairs = torch.bincount(sequence[:, place] * 10 + sequence[:, place + 1], minlength=100).reshape(10, 10).float()
            return pairs / pairs.sum(dim=1, keepdim=True)

        first, later = frequencies(0), frequencies(4)
        self.assertGreater(first.max(dim=1).values.mean().item(), 0.3)  # 0.1 if the order meant nothing
        self.assertLess((first - later).abs().sum(dim=1).mean().item(), 0.3)  # the same chain at each place


class RowsOfDifferentNumber(unittest.TestCase):
    def test_blank_rows_at_both_ends_are_left_out(self):
        images = torch.zeros(3, 28, 28)
        images[0, 5:9] = torch.arange(1, 5).reshape(4, 1)
        images[0, 6] = 0  # blank, but inside
        images[1, :] = 1
        packed = dynamic_rnn.covered_rows(images)
        padded, lengths = pad_packed_sequence(packed, batch_first=True)
        self.assertEqual(lengths.tolist(), [4, 28, 1])
        self.assertEqual(padded[0, :5, 0].tolist(), [1, 0, 3, 4, 0])
        self.assertEqual(padded[2].abs().sum().item(), 0)

    def test_packing_does_not_change_what_the_network_says(self):
        torch.manual_seed(1)
        model = dynamic_rnn.DynamicRNN()
        images = torch.zeros(2, 28, 28)
        images[0, 3:10] = torch.rand(7, 28)
        images[1, 1:27] = torch.rand(26, 28)
        answers = model(images)
        for row, cut in enumerate((slice(3, 10), slice(1, 27))):
            alone = rows.RowClassifier.forward(model, images[row : row + 1, cut])
            self.assertTrue(torch.allclose(answers[row], alone[0], atol=1e-6))


class Losses(unittest.TestCase):
    def test_quadratic(self):
        torch.manual_seed(1)
        model, images, labels = gru.GRU(), torch.rand(2, 28, 28), torch.tensor([3, 7])
        answers = model(images).tolist()
        squares = [(answers[i][c] - (c == labels[i].item())) ** 2 for i in range(2) for c in range(10)]
        self.assertAlmostEqual(model.loss(images, labels).item(), sum(squares) / 20, places=6)

    def test_softmax(self):
        torch.manual_seed(1)
        model, images, labels = lstm_cfc.LSTMCFC(), torch.rand(2, 28, 28), torch.tensor([3, 7])
        answers = [[math.exp(a) for a in row] for row in model(images).tolist()]
        expected = -sum(math.log(answers[i][labels[i]] / sum(answers[i])) for i in range(2)) / 2
        self.assertAlmostEqual(model.loss(images, labels).item(), expected, places=5)

    def test_both_directions_reach_the_head(self):
        torch.manual_seed(1)
        model = rows.RowClassifier(nn.RNN(28, 4, batch_first=True, bidirectional=True))
        images = torch.rand(1, 28, 28)
        output, _ = model.recurrent(images)
        ends = torch.cat([output[0, -1, :4], output[0, 0, 4:]])  # where each direction has read everything
        self.assertTrue(torch.allclose(model(images)[0], model.head(ends), atol=1e-6))

    def test_reconstruction_and_divergence_of_an_encoder_that_says_nothing(self):
        torch.manual_seed(1)
        model = vae.VAE()
        for layer in (model.encoder[-1], model.decoder[-1]):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)
        images = torch.rand(4, 28, 28)
        self.assertAlmostEqual(model.loss(images, None).item() / (784 * math.log(2)), 1, places=5)
        with torch.no_grad():
            model.encoder[-1].bias[: vae.LATENT] = 2  # mean 2 in each: 2^2/2 of divergence
        self.assertAlmostEqual(model.loss(images, None).item() - 784 * math.log(2), 2 * vae.LATENT, places=3)


class Loop(unittest.TestCase):
    def test_reports_the_mean_since_the_last_report_and_the_end(self):
        status, reports = train([5, 3, 4, 2, 1], 5, 2)
        self.assertEqual(status, 0)
        self.assertEqual(reports, [(2, 4.0, 5), (4, 3.0, 5), (5, 1.0, 5)])

    def test_a_loss_that_is_no_number_ends_the_run_and_is_reported(self):
        for bad in (math.nan, math.inf):
            status, reports = train([5, 3, bad, 1], 4, 10)
            self.assertEqual(status, training.DIVERGED)
            self.assertEqual([report[0] for report in reports], [3])
            self.assertFalse(math.isfinite(reports[0][1]))


class Files(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        support.write_data_set(self.folder, 1)

    def test_what_was_written_is_read(self):
        content = torch.arange(24, dtype=torch.uint8).reshape(2, 3, 4)
        support.write_idx(self.folder / "x.gz", content)
        self.assertTrue(torch.equal(fashion_mnist.read_idx(self.folder / "x.gz"), content))
        images, labels = fashion_mnist.load(str(self.folder))
        self.assertEqual((tuple(images.shape), labels.tolist()), ((10, 28, 28), list(range(10))))

    def test_damaged_files_are_refused(self):
        path = self.folder / "train-images-idx3-ubyte.gz"
        whole = path.read_bytes()
        plain = support.gzip.decompress(whole)
        damaged = {"half of it": whole[: len(whole) // 2], "not packed": plain, "empty": support.gzip.compress(b""),
                   "header only": support.gzip.compress(plain[:10]), "one byte less": support.gzip.compress(plain[:-1]),
                   "other type": support.gzip.compress(b"\0\0\x0d" + plain[3:]),
                   "no elements": support.gzip.compress(b"\0\0\x08\x01\0\0\0\0")}
        for name, content in damaged.items():
            path.write_bytes(content)
            with self.subTest(name), self.assertRaises((ValueError, OSError)):
                fashion_mnist.load(str(self.folder))

    def test_images_and_labels_have_to_fit(self):
        support.write_idx(self.folder / "train-labels-idx1-ubyte.gz", torch.zeros(9, dtype=torch.uint8))
        with self.assertRaisesRegex(ValueError, "do not fit"):
            fashion_mnist.load(str(self.folder))


if __name__ == "__main__":
    support.run_tests()
