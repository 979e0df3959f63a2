// SPDX-License-Identifier: BSL-1.0
#include "cli/logs_command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <ration/process/account.hpp>
#include <ration/process/input_file.hpp>

#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "common/suggestion.hpp"
#include "run/kept_run.hpp"
#include "run/live_state.hpp"
#include "run/run_directory.hpp"
#include "run/run_folder.hpp"
#include "serve/client.hpp"
#include "serve/output_rotation.hpp"

namespace ration::program {
namespace {

constexpr auto notes_of_logs = R"(Examples:
  ration logs vae
  ration logs vae -f                            until the job has ended
  ration logs vae --run 20261124-124813-tradl   of a run that 'ration runs' lists
  ration logs vae-17 -f                         of a job of the service

The output is printed as the job wrote it. Exit codes: 0 it is printed; 2 wrong command line, run or job;
3 ration was killed while -f followed the job.)";

constexpr unsigned int follow_interval = 200'000;  // microseconds

/// Whether more output of a job can come.
enum class prospect : std::uint8_t { more, over, killed };

[[nodiscard]] prospect prospect_of(std::string const& run, std::string_view job) {
    auto const present = present_run_named(run);
    if (!present) return prospect::over;
    view_model state;
    bool const known = read_state(present->state, state).empty();
    auto const of_job = std::ranges::find(state.jobs, job, &job_view::name);
    if (known && of_job != state.jobs.end() && is_over(of_job->now)) return prospect::over;
    return present->alive ? prospect::more : prospect::killed;
}

/// Copies a growing file to standard output.
class log_copy {
    std::string path_;
    std::optional<process::account> rights_;
    process::descriptor file_;
    bool reader_is_gone_ = false;

public:
    /// `rights`: to open the file with; none: those of this process.
    explicit log_copy(std::string path, std::optional<process::account> rights = std::nullopt)
        : path_(std::move(path)), rights_(std::move(rights)) {}

    [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(file_); }
    [[nodiscard]] bool reader_is_gone() const noexcept { return reader_is_gone_; }

