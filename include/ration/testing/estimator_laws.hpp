// SPDX-License-Identifier: BSL-1.0
/// The laws of Estimator as a check that users run on their own estimator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <ration/estimator.hpp>
#include <ration/testing/broken_law.hpp>
#include <ration/testing/policy_laws.hpp>

namespace ration::testing {

namespace detail {

/// One instance of an estimator, and the columns that it wrote last.
template <Estimator E>
class estimator_under_laws {
    using outputs = typename E::outputs;

    std::unique_ptr<E> estimator_;
    std::array<std::vector<std::byte>, outputs::count> written_;
    std::array<std::size_t, outputs::count> widths_{};
    std::byte before_;

public:
    /// `before`: the bytes of each column before the estimator writes it.
    template <class Make>
    estimator_under_laws(Make& make, std::byte before) : estimator_(new E(make())), before_(before) {}

    /// Vector outputs are as wide as in the schema.
    [[nodiscard]] bool prepare(std::span<column_info const> schema, limits const& most) {
        for (std::size_t i = 0; i < outputs::count; ++i) {
            auto const* const known = find_column(schema, outputs::descriptions[i].name);
            widths_[i] = known != nullptr ? known->width : 1;
            written_[i].reserve(most.jobs * row_bytes(i));
        }
        if constexpr (has_prepare<E>) return estimator_->prepare(most) == status::ok;
        return true;
    }
    void estimate(tick<typename E::inputs> const& t) noexcept {
        std::array<output_column, outputs::count> columns;
        for (std::size_t i = 0; i < outputs::count; ++i) {
            written_[i].assign(t.jobs() * row_bytes(i), before_);
            columns[i] = {written_[i].data(), widths_[i]};
        }
        estimator_->estimate(t, estimates<outputs>(columns, t.jobs()));
    }
    [[nodiscard]] bool answers_as(estimator_under_laws const& other) const noexcept {
        return written_ == other.written_;
    }

    [[nodiscard]] std::vector<std::byte> saved() const {
        std::vector<std::byte> state(estimator_->save({}));
        static_cast<void>(estimator_->save(state));
        return state;
    }
    [[nodiscard]] status load(std::span<std::byte const> state) noexcept { return estimator_->load(state); }

private:
    [[nodiscard]] std::size_t row_bytes(std::size_t i) const noexcept {
        return widths_[i] * size_of(outputs::descriptions[i].type);
    }
};

/// Instances of one estimator, asked the same.
template <Estimator E, class Make>
class estimators_under_laws {
    using instance = estimator_under_laws<E>;
    using tick_type = tick<typename E::inputs>;

    static constexpr std::uint64_t ticks_of_a_life = 16;
    static constexpr std::byte usual{0}, other{0x41};
    static constexpr char const* law_3 = "Estimator law 3: estimate() allocates nothing after prepare()";
    static constexpr char const* law_5 = "Estimator law 5: what is saved is all that an estimator remembers";

    policy_law_options const& options_;
    Make& make_;
    instance first_, second_, asked_twice_, asked_later_;
    std::optional<instance> restarted_;
    binding<typename E::inputs> bound_;
    std::span<column_info const> schema_;

public:
    estimators_under_laws(Make& make, policy_law_options const& options)
        : options_(options), make_(make), first_(make, usual), second_(make, other), asked_twice_(make, usual),
          asked_later_(make, usual) {}

    [[nodiscard]] result<void> bind(law_cluster const& host) {
        schema_ = host.tables().store().schema();
        auto bound = bind_columns<typename E::inputs>(schema_);
        if (!bound) return bound.failure();
        bound_ = *bound;
        for (auto* const e : {&first_, &second_, &asked_twice_, &asked_later_})
            if (!e->prepare(schema_, options_.most))
                return error{.code = errc::no_capacity, .operation = "prepare estimator", .subject = E::about.id};
        return {};
    }

