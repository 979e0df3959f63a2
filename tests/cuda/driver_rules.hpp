// SPDX-License-Identifier: BSL-1.0
// A model of how the driver reads CUDA_VISIBLE_DEVICES, written from its documentation and PyTorch's tests of it, on
// text alone: the tests of `device_mask` and the fake driver ask it.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace ration::test {

/// `gpus` and `instances`: names in the order in which the driver counts them. Returns the names that a program sees.
[[nodiscard]] inline std::vector<std::string> driver_reads(std::vector<std::string> const& gpus,
                                                           std::vector<std::string> const& instances,
                                                           std::optional<std::string> const& mask) {
    if (!mask) return gpus;
    std::vector<std::string> items(1);
    for (char const c : *mask) c == ',' ? items.emplace_back() : items.back() += std::string(1, c);
    std::string const kind = mask->rfind("GPU-", 0) == 0 ? "GPU-" : mask->rfind("MIG-", 0) == 0 ? "MIG-" : "";
    auto const& pool = kind == "MIG-" ? instances : gpus;
    std::vector<std::string> seen;
    for (std::string item : items) {
        while (!item.empty() && item.back() == ' ') item.pop_back();
        item.erase(0, item.find_first_not_of(' ') == std::string::npos ? item.size() : item.find_first_not_of(' '));
        std::vector<std::string> meant;
        if (kind.empty()) {
            char* end = nullptr;
            long const number = std::strtol(item.c_str(), &end, 10);
            if (end != item.c_str() && number >= 0 && number < static_cast<long>(pool.size()))
                meant.push_back(pool[static_cast<std::size_t>(number)]);
        } else if (item.rfind(kind, 0) == 0) {
            for (auto const& name : pool)
                if (name.rfind(item, 0) == 0) meant.push_back(name);
        }
        if (meant.size() != 1) return seen;
        for (auto const& earlier : seen)
            if (earlier == meant[0]) return {};
        seen.push_back(meant[0]);
    }
    return seen;
}

}  // namespace ration::test
