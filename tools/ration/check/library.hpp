// SPDX-License-Identifier: BSL-1.0
/// The plugin as a loaded library. Only ever in a child process.
#pragma once

#include <string>

#include <ration/plugin/abi.h>

#include "plugin_under_test.hpp"

namespace ration::conformance {

class library {
    void* handle_;
    ration_policy const* entry_;
    ration_policy table_{};

public:
    /// Throws broken_rule when it cannot be loaded, or has no entry symbol of its own.
    explicit library(subject const& s);
    library(library const&) = delete;
    library& operator=(library const&) = delete;

    /// A private copy: what an older plugin does not have is null.
    [[nodiscard]] ration_policy const& table() const noexcept { return table_; }
    /// The plugin's own description.
    [[nodiscard]] ration_policy const& entry() const noexcept { return *entry_; }
    /// Closes it. No destructor does that: most probes end with their process.
    void close() noexcept;
};

}  // namespace ration::conformance
