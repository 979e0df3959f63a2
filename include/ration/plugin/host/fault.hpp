// SPDX-License-Identifier: BSL-1.0
/// What went wrong with a plugin, and what the host does about it.
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

enum class fault_kind : std::uint8_t {
    none,
    refused,   ///< it returned an error of its own
    rejected,  ///< grants of its answer broke a rule
    /// The answer as a whole cannot be: more rows than there is space, a changed field of the host, an unknown code
    malformed,
    late,     ///< it answered after the hard deadline, or not at all
    meddled,  ///< it changed what belongs to the process: floating-point modes, signal handlers
    died,     ///< its worker process ended
    absent,   ///< its worker is being started again: the consequence of a fault, not one more
};

[[nodiscard]] constexpr std::string_view name_of(fault_kind kind) noexcept {
    constexpr std::string_view names[] = {"none", "refused", "rejected", "malformed",
                                          "late", "meddled", "died",     "absent"};
    return names[static_cast<std::size_t>(kind)];
}

/// The last fault of a plugin: its kind, its tick and a sentence.
struct fault {
    fault_kind kind = fault_kind::none;
    std::uint64_t tick = 0;
    text<159> what;  ///< "returned more grants than there is space for"
};

/// The operation of an error whose subject is what the plugin itself says, or what became of it at its start.
inline constexpr char const* start_operation = "start policy";

/// A policy that came from a file, wherever it runs.
class plugin_policy : public any_policy {
    described_policy described_;

protected:
    fault fault_;
    limited_log log_;
    plugin_policy(ration_manifest const& m, log_sink log) : described_(m), log_(log) {}

    [[nodiscard, gnu::cold, gnu::noinline]] status fail(fault_kind kind, std::uint64_t tick, std::string_view what,
                                                        status code = status::internal) noexcept {
        fault_ = {kind, tick, what};
        return code;
    }

public:
    [[nodiscard]] meta const& about() const noexcept final { return described_.about(); }
    [[nodiscard]] bool reads(std::string_view column) const noexcept final {
        return needs(described_.manifest(), column);
    }
    [[nodiscard]] described_policy const& described() const noexcept { return described_; }
    /// What was wrong with the last tick; kind `none` when nothing was.
    [[nodiscard]] fault const& last_fault() const noexcept { return fault_; }
    /// Whether destroying it runs code of the plugin in this process.
    [[nodiscard]] virtual bool ends_here() const noexcept { return true; }
    /// It is not asked again. Ends what runs for it elsewhere; in this process, nothing of it can be ended.
    virtual void end() noexcept {}
};

/// A code that came from outside, as one that exists.
[[nodiscard]] constexpr status known_status(std::int32_t code) noexcept {
    return code <= RATION_OK && code >= RATION_E_INTERNAL ? static_cast<status>(code) : status::internal;
}

[[nodiscard]] constexpr std::string_view text_of(std::int32_t code) noexcept {
    switch (code) {
        case RATION_E_CAPACITY: return "says that the space for its grants is too small";
        case RATION_E_ARG: return "says that its input is wrong";
        case RATION_E_STATE: return "says that it lost its state";
        case RATION_E_UNSUPPORTED: return "says that it cannot do this";
        case RATION_E_NOMEM: return "ran out of memory";
        case RATION_E_DEADLINE: return "gave up at its deadline";
        case RATION_E_EXCEPTION: return "threw an exception";
        case RATION_E_INTERNAL: return "reports a fault of its own";
        default: return "returned a code that does not exist";
    }
}

}  // namespace ration::plugin
