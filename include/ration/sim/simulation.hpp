// SPDX-License-Identifier: BSL-1.0
/// The simulation: a workload on a cluster under a policy, event by event.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include <ration/host/engine.hpp>
#include <ration/host/tenants.hpp>
#include <ration/sim/backend.hpp>
#include <ration/sim/contention.hpp>
#include <ration/sim/cpu_jobs.hpp>
#include <ration/sim/device_jobs.hpp>
#include <ration/sim/event_queue.hpp>
#include <ration/sim/job_records.hpp>
#include <ration/sim/job_source.hpp>
#include <ration/sim/job_speeds.hpp>
#include <ration/sim/live_jobs.hpp>
#include <ration/sim/node_states.hpp>
#include <ration/sim/phased_jobs.hpp>
#include <ration/sim/rental.hpp>
#include <ration/sim/service_columns.hpp>
#include <ration/sim/sim_options.hpp>
#include <ration/sim/starvation.hpp>

namespace ration::sim {

/// One run. The policy is called when jobs come or end, when a fault changes the cluster, and at every interval. The
/// engine is that of live runs, so every answer is validated. O(log running jobs + rows + nodes) for each event
/// besides the policy; the steady state does not allocate.
class simulation {
    std::optional<workload_source> own_source_;
    job_source& source_;
    workload const& workload_;
    cluster const& cluster_;
    sim_options options_;
    any_policy &policy_, &fallback_;
    snapshot_store store_;
    sim_columns columns_;
    node_states nodes_;
    job_feed feed_;
    job_records records_;
    live_jobs live_;
    cluster_backend backend_;
    engine<cluster_backend> engine_;
    event_queue queue_;
    run_outcome outcome_;
    job_speeds speed_segments_;
    phased_jobs phased_;
    cpu_jobs cpu_;
    contention contention_;
    device_jobs on_devices_;
    rental rental_;
    starvation starvation_;
    std::uint32_t round_ = 0;
    bool asks_ = false;  // the policy is called at this time
    service_columns services_;

public:
    /// The jobs of a workload, whose outcomes are returned. All references have to outlive the object.
    simulation(workload const& jobs, cluster const& machines, any_policy& policy, any_policy& fallback,
               sim_options const& options)
        : simulation(std::make_optional<workload_source>(jobs), nullptr, machines, policy, fallback, options) {}
    /// The jobs of a stream, whose outcomes only the observer gets. Memory is that of the active jobs.
    simulation(job_source& jobs, cluster const& machines, any_policy& policy, any_policy& fallback,
               sim_options const& options)
        : simulation(std::nullopt, &jobs, machines, policy, fallback, options) {}
    simulation(simulation const&) = delete;
    simulation& operator=(simulation const&) = delete;

    /// Runs to the end. Call it once. Errors: those of the policy's `bind`; `no_capacity`, also if more jobs of a
    /// stream are active at once than `most_active`.
    [[nodiscard]] result<run_outcome> run() {
        if (auto ready = prepare(); !ready) return ready.failure();
        while (auto const now = next_time()) {
            if (*now > options_.limit) {
                outcome_.how = ending::time_limit;
                outcome_.end = options_.limit;
                break;
            }
            asks_ = options_.interval.count > 0 && now->count % options_.interval.count == 0;
            if (auto taken = take_events(*now); !taken) return taken.failure();
            if (asks_ && !tick(*now)) break;
            if (outcome_.how != ending::all_done) break;
            if (feed_.next() == nullptr && starvation_.is_final(live_.active())) break;
        }
        if (outcome_.how == ending::all_done && live_.active() > 0) outcome_.how = ending::starved;
        if (outcome_.how == ending::starved) outcome_.end = starvation_.last_change();
        finish();
        return std::move(outcome_);
    }

private:
    simulation(std::optional<workload_source> const& own, job_source* stream, cluster const& machines,
               any_policy& policy, any_policy& fallback, sim_options const& options)
        : own_source_(own), source_(own_source_ ? static_cast<job_source&>(*own_source_) : *stream),
          workload_(source_.kinds()), cluster_(machines), options_(options), policy_(policy), fallback_(fallback),
          store_(options.columns), nodes_(store_, columns_, cluster_), feed_(source_), records_(source_),
          live_(store_, columns_, workload_, records_, {.every = options.checkpoint, .take = options.save}),
          backend_(own_source_ ? workload_.jobs.size() : std::numeric_limits<std::uint64_t>::max()),
          engine_(backend_, policy, fallback, store_, columns_.standard,
                  resources_of(read_columns{policy, fallback, options.estimators}), engine_options_of(options)),
          speed_segments_(workload_, store_, columns_, live_, engine_.holdings(), nodes_, queue_, options_.cache),
          phased_(store_, columns_, live_, engine_.holdings(), records_),
          cpu_(store_, columns_, live_, engine_.holdings(), speed_segments_, records_, phased_, options),
          contention_(live_, engine_.holdings(), speed_segments_),
          on_devices_(store_, columns_, workload_, live_, speed_segments_, records_, contention_, options.observer),
          rental_(engine_.holdings(), nodes_, options.prices), starvation_(machines, options.interval) {}

