// SPDX-License-Identifier: BSL-1.0
/// Limits as values that can always be written: each is checked against the kernel's bounds when it is made, so that no
/// group is ever handed a text which the kernel refuses, clamps or rounds. Source: kernel/sched/core.c,
/// mm/page_counter.c, kernel/cgroup/pids.c.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unistd.h>

#include <ration/cgroup/detail/errors.hpp>
#include <ration/cgroup/detail/numbers.hpp>
#include <ration/cgroup/names.hpp>
#include <ration/resource.hpp>
#include <ration/result.hpp>
#include <ration/units.hpp>

namespace ration::cgroup {

/// A share of CPU time: at most `quota` in every `period`, plus what was saved up to `burst`. All in microseconds.
class cpu_quota {
    std::int64_t quota_ = none;
    std::int64_t period_ = usual_period;
    std::int64_t burst_ = 0;

    constexpr cpu_quota(std::int64_t quota, std::int64_t period, std::int64_t burst) noexcept
        : quota_(quota), period_(period), burst_(burst) {}

public:
    static constexpr std::int64_t none = -1;  ///< no limit
    static constexpr std::int64_t usual_period = 100'000;
    static constexpr std::int64_t least = 1000;  ///< of quota and period
    static_assert(least * 1000 / usual_period == least_cpu.count, "the core's smallest CPU grant is the kernel's");
    static constexpr std::int64_t longest_period = 1'000'000;
    static constexpr std::int64_t largest = (std::int64_t{1} << 44) - 1;

    constexpr cpu_quota() noexcept = default;

    /// Error: out_of_range.
    [[nodiscard]] static result<cpu_quota> of(std::int64_t quota, std::int64_t period,
                                              std::int64_t burst = 0) noexcept {
        bool const sound =
            period >= least && period <= longest_period &&
            (quota == none ? burst == 0 : quota >= least && quota <= largest && burst >= 0 && burst <= quota);
        if (!sound) {
            return make_error(errc::out_of_range, "make a cpu quota",
                              text<64>(detail::number_text(quota)).append(" of ").append(detail::number_text(period)),
                              0, "quota 1000 us or more, period 1000 to 1000000 us, burst 0 to the quota");
        }
        return cpu_quota(quota, period, burst);
    }

    /// `amount` of the `cpu` resource, in periods of `period`. A smaller amount becomes the least quota:
    /// the kernel has no smaller one. Errors: out_of_range (0 or less, or more than the kernel counts).
    [[nodiscard]] static result<cpu_quota> of(millicores amount, std::int64_t period = usual_period) noexcept {
        if (amount.count == unlimited) return of(none, period);
        if (amount.count <= 0 || amount.count > largest / 1000) {
            return make_error(errc::out_of_range, "make a cpu quota",
                              text<40>(detail::number_text(amount.count)).append(" millicores"), 0,
                              "ask for 1 millicore or more");
        }
        return of(std::clamp(amount.count * period / 1000, least, largest), period);
    }

    [[nodiscard]] constexpr std::int64_t quota() const noexcept { return quota_; }
    [[nodiscard]] constexpr std::int64_t period() const noexcept { return period_; }
    [[nodiscard]] constexpr std::int64_t burst() const noexcept { return burst_; }
    [[nodiscard]] constexpr bool is_unlimited() const noexcept { return quota_ == none; }

