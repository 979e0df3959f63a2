// SPDX-License-Identifier: BSL-1.0
/// las: the least attained service first, in queues. Source: J. Gu et al., "Tiresias: A GPU Cluster
/// Manager for Distributed Deep Learning", NSDI 2019, its discretised 2D-LAS; queues and promotion
/// as in the simulator that its authors published.
///
/// For clusters with unknown job lengths: it needs no predictions. `gittins` is the same paper's
/// rule with a distribution of lengths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include <ration/job_memory.hpp>
#include <ration/parameter.hpp>
#include <ration/policies/detail/crossing_times.hpp>
#include <ration/policies/detail/ranked_jobs.hpp>
#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/policy.hpp>
#include <ration/state.hpp>

namespace ration::policies {

/// Parameters of `las`; each member has its unit and its default.
struct las_parameters {
    double first_threshold = 3250;   ///< device-seconds after which a job leaves the first queue
    double second_threshold = 7200;  ///< and the second one
    double promote = 0;              ///< back to the first queue after waiting this multiple of its run time; 0 = never

    /// Meaning and valid interval of each parameter, for help texts and the JSON schema.
    static constexpr parameter_note notes[] = {
        {.name = "first_threshold", .meaning = "device-seconds after which a job leaves the first queue", .least = 0},
        {.name = "second_threshold",
         .meaning = "device-seconds after which it leaves the second one; the first for two queues",
         .least = 0},
        {.name = "promote",
         .meaning = "back to the first queue after a wait of so many times its run time; 0 = never",
         .least = 0}};

    /// Validates the values: a sentence with the first invalid one and the fix, or empty text.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        if (!(first_threshold >= 0)) return "first_threshold is a service in device-seconds: write a number from 0 up";
        if (!(second_threshold >= first_threshold))
            return "second_threshold is the higher one: write at least first_threshold";
        if (!(promote >= 0)) return "promote is a ratio of times: write a number from 0 up";
        return {};
    }
};

/// The service of a job is its devices times the seconds that it held them. With growing service
/// the job moves from queue to queue. The first queue is served before the second, and the second
/// before the third. Within a queue, running jobs come before waiting ones; then the job that
/// started first, and jobs that never ran last, in the order of submission.
///
/// All or nothing; a job that does not fit lets others overtake; running jobs are stopped for
/// higher queues. A job that was stopped and has waited for `promote` times its run time returns to
/// the first queue, and its service counts from 0 again. O(log jobs) for each job that changes or
/// reaches a threshold; with `promote`, O(jobs). State to save, with `promote`: one entry for each job.
class las {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = las_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = detail::rigid_columns<in<double, "jobs/attained">, in<std::int64_t, "jobs/started">>;
    /// What it remembers of jobs is renewed for the changed ones only.
    static constexpr bool follows_changes = true;
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.las",
                                .version = "1.0.0",
                                .summary = "the least attained service first, in queues",
                                .reasons = detail::rigid_jobs::reasons};

    /// With the default parameters.
    las() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit las(las_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        order_.reserve(most.jobs);
        crossings_.reset(most.jobs);
        has_crossings_ = false;
        lines_.clear();
        lines_.reserve(most.jobs);
        chosen_.reserve(most.jobs);
        new_rows_.reserve(most.jobs);
        unranked_.clear();
        unranked_.reserve(most.jobs);
        is_unranked_.clear();
        is_unranked_.reserve(most.jobs);
        pauses_.reserve(most_jobs_ = most.jobs);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        follow(t);
        if (!jobs_.plan(t, true)) return status::ok;
        if (jobs_.all_fit()) {
            jobs_.start_all(t);
            return jobs_.finish(out);
        }
        for (std::size_t row = due(t.now()); row != crossings_.none; row = due(t.now())) rank(t, row);
        for (std::uint32_t const row : unranked_) rank(t, row);
        for (std::uint32_t const row : jobs_.planned()) rank(t, row);
        unranked_.clear();
        chosen_.clear();
        order_.divide(
            jobs_.available(), [&](std::uint32_t row) noexcept { jobs_.stop(t, row); },
            [&](std::uint32_t row) noexcept { chosen_.push_back(row); });
        // All stops come first, so that their devices are free for the others.
        for (std::uint32_t const row : chosen_)
            if (jobs_.waits(row)) static_cast<void>(jobs_.start(t, row));
        return jobs_.finish(out);
    }

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept {
        state_writer out(space);
        pauses_.save(out);
        return out.needed();
    }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept {
        state_reader in(saved);
        auto pauses = job_memory<pause>{};
        pauses.reserve(most_jobs_);
        if (!pauses.load(in) || !in.finished()) return status::state;
        pauses_ = std::move(pauses);
        return status::ok;
    }

