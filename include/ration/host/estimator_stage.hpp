// SPDX-License-Identifier: BSL-1.0
/// The estimators of one engine: which of them run, and in which order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ration/buffer.hpp>
#include <ration/host/any_estimator.hpp>
#include <ration/host/any_policy.hpp>
#include <ration/host/estimation.hpp>
#include <ration/host/snapshot_store.hpp>
#include <ration/result.hpp>

namespace ration {

/// The estimators that a host has, and what it needs them for.
struct estimator_supply {
    std::span<any_estimator* const> available{};   ///< they outlive the engine; the first one of a column counts
    std::span<std::string_view const> unfilled{};  ///< columns that the host declares and does not fill
    std::span<std::string_view const> wanted{};    ///< columns that the host itself reads
};

/// Runs those estimators that compute a column which a policy, or another estimator, reads and the host does not fill.
/// An estimator runs after those whose columns it reads.
class estimator_stage final : public estimation {
    enum class mark : std::uint8_t { none, visiting, done };

    estimator_supply supply_;
    buffer<mark> marks_;                 // of the available ones
    buffer<any_estimator*> order_;       // those that run
    buffer<std::string_view> declared_;  // columns that the store has for an estimator only

public:
    explicit estimator_stage(estimator_supply const& supply) noexcept : supply_(supply) {}

    /// Chooses the estimators for these policies. An estimator that ran before keeps what it remembers. Errors, with
    /// the column as their subject: `not_found`, neither the host nor an estimator has it; `conflict`, its estimator
    /// needs it itself, or computes it besides, and the host fills it; those of `any_estimator::bind`.
    [[nodiscard]] result<void> bind(snapshot_store& store, any_policy const& policy, any_policy const& fallback,
                                    limits const& most) noexcept override {
        order_.clear();
        marks_.clear();
        for (std::size_t i = 0; i < supply_.available.size(); ++i) marks_.push_back(mark::none);
        auto const is_read = [&](std::string_view name) {
            return policy.reads(name) || fallback.reads(name) || contains(supply_.wanted, name);
        };
        for (auto const name : supply_.unfilled)
            if (is_read(name) && computing(name) == supply_.available.size()) return no_source_of(name);
        for (std::size_t i = 0; i < supply_.available.size(); ++i)
            for (auto const& output : supply_.available[i]->outputs())
                if (is_read(output.name) && !is_filled(store, output.name) && computing(output.name) == i)
                    if (auto placed = place(store, i, output.name); !placed) return placed;
        for (auto* const estimator : order_.view()) {
            for (auto const& output : estimator->outputs())
                if (is_filled(store, output.name)) return filled_twice(output.name);
            for (auto const& output : estimator->outputs())
                if (find_column(store.schema(), output.name) == nullptr) declared_.push_back(output.name);
            if (auto bound = estimator->bind(store, most); !bound) return bound;
        }
        return {};
    }

    /// Whether an estimator that computes an unfilled column which one of these policies reads, or another such
    /// estimator, has the column among its inputs or outputs.
    [[nodiscard]] bool uses(std::string_view column, any_policy const& policy,
                            any_policy const& fallback) const noexcept {
        for (auto const* const estimator : supply_.available)
            if (has(estimator->inputs(), column) || has(estimator->outputs(), column))
                for (auto const& output : estimator->outputs())
                    if (contains(supply_.unfilled, output.name) &&
                        is_needed(output.name, policy, fallback, supply_.available.size()))
                        return true;
        return false;
    }

    /// Writes the columns of all estimators that run. `t.data` is the view of `store`.
    void run(tick_data const& t, snapshot_store& store) noexcept override {
        for (auto* const estimator : order_.view()) estimator->estimate(t, store);
    }

private:
    [[nodiscard]] static bool has(std::span<column_description const> columns, std::string_view name) noexcept {
        for (auto const& one : columns)
            if (one.name == name) return true;
        return false;
    }
    [[nodiscard]] static bool contains(std::span<std::string_view const> names, std::string_view name) noexcept {
        for (auto const one : names)
            if (one == name) return true;
        return false;
    }
    /// A policy reads the column, or an estimator of an unfilled column that is needed itself. `depth`: estimators in a
    /// row at most, since a cycle is not refused yet.
    [[nodiscard]] bool is_needed(std::string_view column, any_policy const& policy, any_policy const& fallback,
                                 std::size_t depth) const noexcept {
        if (policy.reads(column) || fallback.reads(column)) return true;
        if (depth == 0) return false;
        for (auto const* const estimator : supply_.available)
            if (has(estimator->inputs(), column))
                for (auto const& output : estimator->outputs())
                    if (contains(supply_.unfilled, output.name) && is_needed(output.name, policy, fallback, depth - 1))
                        return true;
        return false;
    }
    /// The host itself fills the column.
    [[nodiscard]] bool is_filled(snapshot_store const& store, std::string_view name) const noexcept {
        return find_column(store.schema(), name) != nullptr && !contains(supply_.unfilled, name) &&
               !contains(declared_.view(), name);
    }

    /// The first estimator that computes the column; their number if none does.
    [[nodiscard]] std::size_t computing(std::string_view name) const noexcept {
        std::size_t i = 0;
        for (; i < supply_.available.size(); ++i)
            for (auto const& output : supply_.available[i]->outputs())
                if (output.name == name) return i;
        return i;
    }

    /// Appends the estimator to the order, after those whose columns it reads. `name`: the column that it is for.
    [[nodiscard]] result<void> place(snapshot_store const& store, std::size_t i, std::string_view name) noexcept {
        if (marks_[i] == mark::done) return {};
        if (marks_[i] == mark::visiting)
            return error{.code = errc::conflict,
                         .operation = "bind estimator of",
                         .subject = name,
                         .remedy = "its inputs are computed from it: fill one of the columns in the host"};
        marks_[i] = mark::visiting;
        for (auto const& input : supply_.available[i]->inputs()) {
            if (is_filled(store, input.name)) continue;
            std::size_t const source = computing(input.name);
            if (source == supply_.available.size()) return no_source_of(input.name);
            if (auto placed = place(store, source, input.name); !placed) return placed;
        }
        marks_[i] = mark::done;
        order_.push_back(supply_.available[i]);
        return {};
    }

    [[nodiscard]] static error filled_twice(std::string_view name) noexcept {
        return {.code = errc::conflict,
                .operation = "bind estimator of",
                .subject = name,
                .remedy = "the host fills this column: use an estimator that does not compute it"};
    }
    [[nodiscard]] static error no_source_of(std::string_view name) noexcept {
        return {.code = errc::not_found,
                .operation = "bind column",
                .subject = name,
                .remedy =
                    "this host does not fill the column: choose a policy that does without, or add an estimator "
                    "that computes it"};
    }
};

}  // namespace ration