    /// Prints what was added to the file since the last call, or since it was emptied. Success also while the file does
    /// not exist. Errors: those of `open_input` and of read(2).
    [[nodiscard]] result<void> print_rest() {
        if (!file_) {
            process::file_rights const rights(rights_ ? &*rights_ : nullptr);
            auto opened = process::open_input(path_, {.remedy = "name another job or run"});
            if (!opened && opened.failure().system == ENOENT) return {};
            if (!opened) return opened.failure();
            file_ = std::move(opened).value();
        }
        struct stat about{};
        if (::fstat(file_.get(), &about) == 0 && about.st_size < ::lseek(file_.get(), 0, SEEK_CUR))
            ::lseek(file_.get(), 0, SEEK_SET);
        char buffer[1 << 16];
        while (!reader_is_gone_) {
            auto const got = process::read_next(file_, buffer, sizeof buffer);
            if (!got) return got.failure();
            if (*got == 0) return {};
            reader_is_gone_ = !print({buffer, *got});
        }
        return {};
    }

private:
    [[nodiscard]] static bool print(std::string_view text) {
        while (!text.empty()) {
            auto const wrote = ::write(STDOUT_FILENO, text.data(), text.size());
            if (wrote < 0 && errno != EINTR) return false;
            if (wrote > 0) text.remove_prefix(static_cast<std::size_t>(wrote));
        }
        return true;
    }
};

[[nodiscard]] exit_code cannot_read(std::string const& path, error const& why) {
    return fail(exit_code::bad_input, fmt::format("{}: {}", path, process::input_sentence(why)));
}

/// Prints until the job is over; its last output is in the file before its state changes.
[[nodiscard]] exit_code follow(log_copy& log, std::string const& path, kept_run const& run, std::string const& job) {
    for (;; ::usleep(follow_interval)) {
        auto const now = run.has_ended() ? prospect::over : prospect_of(run.run, job);
        if (auto const printed = log.print_rest(); !printed) return cannot_read(path, printed.failure());
        if (now == prospect::over || log.reader_is_gone()) return exit_code::ok;
        if (now == prospect::killed)
            return fail(
                exit_code::no_backend,
                fmt::format(
                    "the ration of this run was killed, and {} may still run; ration run --reattach {} continues it",
                    job, run.file));
    }
}

/// Of a job of the service. It can be down meanwhile.
[[nodiscard]] exit_code print_output(logs_options const& options, job_output output) {
    for (auto const& path : {earlier_output(output.log), output.log}) {
        log_copy log(path, output.rights);
        for (;; ::usleep(follow_interval)) {
            bool const over = !options.follow || output.is_final || path != output.log;
            if (auto const printed = log.print_rest(); !printed) return cannot_read(path, printed.failure());
            if (over || log.reader_is_gone()) break;
            auto const now = output_of_job(options.state, options.job);
            if (!now) return fail(exit_code::no_backend, to_text(now.failure()));
            if (auto const& known = *now) output = *known;
        }
        bool const is_missing = path == output.log && !log.is_open() && !options.follow;
        if (is_missing)
            return fail(exit_code::bad_input,
                        fmt::format("{} has no output yet; wait for its start with --follow", options.job));
    }
    return exit_code::ok;
}

/// None: neither was it asked for, nor does it have the job.
[[nodiscard]] std::optional<exit_code> print_of_service(logs_options const& options) {
    auto const output = output_of_job(options.state, options.job);
    if (output)
        if (auto const& known = *output) return print_output(options, *known);
    if (options.state.empty()) return std::nullopt;
    if (!output) return fail(exit_code::no_backend, to_text(output.failure()));
    return fail(exit_code::bad_input,
                fmt::format("job {} is unknown; list the jobs with ration status", program::quoted(options.job)));
}

/// Of a run or a service elsewhere that `ration list` shows. None: no record has the job, or several have.
[[nodiscard]] std::optional<exit_code> print_of_present(logs_options const& options) {
    auto const found = present_runs();
    auto const has_job = [&](present_run const& run) {
        return std::ranges::find(run.record.jobs, options.job, &recorded_job::name) != run.record.jobs.end();
    };
    if (std::ranges::count_if(found, has_job) != 1) return std::nullopt;
    auto const& record = std::ranges::find_if(found, has_job)->record;
    auto elsewhere = options;
    if (auto state = state_folder_of(record.file))
        elsewhere.state = std::move(*state);
    else
        elsewhere.run = record.output;
    return print_log(elsewhere);
}

/// Without a word on the command line that names a run or a service.
[[nodiscard]] std::optional<exit_code> print_of_any(logs_options const& options, bool is_here) {
    if (auto const printed = print_of_service(options)) return printed;
    if (auto const printed = print_of_present(options)) return printed;
    if (is_here) return std::nullopt;
    return fail(exit_code::bad_input,
                fmt::format("job {} is unknown: neither a run here nor a service has it; list the jobs with ration "
                            "list, and those of a service with ration status",
                            program::quoted(options.job)));
}

[[nodiscard]] bool has_job(result<kept_run, diagnostic> const& run, std::string const& job) {
    return run && std::ranges::find(run->jobs, job, &kept_job::name) != run->jobs.end();
}

}  // namespace

void add_options(CLI::App& to, logs_options& into, option_context& context) {
    to.footer(notes_of_logs);
    to.add_option("JOB", into.job, "The name of the job")->required()->type_name("");
    to.add_flag("-f,--follow", into.follow, "Print further output until the job has ended");
    auto* const run = to.add_option("--run", into.run,
                                    "A run of 'ration runs', or the path of its folder; without it the newest one");
    run->type_name("RUN");
    context.offers[run].words = {"latest"};
    auto* const state =
        to.add_option("--state", into.state,
                      "The folder of a service; without it that of ~/.local/state/ration is searched if "
                      "the newest run does not have the job");
    state->type_name("DIR")->excludes(run);
}

exit_code print_log(logs_options const& options) {
    auto const folder = run_folder_named(options.run.empty() ? std::string(latest_run) : options.run);
    auto const run = load_kept_run(folder);
    if (!options.state.empty())
        if (auto const printed = print_of_service(options)) return *printed;
    if (options.run.empty() && !has_job(run, options.job))
        if (auto const printed = print_of_any(options, std::filesystem::exists(folder))) return *printed;
    if (!run) return fail(exit_code::bad_input, run.failure().text);
    std::vector<std::string_view> names;
    for (auto const& job : run->jobs) names.emplace_back(job.name);
    if (std::ranges::find(names, options.job) == names.end())
        return fail(exit_code::bad_input, fmt::format("{}: unknown job {}{}", folder, program::quoted(options.job),
                                                      suggestion(options.job, names)));
    auto const path = fmt::format("{}/{}.log", folder, options.job);
    log_copy log(path);
    if (options.follow) return follow(log, path, *run, options.job);
    if (auto const printed = log.print_rest(); !printed) return cannot_read(path, printed.failure());
    if (log.is_open()) return exit_code::ok;
    return fail(exit_code::bad_input,
                fmt::format("{}: {} has no output yet; wait for its start with --follow", folder, options.job));
}

}  // namespace ration::program
