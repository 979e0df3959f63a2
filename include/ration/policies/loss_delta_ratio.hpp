// SPDX-License-Identifier: BSL-1.0
/// loss_delta_ratio: devices in the ratio in which the jobs' losses fall. The less a loss still
/// falls, the more devices; or the reverse. Source: L. Wei, K. Shudo, "Dynamic Computing Resources
/// Allocation for Multiple Deep Learning Tasks", for two jobs on four GPUs.
/// docs/loss-delta-ratio.md lists the gaps of the paper and the interpretation here.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include <ration/buffer.hpp>
#include <ration/job.hpp>
#include <ration/job_memory.hpp>
#include <ration/parameter.hpp>
#include <ration/policies/detail/largest_remainder.hpp>
#include <ration/policies/detail/loss_window.hpp>
#include <ration/policies/detail/one_node_grants.hpp>
#include <ration/policies/detail/requested_devices.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// The jobs that get more: `favour_small`, as in the paper, those whose loss falls least;
/// `favour_large` those whose loss falls most.
enum class loss_delta_direction : std::uint8_t { favour_small, favour_large };
/// The words of `loss_delta_direction` in a configuration, in the order of its values.
inline constexpr std::string_view loss_delta_direction_names[] = {"favour_small", "favour_large"};
/// Found by the adapter of parameters (adapt/parameters.hpp).
[[nodiscard]] constexpr std::span<std::string_view const> words_of(loss_delta_direction) noexcept {
    return loss_delta_direction_names;
}

/// Parameters of `loss_delta_ratio`; each member has its unit and its default.
struct loss_delta_ratio_parameters {
    std::int64_t window = 100;  ///< steps over which the fall of a loss is measured
    /// Weight = delta to the power of gamma, or -gamma; 0 shares evenly, large values give almost
    /// all to one
    double gamma = 1;
    double epsilon = 0.01;  ///< added to every delta: a delta of 0 would take everything
    /// A delta counts as a fraction of the job's own first one, so that different losses are
    /// comparable
    bool normalised = true;
    /// Which jobs get more.
    loss_delta_direction direction = loss_delta_direction::favour_small;
    /// Least seconds between two changes that are not forced; restart costs are added
    double residence = 30;
    /// Seconds after which a waiting job replaces a running one of the same weight
    double aging = 600;
    bool heed_wants = false;  ///< a job gets no more than it requests while it runs

    /// Meaning and valid interval of each parameter, for help texts and the JSON schema.
    static constexpr parameter_note notes[] = {
        {.name = "window", .meaning = "steps over which the fall of a loss is measured", .least = 1},
        {.name = "gamma", .meaning = "weight = delta to the power of gamma, from 0 to 64", .least = 0, .most = 64},
        {.name = "epsilon", .meaning = "added to every delta, above 0 and at most 1", .least = 0, .most = 1},
        {.name = "normalised", .meaning = "a delta counts as a fraction of the job's own first one"},
        {.name = "direction", .meaning = "which jobs get more: those whose loss falls little, or much"},
        {.name = "residence", .meaning = "seconds from one change to the next, 0 to 1000000", .least = 0, .most = 1e6},
        {.name = "aging",
         .meaning = "seconds after which a waiting job takes a place, above 0, at most 1000000",
         .least = 0,
         .most = 1e6},
        {.name = "heed_wants", .meaning = "give a job no more than it requests while it runs"}};

    /// Validates the values: a sentence with the first invalid one and the fix, or empty text.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        if (window < 1) return "window is a number of steps: write 1 or more";
        if (!(gamma >= 0 && gamma <= 64)) return "gamma is an exponent: write a number from 0 to 64";
        if (!(epsilon > 0 && epsilon <= 1)) return "epsilon keeps deltas above 0: write a number above 0 and at most 1";
        if (!(residence >= 0 && residence <= 1e6))
            return "residence is a time in seconds: write a number from 0 to 1000000";
        if (!(aging > 0 && aging <= 1e6))
            return "aging is a time in seconds: write a number above 0 and at most 1000000";
        return {};
    }
};

