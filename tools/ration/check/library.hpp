// SPDX-License-Identifier: BSL-1.0
/// The plugin as a loaded library. Only ever in a child process.
#pragma once

#include <cstdint>
#include <string>

#include <ration/plugin/abi.h>

#include "plugin_under_test.hpp"

namespace ration::conformance {

class library {
    void* handle_;
    std::uint32_t size_ = 0;
    ration_policy table_{};
    decltype(ration_estimator::estimate) estimate_ = nullptr;

public:
    /// Throws broken_rule when the file cannot be loaded, or its entry symbol or manifest is not that of the file.
    explicit library(subject const& s);
    library(library const&) = delete;
    library& operator=(library const&) = delete;

    /// A private copy: what an older plugin does not have is null.
    [[nodiscard]] ration_policy const& table() const noexcept { return table_; }
    /// The size that its entry symbol names.
    [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
    /// Of an estimator; its table has no `decide`.
    [[nodiscard]] auto estimate() const noexcept { return estimate_; }
    /// Closes it. No destructor does that: most probes end with their process.
    void close() noexcept;

private:
    void copy_estimator(void const* entry) noexcept;
};

}  // namespace ration::conformance
