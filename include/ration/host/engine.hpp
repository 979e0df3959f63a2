// SPDX-License-Identifier: BSL-1.0
/// The engine: observe, estimate, decide, check, settle, plan, apply, verify, record. The same one runs live and in
/// simulation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <ration/detail/job_watch.hpp>
#include <ration/event.hpp>
#include <ration/host/any_policy.hpp>
#include <ration/host/backend.hpp>
#include <ration/host/check.hpp>
#include <ration/host/estimation.hpp>
#include <ration/host/grant_event.hpp>
#include <ration/host/holdings.hpp>
#include <ration/host/meter.hpp>
#include <ration/host/no_memory.hpp>
#include <ration/host/settle.hpp>
#include <ration/host/tick_report.hpp>
#include <ration/job_memory.hpp>

namespace ration {

/// Settings of an engine. The defaults suit a live run.
struct engine_options {
    settle_rules settle{};
    nanoseconds budget = milliseconds(100);  ///< of a policy for one tick, which receives it
    std::uint64_t seed = 0;
    nanoseconds half_life{};          ///< of tenants/usage.*; 0 = usage never decays
    estimation* estimates = nullptr;  ///< of columns that the host does not fill; outlives the engine
};

namespace detail {

/// The limits that policies and estimators receive.
[[nodiscard]] inline limits limits_for(limits most, std::size_t tenants,
                                       std::span<resource_info const> resources) noexcept {
    most.resources = resources.size();
    if (most.tenants < tenants) most.tenants = tenants;
    most.resource_table = resources.data();
    return most;
}

}  // namespace detail

/// Runs one policy on one backend. The host owns everything that is passed by reference, fills the columns that only
/// it has (id, state, loss, tier, ...) and calls `tick`. The engine fills jobs/used.*,
/// jobs/measured_steps_per_second, jobs/held.*, nodes/free.*, the table held, the sums of tenants and, where the host
/// declares it, jobs/throttled.cpu: the part of the time in which a quota stopped the job. It keeps those sums if a
/// policy reads the table tenants, or a tenant has a limit. A row that the host erases takes along what it shows; a new
/// one is blank.
template <Backend B>
class engine {
    B& backend_;
    any_policy& policy_;
    any_policy& fallback_;
    snapshot_store& store_;
    standard_columns const& columns_;
    std::span<resource_info const> resources_;
    engine_options options_;
    limits most_;

    ledger ledger_;
    checker checker_;
    settler settler_;
    reservations reservations_;
    struct job_meters {
        rate_meter cpu_time, steps, throttled;
    };
    job_memory<job_meters> meters_;
    column<double> speedup_{.width = 0}, throttled_{.width = 0};  // width 0: this host has none
    buffer<grant> space_;
    buffer<checked_grant> accepted_;
    buffer<rejection> rejected_;
    buffer<deferred_grant> deferred_;
    buffer<change> changes_;
    buffer<failed_change> failed_;
    plan<typename B::operation> plan_;
    buffer<operation_text> texts_;
    buffer<event> events_;
    detail::job_watch watch_;
    detail::tenant_sums tenants_;
    std::uint64_t ticks_ = 0;
    bool lists_changes_ = false;

public:
    engine(B& backend, any_policy& policy, any_policy& fallback, snapshot_store& store, standard_columns const& columns,
           std::span<resource_info const> resources, engine_options const& options) noexcept
        : backend_(backend), policy_(policy), fallback_(fallback), store_(store), columns_(columns),
          resources_(resources), options_(options) {}

    engine(engine const&) = delete;
    engine& operator=(engine const&) = delete;

