// SPDX-License-Identifier: BSL-1.0
/// Faults of a plugin, and the common base of policies from files.
///
/// `in_process_policy` and `worker_policy` report a `fault` for each bad tick; `guarded_policy`
/// counts them.
#pragma once

#include <cstdint>
#include <string_view>

#include <ration/host/any_policy.hpp>
#include <ration/plugin/abi.h>
#include <ration/plugin/host/log_sink.hpp>
#include <ration/plugin/host/manifest.hpp>
#include <ration/text.hpp>
#include <ration/units.hpp>

namespace ration::plugin {

/// The kind of a fault.
enum class fault_kind : std::uint8_t {
    /// No fault.
    none,
    refused,   ///< it returned an error code
    rejected,  ///< grants of its answer broke a rule
    /// The answer as a whole is invalid: too many rows, a changed field of the host, an unknown
    /// code
    malformed,
    late,     ///< no answer before the hard deadline
    meddled,  ///< it changed state of the process: floating-point modes, signal handlers
    died,     ///< its worker process ended
    absent,   ///< its worker is being restarted: the consequence of an earlier fault, not counted again
};

/// The kind as a word.
[[nodiscard]] constexpr std::string_view name_of(fault_kind kind) noexcept {
    constexpr std::string_view names[] = {"none", "refused", "rejected", "malformed",
                                          "late", "meddled", "died",     "absent"};
    return names[static_cast<std::size_t>(kind)];
}

/// The last fault of a plugin.
struct fault {
    /// The kind; `none` if there was no fault.
    fault_kind kind = fault_kind::none;
    /// The tick in which it happened.
    std::uint64_t tick = 0;
    text<159> what;  ///< in words: "returned more grants than there is space for"
};

/// The operation of an error whose subject is the plugin's own message, or the cause of a failed
/// start.
inline constexpr char const* start_operation = "start policy";

/// A policy from a file, wherever it runs.
class plugin_policy : public any_policy {
    described_policy described_;

    // The last fault, and the rate-limited log of the plugin.
protected:
    fault fault_;
    limited_log log_;
    /// `m` is copied; `log` receives the messages of the plugin.
    plugin_policy(ration_manifest const& m, log_sink log) : described_(m), log_(log) {}

    /// Records a fault and returns the code. Cold, so that the path without faults stays short.
    [[nodiscard, gnu::cold, gnu::noinline]] status fail(fault_kind kind, std::uint64_t tick, std::string_view what,
                                                        status code = status::internal) noexcept {
        fault_ = {kind, tick, what};
        return code;
    }

public:
    /// The identity from the manifest.
    [[nodiscard]] meta const& about() const noexcept final { return described_.about(); }
    /// True if the manifest lists the column.
    [[nodiscard]] bool reads(std::string_view column) const noexcept final {
        return needs(described_.manifest(), column);
    }
    /// True if the manifest has the flag.
    [[nodiscard]] bool follows_changes() const noexcept final {
        return (described_.manifest().flags & RATION_F_FOLLOWS_CHANGES) != 0;
    }
    /// The manifest with its texts.
    [[nodiscard]] described_policy const& described() const noexcept { return described_; }
    /// The fault of the last tick; kind `none` if it had none.
    [[nodiscard]] fault const& last_fault() const noexcept { return fault_; }
    /// True if destroying the object runs code of the plugin in this process.
    [[nodiscard]] virtual bool ends_here() const noexcept { return true; }
    /// Called once when the policy will not be called again. Ends a worker; code in this process
    /// cannot be ended.
    virtual void end() noexcept {}
};

/// Converts a code from outside; an unknown code becomes `internal`.
[[nodiscard]] constexpr status known_status(std::int32_t code) noexcept {
    return code <= RATION_OK && code >= RATION_E_INTERNAL ? static_cast<status>(code) : status::internal;
}

/// The code as a sentence about the plugin.
[[nodiscard]] constexpr std::string_view text_of(std::int32_t code) noexcept {
    switch (code) {
        case RATION_E_CAPACITY: return "reports that the space for its grants is too small";
        case RATION_E_ARG: return "reports that its input is wrong";
        case RATION_E_STATE: return "reports that it lost its state";
        case RATION_E_UNSUPPORTED: return "reports that it cannot do this";
        case RATION_E_NOMEM: return "ran out of memory";
        case RATION_E_DEADLINE: return "gave up at its deadline";
        case RATION_E_EXCEPTION: return "threw an exception";
        case RATION_E_INTERNAL: return "reports an internal fault";
        default: return "returned a code that does not exist";
    }
}

}  // namespace ration::plugin
