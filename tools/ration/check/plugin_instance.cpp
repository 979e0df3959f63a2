// SPDX-License-Identifier: BSL-1.0
#include "plugin_instance.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <fmt/core.h>
#include <utility>

#include "heap.hpp"
#include "kernel_calls.hpp"

namespace ration::conformance {
namespace {

constexpr std::uint64_t most_scratch = std::uint64_t{256} << 20, most_state = std::uint64_t{64} << 20;

void print_log(void*, std::uint32_t level, char const* text, std::uint64_t length) {
    calls_of_the_program const mine;
    std::fprintf(stderr, "log %u: %.*s\n", level, static_cast<int>(length), text);
}
void const* no_extension(void*, char const*) { return nullptr; }

}  // namespace

ration_host host_of_probes() noexcept {
    return {sizeof(ration_host), RATION_ABI_MINOR, nullptr, &print_log, &no_extension};
}

std::string name_of_code(std::int32_t code) {
    constexpr std::array names{"RATION_OK",         "RATION_E_CAPACITY",    "RATION_E_ARG",
                               "RATION_E_STATE",    "RATION_E_UNSUPPORTED", "RATION_E_NOMEM",
                               "RATION_E_DEADLINE", "RATION_E_EXCEPTION",   "RATION_E_INTERNAL"};
    if (!is_known_code(code)) return fmt::format("{}, which is not a code of the ABI", code);
    return names[static_cast<std::size_t>(-code)];
}

bool is_known_code(std::int32_t code) noexcept { return code <= RATION_OK && code >= RATION_E_INTERNAL; }

guest::guest(library const& l, subject const& s)
    : policy_(l.table()), estimate_(l.estimate()), computed_(s.computed), host_(host_of_probes()) {
    char err[256] = "";
    auto const code = call_plugin(
        "create", [&] { return policy_.create(&host_, s.config.c_str(), s.config.size(), &self_, err, sizeof err); });
    err[sizeof err - 1] = '\0';
    if (code != RATION_OK)
        broken(fmt::format("create returned {}: {}{}", name_of_code(code), err,
                           s.config.empty() ? "; does it need a configuration? pass one with --config" : ""));
}

std::int32_t guest::try_bind(tables const& offered, schema_options const& options) {
    schema_image const schema(offered.columns(), options);
    char err[256] = "";
    scratch_ = 0;
    auto const code =
        call_plugin("bind", [&] { return policy_.bind(self_, &schema.get(), &scratch_, err, sizeof err); });
    err[sizeof err - 1] = '\0';
    message_ = err;
    return code;
}

void guest::bind(tables const& offered, schema_options const& options) {
    if (auto const code = try_bind(offered, options); code != RATION_OK)
        broken(fmt::format("bind returned {} to a host that offers all standard columns and all of `needs`: {}",
                           name_of_code(code), message_));
    if (scratch_ > most_scratch)
        broken(fmt::format("it asks for {} bytes of scratch, and 256 MiB are the most", scratch_));
}

void guest::emit(std::span<ration_event const> events) {
    if (!events.empty()) emit(reinterpret_cast<std::byte const*>(events.data()), events.size(), sizeof(ration_event));
}

void guest::emit(std::byte const* events, std::uint64_t count, std::uint32_t stride) {
    if (!listens()) return;
    auto const code = call_plugin("on_event", [&] {
        return policy_.on_event(self_, reinterpret_cast<ration_event const*>(events), count, stride);
    });
    if (code != RATION_OK)
        broken(fmt::format("on_event returned {}: a policy ignores unknown events", name_of_code(code)));
}

std::int32_t guest::decide(ration_tick const& tick, ration_out& out) {
    if (estimate_ != nullptr) return estimate(tick, out);
    auto const before = allocations_of_this_thread();
    auto const code = call_plugin("decide", [&] { return policy_.decide(self_, &tick, &out); });
    allocations_ = allocations_of_this_thread() - before;
    return code;
}

std::int32_t guest::estimate(ration_tick const& tick, ration_out& out) {
    std::uint64_t const rows = tick.table[RATION_JOBS]->n_rows;
    auto* const first = reinterpret_cast<unsigned char*>(out.grant);
    std::memset(first, 0, out.capacity * sizeof(ration_grant));
    std::vector<void*> columns;
    columns.reserve(computed_.all().size());
    for (std::size_t k = 0; k < computed_.all().size(); ++k) columns.push_back(first + computed_.offset(k, rows));
    ration_estimates const to{sizeof to, static_cast<std::uint32_t>(columns.size()), rows, columns.data()};
    auto const before = allocations_of_this_thread();
    auto const code = call_plugin("estimate", [&] { return estimate_(self_, &tick, &to); });
    allocations_ = allocations_of_this_thread() - before;
    if (code == RATION_OK) out.count = computed_.grants(rows);
    return code;
}

std::int32_t guest::save(void* buffer, std::uint64_t capacity, std::uint64_t& size) {
    return call_plugin("save", [&] { return policy_.save(self_, buffer, capacity, &size); });
}

std::vector<std::byte> guest::saved() {
    std::uint64_t size = 0;
    std::byte nothing{};
    static_cast<void>(save(&nothing, 0, size));
    if (size > most_state) broken(fmt::format("its state takes {} bytes, and 64 MiB are the most", size));
    std::vector<std::byte> state(size);
    if (auto const code = save(state.empty() ? &nothing : state.data(), size, size);
        code != RATION_OK || size != state.size())
        broken(fmt::format("save returned {} to a buffer of the {} bytes that it asked for", name_of_code(code),
                           state.size()));
    return state;
}

std::int32_t guest::load(std::span<std::byte const> state) {
    static constexpr std::byte nothing{};
    return call_plugin("load",
                       [&] { return policy_.load(self_, state.empty() ? &nothing : state.data(), state.size()); });
}

void guest::destroy() {
    call_plugin("destroy", [&] {
        policy_.destroy(std::exchange(self_, nullptr));
        return 0;
    });
}

}  // namespace ration::conformance
