// SPDX-License-Identifier: BSL-1.0
/// The values in the rows of a file with metrics: their numbers and steps, and the ones that could not be read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <ration/progress/log_adapter.hpp>
#include <ration/progress/update.hpp>

namespace ration::program {

class row_values {
    job_id job_;
    incarnation_id run_;
    std::uint64_t step_ = 0;
    std::uint64_t reported_ = 0;
    bool has_step_ = false;
    bool went_back_ = false;
    std::map<std::string, progress::group_counts, std::less<>> counts_;  // by metric
    progress::named_text unreadable_;

public:
    using handler = std::function<void(progress::update const&)>;

    row_values(job_id job, incarnation_id run) : job_(job), run_(run) {}

    /// Begins the row of this number with the text of its step. Without one it belongs to the last step; in a file
    /// without steps each row has one. Returns a cause if the text is not a step: the values of the row are lost.
    [[nodiscard]] std::string take_step(std::string_view text, std::uint64_t row);
    void set_step(std::uint64_t step) noexcept;
    /// Passes the update of a value to `handle`. Returns a cause if the text is not a number; blanks are no value.
    [[nodiscard]] std::string take_text(std::string const& metric, std::string_view text, handler const& handle);
    void take(std::string const& metric, double value, handler const& handle);
    /// A value whose row has no step.
    void lose(std::string const& metric) { ++counts_[metric].unreadable; }

    /// Updates that were passed on.
    [[nodiscard]] std::uint64_t reported() const noexcept { return reported_; }
    /// How often the values of a metric were numbers. O(log metrics).
    [[nodiscard]] progress::group_counts counts_of(std::string_view metric) const noexcept {
        auto const found = counts_.find(metric);
        return found == counts_.end() ? progress::group_counts{} : found->second;
    }
    /// The last text that is not a number, and its metric or `step`; empty before the first.
    [[nodiscard]] progress::named_text const& unreadable() const noexcept { return unreadable_; }
};

}  // namespace ration::program
