// SPDX-License-Identifier: BSL-1.0
/// Policies from files: `open` takes a .so through every check and gives a policy that an engine can use like a
/// compiled one.
#pragma once

#include <cstdint>
#include <fcntl.h>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/plugin/host/guarded.hpp>
#include <ration/plugin/host/in_process.hpp>
#include <ration/plugin/host/library.hpp>
#include <ration/plugin/host/worker_policy.hpp>

namespace ration::plugin {

/// Where a plugin runs. A worker costs some microseconds a tick, and survives whatever the plugin does.
enum class isolation : unsigned char { in_process, worker };

/// How `open` runs a plugin: where, with which configuration and under which limits.
struct open_options {
    isolation where = isolation::worker;
    std::string_view config{};  ///< one flat JSON object, or empty
    /// `worker.program` is needed for `isolation::worker`. A plugin for this process is tried in a worker first, if
    /// there is one.
    worker_options worker{};
    strike_rules strikes{};
    log_sink log{};  ///< gets what the plugin logs, at most 1000 lines a second
};

namespace detail {

/// Its constructors and `create` run once in a worker: what crashes or hangs there is refused before this process loads
/// it.
[[nodiscard]] inline result<void> try_out(plugin_file const& file, open_options const& options) {
    auto same = sealed_copy::reattach(descriptor(::fcntl(file.copy.fd(), F_DUPFD_CLOEXEC, 0)));
    if (!same) return same.failure();
    auto again = plugin_file::check(std::move(same).value(), file.path);
    if (!again) return again.failure();
    std::vector<std::pair<std::uint32_t, std::string>> reply;
    log_sink const keep{[](void* to, std::uint32_t level, std::string_view text) {
                            static_cast<decltype(reply)*>(to)->emplace_back(level, text);
                        },
                        &reply};
    auto with = options.worker;
    with.threads = true;  // as in this process, where it is to run
    auto const tried = worker_policy::create(std::move(again).value(), options.config, std::move(with), keep);
    if (tried) return {};  // it will say the same again
    for (auto const& [level, text] : reply)
        if (options.log.write != nullptr) options.log.write(options.log.context, level, text);
    return tried.failure();
}

}  // namespace detail

/// Errors: those of `plugin_file::open`, `library::load`, `in_process_policy::create` and `worker_policy::create`;
/// denied for a plugin that may not share a process.
[[nodiscard]] inline result<std::unique_ptr<guarded_policy>> open(std::string const& path,
                                                                  open_options const& options) {
    if (options.config.size() > largest_config)
        return detail::file_error(errc::no_capacity, path, "its parameters take more than 1 MiB: shorten them");
    auto file = plugin_file::open(path);
    if (!file) return file.failure();
    if (options.where == isolation::worker) {
        auto made = worker_policy::create(std::move(file).value(), options.config, options.worker, options.log);
        if (!made) return made.failure();
        return std::make_unique<guarded_policy>(std::move(made).value(), options.strikes);
    }
    if ((file->manifest.flags & RATION_F_OUT_OF_PROCESS_ONLY) != 0)
        return detail::file_error(errc::denied, path, "it may only run in a worker process: choose that");
    if (!options.worker.program.path.empty())
        if (auto const tried = detail::try_out(*file, options); !tried) return tried.failure();
    process_state const before;
    auto code = library::load(std::move(file).value());
    if (auto const alone = detail::left_alone(before); !alone) return alone.failure();
    if (!code) return code.failure();
    auto made = in_process_policy::create(std::move(code).value(), options.config, options.log);
    if (!made) return made.failure();
    return std::make_unique<guarded_policy>(std::move(made).value(), options.strikes);
}

}  // namespace ration::plugin
