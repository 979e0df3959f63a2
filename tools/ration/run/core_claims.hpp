// SPDX-License-Identifier: BSL-1.0
/// Which CPUs the runs of one user have taken, so that two runs at once take different ones, or report that they share
/// some.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include <ration/process/cpus.hpp>
#include <ration/process/descriptor.hpp>

namespace ration::program {

struct core_choice {
    process::cpu_set cpus;
    process::cpu_set shared;    ///< those of them that other runs have claimed
    std::vector<pid_t> others;  ///< the processes of these runs, ascending
};

/// A file with one lock for each CPU (fcntl(2), F_SETLK), which every run that uses the CPU holds for reading. The
/// kernel releases the locks when the process ends, however it ends. Move-only; without a file it claims nothing and
/// finds no other run.
class core_claims {
    process::descriptor file_;

public:
    /// Creates the file, mode 0600. A path that cannot be opened, or is not a regular file of this user, counts as no
    /// file.
    [[nodiscard]] static core_claims open(std::string const& path);

    /// Claims `count` of the usable CPUs, or all: the lowest ones that no other run has claimed, then the lowest of the
    /// rest.
    [[nodiscard]] core_choice take(process::cpu_set const& usable, std::optional<std::uint32_t> count);

private:
    [[nodiscard]] pid_t holder_of(unsigned cpu) const;
};

}  // namespace ration::program
