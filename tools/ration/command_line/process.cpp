// SPDX-License-Identifier: BSL-1.0
#include "command_line/process.hpp"

#include <csignal>
#include <cstdio>
#include <exception>

#include "command_line/command_line.hpp"
#include "policies/plugin_policy.hpp"
#include "policies/policy_registry.hpp"
#include "run/descriptors.hpp"

namespace ration::program {

namespace {

[[nodiscard]] exit_code perform(answer const& reply) {
    std::fputs(reply.text.c_str(), reply.code == exit_code::ok ? stdout : stderr);
    return reply.code;
}

[[nodiscard]] exit_code perform(std::unique_ptr<command> const& asked) { return asked->perform(); }

}  // namespace

bool prepare_process() {
    if (!open_standard_streams()) return false;
    // A reader that goes away and a file that reaches its size limit are errors of a write, not the end of the program.
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    return true;
}

int perform_command_line(int count, char** words, command_table const& table) {
    if (count == 2 && words[1] == worker_word) return plugin_worker();
    if (count == 3 && words[1] == worker_word) return policy_worker(words[2]);
    try {
        auto const asked = parse_command_line({words + (count > 0 ? 1 : 0), words + count}, table, policy_names());
        return static_cast<int>(std::visit([](auto const& what) { return perform(what); }, asked));
    } catch (std::exception const& e) {
        std::fprintf(stderr, "ration: internal error: %s; please report it\n", e.what());
        return static_cast<int>(exit_code::internal);
    }
}

}  // namespace ration::program