    /// Binds estimators and both policies, and reserves all that a tick will need. Forgets what jobs hold. Errors:
    /// those of `estimation::bind` and `any_policy::bind`; `invalid_value` when the columns were declared for
    /// other resources, or for fewer than cpu and memory.
    [[nodiscard]] result<void> bind(limits const& most) noexcept {
        if (columns_.resources.size() != resources_.size() ||
            resources_.size() <= static_cast<std::size_t>(resource_id::memory))
            return error{.code = errc::invalid_value,
                         .operation = "bind engine",
                         .subject = "resources",
                         .remedy = "declare standard_columns with the same resources: ration::standard_resources"};
        most_ = detail::limits_for(most, store_.rows(table_id::tenants), resources_);
        if (auto bound = bind_estimators(); !bound) return bound;
        for (any_policy* const d : {&policy_, &fallback_})
            if (auto bound = d->bind(store_.schema(), most_); !bound) return bound;
        std::size_t const grants = most_.grants();
        detail::reset(ledger_, columns_, most.nodes, grants);
        checker_.prepare(store_, columns_, resources_, most.nodes, grants);
        settler_.prepare(most.nodes, resources_.size(), grants);
        reservations_.prepare(most.nodes, resources_.size());
        meters_.reserve(most.jobs);
        if (auto known = store_.find<double>("jobs/speedup")) speedup_ = *known;
        if (auto known = store_.find<double>("jobs/throttled.cpu")) throttled_ = *known;
        space_.resize(grants);
        accepted_.reserve(grants);
        rejected_.reserve(grants);
        deferred_.reserve(grants);
        changes_.reserve(grants);
        failed_.reserve(grants);
        events_.reserve(grants + 2 * most.jobs);
        watch_.prepare(most.jobs);
        tenants_.prepare(
            store_, columns_, {.jobs = most_.jobs, .tenants = most_.tenants}, options_.half_life,
            detail::reads_tenants(policy_, store_.schema()) || detail::reads_tenants(fallback_, store_.schema()));
        store_.changes().mark_everything();
        // The host may have asked the policy before, and refresh no more rows than that requires.
        lists_changes_ = policy_.follows_changes();
        return {};
    }

    /// Chooses the estimators again, for a policy that reads other columns. Errors: those of `estimation::bind`.
    [[nodiscard]] result<void> bind_estimators() noexcept {
        if (options_.estimates == nullptr) return {};
        return options_.estimates->bind(store_, policy_, fallback_, most_);
    }

    /// The holdings of all jobs.
    [[nodiscard]] ledger const& holdings() const noexcept { return ledger_; }

    /// The job is gone: its holdings return to the others at the next tick.
    void release(job_id job) noexcept { ledger_.release(job); }

    /// The job has lost a part of what it held there, as with a device that fails: `left.amount` remains, 0 = nothing.
    void lose(setting const& left, nanoseconds now) noexcept { ledger_.set(left, now); }

    /// Takes over what a job holds already, for a job that outlived an earlier host.
    void reattach(setting const& s, nanoseconds now) noexcept { ledger_.set(s, now); }

    /// One turn of the loop. The backend observes each running job once.
    tick_report tick(nanoseconds now, tick_mode mode = tick_mode::apply) noexcept {
        if constexpr (!fills_columns<B>)
            measure(now, [this](job_id job, std::size_t) noexcept { return backend_.observe(job); });
        return run(now, mode);
    }

    /// One turn of the loop for a host that has observed its jobs itself: the backend observes none. `seen` has an
    /// entry for each row of the jobs table, a `std::optional<observation>`; an empty one keeps the job's last known
    /// use.
    template <class Observations>
    tick_report tick(nanoseconds now, Observations const& seen, tick_mode mode = tick_mode::apply) noexcept {
        RATION_ASSERT(seen.size() == store_.rows(table_id::jobs),
                      "engine: observations and rows of the jobs table differ in number: pass one for each row");
        measure(now, [&seen](job_id, std::size_t row) noexcept { return seen[row]; });
        return run(now, mode);
    }

private:
    tick_report run(nanoseconds now, tick_mode mode) noexcept {
        RATION_ASSERT(store_.rows(table_id::jobs) <= most_.jobs && store_.rows(table_id::nodes) <= most_.nodes,
                      "engine: more rows than bind() was given: call it again with higher limits");
        emit_jobs(now);
        show_changes(ledger_, store_, columns_);
        show_capacities();
        tenants_.begin(store_, columns_, now);
        tick_report report{.number = ticks_++, .now = now};
        grants answer(space_.edit());
        answer.read_by_rows();
        tick_data const shown{
            .number = report.number,
            .seed = options_.seed + report.number,
            .now = now,
            .budget = options_.budget,
            .data = store_.view(),
            .changes = lists_changes_ && policy_.follows_changes() ? store_.changes().view() : nullptr};
        if (options_.estimates != nullptr) options_.estimates->run(shown, store_);
        report.policy_status = policy_.decide(shown, answer);
        report.fell_back = report.policy_status != status::ok || answer.overflowed();
        store_.changes().clear();
        if (report.fell_back) ask_fallback(shown, answer);
        checker_.check(ledger_, answer.rows(), accepted_, rejected_, tenants_.limits_of());
        settler_.settle(
            options_.settle, ledger_, now, accepted_, deferred_, [&](checked_grant const& g) { return estimate_of(g); },
            [&](std::uint32_t node, resource_id r) { return capacity(node, r); }, tenants_.limits_of());
        commit(now, mode);
        if (mode == tick_mode::apply) emit(report.fell_back ? fallback_ : policy_, answer.rows(), now);
        show_changes(ledger_, store_, columns_);
        tenants_.end(store_, columns_);
        report.grants = answer.rows();
        report.rejected = rejected_.view();
        report.deferred = deferred_.view();
        report.changes = changes_.view();
        report.operations = texts_.view();
        report.failed = failed_.view();
        return report;
    }

