// SPDX-License-Identifier: BSL-1.0
/// Policies from files: `open` takes a .so through every check and returns a policy that an engine
/// uses like a compiled one.
///
/// Example:
/// ~~~{.cpp}
/// auto policy = ration::plugin::open("/opt/policies/give_one.so",
///                                    {.worker = {.program = {"/usr/bin/ration", {"worker"}}}});
/// if (!policy) return policy.failure();
/// ration::engine engine(backend, **policy, fallback, store, columns,
///                       ration::standard_resources, {});
/// ~~~
///
/// For hosts: the program, `ration check`, other schedulers. The checks are, in order: owner and
/// permissions of the file (trusted_file.hpp), the ELF facts (elf_file.hpp), the manifest
/// (manifest.hpp), and a trial in a worker.
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

/// Where a plugin runs. A worker costs some microseconds for each tick, and isolates the host from
/// crashes and hangs.
enum class isolation : unsigned char { in_process, worker };

/// The way in which `open` runs a plugin.
struct open_options {
    /// The process.
    isolation where = isolation::worker;
    std::string_view config{};  ///< one flat JSON object, or empty
    /// `worker.program` is required for `isolation::worker`. A plugin for this process is first
    /// tried in a worker if a program is given.
    worker_options worker{};
    /// When it is quarantined.
    strike_rules strikes{};
    log_sink log{};  ///< receives the plugin's log, at most 1000 lines a second
};

namespace detail {

/// Runs the constructors and `create` of a plugin once in a worker. A crash or a hang there refuses
/// the plugin before this process loads it.
[[nodiscard]] inline result<void> try_out(plugin_file const& file, open_options const& options) {
    auto same = sealed_copy::reattach(descriptor(::fcntl(file.copy.fd(), F_DUPFD_CLOEXEC, 0)));
    if (!same) return same.failure();
    auto again = plugin_file::check(std::move(same).value(), file.path);
    if (!again) return again.failure();
    std::vector<std::pair<std::uint32_t, std::string>> reply;
    // The log of the trial is passed on only after a failure; otherwise the plugin logs the same
    // again.
    log_sink const keep{[](void* to, std::uint32_t level, std::string_view text) {
                            static_cast<decltype(reply)*>(to)->emplace_back(level, text);
                        },
                        &reply};
    auto with = options.worker;
    with.threads = true;  // as in this process, where it is going to run
    auto const tried = worker_policy::create(std::move(again).value(), options.config, std::move(with), keep);
    if (tried) return {};  // it will log the same again
    for (auto const& [level, text] : reply)
        if (options.log.write != nullptr) options.log.write(options.log.context, level, text);
    return tried.failure();
}

/// Error: no_capacity, if the parameters are too long.
[[nodiscard]] inline result<void> check_config(open_options const& options, std::string_view path) noexcept {
    if (options.config.size() <= largest_config) return {};
    return file_error(errc::no_capacity, path, "its parameters take more than 1 MiB: shorten them");
}

/// Opens a file whose manifest has its kind.
[[nodiscard]] inline result<plugin_file> open_file(std::string const& path, open_options const& options) {
    if (auto const fits = check_config(options, path); !fits) return fits.failure();
    return plugin_file::open(path);
}

/// Starts a plugin: a policy, or an estimator that answers in the space of grants.
[[nodiscard]] inline result<std::unique_ptr<guarded_policy>> start(plugin_file file, open_options const& options) {
    std::string const path = file.path;
    if (options.where == isolation::worker) {
        auto made = worker_policy::create(std::move(file), options.config, options.worker, options.log);
        if (!made) return made.failure();
        return std::make_unique<guarded_policy>(std::move(made).value(), options.strikes);
    }
    if ((file.manifest.flags & RATION_F_OUT_OF_PROCESS_ONLY) != 0)
        return detail::file_error(errc::denied, path, "it may only run in a worker process: choose that");
    if (!options.worker.program.path.empty())
        if (auto const tried = detail::try_out(file, options); !tried) return tried.failure();
    // Static constructors run in `load`, so the process is compared before and after.
    process_state const before;
    auto code = library::load(std::move(file));
    if (auto const alone = detail::left_alone(before); !alone) return alone.failure();
    if (!code) return code.failure();
    auto made = in_process_policy::create(std::move(code).value(), options.config, options.log);
    if (!made) return made.failure();
    return std::make_unique<guarded_policy>(std::move(made).value(), options.strikes);
}

}  // namespace detail

/// Opens the policy at this absolute path. Errors: those of `plugin_file::open`, `library::load`,
/// `in_process_policy::create` and `worker_policy::create`; no_capacity for more than 1 MiB of
/// parameters; denied for a plugin that may not share a process; invalid_value for an estimator.
[[nodiscard]] inline result<std::unique_ptr<guarded_policy>> open(std::string const& path,
                                                                  open_options const& options) {
    auto file = detail::open_file(path, options);
    if (!file) return file.failure();
    if (is_estimator_file(file->manifest))
        return detail::file_error(errc::invalid_value, path, "it is an estimator: name a policy");
    return detail::start(std::move(file).value(), options);
}

/// Starts a policy of the host's own program in a worker, so that the host survives its crashes and hangs.
/// `options.worker.program` has to call `worker_main(make)` with a maker of this policy; `m` is `manifest_of` its
/// class. Errors: those of `worker_policy::create`; no_capacity for more than 1 MiB of parameters.
[[nodiscard]] inline result<std::unique_ptr<guarded_policy>> open_compiled_in(ration_manifest const& m,
                                                                              open_options const& options) {
    auto file = plugin_file::compiled_in(m);
    if (auto const fits = detail::check_config(options, file.path); !fits) return fits.failure();
    auto made = worker_policy::create(std::move(file), options.config, options.worker, options.log);
    if (!made) return made.failure();
    return std::make_unique<guarded_policy>(std::move(made).value(), options.strikes);
}

}  // namespace ration::plugin
