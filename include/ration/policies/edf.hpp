// SPDX-License-Identifier: BSL-1.0
/// edf: the earliest deadline first, with admission. Source: D. Gu et al., "ElasticFlow: An Elastic Serverless Training
/// Platform for Distributed Deep Learning", ASPLOS 2023.
///
/// For elastic jobs with deadlines and predicted lengths. The other policies ignore deadlines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include <ration/buffer.hpp>
#include <ration/detail/sort.hpp>
#include <ration/job_memory.hpp>
#include <ration/parameter.hpp>
#include <ration/policies/detail/device_timeline.hpp>
#include <ration/policies/detail/elastic_jobs.hpp>
#include <ration/policies/detail/heap.hpp>
#include <ration/policies/detail/speed.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// Which jobs get devices for their deadlines, and how many.
enum class deadline_rule : std::uint8_t { admission, least, most };
/// The words of `deadline_rule` in a configuration, in the order of its values.
inline constexpr std::string_view deadline_rule_names[] = {"admission", "least", "most"};
/// Found by the adapter of parameters (adapt/parameters.hpp).
[[nodiscard]] constexpr std::span<std::string_view const> words_of(deadline_rule) noexcept {
    return deadline_rule_names;
}

/// Parameters of `edf`; each member has its unit and its default.
struct edf_parameters {
    /// Which jobs get devices for their deadlines, and how many.
    deadline_rule rule = deadline_rule::admission;
    double interval = 600;  ///< seconds after which the devices are divided again, also without a change

    /// Meaning of each parameter, for help texts and the JSON schema.
    static constexpr parameter_note notes[] = {
        {.name = "rule",
         .meaning = "admission: fewest devices that meet a deadline, kept for admitted jobs; least: the same, without "
                    "admission; most: all useful devices to the earliest deadline"},
        {.name = "interval",
         .meaning = "seconds after which the devices are divided again, 0 to 1000000",
         .least = 0,
         .most = 1e6}};

    /// Validates the values: a sentence with the first invalid one and the fix, or empty text.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        return interval >= 0 && interval <= 1e6 ? std::string_view{}
                                                : "interval is a time in seconds: write a number from 0 to 1000000";
    }
};

/// Jobs are planned in the order of their deadlines, on the devices that will be free. Of the numbers of devices that
/// each make it faster, a job gets the least with which it ends in time. While fewer are free, it has these.
///
/// With `admission`, a job is admitted at its arrival if it can be planned beside all admitted ones. With `least`, all
/// jobs are planned at each division, so that an urgent arrival can displace another.
///
/// Devices that no plan uses now are spare. They are given in increments, each up to the next number that makes a job
/// faster. The next increment is of the job that saves most later: its further steps/s per further device, in relation
/// to its steps/s per planned device. A job without a plan (no deadline, too late, not admitted, or of unknown length)
/// begins with an increment that counts 1. Ties go to planned jobs, then in the order of submission.
///
/// With `most`, plain earliest deadline first: each job in this order gets all devices that make it faster.
///
/// Interpretation here: the paper plans in slots, gives spare devices by device-time saved, and drops jobs that it
/// does not admit. A change of devices costs `jobs/restart_cost` at its begin. Speeds are those of the requested batch
/// on the first type of devices.
///
/// O(jobs^2) for each number of devices, at the arrival of a job, when jobs or devices come or go, and at intervals;
/// O(jobs + nodes) otherwise. State: the admitted jobs, and the time of the last division.
class edf {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = edf_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = detail::elastic_columns<in<std::int64_t, "jobs/deadline">, in<double, "jobs/remaining">,
                                           in<double, "jobs/restart_cost">, in_rows<double, "jobs/goodput.fixed">,
                                           in<std::uint32_t, "nodes/type">>;
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.edf",
                                .version = "1.0.0",
                                .summary = "the earliest deadline first, with admission",
                                .reasons = detail::elastic_jobs::reasons};

    /// With the default parameters.
    edf() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit edf(edf_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        records_.reserve(most.jobs);
        by_deadline_.reserve(most.jobs);
        plans_.reserve(most.jobs);
        future_.reserve(most.jobs);
        increments_.reserve(most.jobs);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        bool const is_asked_again = jobs_.last.is_made && jobs_.last.at == t.now();
        if (!jobs_.is_due(t, parameters_.interval, true)) return status::ok;
        records_.follow(t.get<"jobs/id">());
        std::int64_t const widest = detail::widest_of(t.get<"jobs/goodput.fixed">().width(), t.get<"nodes/type">());
        auto const shares = jobs_.list(t, [&](std::size_t) noexcept { return widest; });
        sort_by_deadline(t, shares);
        if (parameters_.rule == deadline_rule::most) {
            give_most(t, shares);
            return jobs_.apply(t, out);
        }
        plan_all(t, shares, is_asked_again);
        for (auto& s : shares) s.given = plans_[place_of(s, shares)].now;
        give_spare(t, shares);
        return jobs_.apply(t, out);
    }

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept {
        state_writer out(space);
        out.put(jobs_.last);
        out.put(keeps_sizes_);
        records_.save(out);
        return out.needed();
    }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept {
        state_reader in(saved);
        edf loaded(parameters_);
        loaded.records_.reserve(records_.capacity());
        if (!in.get(loaded.jobs_.last) || !in.get(loaded.keeps_sizes_) || !loaded.records_.load(in) || !in.finished())
            return status::state;
        jobs_.last = loaded.jobs_.last;
        keeps_sizes_ = loaded.keeps_sizes_;
        records_ = std::move(loaded.records_);
        return status::ok;
    }

