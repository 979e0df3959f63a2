// SPDX-License-Identifier: BSL-1.0
/// The control word of floating point: how sums are rounded, and whether small numbers count as zero.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace ration::plugin::detail {

/// Floating-point modes belong to the thread that ticks: a policy that leaves flush-to-zero on changes what all others
/// compute. What this thread had when it first came here is what is put back: a host that changes its own modes does so
/// before. Reading the control word takes longer than a small tick, so most ticks look at what sums come to: half a
/// unit in the last place vanishes on both sides of 1 when sums are rounded to nearest, and twice the smallest number
/// vanishes when it is flushed to zero. A mode that changes no result, an unmasked exception, is found when the word is
/// read: at every 64th tick.
class float_modes {
#if defined(__x86_64__)
    static constexpr unsigned flags = 0x3F;  // every operation sets them

    [[nodiscard]] static unsigned& of_this_thread() noexcept {
        thread_local unsigned modes = _mm_getcsr();
        return modes;
    }
    [[nodiscard]] static bool sums_are_right() noexcept {
        double half_unit = 0x1p-54, tiny = 0x1p-1074;
        asm volatile("" : "+x"(half_unit), "+x"(tiny));  // summed here and now
        return (1.0 + half_unit) - (1.0 - half_unit) < tiny + tiny;
    }

public:
    [[nodiscard]] static unsigned now() noexcept { return _mm_getcsr() & ~flags; }
    static void set(unsigned modes) noexcept { _mm_setcsr(modes); }

    float_modes() noexcept { static_cast<void>(of_this_thread()); }
    /// Puts them back after tick `number`; true when they had been changed.
    [[nodiscard]] bool restore(std::uint64_t number) const noexcept {
        if (number % 64 != 0 && sums_are_right()) return false;
        unsigned const before = of_this_thread();
        if (now() == (before & ~flags)) return false;
        _mm_setcsr(before);
        return true;
    }
#else
public:
    [[nodiscard]] static unsigned now() noexcept { return 0; }
    static void set(unsigned) noexcept {}
    [[nodiscard]] bool restore(std::uint64_t) const noexcept { return false; }
#endif
};

}  // namespace ration::plugin::detail