    [[nodiscard]] result<void> prepare() {
        workload_shape const shape = source_.shape();
        // Steps stop during a save; on processors they depend on other jobs. A wrong rest falls at another speed
        bool const is_even = options_.save.count <= 0 && !shape.uses_processors && options_.noise.none();
        columns_read const read = columns_read::by(policy_, fallback_, options_.estimators, is_even);
        read_columns const is_read{policy_, fallback_, options_.estimators, !workload_.tenant_terms.empty()};
        services_.prepare(shape, is_read);
        auto declared = sim_columns::declare(store_, shape, cluster_, read.scaling, is_read);
        if (!declared) return declared.failure();
        columns_ = *declared;
        store_.changes().follow();
        if (auto ready = nodes_.prepare(); !ready) return ready;
        if (auto filled = fill_tenants(store_, columns_.standard, tenants_of(workload_)); !filled) return filled;
        live_.fill_only(read, options_.seed, options_.noise);
        contention_.prepare(workload_, nodes_.size());
        cpu_.prepare(cluster_);
        feed_.start();
        for (std::uint32_t i = 0; i < options_.faults.size(); ++i)
            queue_.push({.at = options_.faults[i].at, .what = event_class::fault, .subject = i});
        if (own_source_) {
            outcome_.jobs.resize(workload_.jobs.size());
            for (std::size_t i = 0; i < workload_.jobs.size(); ++i)
                outcome_.jobs[i].submitted = workload_.jobs[i].submitted;
            records_.keep(outcome_.jobs);
        }
        limits most{.jobs = own_source_ ? workload_.jobs.size() : rows_for(options_.most_active),
                    .nodes = nodes_.size(),
                    .resources = 0,
                    .answer = 0};
        std::size_t const holdings = most_holdings(shape, static_cast<std::size_t>(nodes_.capacity()));
        most.answer = largest_answer(most, holdings);
        queue_.reserve(2 * holdings + options_.faults.size());
        return engine_.bind(most);
    }

    /// The time of the next event; empty at the end of the run.
    [[nodiscard]] std::optional<nanoseconds> next_time() noexcept {
        while (!queue_.empty() && speed_segments_.is_void(queue_.next())) queue_.pop();
        if (live_.active() == 0 && feed_.next() == nullptr) return std::nullopt;
        nanoseconds next{std::numeric_limits<std::int64_t>::max()};
        if (feed_.next() != nullptr) next = feed_.next()->submitted;
        if (!queue_.empty() && queue_.next().at < next) next = queue_.next().at;
        next = std::min(next, speed_segments_.next_round());
        if (options_.interval.count > 0 && live_.active() > 0) {
            nanoseconds const round{(outcome_.end.count / options_.interval.count + 1) * options_.interval.count};
            if (round < next) next = round;
        }
        if (next.count == std::numeric_limits<std::int64_t>::max()) return std::nullopt;
        return next;
    }

    [[nodiscard]] result<void> take_events(nanoseconds now) noexcept {
        outcome_.end = now;
        rental_.advance(now);
        for (; !queue_.empty() && queue_.next().at <= now; ++outcome_.events) {
            sim_event const e = queue_.next();
            queue_.pop();
            starvation_.note_change(now);
            e.what == event_class::fault ? take_fault(options_.faults[e.subject], now) : end_phase(e, now);
        }
        for (; feed_.is_due(now); ++outcome_.events) {
            if (!own_source_ && live_.active() == options_.most_active)
                return error{.code = errc::no_capacity,
                             .operation = "simulate a stream of jobs",
                             .subject = "jobs that are active at once",
                             .remedy = "submit fewer jobs an hour, or simulate a larger cluster"};
            if (auto there = live_.arrive(feed_.arrived() + 1, *feed_.next(), cluster_.groups); !there) return there;
            starvation_.arrive(*feed_.next(), now);
            feed_.pass();
            if (live_.runs_on_cpu(live_.rows() - 1)) cpu_.begin(live_.rows() - 1, now);
            if (options_.observer != nullptr) options_.observer->submitted(now, feed_.arrived());
            asks_ = true;
        }
        if (live_.compact()) speed_segments_.follow_rows();
        speed_segments_.choose_items(now);
        share_cores(now);
        return {};
    }

