// SPDX-License-Identifier: BSL-1.0
// A target returns how many tiers a value reaches, not only whether it is good.
#include <ration/target.hpp>

struct good_enough {
    using target_concept = ration::target_tag;
    std::string_view metric() const noexcept;
    std::uint32_t tiers() const noexcept;
#ifdef RATION_MISUSE
    bool reached(double) const noexcept;
#else
    std::uint32_t reached(double) const noexcept;
#endif
};
static_assert(ration::Target<good_enough>);
