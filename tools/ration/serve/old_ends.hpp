// SPDX-License-Identifier: BSL-1.0
/// Removes the files of `record_exit` that a killed service has left.
#pragma once

#include <set>
#include <string>

#include "serve/definition.hpp"
#include "serve/job_store.hpp"

namespace ration::program {

/// Removes the recorded ends of jobs that the list has and that have no process. `launched`: the labels of those that
/// have one. Files of jobs that the list does not have stay. A failure costs only the file.
void remove_old_ends(job_store& store, service_folder const& folder, std::set<std::string> const& launched);

}  // namespace ration::program
