// SPDX-License-Identifier: BSL-1.0
/// Losses, each the mean over the samples of a batch. The output of a network is replaced by the loss's gradient with
/// respect to it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "matrix.hpp"

namespace trainers {

/// Cross-entropy in nats between the softmax of a row and its class. Precondition: each class is below the number of
/// columns.
template <class Real>
[[nodiscard]] double softmax_cross_entropy(matrix_view<Real> scores, std::span<std::uint8_t const> classes) {
    double total = 0;
    Real const share = Real{1} / static_cast<Real>(scores.rows);
    for (std::size_t r = 0; r < scores.rows; ++r) {
        auto const row = scores.row(r);
        Real const highest = *std::ranges::max_element(row);
        total -= row[classes[r]] - highest;
        Real sum{};
        for (Real& x : row) sum += x = std::exp(x - highest);
        total += std::log(sum);
        for (Real& x : row) x *= share / sum;
        row[classes[r]] -= share;
    }
    return total / static_cast<double>(scores.rows);
}

/// Binary cross-entropy in nats between the sigmoids of a row and pixels in [0, 1], summed over the row.
template <class Real>
[[nodiscard]] double pixel_cross_entropy(matrix_view<Real> scores, matrix_view<Real const> pixels) {
    double total = 0;
    Real const share = Real{1} / static_cast<Real>(scores.rows);
    for (std::size_t r = 0; r < scores.rows; ++r) {
        Real of_row{};
        for (std::size_t c = 0; c < scores.columns; ++c) {
            Real& x = scores.row(r)[c];
            Real const pixel = pixels.row(r)[c];
            Real const small = std::exp(-std::abs(x));  // never overflows
            of_row += std::max(x, Real{}) - x * pixel + std::log1p(small);
            x = ((x >= 0 ? 1 : small) / (1 + small) - pixel) * share;
        }
        total += of_row;
    }
    return total / static_cast<double>(scores.rows);
}

/// One number of a normal distribution's code: its divergence from the standard normal in nats, and the gradient of
/// that.
template <class Real>
struct code_divergence {
    Real value, d_mean, d_log_variance;

    code_divergence(Real mean, Real log_variance) {
        Real const variance = std::exp(log_variance);
        value = (mean * mean + variance - 1 - log_variance) / 2;
        d_mean = mean;
        d_log_variance = (variance - 1) / 2;
    }
};

}  // namespace trainers
