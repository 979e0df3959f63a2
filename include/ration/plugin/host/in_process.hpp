// SPDX-License-Identifier: BSL-1.0
/// A plugin in this process: as fast as a class that was compiled in, and as dangerous. For plugins that are trusted.
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

/// Puts back what a plugin has changed of the process; denied when there was something.
[[nodiscard]] inline result<void> left_alone(process_state const& before) noexcept {
    char const* const meddled = before.restore();
    if (meddled == nullptr) return {};
    return error{.code = errc::denied,
                 .operation = "start policy in this process:",
                 .subject = std::string_view(meddled),
                 .remedy = "a plugin must leave the process alone: run it in a worker process, or not at all"};
}

}  // namespace detail

/// Survives: errors, exceptions, answers that cannot be, changed floating-point modes and signal handlers. Does not
/// survive: a crash, an endless loop, a write to memory that is not its own. Those need a worker process.
class in_process_policy final : public plugin_policy {
    library code_;
    live_instance live_;
    ration_tick tick_{};
    ration_out answer_ = blank_answer;
    static constexpr std::uint32_t cancel_ = 0;  // nobody watches the clock in this process
    static constexpr ration_out blank_answer{sizeof(ration_out), 0, 0, 0, 0, nullptr};

public:
    in_process_policy(library code, log_sink log)
        : plugin_policy(code.file().manifest, log), code_(std::move(code)), live_(code_.table(), log_.as_sink()) {}
    ~in_process_policy() override = default;

    /// Errors: invalid_value, with the plugin's own sentence; denied when it changed what belongs to the process.
    [[nodiscard]] static result<std::unique_ptr<in_process_policy>> create(library code, std::string_view config,
                                                                           log_sink log = {}) {
        process_state const before;
        auto made = std::make_unique<in_process_policy>(std::move(code), log);
        std::int32_t const result = made->live_.create(config);
        if (auto const alone = detail::left_alone(before); !alone) return alone.failure();
        if (result != RATION_OK) return made->refused(result);
        return made;
    }

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

    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override {
        fault_.kind = fault_kind::none;
        tick_.number = t.number;
        tick_.seed = t.seed;
        tick_.now_ns = t.now.count;
        tick_.budget_ns = t.budget.count;
        tick_.table = tables_of(t.data);
        auto const space = out.unused();
        auto* const first = reinterpret_cast<ration_grant*>(space.data());
        answer_.capacity = space.size();
        answer_.count = 0;
        answer_.grant = first;
        detail::float_modes const modes;
        std::int32_t const code = live_.decide(tick_, answer_);
        if (modes.restore(t.number)) return fail(fault_kind::meddled, t.number, "changed the floating-point modes");
        if (answer_.struct_size != sizeof answer_ || answer_.flags != 0 || answer_.capacity != space.size() ||
            answer_.grant != first) {
            answer_ = blank_answer;
            return fail(fault_kind::malformed, t.number, "changed a field of the answer that belongs to the host");
        }
        if (code != RATION_OK) return fail(fault_kind::refused, t.number, text_of(code), known_status(code));
        if (answer_.count > space.size())
            return fail(fault_kind::malformed, t.number, "says that it wrote more grants than there is space for");
        out.commit(answer_.count);
        return status::ok;
    }

    void on_events(std::span<event const> events) noexcept override { live_.on_events(events); }
    [[nodiscard]] std::size_t save(std::span<std::byte> space) noexcept override { return live_.save(space); }
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept override {
        return known_status(live_.load(saved));
    }

private:
    [[nodiscard]] error refused(std::int32_t code) const noexcept {
        auto const reply = live_.sentence();
        return {.code = errc::invalid_value,
                .operation = start_operation,
                .subject = reply.empty() ? text_of(code) : reply};
    }
};

}  // namespace ration::plugin