/// The rule, for N devices on node 0 and M jobs. The delta d of a job is the fall of its loss over
/// its last window of steps. Each job gets its minimum, at least 1. The rest is divided in
/// proportion to (d + epsilon)^-gamma, or ^+gamma, by largest remainder and within the maxima; ties
/// go to the job submitted first. A job without a window in which its loss fell has the mean weight
/// of the others. So each of two jobs gets half, as in the paper, until the younger has its first
/// window.
///
/// With `heed_wants`, `jobs/requested.gpu` is the maximum of a job that has made a request, within its bounds.
///
/// If the minima exceed N, the jobs with the largest weights run; the weight of a waiting job grows
/// with its waiting time.
///
/// Additions for stability: a window in which the loss did not fall is noise and changes nothing. A
/// resized job starts a new window. A change that no arrival, departure, bound or capacity forces
/// waits for `residence` plus the largest restart cost. O(jobs log jobs), and O(jobs) more for each
/// round in which a job reaches its maximum. State: one entry for each job.
class loss_delta_ratio {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = loss_delta_ratio_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = columns<in<std::uint64_t, "jobs/id">, in<std::uint32_t, "jobs/state">,
                           in<std::int64_t, "jobs/submitted">, in<std::uint64_t, "jobs/step">, in<double, "jobs/loss">,
                           in<double, "jobs/restart_cost">, in<std::int64_t, "jobs/min.gpu">,
                           in<std::int64_t, "jobs/max.gpu">, in<std::int64_t, "jobs/requested.gpu">,
                           in<std::int64_t, "jobs/held.gpu">, in<std::int64_t, "nodes/capacity.gpu">>;

    /// Reason codes of the grants.
    enum reason : std::uint16_t { unexplained, by_ratio, no_window_yet, waiting, cannot_run };
    /// Texts of the reason codes, in their order.
    static constexpr std::string_view reasons[] = {"", "in the ratio of the loss deltas",
                                                   "an even share: no window yet in which the loss fell",
                                                   "waits: the minima of the jobs that run leave no room for its own",
                                                   "accepts no number of devices that the node has"};
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.loss-delta-ratio",
                                .version = "1.0.0",
                                .summary = "devices in the ratio of loss deltas",
                                .reasons = reasons};

    /// With the default parameters.
    loss_delta_ratio() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit loss_delta_ratio(loss_delta_ratio_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        memory_.reserve(most.jobs);
        contenders_.reserve(most.jobs);
        claims_.reserve(most.jobs);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (t.nodes() == 0) return status::ok;
        if (active_jobs(t) > out.room())
            return status::capacity;  // before the state changes: the call will be repeated
        bool changed = memory_.follow(t.get<"jobs/id">());
        auto const devices = t.get<"nodes/capacity.gpu">()[0];
        changed |= std::exchange(devices_, devices) != devices;
        auto const held = t.get<"jobs/held.gpu">();
        auto const state = t.get<"jobs/state">();
        auto const step = t.get<"jobs/step">();
        auto const loss = t.get<"jobs/loss">();
        bool unsaid = false;
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            entry& e = memory_[row];
            bounds const accepted = detail::accepted_devices(t, row, parameters_.heed_wants);
            changed |= begin_or_end(e, is_active(static_cast<job_state>(state[row])), accepted, t.now());
            if (e.held != held[row]) {  // a speed-up on other devices has another slope
                e.held = held[row];
                e.losses.begin_anew();
            }
            e.losses.see(step[row], loss[row], parameters_.window);
            unsaid |= must_be_reported(e, held[row]);
        }
        bool const divides = changed || t.now() >= rests_until_;
        if (divides) share_out(t);
        return divides || unsaid ? report(t, out) : status::ok;
    }

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept {
        state_writer out(space);
        memory_.save(out);
        out.put(devices_);
        out.put(rests_until_);
        return out.needed();
    }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept {
        state_reader in(saved);
        auto memory = job_memory<entry>{};
        std::int64_t devices = 0;
        nanoseconds rests_until{0};
        if (!memory.load(in) || !in.get(devices) || !in.get(rests_until) || !in.finished()) return status::state;
        memory.reserve(contenders_.capacity());
        memory_ = std::move(memory);
        devices_ = devices;
        rests_until_ = rests_until;
        return status::ok;
    }

