// SPDX-License-Identifier: BSL-1.0
/// The laws of Policy as a check that users run on their own policy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include <ration/host/check.hpp>
#include <ration/policy.hpp>
#include <ration/testing/broken_law.hpp>
#include <ration/testing/found_changes.hpp>
#include <ration/testing/synthetic_life.hpp>

namespace ration::testing {

/// The size, length and seed of the synthetic cluster in which the laws are checked.
struct policy_law_options {
    std::uint64_t seed = 1;
    std::uint64_t ticks = 500;  ///< one second each
    limits most{.jobs = 8, .nodes = 1};
    /// Writes the columns that only this policy reads, or other values into standard ones. Called once before the first
    /// tick, to declare them, and before every tick.
    void (*fill)(snapshot_store& store, std::uint64_t tick) = nullptr;
    /// How many allocations the program has made so far; without it `decide` may allocate unnoticed.
    std::size_t (*allocations)() = nullptr;
};

namespace detail {

/// A synthetic cluster in which random jobs live.
class law_cluster {
    policy_law_options const& options_;
    synthetic_cluster cluster_;
    synthetic_life life_;

    [[nodiscard]] static synthetic_shape shape_of(limits const& most) {
        constexpr per_resource<std::int64_t> capacity{8000, 1 << 30, 8, 8000, 1 << 20, 4096};
        return {.nodes = {most.nodes, capacity},
                .jobs = most.jobs,
                .holdings = most.jobs * most.nodes * synthetic_resources.size()};
    }

public:
    explicit law_cluster(policy_law_options const& options, supply nodes_have = supply::usual)
        : options_(options), cluster_(shape_of(options.most)),
          life_(cluster_, options.most.jobs, {.seed = options.seed, .nodes_have = nodes_have}) {
        if (options.fill != nullptr) options.fill(cluster_.store(), 0);
    }

    /// Lets one second pass.
    void step(std::uint64_t number) {
        life_.step();
        cluster_.forget_events();
        if (options_.fill != nullptr) options_.fill(cluster_.store(), number);
    }
    [[nodiscard]] tick_data data(std::uint64_t number) const noexcept {
        return cluster_.data(number, options_.seed + number);
    }
    void grant(checked_grant const& g) { cluster_.grant(g.what(), g.job_row()); }
    [[nodiscard]] synthetic_cluster const& tables() const noexcept { return cluster_; }
};

/// One instance of a policy, and its last answer.
template <Policy P>
class policy_under_laws {
    std::unique_ptr<P> policy_;
    std::vector<grant> space_;
    grants answer_;
    status message_ = status::ok;

public:
    template <class Make>
    policy_under_laws(Make& make, std::size_t grants) : policy_(new P(make())), space_(grants), answer_(space_) {}

    [[nodiscard]] bool prepare(limits const& most) {
        if constexpr (has_prepare<P>) return policy_->prepare(most) == status::ok;
        return true;
    }
    void decide(tick<typename P::inputs> const& t) noexcept {
        answer_.clear();
        message_ = policy_->decide(t, answer_);
        if (message_ == status::ok && answer_.overflowed()) message_ = status::capacity;
    }
    [[nodiscard]] status reply() const noexcept { return message_; }
    [[nodiscard]] std::span<grant const> rows() const noexcept { return answer_.rows(); }
    [[nodiscard]] bool answers_as(policy_under_laws const& other) const noexcept {
        return message_ == other.message_ && std::ranges::equal(rows(), other.rows());
    }

    [[nodiscard]] std::vector<std::byte> saved() const {
        std::vector<std::byte> state(policy_->save({}));
        static_cast<void>(policy_->save(state));
        return state;
    }
    [[nodiscard]] status load(std::span<std::byte const> state) noexcept { return policy_->load(state); }
};

/// Instances of one policy, asked the same.
template <Policy P, class Make>
class policies_under_laws {
    using instance = policy_under_laws<P>;

    static constexpr std::uint64_t ticks_of_a_life = 16;
    static constexpr char const* law_4 = "Policy law 4: decide() allocates nothing after prepare()";
    static constexpr char const* law_6 = "Policy law 6: what is saved is all that a policy remembers";

