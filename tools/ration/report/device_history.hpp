// SPDX-License-Identifier: BSL-1.0
/// Which job had which device when, from the events of a log about the devices of jobs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ration::program {

/// A device in the hands of one job. Times are nanoseconds of the run.
struct device_segment {
    std::size_t device = 0, job = 0;  ///< places
    std::int64_t from = 0, to = -1;   ///< -1: still
};

/// Bounded: of a log that names more devices, or moves them more often, it keeps the first.
class device_history {
    static constexpr std::size_t most_devices = 1024, most_segments = 20'000;

    std::vector<std::string> names_;
    std::unordered_map<std::string, std::size_t> places_;
    std::vector<device_segment> segments_;
    std::unordered_map<std::size_t, std::vector<std::size_t>> open_;  // by job: stretches without an end
    std::int64_t left_out_ = 0;

public:
    /// A device that no job can have.
    void know(std::string_view name) { (void)place_of(name); }
    /// From now on the job has these and no others: their names with commas between.
    void has(std::size_t job, std::string_view names, std::int64_t t);
    /// Ends all open stretches at `t`.
    void finish(std::int64_t t);

    [[nodiscard]] std::vector<std::string> const& names() const noexcept { return names_; }
    /// In the order in which they began.
    [[nodiscard]] std::vector<device_segment> const& segments() const noexcept { return segments_; }
    /// How many there was no room for.
    [[nodiscard]] std::int64_t left_out() const noexcept { return left_out_; }

private:
    /// `most_devices` for one more than there may be.
    [[nodiscard]] std::size_t place_of(std::string_view name);
};

}  // namespace ration::program
