// SPDX-License-Identifier: BSL-1.0
/// The floating-point control word: rounding, and whether denormal numbers count as zero.
///
/// Used around each call of a plugin, in this process and in the worker. Only x86-64 is checked;
/// other machines report no change.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace ration::plugin::detail {

/// Restores the floating-point modes of a thread. The modes belong to the thread that ticks, so a
/// policy that leaves flush-to-zero on changes the results of all others.
///
/// The first object on a thread records the modes; a host that changes its own modes has to do so
/// before. Reading the control word takes longer than a small tick, so most ticks test sums
/// instead. Half a unit in the last place vanishes on both sides of 1 if sums are rounded to
/// nearest, and twice the smallest number vanishes if it is flushed to zero. A mode that changes no
/// result (an unmasked exception) is found when the word is read, at every 64th tick.
class float_modes {
#if defined(__x86_64__)
    static constexpr unsigned flags = 0x3F;  // status bits, which every operation sets

    /// The modes recorded on this thread.
    [[nodiscard]] static unsigned& of_this_thread() noexcept {
        thread_local unsigned modes = _mm_getcsr();
        return modes;
    }
    /// The same value, which the compiler cannot fold into a constant.
    [[nodiscard]] static double opaque(double value) noexcept {
        asm volatile("" : "+x"(value));
        return value;
    }
    /// True if rounding and denormals have their usual effect.
    [[nodiscard]] static bool sums_are_right() noexcept {
        double const half_unit = opaque(0x1p-54), tiny = opaque(0x1p-1074);
        return (1.0 + half_unit) - (1.0 - half_unit) < tiny + tiny;
    }

public:
    /// The present modes, without the status bits.
    [[nodiscard]] static unsigned now() noexcept { return _mm_getcsr() & ~flags; }
    /// Sets the modes.
    static void set(unsigned modes) noexcept { _mm_setcsr(modes); }

    /// Records the modes of this thread if none are recorded yet.
    float_modes() noexcept { static_cast<void>(of_this_thread()); }
    /// Restores the modes after tick `number`. Returns true if they had been changed.
    [[nodiscard]] bool restore(std::uint64_t number) const noexcept {
        if (number % 64 != 0 && sums_are_right()) return false;
        unsigned const before = of_this_thread();
        if (now() == (before & ~flags)) return false;
        _mm_setcsr(before);
        return true;
    }
#else
public:
    // Other machines: no check.
    [[nodiscard]] static unsigned now() noexcept { return 0; }
    static void set(unsigned) noexcept {}
    [[nodiscard]] bool restore(std::uint64_t) const noexcept { return false; }
#endif
};

}  // namespace ration::plugin::detail
