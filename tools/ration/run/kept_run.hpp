// SPDX-License-Identifier: BSL-1.0
/// The summary that a run keeps in its folder, `summary.json`, for `ration runs` and `ration logs`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ration/result.hpp>
#include <ration/sim/diagnostic.hpp>

#include "config/config.hpp"
#include "events/events.hpp"

namespace ration::program {

struct kept_job {
    std::string name;
    std::optional<condition> how{};  ///< none: the run has not ended
    std::string why{};
};

struct kept_run {
    std::string run;                            ///< its name among the records of runs
    std::int64_t started_ms = 0, ended_ms = 0;  ///< since 1970; `ended_ms` is 0 until the run has ended
    std::string file, policy;
    std::string log;  ///< the path of `--log`; empty: its events are in its folder
    bool interrupted = false;
    std::vector<kept_job> jobs;

    [[nodiscard]] bool has_ended() const noexcept { return ended_ms != 0; }
};

/// At its start; `now_ms` since 1970.
[[nodiscard]] kept_run start_of_run(std::string run, run_config const& config, std::string_view policy,
                                    std::int64_t now_ms);
/// At its end.
void add_end(run_summary const& summary, std::int64_t now_ms, kept_run& to);

/// One JSON object. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string to_json(kept_run const& run);
/// The reason why a text is not the summary of a run, as a sentence; empty if `into` has its content. The names in it
/// are sound as names of files.
[[nodiscard]] std::string read_kept_run(std::string_view text, kept_run& into);

[[nodiscard]] inline std::string summary_in(std::string const& folder) { return folder + "/summary.json"; }
/// The summary in the folder of a run. Errors: it does not exist, or cannot be read.
[[nodiscard]] result<kept_run, diagnostic> load_kept_run(std::string const& folder);

/// The folders of runs below `ration-output` in this folder, by name, the oldest first.
[[nodiscard]] std::vector<std::string> run_folders_in(std::string const& folder);

}  // namespace ration::program
