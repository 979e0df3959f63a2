// SPDX-License-Identifier: BSL-1.0
/// elastic_batch_dp: the number of devices and the batch of each job, for the best total scaling.
/// Source: V. Saxena, K. R. Jayaram, S. Basu, Y. Sabharwal, A. Verma, "Effective Elastic Scaling of Deep Learning
/// Workloads", MASCOTS 2020, arXiv:2006.13878. docs/elastic-batch-dp.md lists the gaps of the paper and the choices
/// here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include <ration/buffer.hpp>
#include <ration/detail/sort.hpp>
#include <ration/job.hpp>
#include <ration/job_memory.hpp>
#include <ration/parameter.hpp>
#include <ration/policies/detail/allocation_dp.hpp>
#include <ration/policies/detail/job_profile.hpp>
#include <ration/policies/detail/one_node_grants.hpp>
#include <ration/policies/detail/placement.hpp>
#include <ration/policies/detail/requested_devices.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// Treatment of a job that arrives when the minima of the admitted jobs leave too few devices for its own minimum.
enum class elastic_batch_overflow : std::uint8_t { queue, drop };
/// The words of `elastic_batch_overflow` in a configuration, in the order of its values.
inline constexpr std::string_view elastic_batch_overflow_names[] = {"queue", "drop"};
/// Found by the adapter of parameters (adapt/parameters.hpp).
[[nodiscard]] constexpr std::span<std::string_view const> words_of(elastic_batch_overflow) noexcept {
    return elastic_batch_overflow_names;
}

/// Parameters of `elastic_batch_dp`; each member has its unit and its default.
struct elastic_batch_dp_parameters {
    double interval = 30;  ///< seconds from one decision to the next
    /// Decides also when a job arrives, or one with devices ends; false = only at intervals, as the paper does
    bool at_changes = true;
    elastic_batch_overflow overflow = elastic_batch_overflow::queue;  ///< a job without room waits or is dropped
    bool overtake = true;  ///< a queued job that does not fit lets later ones overtake
    /// Share of a running job's speed-up that a change of its devices has to gain first
    double restart_penalty = 0.05;
    /// Expected seconds of an allocation; restart_cost / horizon is added to the penalty; 0 = no restart cost
    double horizon = 600;
    /// Decisions for up to this number of devices are exact for all profiles; memory grows with it
    std::int64_t devices = 16'384;
    /// Additions of one decision; a decision that needs more is near the optimum
    std::int64_t steps = 10'000'000'000;
    bool heed_wants = false;  ///< a job gets no more than it requests while it runs

    /// Meaning and valid interval of each parameter, for help texts and the JSON schema.
    static constexpr parameter_note notes[] = {
        {.name = "interval", .meaning = "seconds from one decision to the next, 0 to 1000000", .least = 0, .most = 1e6},
        {.name = "at_changes", .meaning = "decide also when a job arrives or ends; false = as the paper"},
        {.name = "overflow", .meaning = "treatment of a job that does not fit"},
        {.name = "overtake", .meaning = "a queued job lets later ones pass that fit when it does not"},
        {.name = "restart_penalty",
         .meaning = "share of a speed-up that a resize must first make good, 0 to 1",
         .least = 0,
         .most = 1},
        {.name = "horizon",
         .meaning = "seconds an allocation is expected to last, 0 to 1000000000; 0 = no restart cost",
         .least = 0,
         .most = 1e9},
        {.name = "devices",
         .meaning = "decided exactly up to this number of devices, 1 to 65536",
         .least = 1,
         .most = 65536},
        {.name = "steps", .meaning = "additions a decision may take before it is near the best only", .least = 0},
        {.name = "heed_wants", .meaning = "give a job no more than it requests while it runs"}};

