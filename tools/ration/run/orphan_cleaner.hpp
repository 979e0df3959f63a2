// SPDX-License-Identifier: BSL-1.0
/// Ends and removes what dead runs have left on this machine.
#pragma once

#include <string>
#include <vector>

#include <ration/units.hpp>

#include "common/exit_code.hpp"
#include "run/orphaned_runs.hpp"

namespace ration::program {

/// Ends and removes what dead runs have left, except live jobs of a service, which its next start takes over. Each
/// function returns a sentence per thing done, left alone, or not possible.
class orphan_cleaner {
    bool only_report_;
    nanoseconds grace_;
    std::vector<std::string> kept_groups_;  // of services, whose jobs were reported

public:
    /// `grace`: of a process, between SIGTERM and SIGKILL.
    explicit orphan_cleaner(bool only_report, nanoseconds grace = seconds(5)) noexcept
        : only_report_(only_report), grace_(grace) {}

    /// Ends what is alive, removes the run's group and folder.
    [[nodiscard]] std::vector<std::string> remove(orphaned_run what);
    /// Ends what is alive in the groups of all dead runs that started where this process is, and removes them.
    [[nodiscard]] std::vector<std::string> remove_groups();

private:
    [[nodiscard]] std::vector<std::string> remove_group_of(run_record const& record);
    [[nodiscard]] std::vector<std::string> keep(orphaned_run const& what, std::string const& state);
};

/// Removes the groups of dead runs in which nothing lives any more: those of runs that started where this process is,
/// or in the groups that a record names. Prints nothing, since the user has nothing to decide.
void remove_empty_groups(std::string const* memberships = nullptr);

struct clean_options {
    bool dry_run = false;
};

/// `ration clean`. Prints a line for each thing that it ends or removes.
[[nodiscard]] exit_code clean(clean_options const& options);

}  // namespace ration::program
