// SPDX-License-Identifier: BSL-1.0
/// The files of a run beside the output of its jobs: a copy of the jobs file, the event log and the summary.
#pragma once

#include <string>

#include "run/kept_run.hpp"
#include "run/reporter.hpp"
#include "run/run_order.hpp"

namespace ration::program {

struct run_output_request {
    run_config const& config;
    planned_run const& planned;
    std::string const& run;             ///< its name among the records
    std::string const& log;             ///< of `--log`; empty: events go into the folder
    std::string const& folder;          ///< as of `open_output_folder`
    std::string const& private_folder;  ///< used if that is empty; removed at the end of the run
    bool is_new;                        ///< it does not continue an earlier run
};

/// The folder for the output of a run: that of the earlier run which it continues, or a new one. Empty: none can be
/// made, of which it prints a warning.
[[nodiscard]] std::string open_output_folder(planned_run const& planned, std::string const* reattached);

/// The folder of a run, from its start to its end. A file that cannot be written costs a warning on standard error.
class run_output {
    std::string folder_;
    kept_run summary_;
    bool is_new_;

public:
    run_output(run_output_request const& request, reporter& out);
    run_output(run_output const&) = delete;
    run_output& operator=(run_output const&) = delete;
    /// A new run that was not ended has not started a job.
    ~run_output();

    [[nodiscard]] std::string const& folder() const noexcept { return folder_; }
    void end(run_summary const& summary);

private:
    void save() const;
};

}  // namespace ration::program
