// SPDX-License-Identifier: BSL-1.0
/// The jobs that have come and are not gone: one row each, beside the row that policies see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/host/ledger.hpp>
#include <ration/job.hpp>
#include <ration/sim/columns.hpp>

namespace ration::sim {

/// When jobs save their state: after every so much time of making steps; they make none while they save. Times count
/// from when a job began.
struct save_times {
    nanoseconds every{0};  ///< 0 = at all times
    nanoseconds take{0};   ///< each of them

    /// How much of the time so far was for steps.
    [[nodiscard]] nanoseconds working(nanoseconds passed) const noexcept {
        if (every.count <= 0 || take.count <= 0) return passed;
        std::int64_t const period = every.count + take.count, rest = passed.count % period;
        return {passed.count / period * every.count + (rest < every.count ? rest : every.count)};
    }
    /// The earliest time at which so much of it was for steps.
    [[nodiscard]] nanoseconds passed(nanoseconds working) const noexcept {
        if (every.count <= 0 || take.count <= 0 || working.count <= 0) return working;
        return working + nanoseconds{(working.count - 1) / every.count * take.count};
    }
    /// The end of the last save.
    [[nodiscard]] nanoseconds last_end(nanoseconds passed) const noexcept {
        std::int64_t const period = every.count + take.count;
        return every.count <= 0 ? passed : nanoseconds{passed.count / period * period};
    }
};

inline constexpr std::uint32_t no_node = 0xFFFF'FFFF;

/// What the simulation knows of one job. Progress is written down when the pace changes; in between it follows from the
/// time.
struct live_job {
    nanoseconds since{0};          ///< from when on it goes at `rate`; in the future while it restarts
    nanoseconds held_since{0};     ///< when what it holds last changed
    nanoseconds began{0};          ///< from when on it makes steps where it is; checkpoints are counted from there
    double done = 0;               ///< steps up to `since`
    double saved = 0;              ///< of them, those in the last checkpoint before `since`
    double rate = 0;               ///< steps per second
    double until = 0;              ///< steps up to which the rate holds; the job's length at most
    double attained = 0;           ///< device-seconds up to `held_since`
    double cores = 0;              ///< CPU that it gets, of a job that runs without devices
    std::uint32_t node = no_node;  ///< where it got some last
    std::int64_t devices = 0, batch = 0;
    std::uint64_t places = 0;   ///< a sum over where its devices are: another one means that they moved
    std::uint32_t version = 0;  ///< of its pace
    bool shares_node = false;   ///< `allocation::shares_node`

    [[nodiscard]] double steps_at(nanoseconds now, save_times const& saves) const noexcept {
        if (rate == 0 || now <= since) return done;
        double const steps = done + rate * to_seconds(saves.working(now - began) - saves.working(since - began));
        return steps < until ? steps : until;
    }
    /// When it has made steps for so much `work` from `from` on.
    [[nodiscard]] nanoseconds end_of(nanoseconds from, nanoseconds work, save_times const& saves) const noexcept {
        return began + saves.passed(saves.working(from - began) + work);
    }
    /// When its last save ended; `now` where jobs save at all times.
    [[nodiscard]] nanoseconds saved_last(nanoseconds now, save_times const& saves) const noexcept {
        return now <= began ? now : began + saves.last_end(now - began);
    }
    [[nodiscard]] double saved_at(nanoseconds now, save_times const& saves) const noexcept {
        nanoseconds const last = saved_last(now, saves);
        return last < since ? saved : steps_at(last, saves);
    }
    [[nodiscard]] double attained_at(nanoseconds now) const noexcept {
        return attained + static_cast<double>(devices) * to_seconds(now - held_since);
    }
};

/// Which of the columns that cost something to fill somebody reads.
struct columns_read {
    bool step = true, remaining = true, attained = true, scaling = true, loss = true;
};

/// Rows of live jobs and of the store's jobs table, in step.
class live_jobs {
    snapshot_store& store_;
    sim_columns const& columns_;
    workload const& workload_;
    buffer<live_job> jobs_;
    buffer<bool> gone_;
    std::size_t ended_ = 0;  // rows of jobs that are done
    columns_read read_;
    std::uint64_t seed_ = 0;
    save_times saves_;

    static constexpr std::size_t fewest_to_remove = 16;

public:
    live_jobs(snapshot_store& store, sim_columns const& columns, workload const& jobs, save_times const& saves) noexcept
        : store_(store), columns_(columns), workload_(jobs), saves_(saves) {}

    /// `seed`: of the noise of what jobs report.
    void fill_only(columns_read const& read, std::uint64_t seed) noexcept {
        read_ = read;
        seed_ = seed;
    }

