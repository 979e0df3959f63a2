// SPDX-License-Identifier: BSL-1.0
/// Synthetic workloads from a seed; the same seed gives the same bits everywhere.
///
/// `ration sim --generate` calls these functions. Traces of real clusters are read by
/// trace/read.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/sim/arrivals.hpp>
#include <ration/sim/job_source.hpp>
#include <ration/sim/model_library.hpp>
#include <ration/sim/parametric_model.hpp>
#include <ration/sim/rng.hpp>
#include <ration/sim/serving_model.hpp>
#include <ration/sim/workload.hpp>

namespace ration::sim {

/// Options that all generators have.
struct generator_options {
    /// Selects one of the possible workloads.
    std::uint64_t seed = 1;
    /// Number of jobs.
    std::size_t jobs = 1000;
    /// Mean rate of submissions.
    double jobs_per_hour = 20;
    /// Their pattern.
    arrival_pattern arrivals = arrival_pattern::poisson;
};

namespace detail {

/// Chooses an index with a probability proportional to its weight; u is uniform from 0 to 1.
template <class Row>
[[nodiscard]] std::size_t weighted(std::span<Row const> rows, double u) noexcept {
    double sum = 0, up_to = 0;
    for (auto const& r : rows) sum += r.weight;
    double const at = u * sum;
    std::size_t i = 0;
    while (i + 1 < rows.size() && at >= (up_to += rows[i].weight)) ++i;
    return i;
}

/// The share of jobs that run for at most `seconds`.
struct quantile {
    double share, seconds;
};
/// The time at share u. Between two quantiles the logarithm of the time is linear.
[[nodiscard]] inline double time_at(std::span<quantile const> of, double u) noexcept {
    std::size_t above = 1;
    while (above + 1 < of.size() && of[above].share < u) ++above;
    auto const& a = of[above - 1];
    auto const& b = of[above];
    return a.seconds * exact::pow(b.seconds / a.seconds, (u - a.share) / (b.share - a.share));
}

// Statistics of 82 247 jobs of Microsoft's Philly cluster in 2017 (M. Jeon et al., USENIX ATC
// 2019), rounded to two digits. 93 % request one device, the median job runs 1144 s, the longest 54
// days, and one of 15 tenants submitted half of the jobs.
inline constexpr quantile one_device[] = {{0, 10},         {.01, 30},     {.1, 62},      {.2, 76},       {.25, 120},
                                          {.3, 220},       {.4, 600},     {.5, 1100},    {.6, 1700},     {.75, 2700},
                                          {.8, 3800},      {.9, 8500},    {.95, 19'000}, {.975, 56'000}, {.99, 140'000},
                                          {.999, 870'000}, {1, 3'300'000}};
inline constexpr quantile two_devices[] = {{0, 5},    {.1, 11},     {.3, 17},       {.5, 21},       {.7, 33},
                                           {.8, 150}, {.9, 74'000}, {.95, 200'000}, {.99, 530'000}, {1, 2'600'000}};
inline constexpr quantile more_devices[] = {
    {0, 20},      {.05, 80},    {.1, 160},     {.2, 540},     {.3, 2300},     {.4, 9500},       {.5, 21'000},
    {.6, 49'000}, {.7, 92'000}, {.8, 160'000}, {.9, 240'000}, {.95, 430'000}, {.99, 1'000'000}, {1, 4'600'000}};
/// A number of devices, its weight, and the distribution of run times.
struct size_row {
    std::int64_t devices;
    double weight;
    std::span<quantile const> times;
};
inline constexpr size_row sizes[] = {{1, 93.17, one_device}, {2, 2.21, two_devices},  {4, 2.27, more_devices},
                                     {8, 2.0, more_devices}, {16, .25, more_devices}, {32, .08, more_devices},
                                     {64, .02, more_devices}};
/// A tenant, by its share of the jobs.
struct tenant_row {
    double weight;
};
inline constexpr tenant_row tenant_rows[] = {{50.1}, {19.6}, {12.1}, {9.0}, {2.35}, {1.84}, {1.74}, {1.38},
                                             {.88},  {.51},  {.45},  {.02}, {.01},  {.01},  {.01}};

/// A workload with submission times only.
[[nodiscard]] inline workload empty_workload(std::string name, generator_options const& o) {
    workload made;
    made.name = std::move(name);
    made.jobs.resize(o.jobs);
    auto const times = arrivals(o.arrivals, o.jobs_per_hour, o.jobs, o.seed);
    for (std::size_t j = 0; j < o.jobs; ++j) made.jobs[j].submitted = times[j];
    return made;
}

}  // namespace detail

/// Restrictions on the generated jobs; jobs outside are generated again.
struct rigid_options {
    /// Most devices of a job.
    std::int64_t most_devices = 32;
    double shortest = 60, longest = 172'800;  ///< run time in seconds
};

namespace detail {

/// The job with this index, without its submission.
[[nodiscard]] inline job_description rigid_job(std::uint64_t seed, std::uint64_t index,
                                               rigid_options const& only) noexcept {
    // Streams from 1000 on: the lower ones belong to the arrivals.
    rng const of(seed, 1000 + index);
    job_description job;
    job.tenant = static_cast<std::uint32_t>(weighted(std::span<tenant_row const>(tenant_rows), of.uniform(0)));
    std::uint64_t attempt = 0;  // a job outside the restrictions is generated again
    do {
        auto const& size = sizes[weighted(std::span<size_row const>(sizes), of.uniform(++attempt))];
        job.request = job.least = job.most = size.devices;
        job.length = std::floor(time_at(size.times, of.uniform(++attempt)));
    } while ((job.request > only.most_devices || job.length < only.shortest || job.length > only.longest) &&
             attempt < 10'000);
    // After 10 000 draws the job is cut to the restrictions, so that every option gives a workload.
    job.request = job.least = job.most = std::min(job.most, only.most_devices);
    job.length = std::clamp(job.length, only.shortest, only.longest);
    return job;
}

/// A workload of rigid jobs without jobs.
[[nodiscard]] inline workload rigid_kinds() {
    workload made;
    made.name = "rigid";
    made.models.push_back(std::make_shared<rigid_model>());
    made.model_names.emplace_back("rigid");
    for (std::size_t t = 0; t < std::size(tenant_rows); ++t) made.tenants.push_back("tenant-" + std::to_string(t + 1));
    return made;
}

}  // namespace detail

/// The jobs of `make_rigid`, one after another. Precondition: that of `make_rigid`.
class rigid_source final : public job_source {
    generator_options how_;
    rigid_options only_;
    workload kinds_ = detail::rigid_kinds();
    arrival_times times_;
    job_description present_{};
    std::size_t next_ = 0;

public:
    /// The jobs that these options give.
    explicit rigid_source(generator_options const& o, rigid_options const& only = {})
        : how_(o), only_(only), times_(o.arrivals, o.jobs_per_hour, o.seed) {}

    /// One model, and fifteen tenants.
    [[nodiscard]] workload const& kinds() const noexcept override { return kinds_; }
    /// At most `most_devices`, and no costs of restarts.
    [[nodiscard]] workload_shape shape() const noexcept override { return {.most_devices = only_.most_devices}; }
    /// The next job. O(1) expected.
    [[nodiscard]] job_description const* next() noexcept override {
        if (next_ == how_.jobs) return nullptr;
        present_ = detail::rigid_job(how_.seed, next_++, only_);
        present_.submitted = times_.next();
        return &present_;
    }
};

/// Rigid jobs as in a large cluster: most are small and short, and a few cause most of the load.
/// Precondition: shortest < longest, and both are between 1 minute and 30 days.
[[nodiscard]] inline workload make_rigid(generator_options const& o, rigid_options const& only = {}) {
    rigid_source source(o, only);
    workload made = source.kinds();
    made.jobs.reserve(o.jobs);
    while (auto const* const job = source.next()) made.jobs.push_back(*job);
    return made;
}

/// One kind of job of a synthetic elastic workload.
struct scaling_category {
    /// The name of its model.
    std::string_view name;
    /// The parameters of its model.
    data_parallel of;
};

/// The four kinds of jobs of V. Saxena et al., MASCOTS 2020, arXiv:2006.13878. The numbers of the
/// paper are not published. These have the size of ResNet-50 (25 million parameters), VGG-16 (138
/// million) and a model between them, on devices with 25 Gbit/s links.
[[nodiscard]] inline std::array<scaling_category, 4> scaling_categories(bool fixed_batches = false) {
    data_parallel const common{
        .step_seconds = .01, .node_bytes_per_second = 2e10, .link_bytes_per_second = 3e9, .hop_seconds = 2e-5};
    std::array<scaling_category, 4> all{
        {{"compute-bound", common}, {"communication-bound", common}, {"balanced", common}, {"fixed-batch", common}}};
    auto const set = [](data_parallel& d, double sample_seconds, double bytes, std::int64_t least, std::int64_t most,
                        std::int64_t local) {
        d.sample_seconds = sample_seconds;
        d.gradient_bytes = bytes;
        d.least_batch = least;
        d.most_batch = most;
        d.most_local_batch = local;
    };
    set(all[0].of, 5e-3, 1e8, 64, 512, 64);
    set(all[1].of, 2e-3, 5.5e8, 64, 512, 64);
    set(all[2].of, 3e-3, 2.4e8, 64, 512, 64);
    set(all[3].of, 3e-3, 2.4e8, 128, 128, 64);
    if (fixed_batches)
        for (auto& one : all) one.of.least_batch = one.of.most_batch = 128;
    return all;
}

/// Options of elastic jobs.
struct scaling_options {
    std::int64_t most_devices = 16;  ///< of one job
    double mean_seconds = 3600;      ///< mean run time on the devices for a batch of 128; exponential
    bool fixed_batches = false;      ///< negative control: no job can change its batch
};

/// Elastic jobs of the four kinds, in equal numbers, all with a requested batch of 128.
[[nodiscard]] inline workload make_scaling(generator_options const& o, scaling_options const& of = {}) {
    constexpr std::int64_t batch = 128, asked = 2;
    workload made = detail::empty_workload("scaling", o);
    made.tenants.emplace_back("default");
    std::vector<double> speed;
    for (auto const& category : scaling_categories(of.fixed_batches)) {
        auto const model = std::make_shared<parametric_model>(category.of);
        // Lengths are drawn in seconds and converted to steps at the usual speed of the kind.
        speed.push_back(model->rate(batch, asked, false, 0));
        made.models.push_back(model);
        made.model_names.emplace_back(category.name);
    }
    for (std::size_t j = 0; j < made.jobs.size(); ++j) {
        rng const thrown(o.seed, 1000 + j);
        job_description& job = made.jobs[j];
        job.model = thrown.below(static_cast<std::uint32_t>(speed.size()), 0);
        job.request = asked;
        job.least = of.fixed_batches || job.model == 3 ? asked : 1;
        job.most = std::max(of.most_devices, asked);
        job.batch = batch;
        job.length = std::max(thrown.exponential(1) * of.mean_seconds, 1.0) * speed[job.model];
        job.restart_cost = 30;
    }
    return made;
}

/// Services whose load rises and falls evenly between one device and a peak. They run for 2 to 8 hours, with periods of
/// 1 to 3 hours. The peak is at most `most_devices`, which is at least 2. Each service requests the devices that its
/// load needs, rounded up, every 5 minutes.
[[nodiscard]] inline workload make_serving(generator_options const& o, std::int64_t most_devices = 8) {
    workload made = detail::empty_workload("serving", o);
    made.tenants.emplace_back("default");
    for (std::size_t j = 0; j < made.jobs.size(); ++j) {
        rng const thrown(o.seed, 1000 + j);
        constexpr std::int64_t entry = 300, hour = 3600 / entry;  // in entries of the schedule
        auto const draw = [&](std::int64_t least, std::int64_t most, std::uint64_t index) {
            return least + static_cast<std::int64_t>(thrown.below(static_cast<std::uint32_t>(most - least + 1), index));
        };
        std::int64_t const peak = draw(2, most_devices, 0), period = draw(hour, 3 * hour, 1) / 2 * 2;
        std::int64_t const phase = draw(0, period - 1, 2), entries = draw(2 * hour, 8 * hour, 3);
        std::vector<requested_from> schedule;
        for (std::int64_t i = 0; i < entries; ++i) {
            std::int64_t const at = (i + phase) % period, from_peak = std::abs(at - period / 2);
            // 1 + (peak - 1) * (1 - from_peak / (period / 2)), rounded up
            std::int64_t const half = period / 2, devices = 1 + ((peak - 1) * (half - from_peak) + half - 1) / half;
            if (schedule.empty() || schedule.back().devices != devices)
                schedule.push_back({nanoseconds{i * entry * 1'000'000'000}, devices});
        }
        job_description& job = made.jobs[j];
        job.model = static_cast<std::uint32_t>(made.models.size());
        job.request = schedule.front().devices;
        job.least = 1;
        job.most = peak;
        job.length = static_cast<double>(entries * entry);
        made.models.push_back(std::make_shared<serving_model const>(std::move(schedule)));
        made.model_names.emplace_back("service");
    }
    return made;
}

namespace detail {

/// An application with its usual devices and batch, and how often jobs request them.
struct profiled_row {
    std::string_view application;
    std::int64_t devices, batch;
    double weight;
};
// Counted in the first four workloads that come with the profiles.
inline constexpr profiled_row profiled_rows[] = {
    {"ncf", 1, 32768, 263},    {"cifar10", 6, 2048, 67},    {"cifar10", 8, 2048, 53},    {"cifar10", 12, 4096, 73},
    {"cifar10", 16, 4096, 49}, {"deepspeech2", 6, 320, 15}, {"deepspeech2", 8, 320, 17}, {"deepspeech2", 12, 640, 26},
    {"bert", 6, 384, 11},      {"bert", 8, 384, 6},         {"bert", 12, 384, 11},       {"bert", 16, 384, 8},
    {"yolov3", 4, 64, 30},     {"imagenet", 24, 3200, 4},   {"imagenet", 32, 6400, 5},   {"imagenet", 48, 6400, 2}};

}  // namespace detail

/// Jobs of the six applications with measured profiles, mixed as in the workloads of Pollux.
/// Applications that are not in the library are left out; the workload is empty if it has none.
[[nodiscard]] inline workload make_profiled(generator_options const& o, model_library const& library) {
    std::vector<detail::profiled_row> rows;
    workload made;
    for (auto const& row : detail::profiled_rows)
        if (find_model(library, row.application) != nullptr) rows.push_back(row);
    if (rows.empty()) return made;
    made = detail::empty_workload("profiled", o);
    made.tenants.emplace_back("default");
    for (auto const& one : library) {
        made.models.push_back(one.model);
        made.model_names.push_back(one.name);
    }
    for (std::size_t j = 0; j < made.jobs.size(); ++j) {
        auto const& row =
            rows[detail::weighted(std::span<detail::profiled_row const>(rows), rng(o.seed, 1000 + j).uniform(0))];
        auto const* const of = find_model(library, row.application);
        job_description job = of->usual;
        job.submitted = made.jobs[j].submitted;
        job.model = static_cast<std::uint32_t>(of - library.data());
        job.request = row.devices;
        job.batch = row.batch;
        job.most = std::max(job.most, row.devices);
        made.jobs[j] = job;
        made.job_names.push_back(std::string(row.application) + '-' + std::to_string(j));
    }
    return made;
}

/// Jobs on processors, from all models of the library that run there, in equal numbers. They train
/// for one to two times the usual length, since the number of steps that a job needs is unknown to users. The
/// workload is empty if the library has no such model.
[[nodiscard]] inline workload make_cpu(generator_options const& o, model_library const& library) {
    std::vector<named_model const*> models;
    workload made;
    for (auto const& one : library)
        if (one.model->cores(one.usual) > 0) models.push_back(&one);
    if (models.empty()) return made;
    made = detail::empty_workload("cpu", o);
    made.tenants.emplace_back("default");
    for (auto const* one : models) {
        made.models.push_back(one->model);
        made.model_names.push_back(one->name);
    }
    for (std::size_t j = 0; j < made.jobs.size(); ++j) {
        rng const of(o.seed, 1000 + j);
        std::uint32_t const model = of.below(static_cast<std::uint32_t>(models.size()), 0);
        job_description job = models[model]->usual;
        job.submitted = made.jobs[j].submitted;
        job.model = model;
        job.length = std::ceil(job.length * (1 + of.uniform(1)));
        made.jobs[j] = job;
        made.job_names.push_back(models[model]->name + '-' + std::to_string(j));
    }
    return made;
}

/// Lets each job read one of `count` new data sets, which have 1 GB to 100 GB. By Zipf's law the first one has the most
/// readers. A job reads its data set 1 to 20 times, evenly over its steps. Precondition: count > 0.
inline void add_data_sets(workload& to, std::size_t count, std::uint64_t seed) {
    struct popularity {
        double weight;
    };
    constexpr std::uint64_t streams = std::uint64_t{1} << 40;  // behind those of the jobs
    rng const of(seed, streams);
    std::vector<popularity> rows;
    std::size_t const first = to.items.size();
    for (std::size_t i = 0; i < count; ++i) {
        rows.push_back({1 / static_cast<double>(i + 1)});
        to.items.push_back(
            {"data-" + std::to_string(first + i + 1), static_cast<std::int64_t>(1e9 * exact::pow(100, of.uniform(i)))});
    }
    for (std::size_t j = 0; j < to.jobs.size(); ++j) {
        auto& job = to.jobs[j];
        rng const thrown(seed, streams + 1 + j);
        std::size_t const item = first + detail::weighted(std::span<popularity const>(rows), thrown.uniform(0));
        double const bytes = static_cast<double>(to.items[item].bytes) * (1 + thrown.below(20, 1));
        job.item = static_cast<std::uint32_t>(item);
        job.read = bytes / job.length;
    }
}

}  // namespace ration::sim
