// SPDX-License-Identifier: BSL-1.0
#include <cstdlib>
#include <string_view>
#include <utility>

#include <ration/hwloc/reader.hpp>

#include "common/error_text.hpp"
#include "topology/machine_topology.hpp"

namespace ration::program {
namespace {

[[nodiscard]] std::string_view environment(char const* name) noexcept {
    char const* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

}  // namespace

machine_topology find_topology() {
    machine_topology out{.reader = "hwloc " HWLOC_VERSION, .machine = {}, .why_not = {}, .remedy = {}};
    // Read here and not by hwloc itself, which trusts a file more than it should.
    auto const file = environment("HWLOC_XMLFILE");
    auto read = file.empty() ? hwloc::read_this_machine() : hwloc::read_xml(file);
    out.is_this_machine = file.empty() || environment("HWLOC_THISSYSTEM") == "1";
    if (read) {
        out.machine = std::move(read).value();
        return out;
    }
    auto why = read.failure();
    out.remedy = why.remedy;
    why.remedy = "";
    out.why_not = to_text(why);
    return out;
}

}  // namespace ration::program
