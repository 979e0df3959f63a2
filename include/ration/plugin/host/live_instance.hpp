// SPDX-License-Identifier: BSL-1.0
/// One instance of loaded code, called through the ABI. Host (`in_process_policy`) and worker
/// (worker_main.hpp) both use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include <ration/detail/aligned_buffer.hpp>
#include <ration/plugin/abi.h>
#include <ration/plugin/host/float_modes.hpp>
#include <ration/plugin/host/library.hpp>
#include <ration/plugin/host/log_sink.hpp>
#include <ration/plugin/host/resource_names.hpp>
#include <ration/policy.hpp>
#include <ration/result.hpp>

namespace ration::plugin {

/// Limits of what a host gives to a plugin, in bytes; docs/plugin-abi.md lists all of them.
inline constexpr std::size_t largest_scratch = 256U << 20, largest_state = 64U << 20, largest_config = 1U << 20;

namespace detail {

/// Calls a function of the plugin; an exception that escapes it becomes a code.
template <class Action>
[[nodiscard]] std::int32_t without_exceptions(Action action) noexcept {
    try {
        return action();
    } catch (...) {
        return RATION_E_EXCEPTION;
    }
}

}  // namespace detail

/// The tables of a snapshot as those of the ABI. Their layouts are the same.
[[nodiscard]] inline ration_table const* const* tables_of(snapshot const& data) noexcept {
    static_assert(sizeof(table_view) == sizeof(ration_table) &&
                  offsetof(table_view, slots) == offsetof(ration_table, n_slots) &&
                  offsetof(table_view, rows) == offsetof(ration_table, n_rows) &&
                  offsetof(table_view, slot) == offsetof(ration_table, slot));
    return reinterpret_cast<ration_table const* const*>(data.tables);
}

/// Wraps one instance: `create`, then `bind`, then ticks; the destructor destroys it. Answers of
/// `decide` are not validated here.
class live_instance {
    ration_policy const* table_ = nullptr;
    library const* code_ = nullptr;  // of an estimator
    std::vector<void*> computed_;    // the columns of its answer
    void* self_ = nullptr;
    log_sink sink_;
    ration_changed_rows const* changed_;
    ration_host host_{};
    std::vector<column_info> schema_;
    std::vector<ration_column> columns_;
    ration::detail::aligned_buffer scratch_;
    std::uint64_t scratch_size_ = 0;
    char err_[256] = {};

    /// The host's function `log`.
    static void log(void* context, std::uint32_t level, char const* text, std::uint64_t length) noexcept {
        auto const& sink = static_cast<live_instance*>(context)->sink_;
        if (sink.write != nullptr && text != nullptr)
            sink.write(sink.context, level, {text, length < longest_log_line ? length : longest_log_line});
    }
    /// The host's function `extension`.
    static void const* extension(void* context, char const* id) noexcept {
        return id != nullptr && std::string_view(id) == RATION_EXT_CHANGED_ROWS
                   ? static_cast<live_instance*>(context)->changed_
                   : nullptr;
    }

public:
    /// `table` and `changed` have to outlive the object. Without `changed` the extension is not
    /// offered.
    explicit live_instance(ration_policy const& table, log_sink sink = {},
                           ration_changed_rows const* changed = nullptr) noexcept
        : table_(&table), sink_(sink), changed_(changed),
          host_{sizeof host_, RATION_ABI_MINOR, this, &log, &extension} {}
    /// A policy or an estimator. `code` and `changed` have to outlive the object.
    explicit live_instance(library const& code, log_sink sink = {},
                           ration_changed_rows const* changed = nullptr) noexcept
        : live_instance(code.table(), sink, changed) {
        if (code.is_estimator()) code_ = &code;
    }
    live_instance(live_instance const&) = delete;
    live_instance& operator=(live_instance const&) = delete;
    ~live_instance() {
        if (self_ != nullptr) table_->destroy(self_);
    }

    /// The message of the last error; empty if there was none.
    [[nodiscard]] std::string_view sentence() const noexcept { return {err_, ::strnlen(err_, sizeof err_)}; }
    /// True if the code goes by the list of changes.
    [[nodiscard]] bool follows_changes() const noexcept { return (table_->flags & RATION_F_FOLLOWS_CHANGES) != 0; }
    /// Called after a crash in the plugin's code: no function is called any more, not even
    /// `destroy`.
    void forget_instance() noexcept { self_ = nullptr; }

    /// Creates the instance. Returns a code of the ABI.
    [[nodiscard]] std::int32_t create(std::string_view config) noexcept {
        err_[0] = '\0';
        auto const code = detail::without_exceptions(
            [&] { return table_->create(&host_, config.data(), config.size(), &self_, err_, sizeof err_); });
        if (code != RATION_OK) forget_instance();
        return code;
    }