    /// A speed of a job ends: the job is done, or continues at another speed, which the policy sees at the next tick.
    void end_phase(sim_event const& e, nanoseconds now) noexcept {
        if (speed_segments_.is_void(e)) return;
        std::size_t const row = speed_segments_.row_of(e);
        live_job& job = live_[row];
        speed_segments_.bring_up(row, now);
        job.done = job.until;
        if (!(job.until < live_.description(row).length)) return end_job(row, now);
        note_tier(row, now);
        live_.scale(row, cluster_.groups);
        speed_segments_.set(row, now);
        if (columns_.shows_phases) cpu_.note_change();
    }

    /// Divides the cores of the nodes, and kills jobs that need more memory than their limit, as the kernel does.
    void share_cores(nanoseconds now) noexcept {
        while (cpu_.share(now) && columns_.shows_phases)
            for (std::size_t row = 0; row < live_.rows(); ++row)
                if (phased_.is_out_of_memory(row)) kill(row, now);
    }
    void kill(std::size_t row, nanoseconds now) noexcept {
        job_outcome& became = outcome_of(row);
        if (became.note_kill(live_.steps_at(row, now))) outcome_.how = ending::out_of_memory;
        set_back(row, now);
    }

    void end_job(std::size_t row, nanoseconds now) noexcept {
        asks_ = true;
        note_tier(row, now);
        if (live_.runs_on_cpu(row)) cpu_.note_change();
        outcome_of(row).finished = now;
        sim::bring_up(live_, row, workload_, records_, now);
        phased_.end(row, now);
        leave(row, now);
        if (options_.observer != nullptr) {
            options_.observer->finished(now, live_.id(row));
            options_.observer->outcome_of(live_.id(row), live_.description(row), outcome_of(row));
        }
        live_.end(row, job_state::done, now);
    }

    /// Records a tier of the loss. A reached tier causes a tick.
    void note_tier(std::size_t row, nanoseconds now) noexcept {
        auto const& described = live_.description(row);
        auto& tier = store_.at(columns_.standard.tier, row);
        job_model const& model = *workload_.models[described.model];
        std::uint32_t const reached = model.tier_at(described, live_[row].done);
        outcome_of(row).note_tier(reached, now);
        std::uint32_t const last = store_.at(columns_.standard.tiers, row) - model.trains_on(described);
        std::uint32_t const shown = std::min(reached, last);
        if (std::exchange(tier, shown) == shown) return;
        live_.mark(row, state_columns);
        asks_ = true;
    }

    /// Releases everything that the job holds.
    void leave(std::size_t row, nanoseconds now) noexcept {
        outcome_of(row).device_seconds = live_[row].attained_at(now);
        engine_.release({live_.id(row)});
        contention_.note_change();
        rental_.note_change();
        if (options_.observer == nullptr) return;
        live_.runs_on_cpu(row) ? options_.observer->uses(now, live_.id(row), 0)
                               : options_.observer->holds(now, live_.id(row), 0);
    }

    void take_fault(fault const& f, nanoseconds now) noexcept {
        switch (f.what) {
            case fault_kind::node_lost:
                if (!nodes_.lose(f.node, now)) break;
                for_each_on(f.node, [&](std::size_t row) {
                    strike(row, f.node, engine_.holdings().amount({live_.id(row)}, f.node, resource_id::gpu), now);
                });
                asks_ = true;
                break;
            case fault_kind::node_back: asks_ = nodes_.bring_back(f.node, now) || asks_; break;
            case fault_kind::job_crashes:
                if (std::size_t const row = live_.find(holder_of(engine_.holdings(), f.node, f.device).value);
                    row < live_.rows()) {
                    strike(row, f.node, 1, now);
                    asks_ = true;
                }
                break;
            case fault_kind::node_slows:
                nodes_.set_speed(f.node, f.speed);
                for_each_on(f.node, [&](std::size_t row) {
                    speed_segments_.bring_up(row, now);
                    speed_segments_.set(row, now);
                });
                break;
        }
        outcome_.faults += is_bad(f);
        cpu_.note_change();
        follow_changes(now);
    }

    template <class Act>
    void for_each_on(std::uint32_t node, Act&& act) noexcept {
        for (std::size_t row = 0; row < live_.rows(); ++row)
            if (live_.is_active(row) && is_on(row, node)) act(row);
    }

