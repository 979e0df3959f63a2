// SPDX-License-Identifier: BSL-1.0
/// The jobs that have arrived and not left: one row each, parallel to the rows of the jobs table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <ration/host/any_policy.hpp>
#include <ration/host/ledger.hpp>
#include <ration/job.hpp>
#include <ration/sim/clock.hpp>
#include <ration/sim/columns.hpp>
#include <ration/sim/job_records.hpp>
#include <ration/sim/prediction_noise.hpp>

namespace ration::sim {

/// The rule of checkpoints: a job saves its state after each `every` of making steps, and makes
/// none during `take`. Times count from the begin of a job, or from its last save before the rule changed.
struct save_times {
    nanoseconds every{0};  ///< 0 = continuously, without cost
    nanoseconds take{0};   ///< duration of each save

    /// The part of a time that was spent on steps.
    [[nodiscard]] nanoseconds working(nanoseconds passed) const noexcept {
        if (every.count <= 0 || take.count <= 0) return passed;
        std::int64_t const period = every.count + take.count, rest = passed.count % period;
        return {passed.count / period * every.count + (rest < every.count ? rest : every.count)};
    }
    /// The earliest time at which that much was spent on steps; the inverse of `working`.
    [[nodiscard]] nanoseconds passed(nanoseconds working) const noexcept {
        if (every.count <= 0 || take.count <= 0 || working.count <= 0) return working;
        return later_by(working, repeated(take, (working.count - 1) / every.count));
    }
    /// The place of a job at `passed` under the rule `next` instead: it has worked as long since its last save, or has
    /// as much left of a save. A save that is due begins at once.
    [[nodiscard]] nanoseconds moved_to(save_times const& next, nanoseconds passed) const noexcept {
        if (every.count <= 0) return {};
        nanoseconds const worked = passed - last_end(passed);
        if (worked > every) return next.every + (worked - every);
        return worked < next.every ? worked : next.every;
    }
    /// The end of the last save.
    [[nodiscard]] nanoseconds last_end(nanoseconds passed) const noexcept {
        std::int64_t const period = every.count + take.count;
        return every.count <= 0 ? passed : nanoseconds{passed.count / period * period};
    }
};

/// The node of a job that has not run yet.
inline constexpr std::uint32_t no_node = 0xFFFF'FFFF;

/// The state of one job in the simulation. Steps are recorded when the speed changes; between
/// changes they follow from the time.
struct live_job {
    nanoseconds since{0};       ///< begin of the present speed; in the future during a restart
    nanoseconds held_since{0};  ///< time of the last change of its allocation
    nanoseconds began{0};       ///< begin of its work on the present devices; checkpoints are counted from there
    double done = 0;            ///< steps up to `since`
    double saved = 0;           ///< steps in the last checkpoint before `since`
    nanoseconds saved_then{0};  ///< the end of that checkpoint
    nanoseconds save_every{0};  ///< interval of checkpoints that a policy has set; 0 = none
    double rate = 0;            ///< steps per second
    double full_rate = 0;       ///< the same if all data that it reads were cached
    double until = 0;           ///< steps up to which the rate holds; at most the job's length
    double attained = 0;        ///< device-seconds up to `held_since`
    double cores = 0;           ///< CPU of a job that runs without devices
    /// Devices that it holds, and its batch; 0 = the requested batch.
    std::int64_t devices = 0, batch = 0;
    std::uint64_t places = 0;      ///< hash of the placement; another value means that devices have moved
    std::uint32_t node = no_node;  ///< node of its last cores
    std::uint32_t version = 0;     ///< of its speed
    std::uint32_t round = 0;       ///< the last `simulation::follow_changes` that has seen it
    bool shares_node = false;      ///< `allocation::shares_node`
    bool has_to_restart = false;   ///< a job on processors without cores, after a fault or a kill

    /// Steps up to `now`.
    [[nodiscard]] double steps_at(nanoseconds now, save_times const& saves) const noexcept {
        if (rate == 0 || now <= since) return done;
        double const steps = done + rate * to_seconds(saves.working(now - began) - saves.working(since - began));
        return steps < until ? steps : until;
    }
    /// The time at which a job that works from `from` on has worked for `work`.
    [[nodiscard]] nanoseconds end_of(nanoseconds from, nanoseconds work, save_times const& saves) const noexcept {
        return later_by(began, saves.passed(later_by(saves.working(from - began), work)));
    }
    /// The end of its last save; `now` if jobs save continuously.
    [[nodiscard]] nanoseconds saved_last(nanoseconds now, save_times const& saves) const noexcept {
        if (now <= began) return now;
        nanoseconds const last = began + saves.last_end(now - began);
        return last < since ? saved_then : last;
    }
    /// Steps in the last checkpoint before `now`.
    [[nodiscard]] double saved_at(nanoseconds now, save_times const& saves) const noexcept {
        nanoseconds const last = saved_last(now, saves);
        return last < since ? saved : steps_at(last, saves);
    }
    /// Device-seconds up to `now`.
    [[nodiscard]] double attained_at(nanoseconds now) const noexcept {
        return attained + static_cast<double>(devices) * to_seconds(now - held_since);
    }
};

/// The columns with a cost that the policy reads. Others are not filled.
struct columns_read {
    bool step = true, remaining = true, attained = true, scaling = true, loss = true;
    bool lazy_attained = false;   ///< all policies that read `attained` follow changes
    bool lazy_remaining = false;  ///< the same for `remaining`, which falls evenly between two changes
    bool is_listed = false;       ///< the policy follows changes

