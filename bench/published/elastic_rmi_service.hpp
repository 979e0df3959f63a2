// SPDX-License-Identifier: BSL-1.0
// A simulated service for elastic_rmi.hpp: requests arrive, a pool of devices serves them, and one of several rules
// chooses the size of the pool.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include <ration/sim/outcome.hpp>
#include <ration/sim/rng.hpp>

namespace published::elastic_rmi {

using namespace ration;

inline constexpr std::int64_t least = 2, most = 12;

/// Requests a second that n devices serve.
using capacity_curve = double (*)(std::int64_t devices);
/// Requests a second that arrive at a time in seconds.
using arrival_curve = double (*)(double at);

/// The input of a rule: the last interval. As `ration.Load` in Python.
struct load {
    std::int64_t size = 0;            ///< devices that it holds, also those that are not ready yet
    double queue = 0;                 ///< requests
    double arrivals = 0, served = 0;  ///< a second
    double cpu = 0;                   ///< mean use of the devices
    double interval = 0;              ///< seconds
};
/// How many devices more, or fewer if negative.
using hook = std::function<std::int64_t(load const&)>;

struct service_options {
    capacity_curve capacity = nullptr;
    arrival_curve arrivals = nullptr;
    double provisioning = 30;  ///< seconds until a device that was added serves
    std::uint64_t seed = 1;
    double interval = 60;  ///< seconds between two decisions about the size: their burst interval
};

/// One sample for each second.
struct samples {
    std::vector<std::int64_t> provided, needed;
    std::vector<double> wait, served;  ///< seconds that a new request waits; requests
};

/// The service, second by second. It learns its devices as an observer of the simulation.
class service final : public sim::run_observer {
    service_options options_;
    hook change_;
    sim::rng noise_;
    samples samples_;
    std::deque<double> starting_;  // when the devices that do not serve yet will do so
    std::int64_t held_ = 0, wanted_ = least;
    double queue_ = 0;
    double arrived_ = 0, done_ = 0, busy_ = 0;  // since the last poll

public:
    service(service_options const& options, hook change)
        : options_(options), change_(std::move(change)), noise_(options.seed) {}

    /// The size that its rule has chosen.
    [[nodiscard]] std::int64_t wanted(nanoseconds now) {
        advance(now);
        return wanted_;
    }
    [[nodiscard]] samples const& seen() const noexcept { return samples_; }

    void submitted(nanoseconds, std::uint64_t) noexcept override {}
    void finished(nanoseconds, std::uint64_t) noexcept override {}
    void holds(nanoseconds now, std::uint64_t, std::int64_t devices) noexcept override {
        advance(now);
        for (; held_ < devices; ++held_)
            starting_.push_back(second() + (samples_.wait.empty() ? 0 : options_.provisioning));
        for (; held_ > devices; --held_)
            if (!starting_.empty()) starting_.pop_back();
    }

private:
    [[nodiscard]] double second() const noexcept { return static_cast<double>(samples_.wait.size()); }

    void advance(nanoseconds now) {
        while (held_ > 0 && second() < to_seconds(now)) {
            pass_second();
            if (std::fmod(second(), options_.interval) == 0) decide();
        }
    }
    void pass_second() {
        double const at = second(), mean = options_.arrivals(at);
        while (!starting_.empty() && starting_.front() <= at) starting_.pop_front();
        std::int64_t const ready = held_ - static_cast<std::int64_t>(starting_.size());
        double const able = options_.capacity(ready);
        double const arrive =
            std::max(0.0, mean + std::sqrt(mean) * noise_.normal(static_cast<std::uint64_t>(at)));  // almost Poisson
        double const serve = std::min(queue_ + arrive, able);
        queue_ += arrive - serve;
        arrived_ += arrive;
        done_ += serve;
        busy_ += serve / able;
        samples_.provided.push_back(ready);
        samples_.needed.push_back(needed(mean));
        samples_.wait.push_back(queue_ / able);
        samples_.served.push_back(serve);
    }
    /// The fewest devices that serve these arrivals, or else the number that serves most.
    [[nodiscard]] std::int64_t needed(double arrivals) const noexcept {
        std::int64_t best = least;
        for (std::int64_t n = least; n <= most; ++n) {
            if (options_.capacity(n) >= arrivals) return n;
            if (options_.capacity(n) > options_.capacity(best)) best = n;
        }
        return best;
    }
    void decide() {
        double const past = options_.interval;
        load const last{.size = held_,
                        .queue = queue_,
                        .arrivals = arrived_ / past,
                        .served = done_ / past,
                        .cpu = busy_ / past,
                        .interval = past};
        wanted_ = std::clamp(held_ + change_(last), least, most);
        arrived_ = done_ = busy_ = 0;
    }
};

}  // namespace published::elastic_rmi