    /// The job has lost devices of a node. An asynchronous job continues with the others, if they are enough.
    void strike(std::size_t row, std::uint32_t node, std::int64_t devices, nanoseconds now) noexcept {
        job_description const& described = live_.description(row);
        std::int64_t const left = live_[row].devices - devices;
        if (left < 1 || left < described.least || !workload_.models[described.model]->is_asynchronous())
            return stop(row, now);
        on_devices_.bring_up(row, now);
        job_id const id{live_.id(row)};
        engine_.lose({id, node, resource_id::gpu, engine_.holdings().amount(id, node, resource_id::gpu) - devices},
                     now);
        on_devices_.go_on(row, now);
    }

    [[nodiscard]] bool is_on(std::size_t row, std::uint32_t node) const noexcept {
        return live_.runs_on_cpu(row) ? cpu_.is_on(row, node)
                                      : engine_.holdings().amount({live_.id(row)}, node, resource_id::gpu) > 0;
    }

    /// The job waits again, with the steps of its last checkpoint. When it gets devices or cores, it restarts, and
    /// continues from there.
    void stop(std::size_t row, nanoseconds now) noexcept {
        ++outcome_of(row).stops;
        set_back(row, now);
    }
    void set_back(std::size_t row, nanoseconds now) noexcept {
        job_outcome& became = outcome_of(row);
        double const had = live_.steps_at(row, now), in_vain = speed_segments_.lose_unsaved(row, now);
        became.lost_steps += had - live_[row].done;
        became.lost_device_seconds += in_vain * static_cast<double>(live_[row].devices);
        note_tier(row, now);
        live_.show_steps_of(row, live_[row].done);
        live_.scale(row, cluster_.groups);
        leave(row, now);
        if (!live_.runs_on_cpu(row)) return backend_.note({live_.id(row)});
        cpu_.restart(row);
        speed_segments_.set(row, now);
    }

    /// One tick of the engine. Returns false at the end of the run.
    [[nodiscard]] bool tick(nanoseconds now) noexcept {
        speed_segments_.prefetch_next();
        services_.show(live_, store_, columns_, workload_, now);
        phased_.show(now);
        nodes_.show_hazard(options_.rates, now);
        live_.show(now, policy_.follows_changes());
        auto const report = engine_.tick(now);
        ++outcome_.ticks;
        outcome_.changes += report.changes.size();
        outcome_.refused_ticks += report.fell_back;
        if (!report.rejected.empty() && !note_rejections(report)) return false;
        if (!report.changes.empty()) starvation_.note_change(now);
        follow_changes(now);
        return !starvation_.takes_too_long(queue_.empty() && feed_.next() == nullptr);
    }

    [[nodiscard]] bool note_rejections(tick_report const& report) noexcept {
        std::uint32_t const row = report.grants[report.rejected[0].row].job;
        outcome_.note_rejections(report, row < live_.rows() ? live_.id(row) : 0);
        if (options_.stop_at_bad_grant) outcome_.how = ending::bad_grant;
        return !options_.stop_at_bad_grant;
    }

    /// Updates the speeds of jobs whose holdings have changed.
    void follow_changes(nanoseconds now) noexcept {
        ++round_;
        for (auto const id : backend_.changed()) {
            std::size_t const row = live_.find(id);
            if (row == live_.rows() || !live_.is_active(row) || live_[row].round == round_) continue;
            live_[row].round = round_;
            if (columns_.standard.resources.size() > std::size(standard_resources))
                speed_segments_.take_save_interval(row, now);
            if (!live_.runs_on_cpu(row))
                on_devices_.take_allocation(row, now);
            else if (cpu_.is_released(row)) {
                outcome_of(row).released = true;
                end_job(row, now);
            } else
                cpu_.note_change();
        }
        backend_.forget_changes();
        rental_.note_change();
        share_cores(now);
        contention_.update(now);
    }

    void finish() noexcept {
        outcome_.capacity_seconds = nodes_.capacity_seconds(outcome_.end);
        outcome_.reads = speed_segments_.reads();
        rental_.advance(outcome_.end);
        outcome_.cost = rental_.cost();
        for (std::size_t row = 0; row < live_.rows(); ++row) {
            if (!live_.is_active(row)) continue;
            sim::bring_up(live_, row, workload_, records_, outcome_.end);
            phased_.end(row, outcome_.end);
            if (live_[row].devices > 0) outcome_of(row).device_seconds = live_[row].attained_at(outcome_.end);
            if (options_.observer != nullptr)
                options_.observer->outcome_of(live_.id(row), live_.description(row), outcome_of(row));
        }
    }

    [[nodiscard]] job_outcome& outcome_of(std::size_t row) noexcept { return records_.outcome(row, live_.id(row)); }
};

}  // namespace ration::sim