private:
    using shares_view = std::span<detail::share>;
    enum admission_state : std::uint8_t { undecided, admitted, refused };
    struct record {
        std::uint8_t admission = undecided;
        std::int64_t devices = 0;  // of the last plan; 0 = it had none

        [[nodiscard]] static auto fields(auto& self) noexcept { return std::tie(self.admission, self.devices); }
        [[nodiscard]] bool sane() const noexcept { return admission <= refused && devices >= 0; }
    };
    struct job_plan {
        std::int64_t most = 0;  // devices; 0 = not planned
        std::int64_t now = 0;   // of them, those that are free now
    };

    /// Further devices of a job, up to a number that makes it faster.
    struct increment {
        double value;
        std::int64_t to;
        std::uint32_t place;
        bool is_planned;

        [[nodiscard]] static bool before(increment const& a, increment const& b) noexcept {
            if (a.value != b.value) return a.value > b.value;
            return a.is_planned != b.is_planned ? a.is_planned : a.place < b.place;
        }
    };

    edf_parameters parameters_;
    detail::elastic_jobs jobs_;
    job_memory<record> records_;
    bool keeps_sizes_ = false;           // of the last division: no job gets fewer devices than in the plan before it
    buffer<std::uint32_t> by_deadline_;  // places among the shares
    buffer<job_plan> plans_;             // by place
    detail::device_timeline future_;
    detail::heap<increment> increments_;

    [[nodiscard]] static std::size_t place_of(detail::share const& s, shares_view all) noexcept {
        return static_cast<std::size_t>(&s - all.data());
    }
    [[nodiscard]] static detail::speed_curve speed_of(tick<inputs> const& t, detail::share const& s) noexcept {
        return {t.get<"jobs/goodput.fixed">()[s.row]};
    }
    /// ns on the tick's clock; jobs without one come last.
    [[nodiscard]] static std::int64_t deadline_of(tick<inputs> const& t, detail::share const& s) noexcept {
        std::int64_t const deadline = t.get<"jobs/deadline">()[s.row];
        return deadline < 0 ? std::numeric_limits<std::int64_t>::max() : deadline;
    }
    /// Whether the job has a deadline that is not over, and a known length.
    [[nodiscard]] static bool can_be_planned(tick<inputs> const& t, detail::share const& s) noexcept {
        return t.get<"jobs/deadline">()[s.row] > t.now().count && t.get<"jobs/remaining">()[s.row] >= 0;
    }

    void sort_by_deadline(tick<inputs> const& t, shares_view shares) noexcept {
        by_deadline_.resize(shares.size());
        plans_.reset(shares.size());
        for (std::size_t i = 0; i < shares.size(); ++i) by_deadline_[i] = static_cast<std::uint32_t>(i);
        ration::detail::sort(by_deadline_.data(), by_deadline_.size(), [&](std::uint32_t a, std::uint32_t b) {
            std::int64_t const of_a = deadline_of(t, shares[a]), of_b = deadline_of(t, shares[b]);
            return of_a != of_b ? of_a < of_b : a < b;
        });
    }

    /// Plans the jobs. With `admission`, also decides on new ones.
    void plan_all(tick<inputs> const& t, shares_view shares, bool is_asked_again) noexcept {
        keeps_sizes_ = keeps_sizes_ && is_asked_again;
        std::size_t late = plan(t, shares);
        if (parameters_.rule != deadline_rule::admission) return;
        if (!keeps_sizes_ && loses_plan(shares)) {
            keeps_sizes_ = true;
            late = plan(t, shares);
        }
        admit(t, shares, late);
        for (auto const& s : shares) records_[s.row].devices = plans_[place_of(s, shares)].most;
    }
    /// Whether a job that had a plan has none any more. Faster progress than planned can cause that: a job that needs
    /// fewer devices now holds them for longer, so that later ones lack them.
    [[nodiscard]] bool loses_plan(shares_view shares) const noexcept {
        for (std::size_t place = 0; place < shares.size(); ++place)
            if (records_[shares[place].row].devices > 0 && plans_[place].most == 0) return true;
        return false;
    }
    /// Decides on the jobs that have arrived, in the order of submission. Precondition: `plan` returned `late`.
    void admit(tick<inputs> const& t, shares_view shares, std::size_t late) noexcept {
        for (auto const& s : shares) {
            if (records_[s.row].admission != undecided || !can_be_planned(t, s)) continue;
            records_[s.row].admission = admitted;
            if (plan(t, shares) <= late) continue;
            records_[s.row].admission = refused;
            static_cast<void>(plan(t, shares));
        }
    }

    /// Plans the jobs in the order of their deadlines: all, or the admitted ones. Returns the number of those that
    /// will be late, and have no plan.
    [[nodiscard]] std::size_t plan(tick<inputs> const& t, shares_view shares) noexcept {
        std::size_t late = 0;
        future_.reset(jobs_.devices());
        for (std::uint32_t const place : by_deadline_.view()) {
            detail::share const& s = shares[place];
            plans_[place] = {};
            bool const is_meant = parameters_.rule == deadline_rule::least || records_[s.row].admission == admitted;
            if (!is_meant || !can_be_planned(t, s)) continue;
            plans_[place] = plan_of(t, s);
            late += plans_[place].most == 0;
        }
        return late;
    }
    /// The plan with the fewest devices that ends in time. The devices are taken.
    [[nodiscard]] job_plan plan_of(tick<inputs> const& t, detail::share const& s) noexcept {
        std::int64_t const kept = keeps_sizes_ ? records_[s.row].devices : 0;
        detail::timed_work work{.speed = speed_of(t, s),
                                .steps = t.get<"jobs/remaining">()[s.row],
                                .deadline = to_seconds(nanoseconds{deadline_of(t, s)} - t.now()),
                                .least = s.least};
        for (std::int64_t most = work.speed.next(0, s.least, s.most); most > 0;
             most = work.speed.next(most, s.least, s.most)) {
            if (most < kept) continue;
            work.pause = most == t.get<"jobs/held.gpu">()[s.row] ? 0 : t.get<"jobs/restart_cost">()[s.row];
            double const end = future_.end_of(work, most);
            if (end < std::numeric_limits<double>::infinity()) return {most, future_.take(work, most, end)};
        }
        return {};
    }

    /// Offers the job's next increment, if it saves something: steps/s for each further device, in relation to those
    /// for each planned device.
    void offer(tick<inputs> const& t, detail::share const& s, shares_view shares) noexcept {
        std::size_t const place = place_of(s, shares);
        detail::speed_curve const speed = speed_of(t, s);
        std::int64_t const to = speed.next(s.given, s.least, s.most);
        if (to == 0) return;
        bool const is_planned = plans_[place].most > 0;
        std::int64_t const base = is_planned ? plans_[place].most : speed.next(0, s.least, s.most);
        double const before = speed.at(s.given), after = speed.at(to), steps = t.get<"jobs/remaining">()[s.row];
        bool const would_restart = s.given > 0 && s.given == t.get<"jobs/held.gpu">()[s.row];
        double const cost = would_restart ? t.get<"jobs/restart_cost">()[s.row] : 0;
        if (cost > 0 && !(steps / before - steps / after > cost)) return;
        double const of_increment = (after - before) / static_cast<double>(to - s.given),
                     of_base = speed.at(base) / static_cast<double>(base);
        increments_.push({of_increment / of_base, to, static_cast<std::uint32_t>(place), is_planned});
    }
    /// Divides the devices that no plan uses now. O((jobs + devices) log jobs).
    void give_spare(tick<inputs> const& t, shares_view shares) noexcept {
        std::int64_t left = future_.free_now();
        increments_.clear();
        if (left <= 0) return;
        for (auto const& s : shares) offer(t, s, shares);
        while (left > 0 && !increments_.empty()) {
            increment const best = increments_.top();
            increments_.pop();
            detail::share& s = shares[best.place];
            if (best.to - s.given > left) continue;
            left -= best.to - s.given;
            s.given = best.to;
            offer(t, s, shares);
        }
    }

    /// Gives each job, in the order of deadlines, all devices that make it faster.
    void give_most(tick<inputs> const& t, shares_view shares) noexcept {
        std::int64_t left = jobs_.devices();
        for (std::uint32_t const place : by_deadline_.view()) {
            detail::share& s = shares[place];
            std::int64_t const most = s.most < left ? s.most : left;
            for (std::int64_t to = speed_of(t, s).next(0, s.least, most); to > 0;
                 to = speed_of(t, s).next(to, s.least, most))
                s.given = to;
            left -= s.given;
        }
    }
};

static_assert(Policy<edf>);

}  // namespace ration::policies
