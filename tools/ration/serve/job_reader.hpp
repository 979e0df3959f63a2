// SPDX-License-Identifier: BSL-1.0
/// The jobs of a service as its clients see them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "serve/definition.hpp"
#include "serve/job_list.hpp"
#include "serve/wait_reason.hpp"

namespace ration::program {

/// A job with its history.
struct seen_job {
    stored_job job;
    std::vector<past_stage> history;
};

/// Reads the list on the disk, so that it works while the service is down. Only root can read that of root; other users
/// ask the service, which shows them their jobs.
class job_reader {
    service_folder folder_;
    std::optional<job_list> list_;  // none: asks the service

    explicit job_reader(service_folder folder) : folder_(std::move(folder)) {}

public:
    /// Errors: those of `job_list::open`.
    [[nodiscard]] static result<job_reader> open(service_folder const& folder);

    /// The job of a number or a label; none: there is none, or it is another user's. Errors: those of the list; the
    /// service does not answer.
    [[nodiscard]] result<std::optional<seen_job>> find(std::string const& word);
    /// Those that this user sees, without histories. Errors: as of `find`.
    [[nodiscard]] result<std::vector<stored_job>> all();

    /// Sentences on the jobs that cannot be read. Errors: as of `find`.
    [[nodiscard]] result<std::vector<std::string>> problems();

    /// Why a job waits, by the service; an empty sentence: it does not wait. A service that does not answer is a
    /// reason.
    [[nodiscard]] job_wait wait_of(stored_job const& job) const;

private:
    [[nodiscard]] result<std::optional<seen_job>> ask_for(std::int64_t id) const;
    [[nodiscard]] result<job_page> ask_for_page(std::int64_t after) const;
};

}  // namespace ration::program
