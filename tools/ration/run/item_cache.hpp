// SPDX-License-Identifier: BSL-1.0
/// The files that the jobs of a run read, and the policy that chooses which of them stay in memory. Beside the
/// scheduler: files and jobs share no resource (docs/adr/0043-ration-run-asks-a-second-policy-for-files.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ration/host/engine.hpp>
#include <ration/policies/none.hpp>

#include "run/cached_files.hpp"
#include "run/event_sink.hpp"
#include "run/job_table.hpp"
#include "run/per_job.hpp"
#include "run/published_tables.hpp"

namespace ration::program {

/// Each row of its jobs table is a file, however many jobs read it. A running job reads each of its files once in the
/// same time; `jobs/benefit` has the bytes of each tenant.
class item_cache {
public:
    struct settings {
        bytes size;         ///< of all files that are in memory at once
        nanoseconds round;  ///< for which a choice stays
        std::size_t slots;  ///< of the table of the jobs
        bool open = false;  ///< further jobs can come
        std::vector<tenant_config> tenants{};
    };

    /// For the run of a jobs file; null if the file has no `cache`. Pre: its parameters are valid.
    [[nodiscard]] static std::unique_ptr<item_cache> of(run_config const& config, job_table const& jobs,
                                                        std::size_t slots, bool open, event_sink& events);
    /// `policy` reads the columns of `policies::shared_cache`, or fewer.
    item_cache(settings with, std::unique_ptr<any_policy> policy, job_table const& jobs, event_sink& events);
    item_cache(item_cache const&) = delete;
    item_cache& operator=(item_cache const&) = delete;

    /// Once in each turn of the loop: reports what has been read, and asks the policy when a round is over.
    void advance(nanoseconds now);
    /// What the policy would choose if all jobs ran. Changes nothing.
    [[nodiscard]] tick_report plan();
    [[nodiscard]] cached_files const& files() const noexcept { return files_; }
    [[nodiscard]] std::string_view reason(checked_grant const& grant) const noexcept {
        return shown_.about().reason(grant.reason());
    }

private:
    struct reader {
        bool opened = false;
        std::vector<job_id> items;
    };
    settings with_;
    job_table const& jobs_;
    event_sink& events_;
    nanoseconds next_{};
    bool had_readers_ = false;
    per_job<reader> readers_;
    struct tenant {
        std::uint64_t id = 0;  // never used again
        std::string name{};
    };
    std::vector<tenant> tenants_;  // by row
    std::uint64_t last_tenant_ = 0;

    std::unique_ptr<any_policy> policy_;
    published_tables shown_;
    policy_adapter<policies::none> fallback_;
    cached_files files_;
    snapshot_store store_;
    standard_columns columns_;
    column<double> benefit_;
    std::size_t most_items_ = 0, most_tenants_ = 0;
    std::unique_ptr<engine<cached_files>> engine_;

    void declare_columns();
    void report_outcomes(nanoseconds now);
    [[nodiscard]] bool open_files(nanoseconds now, bool all);
    void open_files_of(live_job const& job, nanoseconds now);
    [[nodiscard]] std::size_t tenant_of(std::string const& name);
    void forget_unread();
    void forget_tenants();
    void fill(bool all);
    void fill_tenants_table();
    void decide(nanoseconds now);
    void emit(tick_report const& report, nanoseconds took);
};

}  // namespace ration::program
