// SPDX-License-Identifier: BSL-1.0
#include <csignal>
#include <cstdio>
#include <exception>

#include "cli.hpp"
#include "descriptors.hpp"
#include "policies/plugin_policy.hpp"
#include "run.hpp"

namespace {

using namespace ration::program;

[[nodiscard]] exit_code perform(answer const& reply) {
    std::fputs(reply.text.c_str(), reply.code == exit_code::ok ? stdout : stderr);
    return reply.code;
}

[[nodiscard]] exit_code perform(run_options options) {
    auto const known = policy_names();
    auto named = options.policies;
    if (!options.policy.empty()) named.push_back(options.policy);
    auto read = load_config(options.file, {.policies = known, .policy_given = !named.empty(), .named = named});
    if (read.problems.empty()) read.problems = missing_files(read.config);
    print_to_stderr(read.problems);
    if (!read.problems.empty()) return exit_code::bad_input;
    choose_policies(options, read.config);
    if (options.cpus) read.config.cpus = options.cpus;
    return run(options, read.config);
}

[[nodiscard]] exit_code perform(doctor_options const& options) { return doctor(options); }
[[nodiscard]] exit_code perform(policies_options const& options) { return policies(options); }
[[nodiscard]] exit_code perform(clean_options const& options) { return clean(options); }
[[nodiscard]] exit_code perform(check_options const& options) { return check(options); }
[[nodiscard]] exit_code perform(new_options const& options) { return make_project(options); }
[[nodiscard]] exit_code perform(simulation_options const& options) { return simulate(options); }
[[nodiscard]] exit_code perform(replay_options const& options) { return replay(options); }
[[nodiscard]] exit_code perform(report_options const& options) { return report(options); }
[[nodiscard]] exit_code perform(bench_options const& options) { return bench(options); }

}  // namespace

int main(int count, char** words) {
    if (!open_standard_streams()) return static_cast<int>(exit_code::no_backend);
    // A reader that goes away and a file that reaches its size limit are errors of a write, not the end of the program.
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    if (count == 2 && words[1] == worker_word) return plugin_worker();
    try {
        auto const asked = parse_command_line({words + (count > 0 ? 1 : 0), words + count}, policy_names());
        return static_cast<int>(std::visit([](auto const& what) { return perform(what); }, asked));
    } catch (std::exception const& e) {
        std::fprintf(stderr, "ration: internal error: %s; please report it\n", e.what());
        return static_cast<int>(exit_code::internal);
    }
}
