// SPDX-License-Identifier: BSL-1.0
// The parts of a concept are named after what one can get wrong: the compiler's own words say which is missing.
#include <string_view>

#include <ration/resource.hpp>

struct tokens {
    using resource_concept = ration::resource_tag;
    static constexpr std::string_view name = "tokens";
#ifndef RATION_MISUSE
    static constexpr std::string_view unit = "tokens";
#endif
    static constexpr ration::divisibility granularity = ration::divisibility::fractional;
};

static_assert(ration::Resource<tokens>);