    /// For cpu.cfs_quota_us.
    [[nodiscard]] text<64> v1_text() const noexcept { return detail::number_text(quota_).view(); }
    /// For cpu.max.
    [[nodiscard]] text<64> v2_text() const noexcept {
        text<64> out = is_unlimited() ? std::string_view("max") : detail::number_text(quota_).view();
        return out.append(" ").append(detail::number_text(period_));
    }
    friend constexpr bool operator==(cpu_quota const&, cpu_quota const&) noexcept = default;
};

/// A share relative to the siblings, in the units of v2: 1 to 10000, by default 100.
class weight {
    std::int64_t value_ = 100;
    constexpr explicit weight(std::int64_t value) noexcept : value_(value) {}

public:
    constexpr weight() noexcept = default;
    [[nodiscard]] static result<weight> of(std::int64_t value) noexcept {
        if (value < 1 || value > 10'000) {
            return make_error(errc::out_of_range, "make a weight", detail::number_text(value), 0,
                              "a weight is 1 to 10000; 100 is usual");
        }
        return weight(value);
    }
    [[nodiscard]] constexpr std::int64_t value() const noexcept { return value_; }
    /// The shares of v1 in the same ratio: the kernel's own line, 100 to 1024, so that weights of 2:1 stay 2:1 on every
    /// machine.
    [[nodiscard]] constexpr std::int64_t shares() const noexcept {
        return std::clamp<std::int64_t>((value_ * 1024 + 50) / 100, 2, 262'144);
    }
    [[nodiscard]] text<64> v1_text() const noexcept { return detail::number_text(shares()).view(); }
    [[nodiscard]] text<64> v2_text() const noexcept { return detail::number_text(value_).view(); }
    friend constexpr bool operator==(weight const&, weight const&) noexcept = default;
};

/// Bytes of memory, in whole pages.
class memory_limit {
    std::int64_t bytes_ = unlimited;
    constexpr explicit memory_limit(std::int64_t bytes) noexcept : bytes_(bytes) {}

public:
    [[nodiscard]] static std::int64_t page() noexcept { return ::sysconf(_SC_PAGESIZE); }

    constexpr memory_limit() noexcept = default;
    /// A limit that the kernel shows: any number of bytes, also one that `of` refuses.
    [[nodiscard]] static constexpr memory_limit shown(bytes amount) noexcept { return memory_limit(amount.count); }
    /// Rounds down to a page, as the kernel does. Error: out_of_range below one page: the kernel would take 0 and kill
    /// the job.
    [[nodiscard]] static result<memory_limit> of(bytes amount) noexcept {
        if (amount.count == unlimited) return memory_limit();
        if (amount.count < page() || amount.count > max_amount) {
            return make_error(errc::out_of_range, "make a memory limit",
                              text<40>(detail::number_text(amount.count)).append(" bytes"), 0,
                              "give at least one page of memory; to stop a job, freeze or kill it");
        }
        return memory_limit(amount.count / page() * page());
    }
    [[nodiscard]] constexpr std::int64_t count() const noexcept { return bytes_; }
    [[nodiscard]] constexpr bool is_unlimited() const noexcept { return bytes_ == unlimited; }
    [[nodiscard]] text<64> v1_text() const noexcept { return text_or("-1"); }
    [[nodiscard]] text<64> v2_text() const noexcept { return text_or("max"); }
    friend constexpr bool operator==(memory_limit const&, memory_limit const&) noexcept = default;

private:
    [[nodiscard]] text<64> text_or(std::string_view without) const noexcept {
        return is_unlimited() ? without : detail::number_text(bytes_).view();
    }
};

/// Bytes of memory from which on the kernel reclaims memory of a group, in whole pages. It kills nothing.
struct soft_memory_limit {
    memory_limit from;
    friend constexpr bool operator==(soft_memory_limit const&, soft_memory_limit const&) noexcept = default;
};

/// How many processes and threads.
class pids_limit {
    std::int64_t count_ = unlimited;
    constexpr explicit pids_limit(std::int64_t count) noexcept : count_(count) {}

public:
    static constexpr std::int64_t largest = 4'194'304;

    constexpr pids_limit() noexcept = default;
    [[nodiscard]] static result<pids_limit> of(std::int64_t count) noexcept {
        if (count == unlimited) return pids_limit();
        if (count < 1 || count > largest) {
            return make_error(errc::out_of_range, "make a limit on processes", detail::number_text(count), 0,
                              "ask for 1 to 4194304 of them");
        }
        return pids_limit(count);
    }
    [[nodiscard]] ration::text<24> text() const noexcept {
        return count_ == unlimited ? ration::text<24>("max") : detail::number_text(count_);
    }
    friend constexpr bool operator==(pids_limit const&, pids_limit const&) noexcept = default;
};

}  // namespace ration::cgroup
