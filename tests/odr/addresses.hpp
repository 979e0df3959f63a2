// SPDX-License-Identifier: BSL-1.0
// An inline variable and an inline function are one thing in the whole program, or they are not inline.
#pragma once

#include <ration/assert.hpp>
#include <ration/resource.hpp>

struct addresses {
    ration::resource_info const* variable;
    void (*function)(char const*, char const*, char const*, int) noexcept;
    friend bool operator==(addresses const&, addresses const&) = default;
};

static inline addresses addresses_here() { return {ration::standard_resources, &ration::assertion_failed}; }

addresses addresses_there();