    /// Those of two policies. `is_even`: a running job trains at the same speed between two changes. A fallback gets no
    /// list, so that a column that it reads is never lazy.
    [[nodiscard]] static columns_read by(any_policy const& policy, any_policy const& fallback,
                                         estimator_stage const* estimators, bool is_even) noexcept {
        auto const is_estimated_from = [&](std::string_view name) {
            return estimators != nullptr && estimators->uses(name, policy, fallback);
        };
        auto const reads = [&](std::string_view name) {
            return policy.reads(name) || fallback.reads(name) || is_estimated_from(name);
        };
        auto const read = [&](auto... names) { return (... || reads(names)); };
        auto const is_lazy = [&](std::string_view column) {
            return (policy.follows_changes() || !policy.reads(column)) && !fallback.reads(column) &&
                   !is_estimated_from(column);
        };
        return {.step = read("jobs/step"),
                .remaining = read("jobs/remaining"),
                .attained = read("jobs/attained"),
                .scaling = read("jobs/goodput", "jobs/goodput.fixed", "jobs/speedup", "jobs/batch",
                                "jobs/nominal_steps_per_second"),
                .loss = read("jobs/loss", "jobs/loss.best", "jobs/loss.target"),
                .lazy_attained = is_lazy("jobs/attained"),
                .lazy_remaining = is_even && read("jobs/remaining") &&
                                  !read("jobs/step", "jobs/loss", "jobs/loss.best") && is_lazy("jobs/remaining") &&
                                  is_lazy("jobs/attained"),
                .is_listed = policy.follows_changes()};
    }
};

/// The rows of live jobs, parallel to the jobs table of the store.
class live_jobs {
    snapshot_store& store_;
    sim_columns const& columns_;
    workload const& workload_;
    job_records& records_;
    buffer<live_job> jobs_;
    buffer<bool> gone_;
    std::size_t ended_ = 0;  // rows of jobs that are done
    columns_read read_;
    std::uint64_t seed_ = 0;
    prediction_noise noise_;
    save_times saves_;
    bool shown_all_ = false;  // at the last tick, any row may have changed

    static constexpr std::size_t fewest_to_remove = 16;
    static constexpr std::size_t most_ended = 65'536;  // a quarter of more rows would be 100 MB

public:
    /// All references have to outlive the object.
    live_jobs(snapshot_store& store, sim_columns const& columns, workload const& kinds, job_records& records,
              save_times const& saves) noexcept
        : store_(store), columns_(columns), workload_(kinds), records_(records), saves_(saves) {}

    /// Sets the columns to fill, and the errors of predictions; `seed` is that of all noise.
    void fill_only(columns_read const& read, std::uint64_t seed, prediction_noise const& noise) noexcept {
        read_ = read;
        seed_ = seed;
        noise_ = noise;
    }

    /// The number of rows, including jobs that have ended recently.
    [[nodiscard]] std::size_t rows() const noexcept { return jobs_.size(); }
    /// The number of jobs that have not ended.
    [[nodiscard]] std::size_t active() const noexcept { return jobs_.size() - ended_; }
    /// The state of a job.
    [[nodiscard]] live_job& operator[](std::size_t row) noexcept { return jobs_[row]; }
    /// The rule of checkpoints of a job.
    [[nodiscard]] save_times saves_of(std::size_t row) const noexcept {
        nanoseconds const own = jobs_[row].save_every;
        return {.every = own.count > 0 ? own : saves_.every, .take = saves_.take};
    }
    /// Steps of a job up to `now`.
    [[nodiscard]] double steps_at(std::size_t row, nanoseconds now) const noexcept {
        return jobs_[row].steps_at(now, saves_of(row));
    }
    /// The id of a job: its index in the order of submission, plus 1.
    [[nodiscard]] std::uint64_t id(std::size_t row) const noexcept { return store_.at(columns_.standard.id, row); }
    /// The state of a job, read-only.
    [[nodiscard]] live_job const& operator[](std::size_t row) const noexcept { return jobs_[row]; }
    /// The job in its trace.
    [[nodiscard]] job_description const& description(std::size_t row) const noexcept {
        return records_.description(row, id(row));
    }
    /// The row of a job; the number of rows if it has none. O(log rows).
    [[nodiscard]] std::size_t find(std::uint64_t id) const noexcept { return row_of(store_, columns_.standard, {id}); }

