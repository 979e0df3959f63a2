// SPDX-License-Identifier: BSL-1.0
/// Texts in cgroup files: what counts as the same value, numbers by key, and writing with a read-back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ration/cgroup/detail/pids.hpp>
#include <ration/cgroup/directory.hpp>
#include <ration/cgroup/names.hpp>
#include <ration/resource.hpp>

namespace ration::cgroup {

/// A number, or `unlimited` for each of the kernel's ways to say so: `max`, `-1`, and the last page below 2^63 (memory
/// on v1).
[[nodiscard]] inline std::optional<std::int64_t> amount_of(std::string_view text) noexcept {
    constexpr std::int64_t last_page = 0x7fff'ffff'ffff'0000;  // the last page of the largest page size
    if (text == "max" || text == "-1") return unlimited;
    std::int64_t number = 0;
    if (!detail::parse_whole(text, number) || number < 0) return std::nullopt;
    return number >= last_page ? unlimited : number;
}

/// Whether two texts say the same in a file of one value.
[[nodiscard]] inline bool same_value(std::string_view a, std::string_view b) noexcept {
    auto const left = amount_of(a), right = amount_of(b);
    return a == b || (left && right && *left == *right);
}

/// The number after `key ` at the beginning of a line, as in cpu.stat, memory.stat and cgroup.events.
[[nodiscard]] inline std::optional<std::int64_t> keyed_number(std::string_view text, std::string_view key) noexcept {
    std::optional<std::int64_t> found;
    for_each_line(text, [&](std::string_view line) {
        std::int64_t number = 0;
        if (!found && line.starts_with(key) && line.size() > key.size() && line[key.size()] == ' ' &&
            detail::parse_whole(line.substr(key.size() + 1), number)) {
            found = number;
        }
    });
    return found;
}

/// Writes a checked value.
/// Errors: conflict, when the kernel refuses a value that is valid by itself, so that a group above or below
/// contradicts it; gone; denied.
[[nodiscard]] inline result<void> write_value(directory const& where, char const* file,
                                              std::string_view text) noexcept {
    if (auto const written = where.write(file, text); !written) {
        error why = written.failure();
        if (why.code == errc::invalid_value || why.code == errc::busy || why.system == EACCES) {
            // EACCES: cpus that the parent does not have, on v1; with no permission at all the group could not have
            // been created
            why.code = errc::conflict;
            why.remedy = remedy_of(errc::conflict);
        }
        return why;
    }
    return {};
}

/// The value was written, and the file shows another one.
[[nodiscard]] inline error unverified(directory const& where, char const* operation, char const* file) noexcept {
    return where.problem(errc::unverified, operation, file, 0, "another program writes this file too: stop that one");
}

/// Writes a checked value and reads it back: for limits outside of a plan, which no `verify` follows. Errors: those of
/// `write_value`; unverified.
[[nodiscard]] inline result<void> write_verified(directory const& where, char const* file,
                                                 std::string_view text) noexcept {
    if (auto const written = write_value(where, file, text); !written) return written;
    std::string scratch;
    auto const shown = where.read(file, scratch);
    if (!shown) return shown.failure();
    if (!same_value(*shown, text)) return unverified(where, "write and read back", file);
    return {};
}

}  // namespace ration::cgroup
