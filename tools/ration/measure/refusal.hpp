// SPDX-License-Identifier: BSL-1.0
/// Messages of measurements that cannot begin.
#pragma once

#include <ration/sim/diagnostic.hpp>

#include "common/diagnostics.hpp"
#include "common/exit_code.hpp"

namespace ration::program {

/// A wrong option.
[[nodiscard]] inline exit_code refuse(exit_code code, diagnostic const& why) { return fail(code, to_text(why)); }

/// A sentence on the jobs file, whose place begins the line.
[[nodiscard]] inline exit_code refuse_file(exit_code code, diagnostic const& why) {
    diagnostics problems;
    problems.add(why);
    print_to_stderr(problems);
    return code;
}

}  // namespace ration::program
