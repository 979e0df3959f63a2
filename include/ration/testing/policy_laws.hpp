// SPDX-License-Identifier: BSL-1.0
/// The laws of Policy as a check that users run on their own policy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <ration/check.hpp>
#include <ration/policy.hpp>
#include <ration/testing/broken_law.hpp>
#include <ration/testing/trial.hpp>

namespace ration::testing {

namespace detail {

/// Two instances of one policy, asked the same.
template <Policy P>
class twin_policies {
    trial_options const& options_;
    P first_, second_;
    binding<typename P::inputs> bound_;
    std::vector<grant> first_space_, second_space_;
    checker proof_;
    buffer<checked_grant> accepted_;
    buffer<rejection> rejected_;

public:
    template <class Make>
    twin_policies(Make& make, trial_options const& options)
        : options_(options), first_(make()), second_(make()),
          first_space_(options.most.jobs * options.most.nodes * std::size(standard_resources)), second_space_(first_space_) {}

    [[nodiscard]] result<void> bind(trial const& host) {
        auto bound = bind_columns<typename P::inputs>(host.store.schema());
        if (!bound) return bound.failure();
        bound_ = *bound;
        if constexpr (has_prepare<P>)
            if (first_.prepare(options_.most) != status::ok || second_.prepare(options_.most) != status::ok)
                return error{.code = errc::no_capacity, .operation = "prepare policy", .subject = P::about.id};
        proof_.prepare(host.store, host.columns, standard_resources, options_.most.nodes, first_space_.size());
        return {};
    }

    /// One tick; what the policy gives out comes into force at once.
    [[nodiscard]] result<void> step(trial& host, std::uint64_t number) {
        tick_data const data = host.data(number);
        auto const shown = static_cast<unsigned long long>(number);
        tick<typename P::inputs> const t(data, bound_);
        grants first(first_space_), second(second_space_);

        std::size_t const before = options_.allocations != nullptr ? options_.allocations() : 0;
        status const said = first_.decide(t, first);
        std::size_t const after = options_.allocations != nullptr ? options_.allocations() : 0;
        if (after != before)
            return broken_law("Policy law 4: decide() allocates nothing after prepare()", seen("%zu allocations at tick %llu", after - before, shown));
        if (said != second_.decide(t, second) || !same(first, second))
            return broken_law("Policy law 1: the same ticks since the start give the same grants", seen("two instances differ at tick %llu", shown));
        if (said != status::ok || first.overflowed())
            return broken_law("Policy law 2: every grant passes check", seen("no answer, status %d, at tick %llu", static_cast<int>(said), shown));
        return prove(host, first, shown);
    }

private:
    [[nodiscard]] static bool same(grants const& a, grants const& b) noexcept {
        if (a.rows().size() != b.rows().size()) return false;
        for (std::size_t i = 0; i < a.rows().size(); ++i)
            if (!(a.rows()[i] == b.rows()[i])) return false;
        return true;
    }

    [[nodiscard]] result<void> prove(trial& host, grants const& answer, unsigned long long number) {
        proof_.check(host.held, answer.rows(), accepted_, rejected_);
        if (!rejected_.empty())
            return broken_law("Policy law 2: every grant passes check",
                              seen("row %u at tick %llu: %s", rejected_[0].row, number, text<64>(name_of(rejected_[0].rule)).c_str()));
        for (auto const& g : accepted_) host.held.set(g.what, {});
        return {};
    }
};

}  // namespace detail

/// The laws of Policy on a made-up host. `make()` returns a fresh instance; it is called twice. Law 3 (no I/O, no clock, no dice)
/// is seen as far as it breaks law 1. Errors besides broken laws: those of `bind_columns`, for a column that neither the standard
/// ones nor `options.fill` offers.
template <class Make>
    requires Policy<std::invoke_result_t<Make&>>
[[nodiscard]] result<void> policy_laws(Make make, trial_options const& options = {}) {
    trial host(options);
    detail::twin_policies<std::invoke_result_t<Make&>> twins(make, options);
    if (auto bound = twins.bind(host); !bound) return bound;
    for (std::uint64_t number = 0; number < options.ticks; ++number) {
        host.step(number);
        if (auto kept = twins.step(host, number); !kept) return kept;
    }
    return {};
}

}  // namespace ration::testing
