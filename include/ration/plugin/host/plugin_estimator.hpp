// SPDX-License-Identifier: BSL-1.0
/// Estimators from files: `open_estimator` takes a .so through every check, and returns an estimator that a stage uses
/// like a compiled one (host/estimator_stage.hpp).
///
/// It runs where a policy from a file would run, with the same deadlines and strikes. Its values are validated before
/// a policy reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/host/any_estimator.hpp>
#include <ration/plugin/host/computed_columns.hpp>
#include <ration/plugin/host/host.hpp>

namespace ration::plugin {

/// The estimator of a file. On a tick without a valid answer its columns are unknown: NaN, or 0 in a column of whole
/// numbers.
class plugin_estimator final : public any_estimator {
    std::unique_ptr<guarded_policy> plugin_;
    std::vector<needed_column> needed_;
    computed_columns computed_;
    std::vector<column_description> inputs_, outputs_;  // their names are in the lists above
    std::vector<column_info> written_;
    buffer<grant> space_;

public:
    /// Use `open_estimator`.
    plugin_estimator(std::unique_ptr<guarded_policy> plugin, std::vector<needed_column> needed,
                     std::vector<needed_column> computed)
        : plugin_(std::move(plugin)), needed_(std::move(needed)), computed_(std::move(computed)) {
        for (auto const& c : needed_) inputs_.push_back({c.name, c.type, c.shape});
        for (auto const& c : computed_.all()) outputs_.push_back({c.name, c.type, c.shape});
    }
    plugin_estimator(plugin_estimator const&) = delete;
    plugin_estimator& operator=(plugin_estimator const&) = delete;

    /// The plugin, for its faults and its place.
    [[nodiscard]] guarded_policy& plugin() noexcept { return *plugin_; }
    [[nodiscard]] guarded_policy const& plugin() const noexcept { return *plugin_; }

    [[nodiscard]] meta const& about() const noexcept override { return plugin_->about(); }
    [[nodiscard]] std::span<column_description const> inputs() const noexcept override { return inputs_; }
    [[nodiscard]] std::span<column_description const> outputs() const noexcept override { return outputs_; }

    /// Errors besides those of `any_estimator::bind`: those of `any_policy::bind`.
    [[nodiscard]] result<void> bind(snapshot_store& store, limits const& most) noexcept override {
        written_.clear();
        for (auto const& c : computed_.all()) {
            auto const declared = store.declare(c.name, c.type, 1);
            if (!declared) return declared.failure();
            if (declared->width != 1)
                return error{.code = errc::conflict,
                             .operation = "bind estimator",
                             .subject = std::string_view(c.name),
                             .remedy = "the host omits this column, or has a vector: use a host that declares it"};
            written_.push_back(*declared);
        }
        limits asked = most;
        asked.answer = computed_.grants(most.jobs);
        space_.resize(asked.answer);
        return plugin_->bind(store.schema(), asked);
    }

    void estimate(tick_data const& t, snapshot_store& store) noexcept override {
        std::size_t const rows = store.rows(table_id::jobs);
        grants answer(space_.edit());
        answer.read_by_rows();
        bool taken = plugin_->decide(t, answer) == status::ok;
        if (taken && answer.size() != computed_.grants(rows)) {
            plugin_->reject("answered for another number of jobs");
            taken = false;
        }
        auto const bytes = std::as_bytes(answer.rows());
        if (auto const wrong = taken ? computed_.fault(bytes, rows) : text<159>(); !wrong.view().empty()) {
            plugin_->reject(wrong.view());
            taken = false;
        }
        for (std::size_t k = 0; k < written_.size(); ++k) write(taken ? bytes : std::span<std::byte const>{}, k, store);
    }

private:
    /// `bytes`: empty if all values are unknown.
    void write(std::span<std::byte const> bytes, std::size_t k, snapshot_store& store) const noexcept {
        std::size_t const rows = store.rows(table_id::jobs), at = computed_.offset(k, rows);
        auto const into = [&]<class T>(T unknown) {
            T* const to = store.data(column<T>{written_[k].table, written_[k].slot, 1});
            for (std::size_t row = 0; row < rows; ++row)
                to[row] = bytes.empty() ? unknown : computed_columns::value_at<T>(bytes, at + row * sizeof(T));
        };
        switch (written_[k].type) {
            case column_type::u32: return into(std::uint32_t{0});
            case column_type::i64: return into(std::int64_t{0});
            case column_type::u64: return into(std::uint64_t{0});
            case column_type::f32: return into(std::numeric_limits<float>::quiet_NaN());
            case column_type::f64: return into(std::numeric_limits<double>::quiet_NaN());
        }
    }
};

/// Opens the estimator at this absolute path. Errors: those of `open`; invalid_value for a policy.
[[nodiscard]] inline result<std::unique_ptr<plugin_estimator>> open_estimator(std::string const& path,
                                                                              open_options const& options) {
    auto file = detail::open_file(path, options);
    if (!file) return file.failure();
    if (!is_estimator_file(file->manifest))
        return detail::file_error(errc::invalid_value, path,
                                  "it computes no column: name a plugin that ends with RATION_EXPORT_ESTIMATOR");
    auto needed = needs_of(file->manifest);
    auto computed = computed_by(file->manifest);
    if (!needed || !computed) return detail::file_error(errc::invalid_value, path, "its manifest is damaged");
    auto plugin = detail::start(std::move(file).value(), options);
    if (!plugin) return plugin.failure();
    return std::make_unique<plugin_estimator>(std::move(plugin).value(), std::move(needed).value(),
                                              std::move(computed).value());
}

}  // namespace ration::plugin
