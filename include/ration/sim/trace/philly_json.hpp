// SPDX-License-Identifier: BSL-1.0
/// Reads `cluster_job_log` of msr-fiddle/philly-traces (Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU
/// Clusters for DNN Training Workloads", USENIX ATC 2019).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <ration/sim/trace/builder.hpp>
#include <ration/sim/trace/json_scanner.hpp>

namespace ration::sim::trace {

namespace detail {

inline constexpr column philly_json_columns[] = {{"jobid", field::name},
                                                 {"vc", field::tenant},
                                                 {"submitted_time", field::submitted},
                                                 {"gpus", field::devices},
                                                 {"attempts", field::duration}};
inline constexpr layout philly_json_layout{.is = format::philly_json, .columns = philly_json_columns, .real = true};

/// The sums over the attempts of one job.
struct philly_job {
    std::string_view name, tenant, submitted;
    std::size_t devices = 0;  ///< of its largest attempt
    double seconds = 0;       ///< of all attempts with a begin and an end
};

/// Reads the log member by member.
class philly_json_reader {
    json_scanner json_;

public:
    /// `text` has to outlive the reader.
    explicit philly_json_reader(std::string_view text) noexcept : json_(text) {}
    /// The scanner, for its position and its error.
    [[nodiscard]] json_scanner& json() noexcept { return json_; }

    /// Reads one job.
    bool job(philly_job& into) {
        return each_member([&](std::string_view key) {
            if (key == "jobid") return json_.scalar(into.name);
            if (key == "vc") return json_.scalar(into.tenant);
            if (key == "submitted_time") return json_.scalar(into.submitted);
            return key == "attempts" ? each_element([&] { return attempt(into); }) : json_.skip();
        });
    }

    /// Calls `act` before each element of an array; `act` reads the element.
    template <class Act>
    bool each_element(Act const& act) {
        if (!json_.open('[', "an array in [ ] is expected here")) return false;
        for (bool first = true; json_.more(']', first);)
            if (!act()) return false;
        return json_.wrong() == nullptr;
    }

private:
    /// Calls `act(key)` for each member of an object; `act` reads the value.
    template <class Act>
    bool each_member(Act const& act) {
        if (!json_.open('{', "an object in { } is expected here")) return false;
        std::string_view key;
        for (bool first = true; json_.more('}', first);)
            if (!json_.key(key) || !act(key)) return false;
        return json_.wrong() == nullptr;
    }

    /// Reads one attempt: its time, and the devices of its nodes.
    bool attempt(philly_job& into) {
        std::string_view start, end;
        std::size_t devices = 0;
        if (!each_member([&](std::string_view key) {
                if (key == "start_time") return json_.scalar(start);
                if (key == "end_time") return json_.scalar(end);
                return key == "detail" && json_.sees('[') ? each_element([&] { return node(devices); }) : json_.skip();
            }))
            return false;
        double from = 0, to = 0;
        into.devices = std::max(into.devices, devices);
        if (to_timestamp(start, from) && to_timestamp(end, to) && to > from) into.seconds += to - from;
        return true;
    }

    /// Reads one node, and counts its devices.
    bool node(std::size_t& devices) {
        return each_member([&](std::string_view key) {
            if (key != "gpus" || !json_.sees('[')) return json_.skip();
            return each_element([&] {
                ++devices;
                return json_.skip();
            });
        });
    }
};

}  // namespace detail

/// Reads the log. A job has the devices of its largest attempt, and the time of all its attempts. Jobs without
/// devices or time are skipped. O(text).
[[nodiscard]] inline result<workload, diagnostic> read_philly_json(std::string_view text, model_library const& library,
                                                                   std::string name) {
    detail::philly_json_reader reader(text);
    builder jobs(detail::philly_json_layout, library);
    bool const read = reader.each_element([&] {
        detail::philly_job job;
        std::uint64_t const line = reader.json().line();
        if (!reader.job(job)) return false;
        std::string const devices = std::to_string(job.devices),
                          seconds = std::to_string(static_cast<std::int64_t>(job.seconds));
        row r;
        r.line = line;
        r[field::name] = job.name;
        r[field::tenant] = job.tenant;
        r[field::submitted] = job.submitted;
        r[field::devices] = devices;
        r[field::duration] = seconds;
        return jobs.add(r);
    });
    if (reader.json().wrong() != nullptr)
        return diagnostic{.line = reader.json().line(), .text = reader.json().wrong()};
    if (!read) return jobs.failure();
    return jobs.finish(std::move(name));
}

}  // namespace ration::sim::trace