    /// One tick.
    [[nodiscard]] result<void> step(law_cluster& host, std::uint64_t number) {
        host.step(number);
        tick_data const data = host.data(number);
        tick_type const t(data, bound_);
        auto const shown = static_cast<unsigned long long>(number);
        if (auto kept = restart(shown); !kept) return kept;
        if (auto const taken = allocations_of(first_, t); taken > 0)
            return broken_law(law_3, seen("%zu allocations at tick %llu", taken, shown));
        second_.estimate(t);
        if (!second_.answers_as(first_))
            return broken_law(
                "Estimator law 1: the same ticks since the start give the same estimates, in each row of each output",
                seen("two instances differ at tick %llu", shown));
        if (auto kept = ask_twice(t, shown); !kept) return kept;
        if (auto kept = ask_later(data, shown); !kept) return kept;
        return go_on_after_restart(t, shown);
    }

private:
    [[nodiscard]] std::size_t allocations_of(instance& asked, tick_type const& t) {
        std::size_t const before = options_.allocations != nullptr ? options_.allocations() : 0;
        asked.estimate(t);
        return options_.allocations != nullptr ? options_.allocations() - before : 0;
    }

    [[nodiscard]] result<void> ask_twice(tick_type const& t, unsigned long long number) {
        for (char const* const seen_at : {"an instance that was asked each tick twice differs at tick %llu",
                                          "asked again it differs at tick %llu"}) {
            asked_twice_.estimate(t);
            if (!asked_twice_.answers_as(first_))
                return broken_law(
                    "Estimator law 4: a tick that is asked again is answered the same, and so are those after it",
                    seen(seen_at, number));
        }
        return {};
    }

    [[nodiscard]] result<void> ask_later(tick_data data, unsigned long long number) {
        for (bool const again : {false, true}) {
            if (again) {
                data.number += options_.ticks;
                data.now = data.now + seconds(3600);
            }
            asked_later_.estimate(tick_type(data, bound_));
            if (!asked_later_.answers_as(first_))
                return broken_law("Estimator law 6: the estimates stay while the inputs stay, as time passes",
                                  seen("they differ an hour after tick %llu", number));
        }
        return {};
    }

    /// Now and then a fresh instance loads what the first one has saved, and continues beside it.
    [[nodiscard]] result<void> restart([[maybe_unused]] unsigned long long number) {
        if constexpr (has_state<E>) {
            if (number % ticks_of_a_life != 0) return {};
            auto const state = first_.saved();
            restarted_.emplace(make_, usual);
            if (!restarted_->prepare(schema_, options_.most) || restarted_->load(state) != status::ok)
                return broken_law(law_5, seen("load refuses what was saved before tick %llu", number));
        }
        return {};
    }
    [[nodiscard]] result<void> go_on_after_restart(tick_type const& t, unsigned long long number) {
        if (!restarted_) return {};
        if (auto const taken = allocations_of(*restarted_, t); taken > 0)
            return broken_law(law_3, seen("%zu allocations at tick %llu, after load", taken, number));
        if (!restarted_->answers_as(first_))
            return broken_law(law_5, seen("an instance that has loaded it differs at tick %llu", number));
        return {};
    }
};

}  // namespace detail

/// The laws of Estimator in a synthetic cluster. `make()` returns a fresh instance, the same each time. Law 2 (no I/O,
/// no clock, no rng) is seen as far as it breaks law 1. Errors besides broken laws: those of `bind_columns`, for a
/// column that neither the catalogue nor `options.fill` has; `no_capacity` of `prepare`.
template <class Make>
    requires Estimator<std::invoke_result_t<Make&>>
[[nodiscard]] result<void> estimator_laws(Make make, policy_law_options const& options = {}) {
    detail::law_cluster host(options);
    detail::estimators_under_laws<std::invoke_result_t<Make&>, Make> estimators(make, options);
    if (auto bound = estimators.bind(host); !bound) return bound;
    for (std::uint64_t number = 0; number < options.ticks; ++number)
        if (auto kept = estimators.step(host, number); !kept) return kept;
    return {};
}

}  // namespace ration::testing
