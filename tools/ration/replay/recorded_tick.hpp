// SPDX-License-Identifier: BSL-1.0
/// A `decision` line of an event log as what a policy was shown, and what it answered.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include <ration/grant.hpp>
#include <ration/host/snapshot_store.hpp>
#include <ration/policy.hpp>
#include <ration/sim/diagnostic.hpp>

namespace ration::program {

/// Filled from one line after another; columns that this ration does not have are left out.
class recorded_tick {
    snapshot_store store_;
    tick_data data_;
    std::vector<grant> grants_;
    std::span<column_description const> also_;
    bool widths_known_ = false;

public:
    /// `also`: columns of the host beside the standard ones; they outlive this.
    explicit recorded_tick(std::span<column_description const> also = {}) noexcept : also_(also) {}

    /// Forgets everything for a new run. Its first line names the columns of more than one value a row, which a tick
    /// without rows does not. The diagnostic names neither file nor line.
    [[nodiscard]] result<void, diagnostic> begin(nlohmann::json const& run);
    /// Takes the line of one tick, or of one round of the cache for files.
    [[nodiscard]] result<void, diagnostic> load(nlohmann::json const& line);

    /// Whether the store has all columns of the run by now. A log of version 1 does not list them all before there are
    /// jobs.
    [[nodiscard]] bool has_all_columns() const noexcept { return widths_known_ || store_.rows(table_id::jobs) > 0; }
    [[nodiscard]] snapshot_store const& store() const noexcept { return store_; }
    [[nodiscard]] tick_data const& data() const noexcept { return data_; }
    /// As they were recorded.
    [[nodiscard]] std::vector<grant> const& grants() const noexcept { return grants_; }
    /// The earlier holdings of jobs, as grants of it.
    [[nodiscard]] std::vector<grant> held() const;
    /// 0 for a row that there is none of.
    [[nodiscard]] std::uint64_t job_id(std::size_t row) const noexcept;

private:
    [[nodiscard]] column_description const* description_of(std::string_view name) const noexcept;
    [[nodiscard]] result<void, diagnostic> load_column(std::string const& name, nlohmann::json const& values);
};

}  // namespace ration::program