    policy_law_options const& options_;
    limits most_;
    Make& make_;
    std::size_t grants_;
    instance first_, second_, asked_twice_, listed_;
    found_changes found_{true};
    std::optional<instance> restarted_;
    binding<typename P::inputs> bound_;
    checker validation_;
    buffer<checked_grant> accepted_;
    buffer<rejection> rejected_;

public:
    policies_under_laws(Make& make, policy_law_options const& options)
        : options_(options), most_(options.most), make_(make),
          grants_(options.most.jobs * options.most.nodes * synthetic_resources.size()), first_(make, grants_),
          second_(make, grants_), asked_twice_(make, grants_), listed_(make, grants_) {
        most_.tenants = synthetic_tenants;
        most_.resources = synthetic_resources.size();
        most_.resource_table = synthetic_resources.data();
    }

    [[nodiscard]] result<void> bind(law_cluster const& host) {
        auto bound = bind_columns<typename P::inputs>(host.tables().store().schema());
        if (!bound) return bound.failure();
        bound_ = *bound;
        for (auto* const p : {&first_, &second_, &asked_twice_, &listed_})
            if (!p->prepare(most_))
                return error{.code = errc::no_capacity, .operation = "prepare policy", .subject = P::about.id};
        validation_.prepare(host.tables().store(), host.tables().columns(), synthetic_resources, options_.most.nodes,
                            grants_);
        return {};
    }

    /// One tick; what the policy gives out comes into force at once.
    [[nodiscard]] result<void> step(law_cluster& host, std::uint64_t number) {
        host.step(number);
        tick_data const data = host.data(number);
        auto const shown = static_cast<unsigned long long>(number);
        tick<typename P::inputs> const t(data, bound_);
        if (auto kept = restart(number); !kept) return kept;
        if (auto const taken = allocations_of_decide(first_, t); taken > 0)
            return broken_law(law_4, seen("%zu allocations at tick %llu", taken, shown));
        second_.decide(t);
        if (!second_.answers_as(first_))
            return broken_law("Policy law 1: the same ticks since the start give the same grants",
                              seen("two instances differ at tick %llu", shown));
        if (auto kept = has_answered(shown); !kept) return kept;
        if (auto kept = ask_twice(t, shown); !kept) return kept;
        if (auto kept = ask_with_changes(host, data, shown); !kept) return kept;
        if (auto kept = go_on_after_restart(t, shown); !kept) return kept;
        return validate(host, shown);
    }

    /// The same with law 2 alone.
    [[nodiscard]] result<void> step_of_one(law_cluster& host, std::uint64_t number) {
        host.step(number);
        tick_data const data = host.data(number);
        first_.decide(tick<typename P::inputs>(data, bound_));
        if (auto kept = has_answered(number); !kept) return kept;
        return validate(host, number);
    }

    /// The grants of the last tick.
    [[nodiscard]] std::span<checked_grant const> changes() const noexcept { return accepted_.view(); }

private:
    [[nodiscard]] std::size_t allocations_of_decide(instance& asked, tick<typename P::inputs> const& t) {
        std::size_t const before = options_.allocations != nullptr ? options_.allocations() : 0;
        asked.decide(t);
        return options_.allocations != nullptr ? options_.allocations() - before : 0;
    }

    [[nodiscard]] result<void> has_answered(unsigned long long number) const {
        if (first_.reply() == status::ok) return {};
        return broken_law("Policy law 2: every grant passes check",
                          seen("no answer, status %d, at tick %llu", static_cast<int>(first_.reply()), number));
    }

    [[nodiscard]] result<void> ask_twice(tick<typename P::inputs> const& t, unsigned long long number) {
        for (char const* const seen_at : {"an instance that was asked each tick twice differs at tick %llu",
                                          "asked again it differs at tick %llu"}) {
            asked_twice_.decide(t);
            if (!asked_twice_.answers_as(first_))
                return broken_law(
                    "Policy law 5: a tick that is asked again is answered the same, and so are those after it",
                    seen(seen_at, number));
        }
        return {};
    }

    /// Asks an instance that gets the list of changed rows; the first instance gets none.
    [[nodiscard]] result<void> ask_with_changes(law_cluster const& host, tick_data data, unsigned long long number) {
        if constexpr (!has_followed_changes<P>) return {};
        data.changes = found_.between(data.data, host.tables().store().schema());
        // Asked twice: what the first answer has planned does not come into force before the second.
        bool same = true;
        for (int i = 0; i < 2; ++i) {
            listed_.decide(tick<typename P::inputs>(data, bound_));
            same &= listed_.answers_as(first_);
        }
        if (same) return {};
        return broken_law("Policy law 8: the list of changes makes no difference to an answer",
                          seen("an instance that gets the list differs at tick %llu", number));
    }

