// SPDX-License-Identifier: BSL-1.0
/// What `ration sim` is asked to simulate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ration/units.hpp>

namespace ration::program {

struct simulation_options {
    std::vector<std::string> traces;  ///< files
    std::string format;               ///< of all of them; empty: what their first lines say
    double time_unit = 0;             ///< seconds of a unit of their times; 0: that of their format
    /// Of what traces name: folders with measured profiles, files with measured rates or fitted losses
    std::vector<std::string> models;
    /// A workload made up instead of traces, as `parse_generator` takes it; empty: none
    std::string generate;
    double interference = 0;               ///< `sim::profile::interference`
    std::string cluster;                   ///< as `parse_cluster` takes it
    std::string tenants;                   ///< a file with [[tenant]]; empty: none
    std::vector<std::string> faults;       ///< as `add_fault_kind` takes them
    std::vector<std::string> prices;       ///< as `parse_price` takes them
    std::vector<std::string> noise;        ///< as `add_noise` takes them
    std::vector<std::string> estimates;    ///< as `check_estimate` takes them
    nanoseconds checkpoint{0};             ///< jobs save their state every so often; 0 = at all times
    nanoseconds save{0};                   ///< each of these saves
    std::optional<bytes> cache;            ///< for the data sets that jobs read; empty: they read at any speed
    bytes storage{100'000'000};            ///< a second that each job reads of a data set that is not cached
    std::vector<std::string> policies;     ///< names or paths of a .so
    std::vector<std::string> settings;     ///< as `add_setting` takes them
    nanoseconds interval = seconds(60);    ///< a tick at every multiple of it, besides those at events
    std::uint32_t seeds = 1, threads = 0;  ///< of what is made up: jobs, faults; 0 threads: one for each core
    std::optional<nanoseconds> until;      ///< of the simulated time
    bool stop_at_bad_grant = false;
    std::string report;  ///< path of the HTML report; empty: none
    bool json = false, quiet = false;
};

}  // namespace ration::program
