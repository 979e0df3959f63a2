// SPDX-License-Identifier: BSL-1.0
#include <csignal>
#include <cstdio>
#include <exception>

#include "cli/command_line.hpp"
#include "policies/plugin_policy.hpp"
#include "policies/policy_registry.hpp"
#include "run/descriptors.hpp"
#include "serve/exit_recorder.hpp"

namespace {

using namespace ration::program;

[[nodiscard]] exit_code perform(answer const& reply) {
    std::fputs(reply.text.c_str(), reply.code == exit_code::ok ? stdout : stderr);
    return reply.code;
}

[[nodiscard]] exit_code perform(std::unique_ptr<command> const& asked) { return asked->perform(); }

}  // namespace

int main(int count, char** words) {
    if (!open_standard_streams()) return static_cast<int>(exit_code::no_backend);
    // A reader that goes away and a file that reaches its size limit are errors of a write, not the end of the program.
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    if (count == 2 && words[1] == worker_word) return plugin_worker();
    if (count > 5 && words[1] == exit_recorder_word) return record_exit(words + 2);
    try {
        auto const asked = parse_command_line({words + (count > 0 ? 1 : 0), words + count}, policy_names());
        return static_cast<int>(std::visit([](auto const& what) { return perform(what); }, asked));
    } catch (std::exception const& e) {
        std::fprintf(stderr, "ration: internal error: %s; please report it\n", e.what());
        return static_cast<int>(exit_code::internal);
    }
}
