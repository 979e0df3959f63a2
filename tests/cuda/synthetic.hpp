// SPDX-License-Identifier: BSL-1.0
// Machines with GPUs, masks and requests, made up from a seed.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <ration/cuda/device.hpp>

namespace ration::test {

using cuda::device_id;
using cuda::device_kind;
using cuda::gpu;
using names = std::vector<std::string>;

[[nodiscard]] inline names text_of(std::span<device_id const> ids) {
    names out;
    for (auto const& id : ids) out.emplace_back(id.name().view());
    return out;
}

/// Makes machines whose names have common beginnings, masks that are half wrong, and requests.
class maker {
    std::mt19937_64 rng_;

public:
    explicit maker(std::uint64_t seed) : rng_(seed) {}

    [[nodiscard]] std::size_t below(std::size_t n) {
        return std::uniform_int_distribution<std::size_t>(0, n - 1)(rng_);
    }

    [[nodiscard]] device_id name(device_kind kind) {
        std::array<std::uint8_t, 16> uuid{};
        uuid[0] = static_cast<std::uint8_t>(below(3));
        uuid[1] = static_cast<std::uint8_t>(below(256));
        for (auto& byte : std::span(uuid).subspan(2)) byte = static_cast<std::uint8_t>(below(256));
        return {kind, uuid};
    }

    [[nodiscard]] std::vector<gpu> machine() {
        std::vector<gpu> gpus(1 + below(8));
        for (auto& one : gpus) {
            one.id = name(device_kind::gpu);
            one.cut = below(4) == 0;
            for (std::size_t i = one.cut ? below(8) : 0; i > 0; --i) one.instances.push_back(name(device_kind::mig));
        }
        return gpus;
    }

    [[nodiscard]] std::string item(names const& gpus, names const& instances) {
        auto const& pool = !instances.empty() && below(3) == 0 ? instances : gpus;
        std::string const& some = pool[below(pool.size())];
        static constexpr std::array<char const*, 6> odd{"-1", "x1", "", "GPU-", "1.5", "MIG-GPU-1/2/3"};
        switch (below(12)) {
            case 0: return odd[below(odd.size())];
            case 1: return std::to_string(below(gpus.size() + 2)) + "gpu";
            case 2: return ' ' + some + ' ';
            case 3: return some.substr(0, 4 + below(4));
            case 4:
            case 5:
            case 6:
            case 7: return some;
            default: return std::to_string(below(gpus.size() + (below(4) == 0 ? 2 : 0)));
        }
    }

    [[nodiscard]] std::optional<std::string> mask(names const& gpus, names const& instances) {
        if (below(20) == 0) return std::nullopt;
        std::string out;
        for (std::size_t i = below(6); i > 0; --i) out += (out.empty() ? "" : ",") + item(gpus, instances);
        return out;
    }

    [[nodiscard]] std::vector<device_id> request(std::vector<device_id> from) {
        std::ranges::shuffle(from, rng_);
        if (!from.empty()) from.resize(below(from.size() + 1));
        if (!from.empty() && below(10) == 0) from.push_back(from[below(from.size())]);
        if (below(20) == 0) from.push_back(name(device_kind::gpu));
        return from;
    }
};

}  // namespace ration::test
