// SPDX-License-Identifier: BSL-1.0
/// Reads the stages of all jobs in the order in which they were committed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ration/result.hpp>

#include "serve/database.hpp"
#include "serve/job_list.hpp"

namespace ration::program {

/// A stage that a job has entered.
struct logged_stage {
    std::int64_t id = 0;  ///< ascends, also over restarts of the service
    std::int64_t job = 0;
    std::string name;  ///< of the job
    past_stage what;
    process_end end;  ///< of a final stage
};

/// A separate connection, which sees committed changes alone. For one thread. Errors of every call: those of
/// `database`.
class stage_log {
    database file_;
    std::int64_t version_ = 0;  // of the file, as it was seen last

    explicit stage_log(database file) noexcept : file_(std::move(file)) {}

public:
    [[nodiscard]] static result<stage_log> open(std::string const& path);

    /// Whether something was committed since the last call. Reads no page of the file.
    [[nodiscard]] result<bool> take_changed();
    /// The id of the last stage; 0 without one.
    [[nodiscard]] result<std::int64_t> newest();
    /// The next stages after `after` of the jobs of `uid`, at most `most`. Root sees the jobs of all users.
    [[nodiscard]] result<std::vector<logged_stage>> read(std::int64_t after, std::int64_t uid, std::int64_t most);
};

}  // namespace ration::program