    /// Adds a row for a job. Ids ascend from call to call. Error: `no_capacity`.
    [[nodiscard]] result<void> arrive(std::uint64_t id, job_description const& job,
                                      std::span<node_group const> groups) noexcept {
        std::size_t const row = jobs_.size();
        if (auto grown = store_.resize(table_id::jobs, row + 1); !grown) return grown;
        jobs_.push_back({});
        records_.arrive(job);
        write_description(store_, columns_, row, id, job, workload_.models[job.model]->tiers(job));
        distort<"jobs/remaining", "jobs/total_steps", "jobs/restart_cost">(row);
        store_.at(columns_.get<"jobs/loss.target">(), row) = workload_.models[job.model]->loss_target(job, 0);
        if (columns_.shows_saves) store_.at(columns_.get<"jobs/save_cost">(), row) = to_seconds(saves_.take);
        scale(row, groups);
        return {};
    }

    /// Writes how the job scales from its present step on.
    void scale(std::size_t row, std::span<node_group const> groups) noexcept {
        if (!read_.scaling) return;
        write_scaling(store_, columns_, row, workload_, description(row), jobs_[row].done, groups);
        distort<"jobs/nominal_steps_per_second", "jobs/speedup", "jobs/goodput", "jobs/goodput.fixed">(row);
        mark(row, description_columns);
    }

    /// Records a change of the row. `jobs/attained` is shown as of the last change of the allocation, from which on it
    /// grows evenly; or, with `jobs/remaining`, as of the begin of the present speed.
    void mark(std::size_t row, std::uint32_t groups) noexcept {
        if (read_.lazy_remaining) {
            write_remaining(row, jobs_[row].done);
            return mark_as_of(row, groups, jobs_[row].since);
        }
        mark_as_of(row, groups, jobs_[row].held_since);
    }

    /// True if the job has not ended.
    [[nodiscard]] bool is_active(std::size_t row) const noexcept {
        return ration::is_active(static_cast<job_state>(store_.at(columns_.standard.state, row)));
    }
    /// True if the job runs on processors.
    [[nodiscard]] bool runs_on_cpu(std::size_t row) const noexcept { return model(row).cores(description(row)) > 0; }
    /// The model of a job.
    [[nodiscard]] job_model const& model(std::size_t row) const noexcept {
        return *workload_.models[description(row).model];
    }

    /// Ends a job. Its row is removed later, together with others.
    void end(std::size_t row, job_state how, nanoseconds now) noexcept {
        live_job const& job = jobs_[row];
        store_.at(columns_.standard.state, row) = static_cast<std::uint32_t>(how);
        show_steps_of(row, steps_at(row, now));
        store_.at(columns_.standard.measured_steps_per_second, row) = 0;
        store_.at(columns_.of(resource_id::gpu).used, row) = 0;
        store_.at(columns_.get<"jobs/attained">(), row) = job.attained_at(now);
        store_.changes().mark(table_id::jobs, row, all_columns);
        jobs_[row] = {};
        ++ended_;
    }

    /// Removes the rows of ended jobs once they are a quarter of all, or many. Returns true if rows have moved.
    /// Amortised O(1 + rows / `most_ended`) for each job.
    [[nodiscard]] bool compact() noexcept {
        if (ended_ < fewest_to_remove || (ended_ * 4 < jobs_.size() && ended_ < most_ended)) return false;
        gone_.resize(jobs_.size());
        std::size_t kept = 0;
        for (std::size_t row = 0; row < jobs_.size(); ++row) {
            gone_[row] = !is_active(row);
            if (!gone_[row]) jobs_[kept++] = jobs_[row];
        }
        store_.erase_rows(table_id::jobs, gone_.data());
        records_.remove(gone_.data());
        jobs_.resize(kept);
        gone_.clear();
        ended_ = 0;
        return true;
    }

