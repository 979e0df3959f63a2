// SPDX-License-Identifier: BSL-1.0
#include "config/preload.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include "common/printable.hpp"
#include "config/job.hpp"

namespace ration::program {
namespace {

/// Such as torch.nn.
[[nodiscard]] bool is_module_name(std::string_view name) noexcept {
    auto const is_part = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    };
    return !name.empty() && name.front() != '.' && std::ranges::all_of(name, is_part);
}

/// An interpreter and its script or module: what a fork server can run instead.
[[nodiscard]] bool runs_python(std::vector<std::string> const& command) noexcept {
    if (command.size() < 2) return false;
    std::string_view program = command[0];
    program.remove_prefix(program.rfind('/') + 1);  // 0 without a slash
    bool const is_module = command[1] == "-m" && command.size() > 2;
    return program.starts_with("python") && (is_module || !command[1].starts_with('-'));
}

}  // namespace

void read_preload(table_reader& keys, job_config& job, diagnostics& problems) {
    constexpr std::string_view key = "preload";
    auto const* const modules = keys.take<array>(key, "an array with names of modules, such as [\"torch\"]");
    if (modules == nullptr) return;
    job.preload_at = keys.place_of(key);
    for (auto const& item : *modules) {
        auto const* const name = std::get_if<std::string>(&item.data);
        if (name == nullptr || !is_module_name(*name))
            return problems.add(item.at,
                                "'preload' has an entry that is not the name of a module; write names "
                                "such as \"torch\"");
        job.preload.push_back(*name);
    }
    if (job.preload.empty())
        problems.add(job.preload_at, "'preload' names no module; write [\"torch\"], or leave the key out");
    else if (!job.command.empty() && !runs_python(job.command))
        problems.add(job.preload_at,
                     "'preload' is for a script of Python; write command = [\"python3\", \"train.py\"] "
                     "or [\"python3\", \"-m\", \"module\"]");
}

}  // namespace ration::program
