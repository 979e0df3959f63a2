// SPDX-License-Identifier: BSL-1.0
/// A plugin in this process: as fast as a compiled-in class, and as dangerous. For trusted plugins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <ration/plugin/host/fault.hpp>
#include <ration/plugin/host/library.hpp>
#include <ration/plugin/host/live_instance.hpp>
#include <ration/plugin/host/process_state.hpp>

namespace ration::plugin {
namespace detail {

/// Restores changes that a plugin made to the process. Error: denied if there was one.
[[nodiscard]] inline result<void> left_alone(process_state const& before) noexcept {
    char const* const meddled = before.restore();
    if (meddled == nullptr) return {};
    return error{.code = errc::denied,
                 .operation = "start policy in this process:",
                 .subject = std::string_view(meddled),
                 .remedy = "a plugin must leave the process alone: run it in a worker process, or not at all"};
}

}  // namespace detail

/// Runs the code of a plugin directly. It survives errors, exceptions, invalid answers, and changed
/// floating-point modes and signal handlers. It does not survive a crash, an endless loop, or a
/// write to foreign memory; `worker_policy` does.
class in_process_policy final : public plugin_policy {
    library code_;
    live_instance live_;
    ration_tick tick_{};
    ration_out answer_ = blank_answer;
    static constexpr std::uint32_t cancel_ = 0;  // no thread watches the clock in this process
    static constexpr ration_out blank_answer{sizeof(ration_out), 0, 0, 0, 0, nullptr};

public:
    /// Use `create`.
    in_process_policy(library code, log_sink log)
        : plugin_policy(code.file().manifest, log), code_(std::move(code)), live_(code_, log_.as_sink()) {}
    ~in_process_policy() override = default;

    /// Creates an instance. Errors: invalid_value, with the plugin's own message; denied if it
    /// changed the process.
    [[nodiscard]] static result<std::unique_ptr<in_process_policy>> create(library code, std::string_view config,
                                                                           log_sink log = {}) {
        process_state const before;
        auto made = std::make_unique<in_process_policy>(std::move(code), log);
        std::int32_t const result = made->live_.create(config);
        if (auto const alone = detail::left_alone(before); !alone) return alone.failure();
        if (result != RATION_OK) return made->refused(result);
        return made;
    }

    /// Binds the columns. Errors: those of `offers`; invalid_value with the plugin's own message;
    /// denied.
    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const& most) noexcept override {
        if (auto const good = offers(schema, described().manifest()); !good) return good;
        process_state const before;
        std::int32_t const result = live_.bind(schema, most);
        if (auto const alone = detail::left_alone(before); !alone) return alone;
        if (result != RATION_OK) return refused(result);
        tick_ = live_.blank_tick();
        tick_.cancel = &cancel_;
        return {};
    }

    /// Decides one tick. Every field that the plugin can change is validated before a grant counts.
    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override {
        fault_.kind = fault_kind::none;
        tick_.number = t.number;
        tick_.seed = t.seed;
        tick_.now_ns = t.now.count;
        tick_.budget_ns = t.budget.count;
        tick_.table = tables_of(t.data);
        tick_.changes = reinterpret_cast<ration_changes const* const*>(t.changes);
        // The plugin writes into the host's space directly; no row is copied.
        auto const space = out.unused();
        auto* const first = reinterpret_cast<ration_grant*>(space.data());
        answer_.capacity = space.size();
        answer_.count = 0;
        answer_.grant = first;
        detail::float_modes const modes;
        std::int32_t const code = live_.decide(tick_, answer_);
        if (modes.restore(t.number)) return fail(fault_kind::meddled, t.number, "changed the floating-point modes");
        // Fields of the host are compared before any of them is used.
        if (answer_.struct_size != sizeof answer_ || answer_.flags != 0 || answer_.capacity != space.size() ||
            answer_.grant != first) {
            answer_ = blank_answer;
            return fail(fault_kind::malformed, t.number, "changed a field of the answer that belongs to the host");
        }
        if (code != RATION_OK) return fail(fault_kind::refused, t.number, text_of(code), known_status(code));
        if (answer_.count > space.size())
            return fail(fault_kind::malformed, t.number, "reports more grants than there is space for");
        out.commit(answer_.count);
        return status::ok;
    }

    /// Forwards events.
    void on_events(std::span<event const> events) noexcept override { live_.on_events(events); }
    /// Saves the state of the plugin.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) noexcept override { return live_.save(space); }
    /// Restores the state.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept override {
        return known_status(live_.load(saved));
    }

private:
    /// An error with the plugin's own message, or with the meaning of its code.
    [[nodiscard]] error refused(std::int32_t code) const noexcept {
        auto const reply = live_.sentence();
        return {.code = errc::invalid_value,
                .operation = start_operation,
                .subject = reply.empty() ? text_of(code) : reply};
    }
};

}  // namespace ration::plugin
