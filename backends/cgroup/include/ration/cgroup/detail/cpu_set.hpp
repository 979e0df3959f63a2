// SPDX-License-Identifier: BSL-1.0
/// A set of processor numbers, in the kernel's list format.
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ration/cgroup/detail/errors.hpp>
#include <ration/cgroup/names.hpp>
#include <ration/result.hpp>

namespace ration::cgroup {

/// Processors (or memory nodes), by number. Grows as needed; numbers from `limit` on are refused.
class cpu_set {
    std::vector<std::uint64_t> words_;

public:
    /// More than any kernel is built for (NR_CPUS is at most 8192).
    static constexpr std::uint32_t limit = 65'536;

    /// Reads `0-3,8`, `0-7:2/4` (two of every four), empty items and blanks around items. Empty text is the empty set.
    /// Errors: invalid_value (not a list), out_of_range (a number from `limit` on).
    [[nodiscard]] static result<cpu_set> parse(std::string_view list) {
        cpu_set set;
        while (!list.empty()) {
            auto const comma = std::min(list.find(','), list.size());
            auto const item = trim(list.substr(0, comma));
            if (!item.empty()) {
                if (auto const taken = set.insert_item(item); !taken) return taken.failure();
            }
            list.remove_prefix(std::min(comma + 1, list.size()));
        }
        return set;
    }

    /// Precondition: `cpu` is below `limit`.
    void insert(std::uint32_t cpu) {
        RATION_ASSERT(cpu < limit, "cpu_set: number out of range");
        if (words_.size() <= cpu / 64) words_.resize(cpu / 64 + 1);
        words_[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
    }

    [[nodiscard]] bool contains(std::uint32_t cpu) const noexcept {
        return cpu / 64 < words_.size() && ((words_[cpu / 64] >> (cpu % 64)) & 1) != 0;
    }

    [[nodiscard]] std::size_t size() const noexcept {
        std::size_t count = 0;
        for (std::uint64_t const word : words_) count += static_cast<std::size_t>(std::popcount(word));
        return count;
    }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }

    /// Whether every member is one of `larger`.
    [[nodiscard]] bool within(cpu_set const& larger) const noexcept {
        for (std::size_t i = 0; i < words_.size(); ++i)
            if ((words_[i] & ~(i < larger.words_.size() ? larger.words_[i] : 0)) != 0) return false;
        return true;
    }

    /// The lowest `count` members, or all if there are fewer.
    [[nodiscard]] cpu_set lowest(std::size_t count) const {
        cpu_set chosen;
        for (std::uint32_t cpu = 0; cpu < words_.size() * 64 && count > 0; ++cpu) {
            if (contains(cpu)) {
                chosen.insert(cpu);
                --count;
            }
        }
        return chosen;
    }

    /// As the kernel prints it: ascending, neighbours joined: `0-3,8`.
    [[nodiscard]] std::string list() const {
        std::string text;
        auto const end = static_cast<std::uint32_t>(words_.size() * 64);
        for (std::uint32_t first = 0; first < end; ++first) {
            if (!contains(first)) continue;
            std::uint32_t last = first;
            while (contains(last + 1)) ++last;
            text.append(text.empty() ? "" : ",").append(std::to_string(first));
            if (last > first) text.append("-").append(std::to_string(last));
            first = last;
        }
        return text;
    }

    friend bool operator==(cpu_set const& a, cpu_set const& b) noexcept { return a.within(b) && b.within(a); }

private:
    [[nodiscard]] static std::string_view trim(std::string_view text) noexcept {
        auto const blank = [](char c) { return c == ' ' || c == '\t' || c == '\n'; };
        while (!text.empty() && blank(text.front())) text.remove_prefix(1);
        while (!text.empty() && blank(text.back())) text.remove_suffix(1);
        return text;
    }

    /// One item: `n`, `n-m` or `n-m:used/group`.
    [[nodiscard]] result<void> insert_item(std::string_view item) {
        std::uint64_t first = 0, last = 0, used = 1, group = 1;
        auto const dash = item.find('-'), colon = item.find(':');
        auto const range = item.substr(0, colon);
        bool sound = detail::parse_whole(range.substr(0, dash), first);
        last = first;
        if (dash != std::string_view::npos)
            sound = sound && dash < range.size() && detail::parse_whole(range.substr(dash + 1), last) && first <= last;
        if (colon != std::string_view::npos) {
            auto const pattern = item.substr(colon + 1);
            auto const slash = pattern.find('/');
            sound = sound && dash != std::string_view::npos && slash != std::string_view::npos &&
                    detail::parse_whole(pattern.substr(0, slash), used) &&
                    detail::parse_whole(pattern.substr(slash + 1), group) && used <= group && group > 0;
        }
        if (!sound) {
            return make_error(errc::invalid_value, "read a list of cpus", item, 0,
                              "write numbers and ranges, ascending: 0-3,8");
        }
        if (last >= limit) {
            return make_error(errc::out_of_range, "read a list of cpus", item, 0,
                              "name only processors that the machine has");
        }
        for (std::uint64_t cpu = first; cpu <= last; ++cpu)
            if ((cpu - first) % group < used) insert(static_cast<std::uint32_t>(cpu));
        return {};
    }
};

}  // namespace ration::cgroup