    /// The policy may have taken in a part of the changes only, and the fallback was not asked before.
    void ask_fallback(tick_data shown, grants& answer) noexcept {
        store_.changes().mark_everything();
        shown.changes = nullptr;
        answer.clear();
        if (fallback_.decide(shown, answer) != status::ok || answer.overflowed()) answer.clear();
    }

    /// Updates nodes/free.* after the host has changed capacities.
    void show_capacities() noexcept {
        table_changes const& changed = store_.changes().of(table_id::nodes);
        if (changed.everything != 0) return show_free(ledger_, store_, columns_);
        for (std::size_t i = 0; i < changed.count; ++i)
            if ((changed.groups[i] & capacity_columns) != 0) show_free_of(changed.row[i], ledger_, store_, columns_);
    }

    [[nodiscard]] resource_columns const& of(resource_id r) const noexcept {
        return columns_.resources[static_cast<std::size_t>(r)];
    }
    [[nodiscard]] std::int64_t capacity(std::uint32_t node, resource_id r) const noexcept {
        return of(r).most_reserved(store_.at(of(r).capacity, node));
    }

    /// Both policies receive the events of jobs, since the fallback may have to decide at any time.
    void emit_jobs(nanoseconds now) noexcept {
        events_.clear();
        watch_.probe(store_, columns_, now, events_);
        if (events_.empty()) return;
        policy_.on_events(events_.view());
        fallback_.on_events(events_.view());
    }

    /// The policy that gave the answer receives its outcome.
    void emit(any_policy& who, std::span<grant const> answer, nanoseconds now) noexcept {
        events_.clear();
        for (auto const& c : changes_.view())
            events_.push_back(event_of(event_kind::grant_applied, c.grant.what(), c.grant.job_row(), now));
        for (auto const& f : failed_.view())
            events_.push_back(event_of(event_kind::grant_failed, f.grant.what(), f.grant.job_row(), now));
        for (auto const& r : rejected_.view()) {
            grant const& g = answer[r.row];
            job_id const job{g.job < store_.rows(table_id::jobs) ? store_.at(columns_.id, g.job) : 0};
            events_.push_back(event_of(event_kind::grant_rejected,
                                       {job, g.node, static_cast<resource_id>(g.resource), g.amount}, g.job, now));
        }
        if (!events_.empty()) who.on_events(events_.view());
    }

    /// A job that cannot be observed keeps its last known use: the host learns of its end from the process itself.
    template <class Observe>
    void measure(nanoseconds now, Observe observe) noexcept {
        auto const ids = std::as_const(store_)[columns_.id];
        meters_.follow(ids);
        for (std::size_t row = 0; row < ids.size(); ++row) {
            if (static_cast<job_state>(store_.at(columns_.state, row)) != job_state::running) continue;
            meters_[row].steps.read(now, static_cast<std::int64_t>(store_.at(columns_.step, row)));
            store_.at(columns_.measured_steps_per_second, row) = meters_[row].steps.per_second();
            auto const seen = observe(job_id{ids[row]}, row);
            if (!seen) continue;
            meters_[row].cpu_time.read(now, seen->cpu_time.count);
            // Ns per s = 10^-6 millicores
            store_.at(of(resource_id::cpu).used, row) = meters_[row].cpu_time.per_second() * 1e-6;
            store_.at(of(resource_id::memory).used, row) = static_cast<double>(seen->memory.count);
            if (throttled_.width == 0) continue;
            meters_[row].throttled.read(now, seen->throttled.count);
            // The kernel adds up the times of several processors
            double const part = meters_[row].throttled.per_second() * 1e-9;
            store_.at(throttled_, row) = part < 1 ? part : 1;
        }
    }

    [[nodiscard]] job_estimate estimate_of(checked_grant const& g) const noexcept {
        job_estimate estimate{.started = {store_.at(columns_.started, g.job_row())}};
        if (resources_[static_cast<std::size_t>(g.resource())].granularity != divisibility::atomic) return estimate;
        estimate.restart_cost = store_.at(columns_.restart_cost, g.job_row());
        estimate.remaining_seconds =
            store_.at(columns_.remaining, g.job_row()) / store_.at(columns_.measured_steps_per_second, g.job_row());
        estimate.speedup_held = speedup_at(g.job_row(), g.held);
        estimate.speedup_granted = speedup_at(g.job_row(), g.amount());
        return estimate;
    }

