// SPDX-License-Identifier: BSL-1.0
/// The plugin that is looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ration/plugin/abi.h>
#include <ration/plugin/host/computed_columns.hpp>
#include <ration/plugin/host/manifest.hpp>

namespace ration::conformance {

struct subject {
    std::string path;             ///< absolute: a bare name would be looked for elsewhere
    std::vector<std::byte> file;  ///< its bytes
    std::string config;           ///< what every instance is created with
    std::uint64_t seed = 1;
    // From here on: only after the file has passed the probes that read it.
    ration_manifest manifest{};
    std::vector<plugin::needed_column> needs{};
    plugin::computed_columns computed{};  ///< of an estimator
    std::size_t reasons = 0;              ///< lines of the manifest's `reasons`
    bool repeats = false;                 ///< asked the same it answers the same: promised and seen

    [[nodiscard]] bool is_estimator() const noexcept { return !computed.all().empty(); }
    [[nodiscard]] bool has_flag(std::uint32_t flag) const noexcept { return (manifest.flags & flag) != 0; }
    [[nodiscard]] bool reads(std::string const& column) const {
        for (auto const& need : needs)
            if (need.name == column) return true;
        return false;
    }
};

}  // namespace ration::conformance
