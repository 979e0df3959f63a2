// SPDX-License-Identifier: BSL-1.0
/// One policy, built once for each misbehaviour: -DRATION_MISBEHAVIOUR=NAME. `none` is the correct one. It gives every
/// running job its share of the first node's CPUs, and counts what it has seen, which is its state.
#pragma once

#include <cstdint>
#include <exception>

#include <ration/plugin/abi.h>

#include "misbehaviour.hpp"

namespace misbehaving {

struct state {
    unsigned char magic[8];
    std::uint64_t ticks, events;
};

struct columns {
    std::uint32_t state, least, most, capacity;
};

constexpr std::uint64_t most_known = 64;

struct instance {
    state seen;
    columns slot;
    ration_grant* former_output;
    std::int64_t const* former_capacity;
    std::int64_t first_capacity;
    bool is_bound;
    std::uint32_t known_state[most_known];  // of jobs, by row, for the misbehaviours of a plugin that follows changes
};

constexpr std::uint64_t scratch_size = 256;
constexpr std::int32_t unknown_code = 17;

struct refusal : std::exception {
    char const* what() const noexcept override { return "misbehaving: not today"; }
};

template <class T>
[[nodiscard]] T const* values(ration_tick const* tick, std::uint32_t table, std::uint32_t slot) {
    return static_cast<T const*>(tick->table[table]->slot[slot]);
}

[[nodiscard]] inline std::uint32_t rows(ration_tick const* tick, std::uint32_t table) {
    return static_cast<std::uint32_t>(tick->table[table]->n_rows);
}

/// Writes a sentence into err, as much of it as there is room for.
void report(char const* sentence, char* err, std::uint64_t size);

// What goes wrong, in files of their own.
void on_create();
void on_destroy();
void on_decide(instance* self, ration_tick const* tick);
/// The states of jobs; for those misbehaviours, as the instance remembers them.
[[nodiscard]] std::uint32_t const* states(instance* self, ration_tick const* tick);
/// After the answer is complete.
void spoil(instance* self, ration_tick const* tick, ration_out* out);

std::int32_t save(void* self, void* buffer, std::uint64_t capacity, std::uint64_t* size);
std::int32_t load(void* self, void const* buffer, std::uint64_t size);

}  // namespace misbehaving
