// SPDX-License-Identifier: BSL-1.0
/// The models: what each computes from a batch, and the gradient of that.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gru.hpp"
#include "layers.hpp"
#include "losses.hpp"
#include "matrix.hpp"

namespace trainers {

/// One row per sample. The noise is drawn with the batch, so that a model is a function of its parameters and the batch
/// alone.
template <class Real>
struct batch {
    matrix<Real> images;  ///< pixels in [0, 1]
    std::vector<std::uint8_t> labels;
    matrix<Real> noise;  ///< standard normal, as many columns as the model asks for
};

template <class Real>
class model {
protected:
    parameters<Real> learned_;

    model() = default;

public:
    model(model const&) = delete;  // learned_ points into it
    model& operator=(model const&) = delete;
    virtual ~model() = default;

    /// The mean loss of the batch; sets the gradients of all parameters.
    virtual double learn(batch<Real> const& samples) = 0;

    [[nodiscard]] parameters<Real> const& learned() const { return learned_; }
    [[nodiscard]] virtual std::size_t noise_columns() const { return 0; }
};

/// Softmax regression without a hidden layer, a multi-layer perceptron otherwise.
template <class Real>
class classifier final : public model<Real> {
    perceptron<Real> network_;

public:
    /// Widths from the pixels to the classes.
    classifier(std::vector<std::size_t> const& widths, rng& random) : network_(widths, random) {
        network_.collect(this->learned_);
    }

    double learn(batch<Real> const& samples) override {
        auto const scores = network_.forward(samples.images.view());
        double const loss = softmax_cross_entropy<Real>(scores, samples.labels);
        network_.backward(samples.images.view(), scores);
        return loss;
    }
};

/// Reads an image row by row, top to bottom, and names its class from what it then remembers.
template <class Real>
class row_reader final : public model<Real> {
    std::size_t row_pixels_;
    gru<Real> memory_;
    perceptron<Real> naming_;
    matrix<Real> d_last_;

public:
    /// Rows of `row_pixels` pixels, `rows` to an image.
    row_reader(std::size_t rows, std::size_t row_pixels, std::size_t width, std::size_t n_classes, rng& random)
        : row_pixels_(row_pixels), memory_(rows, row_pixels, width, random), naming_({width, n_classes}, random) {
        memory_.collect(this->learned_);
        naming_.collect(this->learned_);
    }

    double learn(batch<Real> const& samples) override {
        auto const rows = samples.images.as_rows_of(row_pixels_);
        auto const last = memory_.forward(rows);
        auto const scores = naming_.forward(last);
        double const loss = softmax_cross_entropy<Real>(scores, samples.labels);
        naming_.backward(last, scores, &d_last_);
        memory_.backward(rows, d_last_.view());
        return loss;
    }
};

/// Variational autoencoder: Kingma and Welling, "Auto-Encoding Variational Bayes", 2013. The loss is the negative of
/// the evidence's lower bound per image, in nats: cross-entropy of all pixels plus the divergence of the code.
template <class Real>
class autoencoder final : public model<Real> {
    std::size_t code_;
    perceptron<Real> encoder_, decoder_;  // the encoder gives the means, then the logarithms of the variances
    matrix<Real> code_sample_, d_code_sample_;

public:
    autoencoder(std::size_t inputs, std::size_t hidden, std::size_t code, rng& random)
        : code_(code), encoder_({inputs, hidden, 2 * code}, random), decoder_({code, hidden, inputs}, random) {
        encoder_.collect(this->learned_);
        decoder_.collect(this->learned_);
    }

    [[nodiscard]] std::size_t noise_columns() const override { return code_; }

    double learn(batch<Real> const& samples) override {
        auto const images = samples.images.view();
        auto const distribution = encoder_.forward(images);
        draw_code(distribution, samples.noise.view());
        auto const scores = decoder_.forward(code_sample_.view());
        double const pixel_loss = pixel_cross_entropy<Real>(scores, images);
        decoder_.backward(code_sample_.view(), scores, &d_code_sample_);
        double const divergence = replace_by_gradient(distribution, samples.noise.view());
        encoder_.backward(images, distribution);
        return pixel_loss + divergence;
    }

private:
    void draw_code(matrix_view<Real const> distribution, matrix_view<Real const> noise) {
        code_sample_.resize(distribution.rows, code_);
        for (std::size_t r = 0; r < distribution.rows; ++r)
            for (std::size_t c = 0; c < code_; ++c)
                code_sample_.view().row(r)[c] =
                    distribution.row(r)[c] + std::exp(distribution.row(r)[code_ + c] / 2) * noise.row(r)[c];
    }

    /// The gradient that comes back through the drawn code, and that of the divergence; returns the mean divergence.
    double replace_by_gradient(matrix_view<Real> distribution, matrix_view<Real const> noise) {
        double total = 0;
        Real const share = Real{1} / static_cast<Real>(distribution.rows);
        for (std::size_t r = 0; r < distribution.rows; ++r) {
            for (std::size_t c = 0; c < code_; ++c) {
                Real& mean = distribution.row(r)[c];
                Real& log_variance = distribution.row(r)[code_ + c];
                Real const d_code = d_code_sample_.view().row(r)[c];
                code_divergence const divergence(mean, log_variance);
                total += divergence.value;
                mean = d_code + divergence.d_mean * share;
                log_variance =
                    d_code * noise.row(r)[c] * std::exp(log_variance / 2) / 2 + divergence.d_log_variance * share;
            }
        }
        return total / static_cast<double>(distribution.rows);
    }
};

}  // namespace trainers