private:
    /// The bounds, measurements and devices of one job.
    struct entry {
        bounds accepted;    // of devices
        nanoseconds since;  // when it began to hold devices, or to wait for them
        detail::loss_window losses;
        std::int64_t given = 0, held = 0;  // held: while the losses were measured
        bool active = false;
        reason why = unexplained;

        [[nodiscard]] static auto fields(auto& self) noexcept {
            return std::tie(self.accepted.minimum, self.accepted.maximum, self.since, self.losses, self.given,
                            self.held, self.active, self.why);
        }
        [[nodiscard]] bool sane() const noexcept { return given >= 0 && given <= max_amount && why <= cannot_run; }
    };
    /// A job that takes part in one division.
    struct contender {
        std::uint32_t row;
        std::int64_t submitted, least;
        double weight = 0, priority = 0;  // priority: for a place, where there is not one for all
        std::uint32_t rank = 0;           // 0 = submitted first
    };

    loss_delta_ratio_parameters parameters_;
    job_memory<entry> memory_;
    buffer<contender> contenders_;
    buffer<detail::claim> claims_;
    std::int64_t devices_ = 0;
    nanoseconds rests_until_{0};

    /// The number of jobs that may hold devices, and so of grants.
    [[nodiscard]] static std::size_t active_jobs(tick<inputs> const& t) noexcept {
        std::size_t count = 0;
        for (auto const state : t.get<"jobs/state">()) count += is_active(static_cast<job_state>(state));
        return count;
    }

    /// True if the job's devices change, or if it has none and its reason has to be reported.
    [[nodiscard]] static bool must_be_reported(entry const& e, std::int64_t held) noexcept {
        return e.active && (e.given != held || e.given == 0);
    }
    /// Writes these grants; `decide` has made sure that the answer has room for them.
    [[nodiscard]] status report(tick<inputs> const& t, grants& out) const noexcept {
        auto const choose = [&](std::size_t row) noexcept {
            entry const& e = memory_[row];
            return detail::chosen_amount{
                .amount = e.given, .reason = e.why, .is_set = e.active, .repeated = e.given == 0};
        };
        return detail::grant_on_first_node(resource_id::gpu, t.get<"jobs/held.gpu">(), t.get<"nodes/capacity.gpu">()[0],
                                           choose, out);
    }

    /// Returns true if the job becomes active or inactive, or has other bounds than before.
    [[nodiscard]] static bool begin_or_end(entry& e, bool active, bounds accepted, nanoseconds now) noexcept {
        if (active == e.active && accepted == e.accepted) return false;
        if (active != e.active) {
            e = entry{};
            e.since = now;
        }
        e.active = active;
        e.accepted = accepted;
        return true;
    }

    /// Divides the devices. If running jobs change, a time of rest begins.
    void share_out(tick<inputs> const& t) noexcept {
        list_contenders(t);
        weigh();
        order(t.now());
        admit();
        bool moved = false;
        for (auto const& c : claims_) moved |= give(memory_[c.row], least_of(memory_[c.row]) + c.units, t.now());
        for (auto const& c : contenders_)
            if (memory_[c.row].why == waiting) moved |= give(memory_[c.row], 0, t.now());
        if (!moved) return;
        double cost = 0;
        for (double const c : t.get<"jobs/restart_cost">())
            if (c > cost && is_finite(c)) cost = c;
        nanoseconds const rest = seconds(parameters_.residence + (cost < 1e6 ? cost : 1e6));
        // A tick that is asked again at the same time must not divide again.
        rests_until_ = t.now() + (rest.count > 0 ? rest : nanoseconds{1});
    }

    /// A job that runs needs at least one device.
    [[nodiscard]] static std::int64_t least_of(entry const& e) noexcept {
        return e.accepted.minimum > 1 ? e.accepted.minimum : 1;
    }

    /// Lists the jobs that can run on the node, and records the reason of the others.
    void list_contenders(tick<inputs> const& t) noexcept {
        contenders_.clear();
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            entry& e = memory_[row];
            std::int64_t const least = least_of(e);
            if (e.active && least <= devices_ && least <= e.accepted.maximum)
                contenders_.push_back({static_cast<std::uint32_t>(row), t.get<"jobs/submitted">()[row], least});
            else {
                e.given = 0;
                e.why = cannot_run;
            }
        }
    }

    /// The base of the weight; 0 if unknown.
    [[nodiscard]] double basis(contender const& c) const noexcept {
        auto const& losses = memory_[c.row].losses;
        if (losses.empty()) return 0;
        double const fall = parameters_.normalised ? losses.delta() / losses.first() : losses.delta();
        constexpr double most = 1e300;  // a larger quotient counts as that
        return (fall < most ? fall : most) + parameters_.epsilon;
    }

    /// Computes the weights relative to the largest, which is 1, so that no power overflows.
    void weigh() noexcept {
        bool const small = parameters_.direction == loss_delta_direction::favour_small;
        double best = 0, sum = 0, known = 0;
        for (auto const& c : contenders_)
            if (double const b = basis(c); b > 0 && (best == 0 || (small ? b < best : b > best))) best = b;
        for (auto& c : contenders_) {
            double const b = basis(c);
            if (b == 0) continue;
            c.weight = std::pow(small ? best / b : b / best, parameters_.gamma);
            sum += c.weight;
            known += 1;
        }
        for (auto& c : contenders_)
            if (basis(c) == 0) c.weight = known > 0 ? sum / known : 1;
    }

    /// Sorts the jobs by age; or by priority, if the devices do not suffice for all.
    void order(nanoseconds now) noexcept {
        ration::detail::sort(contenders_.data(), contenders_.size(), [](contender const& a, contender const& b) {
            return a.submitted != b.submitted ? a.submitted < b.submitted : a.row < b.row;
        });
        std::int64_t wanted = 0;
        for (std::uint32_t rank = 0; rank < contenders_.size(); ++rank) {
            contender& c = contenders_[rank];
            c.rank = rank;
            c.priority = priority_of(c, now);
            if (wanted <= devices_) wanted += c.least;  // only "more than N" matters
        }
        if (wanted <= devices_) return;
        ration::detail::sort(contenders_.data(), contenders_.size(), [](contender const& a, contender const& b) {
            if (a.priority != b.priority) return a.priority > b.priority;
            return a.weight != b.weight ? a.weight > b.weight : a.rank < b.rank;
        });
    }

    /// Admits jobs one by one, and divides the devices that their minima leave.
    void admit() noexcept {
        std::int64_t left = devices_;
        claims_.clear();
        for (auto const& c : contenders_) {
            entry& e = memory_[c.row];
            e.why = c.least > left ? waiting : e.losses.empty() ? no_window_yet : by_ratio;
            if (e.why == waiting) continue;
            left -= c.least;
            claims_.push_back({.row = c.row, .rank = c.rank, .room = e.accepted.maximum - c.least, .weight = c.weight});
        }
        detail::largest_remainder(claims_.edit(), left);
    }

    /// The priority for admission. A job that has just started keeps its devices for `residence`.
    /// Later, a waiting job comes first if its weight, scaled by its waiting time, is larger.
    [[nodiscard]] double priority_of(contender const& c, nanoseconds now) const noexcept {
        entry const& e = memory_[c.row];
        double const time = to_seconds(now - e.since);
        if (e.given > 0) return time < parameters_.residence ? std::numeric_limits<double>::infinity() : c.weight;
        return c.weight * (time / parameters_.aging);
    }

    /// Sets the devices of a job. Returns true if they change.
    [[nodiscard]] static bool give(entry& e, std::int64_t devices, nanoseconds now) noexcept {
        if (devices == e.given) return false;
        if ((devices == 0) != (e.given == 0)) e.since = now;
        e.given = devices;
        return true;
    }
};

static_assert(Policy<loss_delta_ratio>);

}  // namespace ration::policies
