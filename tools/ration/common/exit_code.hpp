// SPDX-License-Identifier: BSL-1.0
/// Exit codes of the program.
#pragma once

#include <string_view>

namespace ration::program {

/// Exit codes of the program: part of its interface, documented in docs/run.md.
enum class exit_code : int {
    ok = 0,
    job_failed = 1,    ///< at least one job failed or diverged
    probe_failed = 1,  ///< of `ration check`: the plugin broke a rule
    /// Of `ration sim` and `ration bench`: a policy broke a rule, gave no answer, or left jobs waiting forever
    policy_failed = 1,
    nothing_read = 1,  ///< of `ration try-log`: no line gave a record
    bad_input = 2,     ///< command line or jobs.toml
    no_backend = 3,    ///< this machine cannot do what was asked
    interrupted = 4,   ///< by the user; the jobs were stopped
    internal = 5,      ///< a bug in ration
};

/// Prints the `printable` sentence on standard error. Returns `code`.
[[nodiscard]] exit_code fail(exit_code code, std::string_view sentence);

}  // namespace ration::program
