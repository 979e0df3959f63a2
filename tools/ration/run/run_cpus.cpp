// SPDX-License-Identifier: BSL-1.0
#include "run/run_cpus.hpp"

#include <fmt/ranges.h>

namespace ration::program {

run_cpus::run_cpus(std::optional<std::uint32_t> count, std::string const& claims)
    : claims_(core_claims::open(claims)), chosen_(claims_.take(process::cpu_set::of_thread(0), count)),
      limited_(count.has_value()) {}

std::string run_cpus::shared() const {
    if (chosen_.shared.empty()) return {};
    return fmt::format(
        "CPUs {} are also those of another run (process {}), so that both are slower; name fewer with 'cpus' in both files",
        chosen_.shared.list().view(), fmt::join(chosen_.others, ", "));
}

}  // namespace ration::program