    /// Linear without a column of the host; beyond the end of the column its last value.
    [[nodiscard]] double speedup_at(std::size_t row, std::int64_t devices) const noexcept {
        if (speedup_.width == 0) return static_cast<double>(devices);
        auto const k = static_cast<std::size_t>(devices);
        return (&store_.at(speedup_, row))[k < speedup_.width ? k : speedup_.width - 1];
    }

    /// Groups that only give back come first. A group that takes finds its room in what is in force by then, so that no
    /// node ever promises more than it has: not between two operations, and not when a group that was to give back has
    /// failed. The checker's sums cannot show that: they are of the end of the tick, after every group.
    void commit(nanoseconds now, tick_mode mode) noexcept {
        changes_.clear();
        failed_.clear();
        texts_.clear();
        reservations_.start(ledger_, tenants_.limits_of());
        for (bool const taking : {false, true})
            for (std::size_t first = 0, last = 0; first < accepted_.size(); first = last) {
                last = end_of_group(accepted_.view(), first);
                auto const group = accepted_.view().subspan(first, last - first);
                bool any_takes = false;
                for (auto const& g : group) any_takes |= g.growth() > 0;
                if (any_takes == taking) commit_group(group, now, mode);
            }
    }

    void commit_group(std::span<checked_grant const> group, nanoseconds now, tick_mode mode) noexcept {
        auto const has = [&](std::uint32_t node, resource_id r) { return capacity(node, r); };
        if (!reservations_.exchange(group, has)) {
            for (auto const& g : group) deferred_.push_back({g, deferral::no_room});
            return;
        }
        std::size_t const first_change = changes_.size(), first_text = texts_.size();
        std::optional<plan_failure> failure = plan_group(group);
        if (!failure && mode == tick_mode::apply) failure = apply_plan();
        if (failure) {
            reservations_.revert(group);
            changes_.resize(first_change);
            texts_.resize(first_text);
            for (auto const& g : group) failed_.push_back({g, *failure});
        } else if (mode == tick_mode::apply) {
            for (auto const& g : group) ledger_.set(g.what(), now);
        }
    }

    /// The group's operations, those that give back first.
    [[nodiscard]] std::optional<plan_failure> plan_group(std::span<checked_grant const> group) noexcept {
        plan_.clear();
        for (bool const taking : {false, true})
            for (auto const& g : group) {
                if ((g.growth() > 0) != taking) continue;
                std::size_t const before = plan_.size();
                if (auto const ok = backend_.plan(in_effect(g), plan_); !ok)
                    return plan_failure{.at = before, .cause = ok.failure()};
                if (!has_room_for_texts(plan_.size() - before))
                    return plan_failure{.at = before, .cause = out_of_memory("describe a plan")};
                changes_.push_back({g, texts_.size(), plan_.size() - before});
                for (std::size_t i = before; i < plan_.size(); ++i) texts_.push_back(backend_.describe(plan_[i]));
            }
        return std::nullopt;
    }

    /// The number of operations is unknown before the plan.
    [[nodiscard]] bool has_room_for_texts(std::size_t more) noexcept {
        std::size_t const needed = texts_.size() + more;
        return needed <= texts_.capacity() || texts_.try_reserve(needed * 2);
    }

    [[nodiscard]] std::optional<plan_failure> apply_plan() noexcept {
        for (std::size_t i = 0; i < plan_.size(); ++i) {
            auto ok = backend_.apply(plan_[i]);
            bool const applied = static_cast<bool>(ok);
            if (applied) ok = backend_.verify(plan_[i]);
            if (!ok) return plan_failure{.at = i, .cause = ok.failure(), .rolled_back = undo(i + (applied ? 1 : 0))};
        }
        return std::nullopt;
    }

    /// "No limit" never means more than the job itself accepts, where that is less than the node has.
    [[nodiscard]] setting in_effect(checked_grant const& g) const noexcept {
        setting s = g.what();
        std::int64_t const most = store_.at(of(s.resource).maximum, g.job_row());
        if (s.amount == unlimited && most < capacity(s.node, s.resource)) s.amount = most;
        return s;
    }

    [[nodiscard]] bool undo(std::size_t count) noexcept {
        bool all = true;
        while (count > 0) all &= static_cast<bool>(backend_.undo(plan_[--count]));
        return all;
    }
};

}  // namespace ration