    /// Now and then a fresh instance loads the state that the first one saved, and continues beside it.
    [[nodiscard]] result<void> restart([[maybe_unused]] std::uint64_t number) {
        if constexpr (has_state<P>) {
            if (number % ticks_of_a_life != 0) return {};
            auto const state = first_.saved();
            restarted_.emplace(make_, grants_);
            if (!restarted_->prepare(most_) || restarted_->load(state) != status::ok)
                return broken_law(law_6, seen("load refuses what was saved before tick %llu",
                                              static_cast<unsigned long long>(number)));
        }
        return {};
    }
    [[nodiscard]] result<void> go_on_after_restart(tick<typename P::inputs> const& t, unsigned long long number) {
        if (!restarted_) return {};
        if (auto const taken = allocations_of_decide(*restarted_, t); taken > 0)
            return broken_law(law_4, seen("%zu allocations at tick %llu, after load", taken, number));
        if (!restarted_->answers_as(first_))
            return broken_law(law_6, seen("an instance that has loaded it differs at tick %llu", number));
        return {};
    }

    [[nodiscard]] result<void> validate(law_cluster& host, unsigned long long number) {
        validation_.check(host.tables().held(), first_.rows(), accepted_, rejected_, host.tables().limits_of_tenants());
        if (!rejected_.empty())
            return broken_law("Policy law 2: every grant passes check",
                              seen("row %u at tick %llu: %s", rejected_[0].row, number,
                                   text<96>(name_of(rejected_[0].rule)).c_str()));
        for (auto const& g : accepted_) host.grant(g);
        return {};
    }
};

[[nodiscard]] inline bool has_cpu(law_cluster const& host, job_id job) noexcept {
    auto const held = host.tables().held().of(job);
    return std::any_of(held.begin(), held.end(), [](holding const& h) { return h.what.resource == resource_id::cpu; });
}

/// `changes` are in force on the scarce host. The same jobs arrive, run and end on both hosts.
[[nodiscard]] inline result<void> pauses_for_scarcity(law_cluster const& ample, law_cluster const& scarce,
                                                      std::span<checked_grant const> changes,
                                                      unsigned long long number) noexcept {
    for (auto const& g : changes) {
        bool const takes_cpu = g.resource() == resource_id::cpu && g.amount() == 0 && g.held != 0;
        if (!takes_cpu || has_cpu(scarce, g.job) || !has_cpu(ample, g.job)) continue;
        return broken_law(
            "Policy law 7: a job that runs on an ample node is not paused on a scarce one",
            seen("row %u at tick %llu is granted 0 millicores: grant ration::least_cpu", g.job_row(), number));
    }
    return {};
}

}  // namespace detail

/// The laws of Policy in synthetic clusters, in one of which bounds, requests and capacities change. `make()` returns a
/// fresh instance, the same each time. Law 3 (no I/O, no clock, no rng) is seen as far as it breaks law 1. Errors
/// besides broken laws: those of `bind_columns`, for a column that neither the catalogue nor `options.fill` has.
template <class Make>
    requires Policy<std::invoke_result_t<Make&>>
[[nodiscard]] result<void> policy_laws(Make make, policy_law_options const& options = {}) {
    using policies_under_laws = detail::policies_under_laws<std::invoke_result_t<Make&>, Make>;
    detail::law_cluster usual(options), changing(options, supply::changing), ample(options, supply::ample),
        scarce(options, supply::scarce);
    policies_under_laws on_usual(make, options), on_changing(make, options), on_ample(make, options),
        on_scarce(make, options);
    if (auto bound = on_usual.bind(usual); !bound) return bound;
    if (auto bound = on_changing.bind(changing); !bound) return bound;
    if (auto bound = on_ample.bind(ample); !bound) return bound;
    if (auto bound = on_scarce.bind(scarce); !bound) return bound;
    for (std::uint64_t number = 0; number < options.ticks; ++number) {
        if (auto kept = on_usual.step(usual, number); !kept) return kept;
        if (auto kept = on_changing.step(changing, number); !kept) return kept;
        if (auto kept = on_ample.step_of_one(ample, number); !kept) return kept;
        if (auto kept = on_scarce.step_of_one(scarce, number); !kept) return kept;
        if (auto kept = detail::pauses_for_scarcity(ample, scarce, on_scarce.changes(), number); !kept) return kept;
    }
    return {};
}

}  // namespace ration::testing
