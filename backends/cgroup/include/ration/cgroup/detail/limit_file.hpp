// SPDX-License-Identifier: BSL-1.0
/// The limits of operations as values, and the files that hold them: text is parsed where a file is read, and made
/// where it is written.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>

#include <ration/cgroup/detail/freeze.hpp>
#include <ration/cgroup/detail/set.hpp>
#include <ration/cgroup/limits.hpp>
#include <ration/cgroup/memory.hpp>

namespace ration::cgroup {

/// Whether the processes of a group may run.
enum class run_state : std::uint8_t { thawed, frozen };

/// One limit of a job's group. The order is that in which limits are restored: a job never runs with an old quota.
using limit = std::variant<cpu_quota, memory_limit, soft_memory_limit, run_state>;

namespace detail {

inline constexpr nanoseconds freeze_patience = milliseconds(500);

[[nodiscard]] constexpr controller controller_of(cpu_quota const&) noexcept { return controller::cpu; }
[[nodiscard]] constexpr controller controller_of(memory_limit const&) noexcept { return controller::memory; }
[[nodiscard]] constexpr controller controller_of(soft_memory_limit const&) noexcept { return controller::memory; }
[[nodiscard]] constexpr controller controller_of(run_state) noexcept { return controller::freezer; }

[[nodiscard]] inline char const* file_of(directory const& where, cpu_quota const&) noexcept {
    return where.kind() == version::v2 ? "cpu.max" : "cpu.cfs_quota_us";
}
[[nodiscard]] inline char const* file_of(directory const& where, memory_limit const&) noexcept {
    return memory_file(where);
}
[[nodiscard]] inline char const* file_of(directory const&, soft_memory_limit const&) noexcept { return "memory.high"; }
[[nodiscard]] inline char const* file_of(directory const& where, run_state) noexcept { return freeze_file(where); }

/// As the kernel takes it.
[[nodiscard]] inline text<64> text_of(directory const& where, cpu_quota const& value) noexcept {
    return where.kind() == version::v2 ? value.v2_text() : value.v1_text();
}
[[nodiscard]] inline text<64> text_of(directory const& where, memory_limit const& value) noexcept {
    return where.kind() == version::v2 ? value.v2_text() : value.v1_text();
}
[[nodiscard]] inline text<64> text_of(directory const&, soft_memory_limit const& value) noexcept {
    return value.from.v2_text();
}
[[nodiscard]] inline text<64> text_of(directory const& where, run_state value) noexcept {
    return freeze_text(where, value == run_state::frozen);
}

/// `max 100000` or `50000 100000`, or the two files of v1.
[[nodiscard]] inline result<cpu_quota> read_quota(directory const& where, std::string& scratch) noexcept {
    if (where.kind() == version::v1) {
        auto const period = number_in(where, "cpu.cfs_period_us", scratch);
        auto const quota = period ? number_in(where, "cpu.cfs_quota_us", scratch) : period;
        if (!quota) return quota.failure();
        return cpu_quota::of(*quota == unlimited ? cpu_quota::none : *quota, *period);
    }
    auto const shown = where.read("cpu.max", scratch);
    if (!shown) return shown.failure();
    auto const blank = std::min(shown->find(' '), shown->size());
    auto const quota = amount_of(shown->substr(0, blank));
    std::int64_t period = 0;
    if (!quota || !parse_whole(shown->substr(std::min(blank + 1, shown->size())), period))
        return where.problem(errc::io, "read", "cpu.max", 0, "");
    return cpu_quota::of(*quota == unlimited ? cpu_quota::none : *quota, period);
}

/// The present limit in a file, of the same kind as `like`.
[[nodiscard]] inline result<limit> read_limit(directory const& where, cpu_quota const&, std::string& scratch) noexcept {
    auto const quota = read_quota(where, scratch);
    return quota ? result<limit>(limit(*quota)) : result<limit>(quota.failure());
}
[[nodiscard]] inline result<limit> read_limit(directory const& where, memory_limit const&,
                                              std::string& scratch) noexcept {
    auto const amount = number_in(where, memory_file(where), scratch);
    return amount ? result<limit>(limit(memory_limit::shown(bytes{*amount}))) : result<limit>(amount.failure());
}
[[nodiscard]] inline result<limit> read_limit(directory const& where, soft_memory_limit const&,
                                              std::string& scratch) noexcept {
    auto const amount = number_in(where, "memory.high", scratch);
    return amount ? result<limit>(limit(soft_memory_limit{memory_limit::shown(bytes{*amount})}))
                  : result<limit>(amount.failure());
}
[[nodiscard]] inline result<limit> read_limit(directory const& where, run_state, std::string&) noexcept {
    auto const frozen = is_frozen(where);
    return frozen ? result<limit>(limit(*frozen ? run_state::frozen : run_state::thawed))
                  : result<limit>(frozen.failure());
}

/// As std::visit, which may throw: a limit always has a kind, because copying one cannot fail.
template <class Visitor>
[[nodiscard]] auto visit_kind(limit const& of, Visitor const& visitor) noexcept {
    static_assert(std::is_trivially_copyable_v<limit> && std::variant_size_v<limit> == 4);
    if (auto const* const quota = std::get_if<cpu_quota>(&of)) return visitor(*quota);
    if (auto const* const memory = std::get_if<memory_limit>(&of)) return visitor(*memory);
    if (auto const* const memory = std::get_if<soft_memory_limit>(&of)) return visitor(*memory);
    return visitor(*std::get_if<run_state>(&of));
}

/// As `==` of std::variant, which may throw.
[[nodiscard]] inline bool is_same(limit const& a, limit const& b) noexcept {
    return visit_kind(a, [&](auto const& kind) {
        auto const* const other = std::get_if<std::remove_cvref_t<decltype(kind)>>(&b);
        return other != nullptr && *other == kind;
    });
}

[[nodiscard]] inline result<limit> present_limit(directory const& where, limit const& like,
                                                 std::string& scratch) noexcept {
    return visit_kind(like, [&](auto const& kind) { return read_limit(where, kind, scratch); });
}
[[nodiscard]] inline char const* limit_file(directory const& where, limit const& like) noexcept {
    return visit_kind(like, [&](auto const& kind) { return file_of(where, kind); });
}
[[nodiscard]] inline text<64> limit_text(directory const& where, limit const& value) noexcept {
    return visit_kind(value, [&](auto const& kind) { return text_of(where, kind); });
}

/// Brings the file to `value`: memory on v2 without killing, freezing with a deadline. Does not read it back.
[[nodiscard]] inline result<void> put_limit(directory const& where, limit const& value) noexcept {
    if (auto const* const memory = std::get_if<memory_limit>(&value)) return write_memory(where, *memory);
    if (auto const* const memory = std::get_if<soft_memory_limit>(&value)) return write_soft_memory(where, *memory);
    if (auto const* const state = std::get_if<run_state>(&value))
        return *state == run_state::frozen ? freeze(where, freeze_patience) : thaw(where);
    return write_value(where, limit_file(where, value), limit_text(where, value));
}

/// The directory of the group that has the file of `like`.
[[nodiscard]] inline result<directory const*> find_place(group const& where, limit const& like) noexcept {
    return find_place(where, visit_kind(like, [](auto const& kind) { return controller_of(kind); }));
}

/// Reads back. Error: unverified when the file shows another value.
[[nodiscard]] inline result<void> confirm(directory const& where, limit const& value, std::string& scratch) noexcept {
    auto const now = present_limit(where, value, scratch);
    if (!now) return now.failure();
    return is_same(*now, value) ? result<void>() : unverified(where, "verify", limit_file(where, value));
}

}  // namespace detail

}  // namespace ration::cgroup
