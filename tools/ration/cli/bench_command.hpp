// SPDX-License-Identifier: BSL-1.0
/// `ration bench`: what a decision of a policy costs, and how near it is to the best one.
#pragma once

#include "bench/options.hpp"
#include "command_line/command.hpp"

namespace ration::program {

void add_options(CLI::App& to, bench_options& into, option_context& context);
[[nodiscard]] exit_code bench(bench_options const& options);

}  // namespace ration::program