    [[nodiscard]] std::size_t rows() const noexcept { return jobs_.size(); }
    /// Those that are not done.
    [[nodiscard]] std::size_t active() const noexcept { return jobs_.size() - ended_; }
    [[nodiscard]] live_job& operator[](std::size_t row) noexcept { return jobs_[row]; }
    [[nodiscard]] save_times const& saves() const noexcept { return saves_; }
    [[nodiscard]] double steps_at(std::size_t row, nanoseconds now) const noexcept {
        return jobs_[row].steps_at(now, saves_);
    }
    [[nodiscard]] std::uint64_t id(std::size_t row) const noexcept { return store_.at(columns_.standard.id, row); }
    [[nodiscard]] live_job const& operator[](std::size_t row) const noexcept { return jobs_[row]; }
    [[nodiscard]] job_description const& description(std::size_t row) const noexcept {
        return workload_.jobs[id(row) - 1];
    }
    /// The number of rows when the job has none. O(log rows).
    [[nodiscard]] std::size_t find(std::uint64_t id) const noexcept { return row_of(store_, columns_.standard, {id}); }

    /// Ids ascend from call to call. Errors: `no_capacity`.
    [[nodiscard]] result<void> arrive(std::uint64_t id, std::span<node_group const> groups) noexcept {
        std::size_t const row = jobs_.size();
        if (auto grown = store_.resize(table_id::jobs, row + 1); !grown) return grown;
        jobs_.push_back({});
        job_description const& job = workload_.jobs[id - 1];
        write_description(store_, columns_, row, id, job, workload_.models[job.model]->tiers(job));
        scale(row, groups);
        return {};
    }

    /// Shows how the job scales from where it is.
    void scale(std::size_t row, std::span<node_group const> groups) noexcept {
        if (read_.scaling) write_scaling(store_, columns_, row, workload_, description(row), jobs_[row].done, groups);
    }

    [[nodiscard]] bool is_active(std::size_t row) const noexcept {
        return ration::is_active(static_cast<job_state>(store_.at(columns_.standard.state, row)));
    }
    /// That it can use; 0 = it runs on devices.
    [[nodiscard]] double cores(std::size_t row) const noexcept {
        job_description const& job = description(row);
        return workload_.models[job.model]->cores(job);
    }
    [[nodiscard]] bool runs_on_cpu(std::size_t row) const noexcept { return cores(row) > 0; }

    /// The job is done or failed; its row goes later, together with others.
    void end(std::size_t row, job_state how, nanoseconds now) noexcept {
        live_job const& job = jobs_[row];
        store_.at(columns_.standard.state, row) = static_cast<std::uint32_t>(how);
        show_steps_of(row, steps_at(row, now));
        store_.at(columns_.standard.measured_steps_per_second, row) = 0;
        store_.at(columns_.get<"jobs/attained">(), row) = job.attained_at(now);
        jobs_[row] = {};
        ++ended_;
    }

    /// Removes the rows of ended jobs once they are a quarter of all: O(1) for each job in the long run.
    void compact() noexcept {
        if (ended_ < fewest_to_remove || ended_ * 4 < jobs_.size()) return;
        gone_.resize(jobs_.size());
        std::size_t kept = 0;
        for (std::size_t row = 0; row < jobs_.size(); ++row) {
            gone_[row] = !is_active(row);
            if (!gone_[row]) jobs_[kept++] = jobs_[row];
        }
        store_.erase_rows(table_id::jobs, gone_.data());
        jobs_.resize(kept);
        gone_.clear();
        ended_ = 0;
    }

    /// Brings the columns that move with time, and that somebody reads, up to `now`. O(rows).
    void show(nanoseconds now) noexcept {
        if (read_.attained) show_attained(now);
        if (read_.step || read_.remaining) show_steps(now);
        if (read_.loss) show_losses(now);
    }

    /// The same for one job that no longer moves.
    void show_steps_of(std::size_t row, double steps) noexcept {
        store_.at(columns_.standard.step, row) = static_cast<std::uint64_t>(steps);
        store_.at(columns_.standard.remaining, row) = store_.at(columns_.get<"jobs/total_steps">(), row) - steps;
    }

private:
    void show_attained(nanoseconds now) noexcept {
        double* const attained = store_.data(columns_.get<"jobs/attained">());
        for (std::size_t row = 0; row < jobs_.size(); ++row)
            if (jobs_[row].devices != 0) attained[row] = jobs_[row].attained_at(now);
    }

    void show_losses(nanoseconds now) noexcept {
        for (std::size_t row = 0; row < jobs_.size(); ++row) {
            if (!(jobs_[row].cores > 0) && jobs_[row].devices == 0) continue;
            auto const& job = description(row);
            double const loss = workload_.models[job.model]->reported_loss(job, seed_, id(row), steps_at(row, now));
            if (loss != loss) continue;  // the model has none
            auto& best = store_.at(columns_.get<"jobs/loss.best">(), row);
            best = best == 0 || loss < best ? loss : best;
            store_.at(columns_.standard.loss, row) = loss;
        }
    }

    void show_steps(nanoseconds now) noexcept {
        std::uint64_t* const step = store_.data(columns_.standard.step);
        double *const remaining = store_.data(columns_.standard.remaining), *const length = store_.data(
                                                                                columns_.get<"jobs/total_steps">());
        for (std::size_t row = 0; row < jobs_.size(); ++row) {
            if (!(jobs_[row].rate > 0)) continue;
            double const steps = steps_at(row, now);
            step[row] = static_cast<std::uint64_t>(steps);
            remaining[row] = length[row] - steps;
        }
    }
};

}  // namespace ration::sim
