// SPDX-License-Identifier: BSL-1.0
#include "events/machine.hpp"

#include <sstream>
#include <string>
#include <sys/utsname.h>
#include <unistd.h>

#include <ration/process/cpus.hpp>
#include <ration/process/input_file.hpp>

namespace ration::program {
namespace {

[[nodiscard]] std::string cpu_model() {
    auto text = process::read_input("/proc/cpuinfo", {});
    std::istringstream lines(text ? std::move(text).value() : std::string());
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("model name"))
            if (auto const colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
    return {};
}

}  // namespace

machine_facts machine_here() {
    utsname system{};
    ::uname(&system);
    return {.cpus = static_cast<std::uint32_t>(process::cpu_set::of_thread(0).size()),
            .cpu_model = cpu_model(),
            .memory = {static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE)},
            .kernel = std::string(system.sysname) + ' ' + system.release};
}

}  // namespace ration::program
