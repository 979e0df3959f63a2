// SPDX-License-Identifier: BSL-1.0
/// A synthetic cluster in which a policy is asked and measured: jobs work at the speed of the units that they hold, and
/// the policy's answers come into force if they keep the rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ration/host/any_policy.hpp>
#include <ration/host/check.hpp>
#include <ration/testing/synthetic_cluster.hpp>

namespace ration::bench {

/// The resource that the policy divides. With cores all jobs run; with devices, the jobs that hold some.
enum class shared : std::uint8_t { devices, cores };

/// Devices or cores that one job can use.
inline constexpr std::size_t most_units = testing::most_devices;

/// A job whose units are devices or cores, whatever the policy shares out.
struct measured_job {
    std::int64_t request = 1, most = 1;  ///< it accepts 0, and 1 to `most`
    testing::by_devices speed{};         ///< steps per second by units; not falling, and constant from `most` on
    double length = 1, done = 0;         ///< steps
    std::uint32_t tenant = 0, tier = 0;
    double weight = 1;
};

struct measured_shape {
    shared what = shared::devices;
    std::vector<std::int64_t> devices;  ///< of each node
    double cores = 0;                   ///< of the first node
    std::size_t jobs = 1;               ///< at most
};

/// How one tick went.
struct tick_outcome {
    status reply = status::ok;
    std::size_t grants = 0, refused = 0;  ///< rows of the answer
};

class measured_cluster {
    shared what_;
    double all_cores_;
    limits limits_;
    testing::synthetic_cluster cluster_;
    std::vector<measured_job> jobs_;  // by row
    std::vector<double> cores_;       // by row: what each gets
    checker check_;
    buffer<checked_grant> accepted_;
    buffer<rejection> rejected_;
    std::vector<grant> space_;
    std::size_t answered_ = 0;
    std::uint64_t number_ = 0, last_id_ = 0;
    std::string first_wrong_;

public:
    /// Columns are in `memory`, or on the heap when it is nullptr.
    measured_cluster(measured_shape const& shape, column_memory* memory);

    [[nodiscard]] result<void> bind(any_policy& policy) { return policy.bind(cluster_.store().schema(), limits_); }

    void arrive(measured_job const& job);
    /// Ends the jobs whose row is true.
    void leave(std::span<bool const> gone);
    /// Lets time pass in which no job works.
    void pass(double seconds) noexcept { cluster_.pass(ration::seconds(seconds)); }
    /// Lets the job in this row work for these seconds, at the speed of the units that it holds.
    void work(std::size_t row, double seconds);
    void set_tier(std::size_t row, std::uint32_t tier);

    /// Asks between `before()` and `after()`, which see nothing but the policy; `take` proves the answer and lets it
    /// come into force. A policy that follows changes gets the list of changed rows.
    template <class Before, class After>
    [[nodiscard]] status ask(any_policy& policy, Before const& before, After const& after) {
        policy.on_events(cluster_.events());
        cluster_.forget_events();
        grants out(space_);
        auto& changes = cluster_.store().changes();
        tick_data data = cluster_.data(number_, 1000 + number_);
        if (policy.follows_changes()) data.changes = changes.view();
        ++number_;
        before();
        status reply = policy.decide(data, out);
        after();
        if (reply == status::ok && out.overflowed()) reply = status::capacity;
        answered_ = reply == status::ok ? out.size() : 0;
        changes.clear();
        if (reply != status::ok) changes.mark_everything();
        return reply;
    }
    [[nodiscard]] tick_outcome take(status reply);

    [[nodiscard]] std::size_t jobs() const noexcept { return jobs_.size(); }
    [[nodiscard]] measured_job const& job(std::size_t row) const noexcept { return jobs_[row]; }
    [[nodiscard]] std::uint64_t id(std::size_t row) const noexcept { return cluster_.jobs()[row].id; }
    /// Devices that the job holds, or cores that it gets.
    [[nodiscard]] double units_of(std::size_t row) const noexcept;
    [[nodiscard]] double speed_of(std::size_t row) const noexcept;
    /// The first answer that was refused, as a sentence; empty when none was.
    [[nodiscard]] std::string const& first_wrong() const noexcept { return first_wrong_; }

    /// The least that one can do: reads two bounds of each job and writes the n-th part of the first node's cores
    /// within them. Returns the rows; an answer that was not taken is lost.
    [[nodiscard]] std::size_t plain_loop() noexcept;

private:
    [[nodiscard]] testing::synthetic_job shown(measured_job const& job);
    void show_progress(std::size_t row);
    void show_running(std::size_t row);
    void share_cores();
    [[nodiscard]] std::string sentence_on(rejection const& r) const;
};

/// The speed on this number of devices or cores, interpolated between whole numbers.
[[nodiscard]] double speed_at(measured_job const& job, double units) noexcept;

/// The resource that a policy divides: cores if it reads no node's devices.
[[nodiscard]] shared shared_by(any_policy const& policy) noexcept;
/// Whether the policy reads several nodes: the free devices of each, or the holdings on each. Other policies read the
/// first node alone.
[[nodiscard]] bool knows_nodes(any_policy const& policy) noexcept;

}  // namespace ration::bench
