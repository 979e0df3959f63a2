// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The inner loops of `allocation_dp`: the best choice of a job at a price, with vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace ration::policies::detail {

/// As many doubles as every x86-64 and AArch64 handles at once.
using double_pack [[gnu::vector_size(16)]] = double;
/// As many integers; comparisons of `double_pack` have this type.
using whole_pack [[gnu::vector_size(16)]] = std::int64_t;
/// Elements of a pack.
inline constexpr std::size_t pack_size = sizeof(double_pack) / sizeof(double);

/// Loads a pack; `from` needs no alignment.
[[nodiscard]] inline double_pack load_pack(double const* from) noexcept {
    double_pack p;
    std::memcpy(&p, from, sizeof p);
    return p;
}

/// The worth of a job with 0, 1, 2 ... devices above its least, if each costs `price`. The values
/// are whole numbers, or minus infinity for impossible counts. Values of minus infinity also pad
/// the row to a multiple of `grain`, and may be read.
class priced_row {
    double const* values_;
    double price_;

    /// Several packs, so that the additions of one need not wait for those of another.
    struct packs {
        static constexpr std::size_t count = 4;  // so that none waits for the one before
        double_pack of[count];

        explicit packs(double value) noexcept {
            for (auto& p : of) p = double_pack{} + value;
        }
        template <class Better>
        [[nodiscard]] double best(Better const& better) const noexcept {
            double found = of[0][0];
            for (auto const& p : of)
                for (std::size_t i = 0; i < pack_size; ++i)
                    if (better(p[i], found)) found = p[i];
            return found;
        }
    };

public:
    /// The number of values that one pass of a loop reads.
    static constexpr std::size_t grain = packs::count * pack_size;

private:
    static constexpr auto step = static_cast<std::int64_t>(grain);

    [[nodiscard]] double_pack cost_from(std::int64_t x) const noexcept {
        auto const first = static_cast<double>(x);
        return double_pack{first, first + 1} * price_;
    }

public:
    /// `values` has to outlive the object.
    priced_row(double const* values, double price) noexcept : values_(values), price_(price) {}

    /// The worth with x devices.
    [[nodiscard]] double at(std::int64_t x) const noexcept { return values_[x] - price_ * static_cast<double>(x); }

    /// The most that the job is worth with `from` to `to` devices, or with a few less or more.
    [[nodiscard]] double most(std::int64_t from, std::int64_t to) const noexcept {
        packs most(-std::numeric_limits<double>::infinity());
        double_pack cost = cost_from(from -= from % step);
        for (std::int64_t x = from; x <= to;)
            for (auto& m : most.of) {
                double_pack const worth = load_pack(values_ + x) - cost;
                m = worth > m ? worth : m;
                x += pack_size;
                cost += pack_size * price_;
            }
        return most.best([](double a, double b) { return a > b; });
    }

    /// The fewest devices, from `from` on, with which the job is worth `worth`. Precondition: there
    /// are such, and fewer devices are not worth it.
    [[nodiscard]] std::int64_t find(double worth, std::int64_t from) const noexcept {
        double_pack cost = cost_from(from -= from % step);
        for (;; from += step) {  // whole packs first: a match is found faster than its position
            whole_pack found{};
            for (std::size_t i = 0; i < grain; i += pack_size, cost += pack_size * price_)
                found |= load_pack(values_ + from + i) - cost == worth;
            if ((found[0] | found[1]) != 0) break;
        }
        while (at(from) != worth) ++from;
        return from;
    }

    /// The result of `against`.
    struct losses {
        std::int64_t none = 0;  // numbers of devices without a loss
        double least = 0;       // the smallest loss above 0
    };
    /// Compares the worth of the first `size` numbers of devices with `best`, which is the largest.
    [[nodiscard]] losses against(double best, std::size_t size) const noexcept {
        constexpr double infinite = std::numeric_limits<double>::infinity();
        packs least(infinite);
        whole_pack none{};
        double_pack cost = cost_from(0) + best;
        for (std::size_t x = 0; x < size;)
            for (auto& l : least.of) {
                double_pack const lost = cost - load_pack(values_ + x);
                whole_pack const nothing = lost == 0;  // -1 in each lane where it is true
                none -= nothing;
                double_pack const some = nothing ? double_pack{} + infinite : lost;
                l = some < l ? some : l;
                x += pack_size;
                cost += pack_size * price_;
            }
        return {none[0] + none[1], least.best([](double a, double b) { return a < b; })};
    }
};

}  // namespace ration::policies::detail