private:
    /// The last wait of a job, and its service that no longer counts.
    struct pause {
        double forgiven = 0;   // service that no longer counts
        double attained = -1;  // when it was last seen stopped
        nanoseconds since{0};

        [[nodiscard]] static auto fields(auto& self) noexcept {
            return std::tie(self.forgiven, self.attained, self.since.count);
        }
        [[nodiscard]] bool sane() const noexcept { return is_finite(forgiven) && forgiven >= 0 && is_finite(attained); }
    };

    /// The service of a job on devices grows from a known value.
    struct line {
        double service = 0;      // device-seconds at `since`
        std::int64_t since = 0;  // ns
    };

    las_parameters parameters_;
    detail::rigid_jobs jobs_;
    detail::ranked_jobs order_;
    detail::crossing_times crossings_;  // of the next threshold, by row
    bool has_crossings_ = false;        // without a list of changes, all jobs are ranked at each tick
    buffer<line> lines_;                // by row
    buffer<std::uint32_t> chosen_, new_rows_;
    buffer<std::uint32_t> unranked_;    // rows that have changed since the last division
    buffer<std::uint8_t> is_unranked_;  // by row
    job_memory<pause> pauses_;
    std::size_t most_jobs_ = 0;

    /// The queue for an attained service: 0, 1 or 2. A double, since it is a sort key.
    [[nodiscard]] double queue_of(double service) const noexcept {
        return service < parameters_.first_threshold ? 0 : service < parameters_.second_threshold ? 1 : 2;
    }

    /// Takes in the changes since the last tick.
    void follow(tick<inputs> const& t) noexcept {
        bool const moved = jobs_.follow(t);
        auto const& changed = t.changes(table_id::jobs);
        if (moved) move_rows(t.jobs());
        order_.grow(t.jobs());
        while (lines_.size() < t.jobs()) lines_.push_back({});
        is_unranked_.resize(t.jobs());
        auto const attained = t.get<"jobs/attained">();
        bool const had_crossings = has_crossings_;
        has_crossings_ = changed.everything == 0;
        bool const any = moved || !had_crossings || !has_crossings_ || make_room_for_crossings(t.jobs());
        if (changed.everything != 0)
            for (std::size_t row = 0; row < t.jobs(); ++row) lines_[row] = {attained[row], t.now().count};
        for (std::size_t i = 0; i < changed.count; ++i)
            if ((changed.groups[i] & progress_columns) != 0)
                lines_[changed.row[i]] = {attained[changed.row[i]], changed.at[i] < 0 ? t.now().count : changed.at[i]};
        if (parameters_.promote > 0) promote(t);
        for (std::size_t row = 0; any && row < t.jobs(); ++row) note(row);
        for (std::uint32_t const row : jobs_.requests().renewed()) note(row);
    }

    /// A job that has reached the threshold of its queue.
    [[nodiscard]] std::size_t due(nanoseconds now) const noexcept {
        return has_crossings_ ? crossings_.due(now) : crossings_.none;
    }

    /// The job has to be ranked before the next division.
    void note(std::size_t row) noexcept {
        if (is_unranked_[row] != 0) return;
        is_unranked_[row] = 1;
        unranked_.push_back(static_cast<std::uint32_t>(row));
    }

    /// Returns true if all jobs have to be ranked again.
    [[nodiscard]] bool make_room_for_crossings(std::size_t jobs) noexcept {
        if (crossings_.size() > jobs) return false;
        crossings_.reset(2 * jobs < most_jobs_ ? 2 * jobs : most_jobs_);
        return true;
    }

    /// Gives the jobs their present rows.
    void move_rows(std::size_t rows) noexcept {
        new_rows_.clear();
        for (std::size_t old = 0; old < lines_.size(); ++old) new_rows_.push_back(0xFFFF'FFFF);
        crossings_.reset(0);
        unranked_.clear();
        is_unranked_.reset(rows);
        while (lines_.size() < rows) lines_.push_back({});
        for (std::size_t row = 0; row < rows; ++row) {
            detail::former_row const& from = jobs_.requests().former(row);
            if (from.is_known) new_rows_[from.row] = static_cast<std::uint32_t>(row);
            lines_[row] = from.is_known ? lines_[from.row] : line{};
        }
        lines_.resize(rows);
        order_.move_rows(new_rows_.view(), rows);
    }

    /// The service of a job that counts now.
    [[nodiscard]] double service_of(std::size_t row, std::int64_t held, nanoseconds now) const noexcept {
        double const grown = static_cast<double>(held) * to_seconds(now - nanoseconds{lines_[row].since});
        return lines_[row].service + grown - (parameters_.promote > 0 ? pauses_[row].forgiven : 0);
    }

    /// Sets the place of a job in the order, and the time of its next queue.
    void rank(tick<inputs> const& t, std::size_t row) noexcept {
        std::int64_t const held = t.get<"jobs/held.gpu">()[row];
        double const service = service_of(row, held, t.now()), queue = queue_of(service);
        is_unranked_[row] = 0;
        order_.put(
            row, {queue, detail::turn_of(held, t.get<"jobs/started">()[row])},
            {.wanted = jobs_.wanted(row), .holds = jobs_.held(row) > 0, .lacks = jobs_.held(row) != jobs_.wanted(row)});
        if (has_crossings_) crossings_.set(row, next_queue(queue, service, held, t.now()));
    }

    /// The time at which the service of a job reaches the threshold of its queue. The division rounds, so it is a
    /// little early; `rank` looks at the service itself.
    [[nodiscard]] nanoseconds next_queue(double queue, double service, std::int64_t held,
                                         nanoseconds now) const noexcept {
        if (held <= 0 || queue > 1) return crossings_.never;
        double const threshold = queue > 0 ? parameters_.second_threshold : parameters_.first_threshold;
        double const left = (threshold - service) / static_cast<double>(held) * (1 - 1e-9);
        constexpr double farthest = 1e9;  // seconds
        if (!(left < farthest)) return crossings_.never;
        return nanoseconds{now.count + 1 + static_cast<std::int64_t>(left * 1e9)};
    }

    /// Detects waits and promotes jobs. A wait begins when a job that ran is first seen without
    /// devices. Between two waits the attained service grows, which distinguishes them.
    void promote(tick<inputs> const& t) noexcept {
        pauses_.follow(t.get<"jobs/id">());
        auto const held = t.get<"jobs/held.gpu">();
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            std::int64_t const wanted = jobs_.wanted(row);
            double const attained = lines_[row].service;
            if (held[row] != 0 || wanted == 0 || !(attained > 0)) continue;
            pause& p = pauses_[row];
            if (p.attained != attained) {
                p.attained = attained;
                p.since = t.now();
            }
            double const service = attained - p.forgiven, ran = service / static_cast<double>(wanted);
            if (!(queue_of(service) > 0) || to_seconds(t.now() - p.since) < parameters_.promote * ran) continue;
            p.forgiven = attained;
            note(row);
        }
    }
};

static_assert(Policy<las>);

}  // namespace ration::policies
