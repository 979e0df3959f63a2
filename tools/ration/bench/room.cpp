// SPDX-License-Identifier: BSL-1.0
#include "bench/room.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <stdexcept>

#include <ration/host/grant_event.hpp>
#include <ration/host/holdings.hpp>
#include <ration/sim/cpu_sharing.hpp>

#include "error_text.hpp"

namespace ration::bench {
namespace {

constexpr std::uint32_t window_width = 8;

template <class T>
[[nodiscard]] T need(result<T> made) {
    if (!made) throw std::runtime_error(program::to_text(made.failure()));
    return std::move(made).value();
}
void need(result<void> const& done) {
    if (!done) throw std::runtime_error(program::to_text(done.failure()));
}

[[nodiscard]] double loss_after(room_job const& job, double done) {
    return 1 + 9 / (1 + 10 * std::max(done, 0.0) / job.length);
}

}  // namespace

room::room(room_shape shape, column_memory* memory) : shape_(std::move(shape)), store_(memory) {
    declare();
    std::size_t const nodes = shape_.devices.size();
    need(store_.resize(table_id::nodes, nodes));
    std::int64_t devices = 0;
    for (std::size_t n = 0; n < nodes; ++n) {
        devices += shape_.devices[n];
        store_.at(columns_.of(resource_id::gpu).capacity, n) = shape_.devices[n];
        store_.at(columns_.of(resource_id::memory).capacity, n) = std::int64_t{512} << 30;
    }
    store_.at(columns_.of(resource_id::cpu).capacity, 0) = static_cast<std::int64_t>(shape_.cores * 1000);
    store_.at(columns_.of(resource_id::batch).capacity, 0) = max_amount;
    std::size_t const answer = 4 * static_cast<std::size_t>(devices) + 2 * nodes + 4 * shape_.jobs + 64;
    limits_ = {.jobs = shape_.jobs, .nodes = nodes, .answer = answer};
    space_.resize(answer);
    jobs_.reserve(shape_.jobs);
    cores_.reserve(shape_.jobs);
    held_.reset(nodes, std::size(standard_resources), answer);
    check_.prepare(store_, columns_.standard, standard_resources, nodes, answer);
    show_free(held_, store_, columns_.standard);
}

void room::declare() {
    sim::workload widest;
    widest.jobs.push_back({.most = static_cast<std::int64_t>(most_units)});
    columns_ = need(sim::sim_columns::declare(store_, widest, {}));
    window_ = need(store_.declare<double>("jobs/loss.window", window_width));
}

void room::arrive(room_job const& job) {
    std::size_t const row = jobs_.size();
    need(store_.resize(table_id::jobs, row + 1));
    jobs_.push_back(job);
    cores_.push_back(0);
    sim::job_description const reported{.submitted = now(),
                                        .tenant = job.tenant,
                                        .weight = job.weight,
                                        .request = job.request,
                                        .least = 1,
                                        .most = job.most,
                                        .length = job.length,
                                        .restart_cost = 0};
    sim::write_description(store_, columns_, row, ++last_id_, reported, 2);
    show(row);
    events_.push_back({event_kind::job_arrived, 0xFFFFFFFF, last_id_, now()});
}

/// What does not change while the job lives.
void room::show(std::size_t row) {
    auto const& job = jobs_[row];
    auto const& s = columns_.standard;
    store_.at(s.tier, row) = job.tier;
    if (shape_.what == shared::cores) {
        store_.at(s.state, row) = static_cast<std::uint32_t>(job_state::running);
        store_.at(s.started, row) = now().count;
        store_.at(columns_.request, row) = store_.at(columns_.of(resource_id::gpu).minimum, row) =
            store_.at(columns_.of(resource_id::gpu).maximum, row) = 0;
    } else {
        store_.at(s.state, row) = static_cast<std::uint32_t>(job_state::queued);
        store_.at(columns_.get<"jobs/nominal_steps_per_second">(), row) =
            job.speed[static_cast<std::size_t>(job.request)];
    }
    for (std::size_t k = 0; k <= most_units && shape_.what == shared::devices; ++k) {
        bool const accepted = k >= 1 && k <= static_cast<std::size_t>(job.most);
        (&store_.at(columns_.get<"jobs/speedup">(), row))[k] = accepted ? job.speed[k] / job.speed[1] : 0;
        (&store_.at(columns_.get<"jobs/goodput">(), row))[k] =
            (&store_.at(columns_.get<"jobs/goodput.fixed">(), row))[k] = accepted ? job.speed[k] : 0;
        (&store_.at(columns_.get<"jobs/batch">(), row))[k] = static_cast<std::int64_t>(32 * k);
    }
    show_progress(row);
}

void room::show_progress(std::size_t row) {
    auto const& job = jobs_[row];
    auto const& s = columns_.standard;
    store_.at(s.step, row) = static_cast<std::uint64_t>(job.done);
    store_.at(s.remaining, row) = std::max(job.length - job.done, 0.0);
    store_.at(s.loss, row) = store_.at(columns_.get<"jobs/loss.best">(), row) = loss_after(job, job.done);
    for (std::size_t i = 0; i < window_width; ++i)  // the last is the newest
        (&store_.at(window_, row))[i] =
            loss_after(job, job.done - 0.01 * job.length * static_cast<double>(window_width - 1 - i));
}

void room::leave(std::span<bool const> gone) {
    std::size_t kept = 0;
    for (std::size_t row = 0; row < jobs_.size(); ++row) {
        if (gone[row]) {
            events_.push_back({event_kind::job_finished, static_cast<std::uint32_t>(row), id(row), now()});
            held_.release({id(row)});
            continue;
        }
        jobs_[kept] = jobs_[row];
        cores_[kept] = cores_[row];
        ++kept;
    }
    jobs_.resize(kept);
    cores_.resize(kept);
    store_.erase_rows(table_id::jobs, gone.data());
    show_holdings(held_, store_, columns_.standard);
}

void room::work(std::size_t row, double seconds) {
    double const speed = speed_of(row), units = units_of(row);
    if (!(units > 0)) return;
    jobs_[row].done = std::min(jobs_[row].done + speed * seconds, jobs_[row].length);
    store_.at(columns_.standard.measured_steps_per_second, row) = speed;
    store_.at(columns_.get<"jobs/attained">(), row) += shape_.what == shared::devices ? units * seconds : 0;
    show_progress(row);
}

void room::set_tier(std::size_t row, std::uint32_t tier) {
    jobs_[row].tier = store_.at(columns_.standard.tier, row) = tier;
    events_.push_back({event_kind::job_changed, static_cast<std::uint32_t>(row), id(row), now()});
}

tick_outcome room::take(status reply) {
    tick_outcome made{reply, answered_, 0};
    check_.check(held_, std::span(space_).first(answered_), accepted_, rejected_);
    made.refused = rejected_.size();
    for (auto const& r : rejected_)
        if (first_wrong_.empty() && r.rule != check_rule::broken_group) first_wrong_ = sentence_on(r);
    for (auto const& g : accepted_.view()) {
        if (g.amount() == g.held) continue;
        held_.set(g.what(), now());
        events_.push_back(event_of(event_kind::grant_applied, g.what(), g.job_row(), now()));
    }
    show_changes(held_, store_, columns_.standard);
    if (shape_.what == shared::cores) {
        share_cores();
        return made;
    }
    auto const held = store_[columns_.of(resource_id::gpu).held];
    auto const state = store_[columns_.standard.state];
    auto const started = store_[columns_.standard.started];
    for (std::size_t row = 0; row < jobs_.size(); ++row) {
        state[row] = static_cast<std::uint32_t>(held[row] > 0 ? job_state::running : job_state::queued);
        if (held[row] > 0 && started[row] < 0) started[row] = now().count;
    }
    return made;
}

/// As the system does it within the limits that are held.
void room::share_cores() {
    std::vector<sim::cpu_claim> claims(jobs_.size());
    ledger::walk walk(held_);
    for (std::size_t row = 0; row < jobs_.size(); ++row)
        claims[row] = {.row = static_cast<std::uint32_t>(row),
                       .node = 0,
                       .most = sim::limit_of(walk.of({id(row)}), static_cast<double>(jobs_[row].most))};
    sim::share_fairly(claims, shape_.cores);
    for (auto const& c : claims) {
        cores_[c.row] = c.given;
        store_.at(columns_.of(resource_id::cpu).used, c.row) = c.given * 1000;
    }
}

double room::units_of(std::size_t row) const noexcept {
    return shape_.what == shared::cores ? cores_[row]
                                        : static_cast<double>(store_.at(columns_.of(resource_id::gpu).held, row));
}

double room::speed_of(std::size_t row) const noexcept { return speed_at(jobs_[row], units_of(row)); }

std::string room::sentence_on(rejection const& r) const {
    grant const& g = space_[r.row];
    auto const resource = g.resource < std::size(standard_resources) ? std::string(standard_resources[g.resource].name)
                                                                     : fmt::format("resource {}", g.resource);
    auto const whom = g.job < jobs_.size() ? fmt::format("job {}", id(g.job)) : fmt::format("row {}", g.job);
    return fmt::format("at tick {} it granted {} of {} on node {} to {}, but {}", number_ - 1, g.amount, resource,
                       g.node, whom, name_of(r.rule));
}

std::size_t room::plain_loop() noexcept {
    auto const least = store_[columns_.of(resource_id::cpu).minimum],
               most = store_[columns_.of(resource_id::cpu).maximum];
    if (least.empty()) return 0;
    std::int64_t const share =
        store_.at(columns_.of(resource_id::cpu).capacity, 0) / static_cast<std::int64_t>(least.size());
    for (std::size_t row = 0; row < least.size(); ++row)
        space_[row] = {static_cast<std::uint32_t>(row), 0, 0, 1, 0, std::clamp(share, least[row], most[row])};
    return least.size();
}

double speed_at(room_job const& job, double units) noexcept {
    double const most = static_cast<double>(job.most);
    if (!(units > 0)) return 0;
    if (units >= most) return job.speed[static_cast<std::size_t>(job.most)];
    auto const whole = static_cast<std::size_t>(units);
    double const part = units - static_cast<double>(whole);
    return job.speed[whole] + part * (job.speed[whole + 1] - job.speed[whole]);
}

shared shared_by(any_policy const& policy) noexcept {
    for (auto const* column :
         {"nodes/capacity.gpu", "nodes/free.gpu", "jobs/request.gpu", "jobs/min.gpu", "jobs/max.gpu", "jobs/held.gpu"})
        if (policy.reads(column)) return shared::devices;
    return shared::cores;
}

bool knows_nodes(any_policy const& policy) noexcept {
    return policy.reads("held/node") || policy.reads("nodes/free.gpu");
}

}  // namespace ration::bench
