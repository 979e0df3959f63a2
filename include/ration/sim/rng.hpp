// SPDX-License-Identifier: BSL-1.0
/// Random numbers as a pure function of a seed and two counters, the same bits with every compiler on every machine:
/// the generators and the distributions of `<random>`, and std::log and std::exp, are not.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include <ration/host/rng_sequence.hpp>

namespace ration::sim {

/// Elementary functions made of operations that IEEE 754 rounds in one way only. Every product that is added to
/// something is a std::fma, which leaves a compiler nothing to fuse or not to fuse. Within 4 units in the last place
/// where the result is a normal number.
namespace exact {

/// Natural logarithm of a normal number above 0.
[[nodiscard]] inline double log(double x) noexcept {
    auto const bits = std::bit_cast<std::uint64_t>(x);
    auto exponent = static_cast<std::int64_t>(bits >> 52) - 1023;
    double mantissa = std::bit_cast<double>((bits & 0x000f'ffff'ffff'ffff) | 0x3ff0'0000'0000'0000);
    if (mantissa > 1.4142135623730951) {
        mantissa /= 2;
        ++exponent;
    }
    // log(m) = 2 artanh(s) = 2 (s + s^3/3 + s^5/5 + ...), and s < 0.172
    double const s = (mantissa - 1) / (mantissa + 1), z = s * s;
    double sum = 0;
    for (int n = 23; n >= 1; n -= 2) sum = std::fma(sum, z, 1.0 / n);
    auto const e = static_cast<double>(exponent);
    double const rest = 2 * s * sum;
    return std::fma(e, 0x1.62e42fefa39efp-1, std::fma(e, 0x1.abc9e3b39803fp-56, rest));  // ln 2 in two parts
}

/// e^x; 0 below -700 and infinity above 700.
[[nodiscard]] inline double exp(double x) noexcept {
    if (x < -700) return 0;
    if (x > 700) return std::numeric_limits<double>::infinity();
    double const n = std::floor(std::fma(x, 1.4426950408889634, 0.5));
    double const r = std::fma(-n, 0x1.abc9e3b39803fp-56, std::fma(-n, 0x1.62e42fefa39efp-1, x));  // at most ln 2 / 2
    double sum = 1;
    for (int i = 14; i >= 1; --i) sum = std::fma(sum, r / i, 1.0);
    return std::ldexp(sum, static_cast<int>(n));
}

/// x^y for x above 0.
[[nodiscard]] inline double pow(double x, double y) noexcept { return exp(y * log(x)); }

}  // namespace exact

/// A stream of random numbers: number `index` is a function of seed, stream and index, in O(1), by `splitmix64`.
class rng {
    std::uint64_t key_;

public:
    explicit constexpr rng(std::uint64_t seed, std::uint64_t stream = 0) noexcept
        : key_(splitmix64(splitmix64(seed) + splitmix64(~stream))) {}

    [[nodiscard]] constexpr std::uint64_t bits(std::uint64_t index) const noexcept {
        return splitmix64(key_ + index * splitmix64_step);
    }

    /// Above 0 and below 1, one of 2^52 numbers in equal steps.
    [[nodiscard]] constexpr double uniform(std::uint64_t index) const noexcept {
        return (static_cast<double>(bits(index) >> 12) + 0.5) * 0x1p-52;
    }

    /// From 0 to n - 1, each within n / 2^32 equally often. Precondition: n > 0.
    [[nodiscard]] constexpr std::uint32_t below(std::uint32_t n, std::uint64_t index) const noexcept {
        return static_cast<std::uint32_t>((bits(index) >> 32) * n >> 32);
    }

    /// With mean 1.
    [[nodiscard]] double exponential(std::uint64_t index) const noexcept { return -exact::log(uniform(index)); }

    /// With mean 0 and standard deviation 1, by the inverse of its distribution: a rational approximation by P. Acklam,
    /// within 1.2e-9.
    [[nodiscard]] double normal(std::uint64_t index) const noexcept {
        double const u = uniform(index), low = 0.02425;
        if (u < low) return tail(std::sqrt(-2 * exact::log(u)));
        if (u > 1 - low) return -tail(std::sqrt(-2 * exact::log(1 - u)));
        double const q = u - 0.5, r = q * q;
        double above = -3.969683028665376e+01;
        for (double const c : {2.209460984245205e+02, -2.759285104469687e+02, 1.383577518672690e+02,
                               -3.066479806614716e+01, 2.506628277459239e+00})
            above = std::fma(above, r, c);
        double below = -5.447609879822406e+01;
        for (double const c :
             {1.615858368580409e+02, -1.556989798598866e+02, 6.680131188771972e+01, -1.328068155288572e+01, 1.0})
            below = std::fma(below, r, c);
        return above * q / below;
    }

private:
    [[nodiscard]] static double tail(double q) noexcept {
        double above = -7.784894002430293e-03;
        for (double const c : {-3.223964580411365e-01, -2.400758277161838e+00, -2.549732539343734e+00,
                               4.374664141464968e+00, 2.938163982698783e+00})
            above = std::fma(above, q, c);
        double below = 7.784695709041462e-03;
        for (double const c : {3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00, 1.0})
            below = std::fma(below, q, c);
        return above / below;
    }
};

}  // namespace ration::sim