    /// Updates the columns that change with time, as far as a policy reads them. O(rows), but for policies that follow
    /// changes and read none of them but `jobs/attained`. `is_followed`: the policy goes by the list at this tick.
    void show(nanoseconds now, bool is_followed) noexcept {
        if (read_.is_listed && !is_followed) store_.changes().mark_everything();
        bool const all = store_.changes().of(table_id::jobs).everything != 0;
        // A list of changes follows the values of now. Jobs that restart sink later.
        for (std::size_t row = 0; shown_all_ && row < jobs_.size(); ++row)
            if (jobs_[row].since > now) mark(row, 0);
        shown_all_ = all && read_.is_listed;
        if (read_.attained && (!read_.lazy_attained || all)) show_attained(now);
        if (read_.step || (read_.remaining && (!read_.lazy_remaining || all))) show_steps(now);
        if (read_.loss) show_losses(now);
    }

    /// Writes the steps of one job that has stopped.
    void show_steps_of(std::size_t row, double steps) noexcept {
        mark(row, 0);
        store_.at(columns_.standard.step, row) = static_cast<std::uint64_t>(steps);
        write_remaining(row, steps);
    }

private:
    void write_remaining(std::size_t row, double steps) noexcept {
        double const left = description(row).length - steps;
        store_.at(columns_.standard.remaining, row) = left * noise_.factor<"jobs/remaining">(seed_, id(row));
    }
    /// Multiplies values that were just written by the job's factors. Columns that no policy reads have none.
    template <fixed_string... Columns>
    void distort(std::size_t row) noexcept {
        (multiply(store_, columns_.get<Columns>(), row, noise_.factor<Columns>(seed_, id(row))), ...);
    }
    /// Records that columns have grown up to now. A policy that does not follow changes has no use for that.
    void mark_progress(std::size_t row, nanoseconds now) noexcept {
        if (read_.is_listed && !shown_all_) mark_as_of(row, 0, jobs_[row].since > now ? jobs_[row].since : now);
    }
    void mark_as_of(std::size_t row, std::uint32_t groups, nanoseconds at) noexcept {
        store_.at(columns_.get<"jobs/attained">(), row) = jobs_[row].attained_at(at);
        store_.changes().mark(table_id::jobs, row, groups | progress_columns, at.count);
    }
    /// Updates `jobs/attained`.
    void show_attained(nanoseconds now) noexcept {
        double* const attained = store_.data(columns_.get<"jobs/attained">());
        for (std::size_t row = 0; row < jobs_.size(); ++row)
            if (jobs_[row].devices != 0) {
                attained[row] = jobs_[row].attained_at(now);
                mark_progress(row, now);
            }
    }

    /// Updates `jobs/loss` and `jobs/loss.best` of running jobs.
    void show_losses(nanoseconds now) noexcept {
        for (std::size_t row = 0; row < jobs_.size(); ++row) {
            if (!(jobs_[row].cores > 0) && jobs_[row].devices == 0) continue;
            auto const& job = description(row);
            job_model const& model = *workload_.models[job.model];
            double const step = steps_at(row, now), loss = model.reported_loss(job, seed_, id(row), step);
            if (loss != loss) continue;  // the model has none
            store_.at(columns_.get<"jobs/loss.target">(), row) = model.loss_target(job, step);
            auto& best = store_.at(columns_.get<"jobs/loss.best">(), row);
            best = best == 0 || loss < best ? loss : best;
            store_.at(columns_.standard.loss, row) = loss;
            mark_progress(row, now);
        }
    }

    /// Updates `jobs/step` and `jobs/remaining` of running jobs.
    void show_steps(nanoseconds now) noexcept {
        for (std::size_t row = 0; row < jobs_.size(); ++row) {
            if (!(jobs_[row].rate > 0)) continue;
            double const steps = steps_at(row, now);
            store_.at(columns_.standard.step, row) = static_cast<std::uint64_t>(steps);
            write_remaining(row, steps);
            mark_progress(row, now);
        }
    }
};

/// The use of a job on processors now, while no limit throttles it. Precondition: the speed of the job holds now.
[[nodiscard]] inline cpu_demand demand_of(live_jobs const& jobs, std::size_t row) noexcept {
    return jobs.model(row).demand(jobs.description(row), jobs[row].done);
}

/// Records device-seconds up to now, and the gap of a service to its requests. Call it before the holdings change.
inline void bring_up(live_jobs& jobs, std::size_t row, workload const& kinds, job_records& records,
                     nanoseconds now) noexcept {
    live_job& job = jobs[row];
    auto const& described = jobs.description(row);
    if (auto const& model = *kinds.models[described.model]; model.makes_requests()) {
        auto const gap = model.gap_to_requests(described, job.devices, job.held_since, now);
        request_gap& sum = records.outcome(row, jobs.id(row)).requests;
        sum.excess += gap.excess;
        sum.shortage += gap.shortage;
        sum.met += gap.met;
    }
    job.attained = job.attained_at(now);
    job.held_since = now;
}

}  // namespace ration::sim
