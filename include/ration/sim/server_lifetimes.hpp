// SPDX-License-Identifier: BSL-1.0
/// Measured lifetimes of transient servers, by type of GPU and region. Used by faults.hpp.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ration::sim {

/// Servers of one type in one region, and how many of them were revoked within 1 to 24 hours.
/// Within an hour, revocations are assumed to be uniform; servers that are left at 24 h end then.
struct server_lifetime {
    /// The longest lifetime.
    static constexpr std::size_t hours = 24;

    /// The type of the GPU, and the region.
    std::string_view gpu, region;
    /// The number of measured servers.
    std::uint32_t servers = 0;
    std::array<std::uint8_t, hours> revoked{};  ///< entry h: revoked within h + 1 hours

    /// The share of servers that is revoked within `h` hours, 1 to 24.
    [[nodiscard]] constexpr double revoked_within(std::size_t h) const noexcept {
        return static_cast<double>(revoked[h - 1]) / servers;
    }

    /// A lifetime in seconds, at most a day; `u` is uniform from 0 to 1.
    [[nodiscard]] double at(double u) const noexcept {
        double before = 0;
        for (std::size_t h = 0; h < hours; ++h) {
            double const until = revoked[h];
            if (std::fma(u, servers, -until) < 0)
                return 3600 * (static_cast<double>(h) + std::fma(u, servers, -before) / (until - before));
            before = until;
        }
        return 3600.0 * hours;
    }
    /// Revocations per second of a server that has run for `age` seconds: in each hour, those that were revoked by the
    /// time that all servers ran.
    [[nodiscard]] constexpr double hazard(double age) const noexcept {
        double const at_most = hours - 1, hour = age / 3600;
        auto const h = static_cast<std::size_t>(hour > at_most ? at_most : hour > 0 ? hour : 0);
        double const before = h == 0 ? 0 : revoked[h - 1], until = revoked[h];
        return until > before ? (until - before) / (3600 * (servers - (before + until) / 2)) : 0;
    }
    /// The mean lifetime in seconds.
    [[nodiscard]] constexpr double mean() const noexcept {
        double server_hours = 0, before = 0;
        for (double const until : revoked) {
            server_hours += servers - (before + until) / 2;
            before = until;
        }
        return 3600 * server_hours / servers;
    }
};

/// Servers of Google Cloud in 2019. Source: S. Li, R. J. Walls, T. Guo, "Characterizing and Modeling Distributed
/// Training with Transient Cloud GPU Servers", ICDCS 2020; the counts are bench/data/cm-dare/lifetimes.csv, from the
/// authors' repository.
inline constexpr server_lifetime transient_servers[] = {
    {"K80", "us-west1", 48, {2, 2, 7, 8, 8, 8, 8, 8, 8, 8, 8, 9, 9, 9, 9, 10, 10, 10, 10, 10, 11, 11, 11, 11}},
    {"K80", "us-east1", 30, {14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14,
                             14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14}},
    {"K80", "us-central1", 48, {5,  5,  7,  7,  7,  8,  13, 13, 13, 13, 13, 13,
                                13, 14, 15, 22, 22, 22, 22, 22, 23, 23, 23, 27}},
    {"K80", "europe-west1", 30, {12, 12, 14, 14, 14, 14, 15, 15, 16, 16, 16, 16,
                                 18, 18, 18, 20, 20, 20, 20, 20, 20, 20, 20, 20}},
    {"P100", "us-west1", 30, {5,  9,  9,  9,  13, 13, 13, 13, 13, 15, 16, 16,
                              16, 16, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20}},
    {"P100", "us-east1", 30, {6,  12, 19, 19, 19, 19, 20, 20, 20, 20, 20, 20,
                              20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 21}},
    {"P100", "us-central1", 30, {8,  10, 10, 10, 10, 10, 12, 14, 14, 14, 14, 14,
                                 14, 14, 15, 16, 16, 16, 16, 16, 16, 16, 16, 16}},
    {"P100", "europe-west1", 30, {0, 2, 4, 4, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 8, 8, 8, 8}},
    {"V100", "us-west1", 30, {9,  15, 16, 22, 22, 22, 22, 22, 22, 22, 22, 22,
                              22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22}},
    {"V100", "us-central1", 30, {20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20,
                                 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20}},
    {"V100", "europe-west4", 30, {2, 5, 5, 6, 6, 6, 6, 6, 7, 7, 7, 7, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 13}},
    {"V100", "asia-east1", 30, {7,  9,  11, 12, 12, 14, 14, 14, 14, 14, 14, 14,
                                14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14}}};

/// The entry for these servers; nullptr if they were not measured.
[[nodiscard]] constexpr server_lifetime const* find_transient_servers(std::string_view gpu,
                                                                      std::string_view region) noexcept {
    for (auto const& servers : transient_servers)
        if (servers.gpu == gpu && servers.region == region) return &servers;
    return nullptr;
}

/// Seconds from the request for a transient server to the end of its boot: the mean of the two
/// regions that the same authors measured. 0 = not measured.
[[nodiscard]] constexpr double measured_startup(std::string_view gpu) noexcept {
    if (gpu == "K80") return 83.2;
    return gpu == "P100" ? 91.1 : 0;
}

}  // namespace ration::sim