    /// Validates the values: a sentence with the first invalid one and the fix, or empty text.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        if (!(interval >= 0 && interval <= 1e6))
            return "interval is a time in seconds: write a number from 0 to 1000000";
        if (!(restart_penalty >= 0 && restart_penalty <= 1))
            return "restart_penalty is a share: write a number from 0 to 1";
        if (!(horizon >= 0 && horizon <= 1e9))
            return "horizon is a time in seconds: write a number from 0 to 1000000000";
        if (!(devices >= 1 && devices <= 65'536)) return "devices is a number of devices: write 1 to 65536";
        if (steps < 0) return "steps is a number of additions: write 0 or more";
        return {};
    }
};

/// The rule, for the devices of all nodes together. F(k) is `jobs/speedup` at k devices, on as few nodes as possible,
/// with the batch that `jobs/batch` names for k. A count is not a choice if its speed-up is 0 or less, or if the job
/// does not accept the count or the batch.
///
/// Every interval, and with `at_changes` also when a job arrives or one with devices ends: jobs that hold devices stay
/// admitted; later arrivals are admitted first come, first served, where the minima of all fit. The devices are divided
/// so that the sum of F is the largest, and each job gets its batch. For every count but the present one, F of a
/// running job is reduced by the penalty. With `heed_wants`, a request (`jobs/requested.gpu`) is the job's maximum: a
/// lower one at once, a higher one from the next decision.
///
/// Batch grants are made on the first node, to jobs whose `jobs/max.batch` is above 0; the others choose their own
/// batch. On several nodes, a job whose number of devices changes is placed again, the largest first
/// (`detail::placement`). Other jobs keep their nodes.
///
/// Exact in O(jobs x most devices of one job) where gains diminish, and in most other cases; O(jobs x devices x most
/// devices of one job) at worst (`detail::allocation_dp`). With more devices or additions than the parameters allow,
/// some decisions are only near the optimum. Between decisions O(jobs). State: one entry for each job. Memory: that of
/// `detail::allocation_dp` for up to 128 values of each job.
class elastic_batch_dp {
public:
    using policy_concept = policy_tag;  ///< declares the class as a policy
    /// The parameters that a user can set.
    using parameters = elastic_batch_dp_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = detail::cluster_columns<in<std::int64_t, "jobs/submitted">, in_rows<double, "jobs/speedup">,
                                           in_rows<std::int64_t, "jobs/batch">, in<double, "jobs/restart_cost">,
                                           in<std::int64_t, "jobs/held.batch">, in<std::int64_t, "jobs/requested.gpu">,
                                           in<std::int64_t, "jobs/min.batch">, in<std::int64_t, "jobs/max.batch">>;

    /// Reason codes of the grants.
    enum reason : std::uint16_t { not_yet_considered, best_total, near_best_total, waiting, dropped, cannot_run };
    /// Texts of the reason codes, in their order.
    static constexpr std::string_view reasons[] = {
        "arrived after the last decision",
        "the largest sum of speed-ups",
        "near the largest sum of speed-ups: the exact one takes too long",
        "waits: the minima of the jobs before it leave no room for its own",
        "dropped: on its arrival the minima of the others left no room for its own",
        "accepts no number of devices, with its batch, that the node has"};
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.elastic-batch-dp",
                                .version = "1.0.0",
                                .summary = "devices and batch for the best total speed-up",
                                .reasons = reasons};

    /// With the default parameters.
    elastic_batch_dp() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit elastic_batch_dp(elastic_batch_dp_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        memory_.reserve(most.jobs);
        candidates_.reserve(most.jobs);
        choices_.reserve(most.jobs);
        if (most.nodes > 1) {
            places_.reserve(most);
            changing_.reserve(most.jobs);
        }
        auto const devices = static_cast<std::size_t>(parameters_.devices),
                   jobs = most.jobs < devices ? most.jobs : devices;
        dp_.reserve(most.jobs, devices, jobs * (devices < 128 ? devices : 128), jobs);  // each has a device
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (t.nodes() == 0) return status::ok;
        devices_ = detail::capacity_of(t);
        memory_.follow(t.get<"jobs/id">());
        bool const in_effect = still_holds(t);
        if (!in_effect || is_due(t.now()) || (parameters_.at_changes && changed_)) decide_anew(t);
        return t.nodes() == 1 && fits_one_node(t) ? report(t, out) : report_places(t, out);
    }

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept {
        state_writer out(space);
        memory_.save(out);
        out.put(decided_at_);
        out.put(decided_);
        out.put(holders_);
        return out.needed();
    }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept {
        state_reader in(saved);
        auto memory = job_memory<standing>{};
        nanoseconds decided_at{0};
        bool decided = false;
        std::uint64_t holders = 0;
        if (!memory.load(in) || !in.get(decided_at) || !in.get(decided) || !in.get(holders) || !in.finished())
            return status::state;
        memory.reserve(candidates_.capacity());
        memory_ = std::move(memory);
        decided_at_ = decided_at;
        decided_ = decided;
        holders_ = holders;
        return status::ok;
    }

private:
    /// The decision about one job that applies until the next one.
    struct standing {
        std::int64_t devices = 0, batch = 0;
        bool admitted = false;
        reason why = not_yet_considered;

