// SPDX-License-Identifier: BSL-1.0
/// The option that names a service, for all commands of one.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "serve/client.hpp"

namespace ration::program {

inline void add_state_option(CLI::App& to, std::string& folder) {
    to.add_option("--state", folder, "The folder of the service, instead of ~/.local/state/ration")->type_name("DIR");
}

/// Of commands that change jobs.
inline void add_jobs_options(CLI::App& to, named_jobs& into) {
    add_state_option(to, into.folder);
    to.add_flag("--json", into.json, "Each job as one JSON line");
    to.add_option("JOB", into.jobs, "Jobs by their numbers or labels")->required()->type_name("");
}

}  // namespace ration::program
