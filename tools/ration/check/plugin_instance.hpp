// SPDX-License-Identifier: BSL-1.0
/// One instance of the plugin's policy, called as a host calls it.
#pragma once

#include <cstdint>
#include <cxxabi.h>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "finding.hpp"
#include "library.hpp"
#include "tables.hpp"

namespace ration::conformance {

/// Calls into the plugin. An exception that comes out of it breaks a rule.
template <class Call>
auto call_plugin(std::string const& function, Call call) {
    try {
        return call();
    } catch (abi::__forced_unwind const&) {
        throw;  // the thread ends, and no handler may stop that
    } catch (std::exception const& e) {
        broken("an exception came out of " + function + ": " + e.what());
    } catch (...) {
        broken("an exception came out of " + function);
    }
}

/// A return code as the ABI names it.
[[nodiscard]] std::string name_of_code(std::int32_t code);
/// Any other code counts as RATION_E_INTERNAL.
[[nodiscard]] bool is_known_code(std::int32_t code) noexcept;

class guest {
    ration_policy const& policy_;
    decltype(ration_estimator::estimate) estimate_;
    plugin::computed_columns const& computed_;
    ration_host host_;
    void* self_ = nullptr;
    std::uint64_t scratch_ = 0, allocations_ = 0;
    std::string message_;

public:
    /// Creates the instance; throws broken_rule when that fails.
    guest(library const& l, subject const& s);
    guest(guest const&) = delete;
    guest& operator=(guest const&) = delete;

    void bind(tables const& offered, schema_options const& options = {});
    /// The same, for a schema that it may refuse: returns its code.
    [[nodiscard]] std::int32_t try_bind(tables const& offered, schema_options const& options);
    [[nodiscard]] std::uint64_t scratch() const noexcept { return scratch_; }
    /// Its sentence at the last bind.
    [[nodiscard]] std::string const& reply() const noexcept { return message_; }

    [[nodiscard]] bool listens() const noexcept { return policy_.on_event != nullptr; }
    /// Throws broken_rule unless it takes them.
    void emit(std::span<ration_event const> events);
    void emit(std::byte const* events, std::uint64_t count, std::uint32_t stride);
    /// An estimator writes its columns into the space for grants.
    [[nodiscard]] std::int32_t decide(ration_tick const& tick, ration_out& out);
    /// How often the last `decide` went to the heap.
    [[nodiscard]] std::uint64_t allocations_of_decide() const noexcept { return allocations_; }

    [[nodiscard]] std::int32_t save(void* buffer, std::uint64_t capacity, std::uint64_t& size);
    [[nodiscard]] std::vector<std::byte> saved();
    [[nodiscard]] std::int32_t load(std::span<std::byte const> state);
    void destroy();

private:
    [[nodiscard]] std::int32_t estimate(ration_tick const& tick, ration_out& out);
};

/// The host that plugins get: a log that is recorded, and no extension.
[[nodiscard]] ration_host host_of_probes() noexcept;

}  // namespace ration::conformance
