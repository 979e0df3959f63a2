// SPDX-License-Identifier: BSL-1.0
/// A correct policy that watches its host. It gives each running job a share of the first node's CPUs, a different one
/// at each tick, the first two jobs as one group, and reports each of H1 to H18 through `log`, through its saved state,
/// and to a file.
///
/// Written against abi.h, because the export of a class hides what has to be seen: instances, sizes, slots, the end of
/// the code.
///
/// The config text is words. `record=FILE` appends each sighting to the file as a line, `strict` ends the process at
/// the first one. Deeds `name@N` belong to the N-th call of `decide`: refuse@N returns an error, lose@N reports a lost
/// state, abort@N ends the process. linger@N stays inside until something else was seen, two seconds at most. In a
/// worker's sandbox no file can be written: there the state has the sightings.
#pragma once

#include <atomic>
#include <cstdint>

#include <ration/plugin/abi.h>

#include "observations.hpp"

namespace leak_check {

inline constexpr std::uint32_t tables = RATION_TENANTS + 1, most_columns = 192;
inline constexpr std::size_t most_rows = 128, most_jobs_known = 256, most_actions = 8;
inline constexpr std::uint64_t scratch_asked = 1000;  // no multiple of 64, so that rounding down shows

enum class fault : std::uint32_t { none, refuse, lose, abort, linger };

struct column {
    char name[48];
    std::uint32_t table, type, width, slot;
};

struct given {  // a row of the last answer, by the id of its job, and the events on it
    std::uint64_t job;
    ration_grant row;
    bool applied, rejected;
};

struct known_job {
    std::uint64_t id;
    bool ended;
};

struct planned {
    fault what;
    std::uint64_t at;
};

/// The whole memory of one instance; it begins as zeros.
struct memory {
    ration_host host;
    observations seen;
    planned faults[most_actions];
    std::size_t action_count;

    bool bound, lost, failed;  // failed: a host may leave it alone from now on
    column columns[most_columns];
    std::uint32_t column_count, slots_bound[tables], slots_shown[tables];
    std::uint64_t most[tables], most_grants;
    struct {
        std::uint32_t id, state, least, held, capacity;
    } slot;

    std::uint64_t calls, needed, last_tick;
    std::int64_t last_now, last_event;
    given answer[most_rows];
    std::size_t answered;
    known_job jobs[most_jobs_known];
    std::size_t job_count;
};

/// In the library's own memory, which exists as long as its code: a call to a dead instance is seen, without a crash.
struct instance : memory {
    std::atomic<bool> alive{false};
    std::atomic<std::uint32_t> inside{0};                                   // calls
    std::atomic<ration_grant const*> output{nullptr}, output_end{nullptr};  // while `decide` runs
};

/// report.cpp: a sighting of H`number`, with one sentence. Only the first of each number is written out, the rest are
/// counted.
[[gnu::format(printf, 3, 4)]] void see(instance& self, int number, char const* format, ...) noexcept;
/// The same without an instance: the next one that is created reports it as well.
[[gnu::format(printf, 2, 3)]] void see_without_instance(int number, char const* format, ...) noexcept;
void emit_earlier_state(instance& self) noexcept;
/// The file to write to, from now on, for all instances.
void record_to(char const* path, std::size_t length) noexcept;

/// From now on the first sighting ends the process: a sandbox lets no file be written.
void abort_at_a_sighting() noexcept;
/// True once something was seen.
[[nodiscard]] bool anything_seen() noexcept;

/// instances.cpp
[[nodiscard]] instance* new_instance() noexcept;
/// The instance that the host means, or null after a sighting of H1.
[[nodiscard]] instance* known(void* self, char const* call) noexcept;
/// H12: another instance writes into this space at the same time.
[[nodiscard]] bool shares_its_output(instance const& self) noexcept;

/// tables.cpp
[[nodiscard]] bool bind_columns(instance& self, ration_schema const& schema) noexcept;
/// H4, H5, H6, H7, H13, H15: false when the tables cannot be read at all.
[[nodiscard]] bool inspect_tables(instance& self, ration_tick const& tick) noexcept;
template <class T>
[[nodiscard]] T const* values(ration_tick const& tick, std::uint32_t table, std::uint32_t slot) noexcept {
    return static_cast<T const*>(tick.table[table]->slot[slot]);
}

/// events.cpp: H10, and for H11 what became of the last answer.
void inspect_event(instance& self, ration_event const& event) noexcept;
/// H11: one row of the group is in force, another is not.
void inspect_last_group(instance& self, ration_tick const& tick) noexcept;

}  // namespace leak_check