        [[nodiscard]] static auto fields(auto& self) noexcept {
            return std::tie(self.devices, self.batch, self.admitted, self.why);
        }
        [[nodiscard]] bool sane() const noexcept {
            return devices >= 0 && devices <= max_amount && batch >= 0 && batch <= max_amount && why <= cannot_run;
        }
    };
    /// A job that can have devices.
    struct candidate {
        std::uint32_t row;
        bool admitted;
        std::int64_t submitted;
        detail::device_choice choice;
    };

    elastic_batch_dp_parameters parameters_;
    job_memory<standing> memory_;
    buffer<candidate> candidates_;  // after `admit`: those that are in, in the order of `choices_`
    buffer<detail::device_choice> choices_;
    detail::allocation_dp dp_;
    detail::placement places_;        // of several nodes
    buffer<std::uint32_t> changing_;  // rows, of several nodes
    std::int64_t devices_ = 0;
    nanoseconds decided_at_{0};
    bool decided_ = false, changed_ = false;  // changed_: a job has arrived since the last decision, or ended
    std::uint64_t holders_ = 0;               // jobs to which that decision gave devices

    /// True for a job that may hold devices.
    [[nodiscard]] static bool active(tick<inputs> const& t, std::size_t row) noexcept {
        return is_active(static_cast<job_state>(t.get<"jobs/state">()[row]));
    }

    /// True if the interval is over. A tick that is asked again at the time of a decision repeats that decision: jobs
    /// admitted then would count as admitted before.
    [[nodiscard]] bool is_due(nanoseconds now) const noexcept {
        return !decided_ || (now != decided_at_ && now - decided_at_ >= seconds(parameters_.interval));
    }

    /// True if the policy grants the job another batch than it holds.
    [[nodiscard]] bool changes_batch(tick<inputs> const& t, std::size_t row) const noexcept {
        return t.get<"jobs/max.batch">()[row] > 0 && memory_[row].batch != t.get<"jobs/held.batch">()[row];
    }

    /// True if all jobs get their devices: no job that is over holds any.
    [[nodiscard]] bool fits_one_node(tick<inputs> const& t) const noexcept {
        std::int64_t left = devices_;
        for (std::size_t row = 0; row < t.jobs(); ++row)
            left -= active(t, row) ? memory_[row].devices : t.get<"jobs/held.gpu">()[row];
        return left >= 0;
    }

