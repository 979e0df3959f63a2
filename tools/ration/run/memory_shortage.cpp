// SPDX-License-Identifier: BSL-1.0
#include "run/memory_shortage.hpp"

#include <array>
#include <fcntl.h>
#include <fmt/core.h>

#include <ration/process/proc.hpp>

#include "common/quantity.hpp"

namespace ration::program {

std::int64_t oom_kills_of_machine() {
    std::array<char, 16384> buffer;
    return cgroup::keyed_number(process::detail::read_some(AT_FDCWD, "/proc/vmstat", buffer), "oom_kill").value_or(0);
}

std::string sentence_of(cgroup::memory_shortage const& found) {
    if (found.killed == 0) return {};
    return found.at_limit ? fmt::format("out of memory: limit {}", size_text({found.limit}))
                          : "out of memory: the machine, or a group above the job's, had none left";
}

}  // namespace ration::program
