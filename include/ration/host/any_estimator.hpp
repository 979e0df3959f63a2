// SPDX-License-Identifier: BSL-1.0
/// An estimator chosen at run time: one interface for all classes that model `Estimator`.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include <ration/column.hpp>
#include <ration/estimator.hpp>
#include <ration/host/snapshot_store.hpp>
#include <ration/policy.hpp>
#include <ration/result.hpp>

namespace ration {

/// The interface that an engine calls. The host owns the object; one engine at a time uses it.
class any_estimator {
public:
    /// Destroys the estimator.
    virtual ~any_estimator() = default;

    /// The identity of the estimator; valid as long as the object.
    [[nodiscard]] virtual meta const& about() const noexcept = 0;
    /// The columns that it reads.
    [[nodiscard]] virtual std::span<column_description const> inputs() const noexcept = 0;
    /// The columns that it computes.
    [[nodiscard]] virtual std::span<column_description const> outputs() const noexcept = 0;
    /// Called before the first tick, and again when the policy, the schema or the limits change; what the estimator
    /// remembers of jobs stays. Declares the scalar outputs that the store lacks. Errors: `not_found`, a vector output
    /// that the store lacks; `conflict`, an omitted output; those of `bind_column` and `snapshot_store::declare`;
    /// `no_capacity`.
    [[nodiscard]] virtual result<void> bind(snapshot_store& store, limits const& most) noexcept = 0;
    /// Writes its columns. `t.data` is the view of `store`.
    virtual void estimate(tick_data const& t, snapshot_store& store) noexcept = 0;

    // Copies only through derived classes, so that no estimator is sliced.
protected:
    any_estimator() = default;
    any_estimator(any_estimator const&) = default;
    any_estimator& operator=(any_estimator const&) = default;
};

/// A static estimator behind the interface.
template <class E>
class estimator_adapter final : public any_estimator {
    static_assert(sizeof(require_estimator<E>) > 0);
    using outputs_type = typename E::outputs;

    E estimator_;
    binding<typename E::inputs> bound_;
    std::array<column_info, outputs_type::count> written_{};

public:
    /// An estimator with default parameters.
    estimator_adapter() = default;
    /// Takes an estimator that was constructed with parameters.
    explicit estimator_adapter(E estimator) noexcept
        requires std::is_move_constructible_v<E>
        : estimator_(std::move(estimator)) {}

    [[nodiscard]] meta const& about() const noexcept override { return E::about; }
    [[nodiscard]] std::span<column_description const> inputs() const noexcept override {
        return E::inputs::descriptions;
    }
    [[nodiscard]] std::span<column_description const> outputs() const noexcept override {
        return outputs_type::descriptions;
    }

    [[nodiscard]] result<void> bind(snapshot_store& store, limits const& most) noexcept override {
        for (std::size_t i = 0; i < outputs_type::count; ++i) {
            auto const written = declare(store, outputs_type::descriptions[i]);
            if (!written) return written.failure();
            written_[i] = *written;
        }
        auto bound = bind_columns<typename E::inputs>(store.schema());
        if (!bound) return bound.failure();
        bound_ = *bound;
        if constexpr (has_prepare<E>)
            if (estimator_.prepare(most) != status::ok)
                return error{.code = errc::no_capacity, .operation = "prepare estimator", .subject = E::about.id};
        return {};
    }

    void estimate(tick_data const& t, snapshot_store& store) noexcept override {
        auto const columns = columns_in(store, std::make_index_sequence<outputs_type::count>{});
        estimator_.estimate(tick<typename E::inputs>(t, bound_),
                            estimates<outputs_type>(columns, store.rows(table_id::jobs)));
    }

private:
    /// Only the host can declare a vector column: the estimator has no width for it.
    [[nodiscard]] static result<column_info> declare(snapshot_store& store, column_description const& output) noexcept {
        auto const refuse = [&](errc code, char const* remedy) {
            return error{.code = code, .operation = "bind estimator", .subject = output.name, .remedy = remedy};
        };
        auto const* const known = find_column(store.schema(), output.name);
        if (output.shape == column_shape::vector && known == nullptr)
            return refuse(errc::not_found, "the host has no such vector column: declare it with its width");
        auto declared = store.declare(output.name, output.type, known != nullptr ? known->width : 1);
        if (declared && declared->width == 0) return refuse(errc::conflict, "the host omits this column: declare it");
        return declared;
    }

    template <std::size_t... I>
    [[nodiscard]] std::array<output_column, outputs_type::count> columns_in(snapshot_store& store,
                                                                            std::index_sequence<I...>) const noexcept {
        return {output_column{store.data(column<typename detail::column_at<outputs_type, I>::type::value_type>{
                                  written_[I].table, written_[I].slot, written_[I].width}),
                              written_[I].width}...};
    }
};

}  // namespace ration
