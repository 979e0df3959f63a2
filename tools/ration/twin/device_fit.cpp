// SPDX-License-Identifier: BSL-1.0
#include "twin/device_fit.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace ration::program {
namespace {

struct stretch {
    double steps = 0, seconds = 0;
};

/// From the grant of devices to the first step on them.
struct restart {
    std::int64_t devices = 0;
    stretch passed;  ///< also with the steps on the old devices
};

/// Follows the samples of a job.
class device_watch {
    recording const& run_;
    std::vector<nanoseconds> const& launches_;
    std::map<std::int64_t, stretch> trained_;  // by number of devices
    std::vector<restart> restarts_;
    job_sample const* last_ = nullptr;
    job_sample const* granted_ = nullptr;  // the sample before the grant; null while the job trains
    job_sample const* back_ = nullptr;     // the first one on the new devices

public:
    device_watch(recording const& run, job_measurements const& job) noexcept : run_(run), launches_(job.launches) {}

    void take(job_sample const& now) {
        auto const* const before = std::exchange(last_, &now);
        std::int64_t const had = before != nullptr ? before->devices : 0;
        if (now.devices != had) {
            granted_ = before != nullptr ? before : &now;
            back_ = nullptr;
            return;
        }
        if (now.devices == 0) return;
        if (granted_ == nullptr) {
            add(trained_[now.devices], *before, now);
            return;
        }
        if (!now.runs)
            back_ = nullptr;
        else if (back_ == nullptr && was_launched(*granted_, now))
            back_ = &now;
        if (back_ == nullptr || !(now.step > back_->step)) return;
        add(restarts_.emplace_back(restart{now.devices, {}}).passed, *granted_, now);
        granted_ = nullptr;
    }

    [[nodiscard]] std::map<std::int64_t, stretch> const& trained() const noexcept { return trained_; }
    [[nodiscard]] std::vector<restart> const& restarts() const noexcept { return restarts_; }

private:
    [[nodiscard]] nanoseconds time_of(job_sample const& sample) const { return run_.decisions[sample.decision].at; }
    [[nodiscard]] bool was_launched(job_sample const& from, job_sample const& to) const {
        return std::ranges::any_of(launches_, [&](nanoseconds at) { return at >= time_of(from) && at <= time_of(to); });
    }
    void add(stretch& to, job_sample const& from, job_sample const& now) const {
        to.steps += now.step - from.step;
        to.seconds += to_seconds(time_of(now) - time_of(from));
    }
};

/// The least squares of the seconds of a step over 1 / devices, weighted by the time of the measurement. Neither part
/// is negative.
void fit_step_time(std::map<std::int64_t, stretch> const& trained, device_speeds& into) {
    double w = 0, x = 0, z = 0, xx = 0, xz = 0;
    for (auto const& [devices, one] : trained) {
        if (!into.measured.contains(devices)) continue;
        double const at = 1 / static_cast<double>(devices), time = one.seconds / one.steps;
        w += one.seconds;
        x += one.seconds * at;
        z += one.seconds * time;
        xx += one.seconds * at * at;
        xz += one.seconds * at * time;
    }
    into.divided = into.measured.size() > 1 ? std::max(0.0, (w * xz - x * z) / (w * xx - x * x)) : xz / xx;
    into.fixed = (z - into.divided * x) / w;
    if (into.measured.size() > 1 && into.fixed > 0) return;
    into.fixed = 0;
    into.divided = xz / xx;
}

}  // namespace

std::optional<device_speeds> device_speeds_of(recording const& run, job_measurements const& job) {
    device_watch watch(run, job);
    for (auto const& sample : job.samples) watch.take(sample);
    device_speeds found;
    for (auto const& [devices, one] : watch.trained())
        if (one.steps > 0 && one.seconds > 0) found.measured[devices] = one.steps / one.seconds;
    if (found.measured.empty()) return std::nullopt;
    fit_step_time(watch.trained(), found);
    for (auto const& one : watch.restarts())
        found.restart += std::max(0.0, one.passed.seconds - one.passed.steps / found.at(one.devices)) /
                         static_cast<double>(watch.restarts().size());
    return found;
}

std::shared_ptr<sim::rate_model const> rate_model_of(device_speeds const& speeds, std::int64_t most) {
    auto model = std::make_shared<sim::rate_model>();
    for (std::int64_t devices = 1; devices <= most; ++devices) model->add(0, false, 0, devices, speeds.at(devices));
    return model;
}

}  // namespace ration::program
