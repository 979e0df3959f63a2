// SPDX-License-Identifier: BSL-1.0
#include "policies/policy_log.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/core.h>
#include <map>
#include <memory>
#include <new>
#include <utility>

#include "common/printable.hpp"

namespace ration::program {

std::string_view name_of_level(std::uint32_t level) noexcept {
    constexpr std::string_view names[] = {"debug", "info", "warning", "error"};
    return names[std::min<std::uint32_t>(level, RATION_LOG_ERROR)];
}

namespace {

struct kept_logs {
    std::mutex one_at_a_time;  // simulations run side by side
    std::vector<std::unique_ptr<policy_log>> all;
    std::map<std::string, policy_log*> by_policy;

    /// Not destroyed at the end of the program, since threads of a policy may still run then; still reachable,
    /// which a leak checker needs.
    [[nodiscard]] static kept_logs& of_program() {
        static auto& logs = *new kept_logs;
        return logs;
    }
};

}  // namespace

policy_log& policy_log::for_good() {
    auto& kept = kept_logs::of_program();
    std::lock_guard const lock(kept.one_at_a_time);
    return *kept.all.emplace_back(std::make_unique<policy_log>());
}

policy_log& policy_log::common_to(std::string const& policy) {
    auto& kept = kept_logs::of_program();
    std::lock_guard const lock(kept.one_at_a_time);
    auto& log = kept.by_policy[policy];
    if (log == nullptr) log = kept.all.emplace_back(std::make_unique<policy_log>()).get();
    return *log;
}

void policy_log::write(std::uint32_t level, std::string_view text) noexcept {
    std::lock_guard const lock(one_at_a_time_);
    std::size_t const size = text.size() + sizeof(policy_line);
    ++left_out_;
    if (bytes_ + size > most_bytes) return;
    try {
        lines_.push_back({level, std::string(text)});
    } catch (std::bad_alloc const&) {  // the plugin's call must come back
        return;
    }
    bytes_ += size;
    --left_out_;
}

std::vector<policy_line> policy_log::take() {
    std::lock_guard const lock(one_at_a_time_);
    bytes_ = 0;
    auto taken = std::exchange(lines_, {});
    if (std::uint64_t const missing = std::exchange(left_out_, 0); missing != 0)
        taken.push_back(
            {RATION_LOG_WARNING,
             fmt::format("{} more lines came faster than they could be printed, and were dropped", missing)});
    return taken;
}

plugin::log_sink policy_log::as_sink() noexcept {
    return {[](void* self, std::uint32_t level, std::string_view text) {
                static_cast<policy_log*>(self)->write(level, text);
            },
            this};
}

policy_log_filter::showing policy_log_filter::classify(policy_line const& line) {
    if (!is_for_people(line.level) || shown_.size() == most_shown) return showing::no;
    if (std::ranges::find(shown_, line.text) != shown_.end()) return showing::no;
    shown_.push_back(line.text);
    return shown_.size() == most_shown ? showing::last : showing::yes;
}

void print_to_stderr(policy_log& log, std::string_view policy) {
    policy_log_filter log_filter;
    for (auto const& line : log.take())
        if (log_filter.classify(line) != policy_log_filter::showing::no)
            std::fprintf(stderr, "ration: %s of policy %s: %s\n", std::string(name_of_level(line.level)).c_str(),
                         printable(policy).c_str(), printable(line.text).c_str());
}

}  // namespace ration::program
