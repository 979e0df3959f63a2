// SPDX-License-Identifier: BSL-1.0
/// The command line of `ration bench`.
#pragma once

#include <functional>
#include <string>

#include "run.hpp"

namespace CLI {
class App;
}

namespace ration::program {

/// Says what is wrong with a word; empty when nothing is.
using word_check = std::function<std::string(std::string const&)>;

void add_bench_options(CLI::App& bench, bench_options& into, word_check const& policy_check,
                       word_check const& setting_check);

}  // namespace ration::program
