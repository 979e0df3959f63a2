// SPDX-License-Identifier: BSL-1.0
/// State that belongs to the process and not to a plugin.
#pragma once

#include <array>
#include <csignal>
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace ration::conformance {

/// Signal handlers and blocked signals, standard streams, working directory, umask, locale, environment and CPU
/// affinity, at one moment.
class surroundings {
    static constexpr int signals = 65;
    std::array<struct sigaction, signals> handlers_{};
    std::vector<int> blocked_;
    std::array<std::pair<dev_t, ino_t>, 3> streams_{};
    std::string directory_, locale_;
    std::vector<std::string> environment_;
    std::vector<unsigned char> affinity_;
    unsigned mask_ = 0;

public:
    surroundings();
    /// The first difference, as what the plugin did; empty when there is none.
    [[nodiscard]] std::string change_since(surroundings const& before) const;
};

/// The bits by which the processor rounds, flushes and traps: not those that say what happened.
[[nodiscard]] std::uint64_t floating_point_mode() noexcept;

/// `process` is a number, or "self". 0 when it is not there.
[[nodiscard]] std::int64_t threads_of(std::string const& process);
/// Of this process.
[[nodiscard]] std::int64_t threads();
[[nodiscard]] std::int64_t open_files();

}  // namespace ration::conformance
