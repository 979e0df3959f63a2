// SPDX-License-Identifier: BSL-1.0
/// The parts of this machine, where the program was built to read them.
#pragma once

#include <optional>
#include <string>

#include <ration/hwloc/topology.hpp>

namespace ration::program {

struct machine_topology {
    std::string reader;                     ///< "hwloc 2.9"; empty: this program was built without
    std::optional<hwloc::machine> machine;  ///< all of it, also what this program may not use; none: `why_not`
    /// false: one that was recorded elsewhere, whose CPU numbers mean nothing here
    bool is_this_machine = true;
    std::string why_not, remedy;
};

/// This machine, or the one in the file that HWLOC_XMLFILE names, which is this one where HWLOC_THISSYSTEM is 1.
/// Milliseconds; tens of them on machines with many devices.
[[nodiscard]] machine_topology find_topology();

}  // namespace ration::program