    /// Writes the grants that change the allocation, and a reason for each job without devices.
    [[nodiscard]] status report(tick<inputs> const& t, grants& out) const noexcept {
        auto const devices = t.get<"jobs/held.gpu">();
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            standing const& s = memory_[row];
            if (!active(t, row)) continue;
            if ((s.devices != devices[row] || s.devices == 0) && !out.set(row, 0, resource_id::gpu, s.devices, s.why))
                return status::capacity;
            if (changes_batch(t, row) && !out.set(row, 0, resource_id::batch, s.batch, s.why)) return status::capacity;
        }
        return status::ok;
    }

    /// The same on several nodes. All jobs that change release their devices before the first one is placed.
    [[nodiscard]] status report_places(tick<inputs> const& t, grants& out) noexcept {
        places_.begin(t);
        changing_.clear();
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            if (!active(t, row) || places_.held(t, row) == memory_[row].devices) continue;
            places_.resize(t, row, 0, memory_[row].why);
            if (memory_[row].devices > 0) changing_.push_back(static_cast<std::uint32_t>(row));
        }
        // Large jobs need whole nodes, so they choose first.
        ration::detail::sort(changing_.data(), changing_.size(), [&](std::uint32_t a, std::uint32_t b) {
            return memory_[a].devices != memory_[b].devices ? memory_[a].devices > memory_[b].devices : a < b;
        });
        for (auto const row : changing_) places_.resize(t, row, memory_[row].devices, memory_[row].why);
        if (auto const placed = places_.finish(t, out); placed != status::ok) return placed;
        auto const devices = t.get<"jobs/held.gpu">();
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            standing const& s = memory_[row];
            if (!active(t, row)) continue;
            if (s.devices == 0 && devices[row] == 0 && !out.set(row, 0, resource_id::gpu, 0, s.why))
                return status::capacity;
            if (changes_batch(t, row) && !detail::hold_on(t, row, 0, resource_id::batch, s.batch, s.why, out))
                return status::capacity;
        }
        return status::ok;
    }

    /// Returns false if a job no longer accepts its allocation, the nodes no longer have it, or a new job already holds
    /// devices. Clears the entries of jobs that have ended.
    [[nodiscard]] bool still_holds(tick<inputs> const& t) noexcept {
        std::int64_t devices = devices_;
        bool all = true;
        std::uint64_t holders = 0;
        changed_ = false;
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            standing& s = memory_[row];
            if (!active(t, row)) s = {};
            changed_ = changed_ || (active(t, row) && s.why == not_yet_considered);
            holders += s.devices > 0;
            all = all && (s.why != not_yet_considered || t.get<"jobs/held.gpu">()[row] <= 0 || !active(t, row));
            if (s.devices == 0) continue;
            all = all && s.devices <= devices && profile_of(t, row).accepts(s.devices, s.batch);
            if (all) devices -= s.devices;
        }
        changed_ = changed_ || holders != holders_;
        return all;
    }
    /// The accepted choices of a job.
    [[nodiscard]] detail::job_profile profile_of(tick<inputs> const& t, std::size_t row) const noexcept {
        bounds const devices = detail::accepted_devices(t, row, parameters_.heed_wants),
                     batches{t.get<"jobs/min.batch">()[row], t.get<"jobs/max.batch">()[row]};
        return {t.get<"jobs/speedup">()[row], t.get<"jobs/batch">()[row], devices, batches};
    }

    /// The value of a job as a function of its devices: F, less the penalty of a running job that changes.
    [[nodiscard]] auto curve_of(tick<inputs> const& t, std::size_t row) const noexcept {
        std::int64_t const held = t.get<"jobs/held.gpu">()[row];
        double const cost = t.get<"jobs/restart_cost">()[row];
        double const lost =
            parameters_.restart_penalty + (cost > 0 && parameters_.horizon > 0 ? cost / parameters_.horizon : 0);
        double const left = held <= 0 ? 1 : lost < 1 ? 1 - lost : 0;
        return [profile = profile_of(t, row), held, left](std::int64_t k) noexcept {
            double const f = profile.at(k);
            return f < 0 || k == held ? f : f * left;
        };
    }

    /// Makes a new decision for all jobs.
    void decide_anew(tick<inputs> const& t) noexcept {
        list_candidates(t);
        admit();
        auto const curves = [&](std::size_t j) noexcept { return curve_of(t, candidates_[j].row); };
        bool const exact = dp_.solve(choices_.edit(), devices_, curves, parameters_.steps).exact;
        holders_ = choices_.size();
        for (std::size_t j = 0; j < choices_.size(); ++j) {
            std::uint32_t const row = candidates_[j].row;
            memory_[row] = {.devices = choices_[j].given,
                            .batch = profile_of(t, row).batch_at(choices_[j].given),
                            .admitted = true,
                            .why = exact ? best_total : near_best_total};
        }
        decided_ = true;
        decided_at_ = t.now();
    }

    /// Lists the jobs that can have devices, with their smallest and largest choice, and records the reason of the
    /// others.
    void list_candidates(tick<inputs> const& t) noexcept {
        candidates_.clear();
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            standing& s = memory_[row];
            if (!active(t, row) || s.why == dropped) continue;
            auto const choice = profile_of(t, row).choice(devices_);
            bool const in = s.admitted || t.get<"jobs/held.gpu">()[row] > 0;
            if (choice.most > 0)
                candidates_.push_back({static_cast<std::uint32_t>(row), in, t.get<"jobs/submitted">()[row], choice});
            else
                s = {.devices = 0, .batch = 0, .admitted = s.admitted, .why = cannot_run};
        }
    }

    /// Keeps the admitted jobs, and admits later ones in order where all minima fit. A solution of the DP exists
    /// exactly if the devices suffice for the smallest choice of each job, so no DP is needed for an arrival.
    void admit() noexcept {
        ration::detail::sort(candidates_.data(), candidates_.size(), [](candidate const& a, candidate const& b) {
            if (a.admitted != b.admitted) return a.admitted;
            return a.submitted != b.submitted ? a.submitted < b.submitted : a.row < b.row;
        });
        choices_.clear();
        std::size_t kept = 0;
        std::int64_t left = devices_;
        bool const queue = parameters_.overflow == elastic_batch_overflow::queue;
        bool blocked = false;
        for (auto const& c : candidates_) {
            if (blocked || c.choice.least > left) {
                reason const why = queue || c.admitted ? waiting : dropped;
                memory_[c.row] = {.devices = 0, .batch = 0, .admitted = c.admitted, .why = why};
                blocked = blocked || (queue && !parameters_.overtake);
                continue;
            }
            left -= c.choice.least;
            choices_.push_back(c.choice);
            candidates_[kept++] = c;
        }
        candidates_.resize(kept);
    }
};

static_assert(Policy<elastic_batch_dp>);

}  // namespace ration::policies