    /// Binds the columns, and allocates the scratch memory that the plugin requests. Returns a code
    /// of the ABI.
    [[nodiscard]] std::int32_t bind(std::span<column_info const> schema, limits const& most) noexcept {
        schema_.assign(schema.begin(), schema.end());
        if (code_ != nullptr) computed_.assign(code_->computed().all().size(), nullptr);
        columns_.clear();
        // The names in `columns_` point into `schema_`, so both are kept until the next call.
        for (auto const& c : schema_)
            columns_.push_back({c.name.c_str(), static_cast<std::uint32_t>(c.table), static_cast<std::uint32_t>(c.type),
                                c.width, c.slot, 0, 0});
        auto const names = names_of_resources(most);
        std::vector<char const*> first;
        for (auto const& r : resources_named(names)) first.push_back(r.name.data());
        ration_schema const given{sizeof given,
                                  static_cast<std::uint32_t>(columns_.size()),
                                  sizeof(ration_column),
                                  static_cast<std::uint32_t>(most.resources),
                                  most.jobs,
                                  most.nodes,
                                  most.grants(),
                                  columns_.data(),
                                  most.tenants,
                                  first.empty() ? nullptr : first.data()};
        err_[0] = '\0';
        scratch_size_ = 0;
        auto const code =
            detail::without_exceptions([&] { return table_->bind(self_, &given, &scratch_size_, err_, sizeof err_); });
        if (code != RATION_OK) return code;
        if (scratch_size_ > largest_scratch) {
            std::snprintf(err_, sizeof err_,
                          "its bind asks for a scratch_size of %llu bytes, and 256 MiB are the most: ask for less",
                          static_cast<unsigned long long>(scratch_size_));
            return RATION_E_ARG;
        }
        return scratch_.reserve(scratch_size_, 0) ? RATION_OK : RATION_E_NOMEM;
    }

    /// A tick without values except its scratch memory.
    [[nodiscard]] ration_tick blank_tick() const noexcept {
        return {sizeof(ration_tick), table_count,   0,      0, 0, 0, nullptr, nullptr,
                scratch_.data(),     scratch_size_, nullptr};
    }

    /// Decides, or estimates. A plugin that reports a lost state receives the event `state_lost` at once.
    [[nodiscard]] std::int32_t decide(ration_tick const& t, ration_out& out) noexcept {
        auto const code = detail::without_exceptions(
            [&] { return code_ == nullptr ? table_->decide(self_, &t, &out) : estimate(t, out); });
        if (code == RATION_E_STATE) start_anew(t.now_ns);
        return code;
    }

    /// Writes the columns of an estimator into the space for grants (computed_columns.hpp).
    [[nodiscard]] std::int32_t estimate(ration_tick const& t, ration_out& out) {
        auto const& columns = code_->computed();
        std::uint64_t const rows = t.table[RATION_JOBS]->n_rows;
        std::size_t const grants = columns.grants(rows);
        if (grants > out.capacity) return RATION_E_CAPACITY;
        auto* const first = reinterpret_cast<unsigned char*>(out.grant);
        std::memset(first, 0, grants * sizeof(ration_grant));
        for (std::size_t k = 0; k < computed_.size(); ++k) computed_[k] = first + columns.offset(k, rows);
        ration_estimates const to{sizeof to, static_cast<std::uint32_t>(computed_.size()), rows, computed_.data()};
        std::int32_t const code = code_->estimate()(self_, &t, &to);
        if (code == RATION_OK) out.count = grants;
        return code;
    }

    /// Sends the event `state_lost`: the plugin drops its state and starts from the tables.
    [[gnu::cold, gnu::noinline]] void start_anew(std::int64_t now) noexcept {
        event const lost{.kind = event_kind::state_lost, .at = {now}};
        on_events({&lost, 1});
    }

    /// Sends events, if the plugin has a function for them.
    void on_events(std::span<event const> events) noexcept {
        if (table_->on_event == nullptr || events.empty()) return;
        auto const code = detail::without_exceptions([&] {
            return table_->on_event(self_, reinterpret_cast<ration_event const*>(events.data()), events.size(),
                                    sizeof(event));
        });
        if (code == RATION_E_STATE && events.back().kind != event_kind::state_lost) start_anew(events.back().at.count);
    }

    /// Saves the state if it fits, and returns its size; 0 if the plugin has none or fails.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) noexcept {
        if (table_->save == nullptr) return 0;
        std::uint64_t size = 0;
        auto const code =
            detail::without_exceptions([&] { return table_->save(self_, space.data(), space.size(), &size); });
        bool const reported = code == RATION_OK || code == RATION_E_CAPACITY;
        return reported && size <= largest_state ? size : 0;
    }
    /// Restores the state. Returns a code of the ABI.
    [[nodiscard]] std::int32_t load(std::span<std::byte const> saved) noexcept {
        if (table_->load == nullptr) return saved.empty() ? RATION_OK : RATION_E_STATE;
        return detail::without_exceptions([&] { return table_->load(self_, saved.data(), saved.size()); });
    }
};

}  // namespace ration::plugin
