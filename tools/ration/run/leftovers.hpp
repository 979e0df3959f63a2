// SPDX-License-Identifier: BSL-1.0
/// What runs that were killed have left: jobs that go on, groups, folders.
#pragma once

#include <string>
#include <vector>

#include "run/run_directory.hpp"

namespace ration::program {

/// A job that goes on, or a process of which nobody knows whose it is.
struct survivor {
    std::string job;   ///< empty: nobody knows
    std::string said;  ///< "vae (process 123)", "cnn (between two launches)", "process 123"
};

/// One abandoned run and what of it is still alive.
struct leftover {
    run_record record;
    std::string damage;              ///< why its record cannot be read: then its processes are known, and not of which job they are; empty: it can
    std::vector<survivor> alive;
};

[[nodiscard]] std::vector<leftover> find_leftovers();

/// "the record of the run 7-1234 cannot be read: it is no whole JSON object"; empty for one that can.
[[nodiscard]] std::string sentence_of_damage(leftover const& what);

/// Ends what is alive, removes groups and folder. Returns a sentence per thing done, or not possible.
[[nodiscard]] std::vector<std::string> remove_leftover(leftover const& what, bool only_say);

/// The same for groups of dead runs, whether there is a record of them or not.
[[nodiscard]] std::vector<std::string> remove_orphaned_groups(bool only_say);

/// Removes the groups of dead runs in which nothing lives any more: those of runs that started where this process is, or in the
/// groups that a record names. Says nothing: there is nothing to decide.
void remove_empty_groups(std::string const* memberships = nullptr);

}  // namespace ration::program
