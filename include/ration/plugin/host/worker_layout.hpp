// SPDX-License-Identifier: BSL-1.0
/// The memory files that a host and a worker process share. The worker reads `brief` once, for
/// loading and binding. The host writes `input`, and `columns` if its store is in shared memory;
/// the worker cannot write to either. The worker writes `output`, which the host does not trust.
///
/// Host and worker have to be built from the same sources: the structs have no versions.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ration/event.hpp>
#include <ration/plugin/abi.h>
#include <ration/plugin/host/worker_log.hpp>
#include <ration/policy.hpp>
#include <ration/snapshot.hpp>
#include <ration/units.hpp>

namespace ration::plugin {

/// The descriptors in the worker: the end of a pipe whose other end the host has, then the files.
enum worker_fd : int { host_fd = 3, plugin_fd = 4, brief_fd = 5, input_fd = 6, output_fd = 7, columns_fd = 8 };

/// Events of one request; a host with more sends `state_lost` instead.
inline constexpr std::size_t most_worker_events = 4096;
/// An upper bound of the columns in a manifest.
inline constexpr std::size_t most_worker_columns = sizeof(ration_manifest::needs) / sizeof("jobs/x i64");

/// The content of `brief`, followed by the columns, the names of the resources, the configuration and the saved state,
/// each on a 64-byte boundary.
struct worker_brief {
    std::uint64_t size = 0;
    std::uint64_t columns = 0;  ///< number of column_info that follow
    /// Bytes of the names, of the configuration and of the state.
    std::uint64_t names_size = 0, config_size = 0, state_size = 0;
    /// The limits for `bind`.
    std::uint64_t most_jobs = 0, most_nodes = 0, most_resources = 0, most_grants = 0, most_tenants = 0;
    /// Bytes of the other files, and of one saved state.
    std::uint64_t input_size = 0, output_size = 0, state_capacity = 0;
    std::uint64_t columns_size = 0;  ///< of the file `columns`; 0 if there is none
    std::uint64_t lists_at = 0;      ///< offset of the lists of changed rows in `input`
    std::uint32_t create_only = 0;   ///< 1: load, create and destroy only, to try an unknown plugin
    std::uint32_t threads = 0;       ///< 1: threads are allowed
    std::int32_t host = 0;           ///< process of the host; the worker ends with it
};

/// The core of a process that has not reported one.
inline constexpr std::uint32_t unknown_core = ~std::uint32_t{0};

/// The changes of one table since the last answer. The list itself is in `input` (change_lists.hpp).
struct listed_changes {
    std::uint64_t count = 0;  ///< entries of the list
    /// 1: any row may have changed; rows may have moved. As in `table_changes`.
    std::uint32_t everything = 1, moved = 1;
};

/// The front of `input`: one request.
struct worker_request {
    alignas(64) std::atomic<std::uint32_t> sequence{0};  ///< counts requests; the worker sleeps on it
    std::atomic<std::uint32_t> core{unknown_core};       ///< on which the host has sent it
    /// The members of `tick_data`.
    alignas(64) std::uint64_t number = 0;
    std::uint64_t seed = 0;
    std::int64_t now = 0, budget = 0;
    std::uint64_t capacity = 0;  ///< grants that fit in this tick
    /// Rows of each table.
    std::uint64_t rows[table_count] = {};
    /// For each table: its changes, for a plugin that follows them
    listed_changes changes[table_count] = {};
    /// Offset of each column in `input`, or, with the bit `in_columns`, in `columns`
    std::uint64_t place[most_worker_columns] = {};
    /// Set to 1 when the deadline has passed; and the number of events.
    std::uint32_t cancel = 0, events = 0;
    std::uint32_t accepted = 0;  ///< 1: the last answer was accepted, so the state after it is worth keeping
    std::uint32_t log_read = 0;  ///< bytes of the log that the host has read
    std::uint32_t known = 0;     ///< the request whose answer the host still has unchanged; 0 = none
    std::uint32_t save = 0;      ///< 1: save the state after this answer in any case
    /// The events.
    event event_at[most_worker_events];
};

/// The front of `output`: one answer. The grants follow, then the list of changed rows, then two
/// slots for saved state.
struct worker_reply {
    alignas(64) std::atomic<std::uint32_t> sequence{0};  ///< of the request that is answered
    std::atomic<std::uint32_t> kept{0};                  ///< of the last request whose state is saved
    std::atomic<std::uint32_t> asleep{0};                ///< 1: the next request has to wake the worker
    std::atomic<std::uint32_t> core{unknown_core};       ///< on which the worker has answered
    /// Rows of the next answer that can be copied already; 0 between two ticks
    std::uint64_t written = 0;
    /// The code of `decide`.
    alignas(64) std::int32_t code = 0;
    /// 1: floating-point modes were changed; a field of the host was changed; the state could not
    /// be loaded.
    std::uint32_t meddled = 0, changed = 0, state_lost = 0;
    /// Rows of the answer.
    std::uint64_t count = 0;
    /// Rows in the list of changes, relative to the host's answer; or `all_rows`
    std::uint64_t changed_rows = 0;
    std::uint32_t written_again = 0;  ///< 1: rows that could be copied already were written again
    /// For each slot: the tick of its state, and its size; 0 while it is written.
    std::uint64_t state_tick[2] = {}, state_size[2] = {};
    /// The message of an error.
    char sentence[256] = {};
    /// The plugin's log.
    worker_log log;
};

/// Reads a word once that the worker can change at any time: the value that is validated is the
/// value that is used.
template <class T>
[[nodiscard]] T once(T const& shared) noexcept {
    return __atomic_load_n(&shared, __ATOMIC_ACQUIRE);
}

/// The size rounded up to a multiple of a cache line.
inline constexpr std::size_t on_line(std::size_t size) noexcept { return (size + 63) / 64 * 64; }

/// Value of `changed_rows`: all rows have to be copied.
inline constexpr std::uint64_t all_rows = ~std::uint64_t{0};

/// The largest list of changes for an answer with this number of rows. Beyond one row in 32,
/// copying all is as fast.
inline constexpr std::size_t most_listed(std::size_t rows) noexcept { return rows / 32 + 16; }

/// Offsets of the parts of `output` behind the reply.
struct output_layout {
    std::size_t grants = on_line(sizeof(worker_reply)), changed, states, state_capacity, most_changed;

    /// Computes them for the limits of a binding.
    output_layout(std::size_t most_grants, std::size_t capacity_of_state) noexcept
        : changed(grants + on_line(most_grants * sizeof(ration_grant))), state_capacity(capacity_of_state),
          most_changed(most_listed(most_grants)) {
        states = changed + on_line(most_changed * sizeof(std::uint32_t));
    }
    /// The offset of a slot for state.
    [[nodiscard]] std::size_t state(std::size_t place) const noexcept { return states + place * state_capacity; }
    /// The size of the file.
    [[nodiscard]] std::size_t size() const noexcept { return state(2); }
};

/// Offsets are multiples of 64, so their lowest bit can hold the file of a column.
inline constexpr std::uint64_t in_columns = 1;

/// The space of columns in `input`: one after the other, each for the largest number of rows.
struct worker_places {
    /// The bytes that a column takes at most.
    [[nodiscard]] static std::size_t bytes_of(column_info const& c, limits const& most) noexcept {
        std::size_t const rows[table_count] = {most.jobs, most.nodes, most.jobs * most.nodes * most.resources,
                                               most.tenants};
        return on_line(rows[static_cast<std::size_t>(c.table)] * c.width * size_of(c.type)) + 64;
    }
};

/// Sleeps until the word is no longer `seen`, or for at most `at_most`. Spurious returns are
/// possible.
inline void wait_while(std::atomic<std::uint32_t> const& word, std::uint32_t seen, nanoseconds at_most) noexcept {
    timespec const limit{static_cast<time_t>(at_most.count / 1'000'000'000),
                         static_cast<long>(at_most.count % 1'000'000'000)};
    static_cast<void>(::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0));
}
/// Wakes the process that sleeps on the word.
inline void wake(std::atomic<std::uint32_t>& word) noexcept {
    static_cast<void>(::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0));
}

/// The time of CLOCK_MONOTONIC.
[[nodiscard]] inline nanoseconds monotonic_now() noexcept {
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return {std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec};
}

/// The processor core on which this thread runs now.
[[nodiscard]] inline std::uint32_t present_core() noexcept {
    int const core = ::sched_getcpu();
    return core < 0 ? unknown_core : static_cast<std::uint32_t>(core);
}
/// True if the other process was last on this core. It cannot run there while this one waits awake.
[[nodiscard]] inline bool is_on_this_core(std::atomic<std::uint32_t> const& core) noexcept {
    std::uint32_t const other = core.load(std::memory_order_relaxed);
    return other != unknown_core && other == present_core();
}

/// Waking a thread takes about 30 us; shorter waits are spent awake.
inline constexpr nanoseconds short_wait{50'000};

/// Waits up to `at_most` without sleeping, and calls `meanwhile` in the loop. Returns true if the
/// word has changed. The clock is read every one or two microseconds.
template <class Meanwhile>
[[nodiscard]] bool spin_while(std::atomic<std::uint32_t> const& word, std::uint32_t seen, nanoseconds at_most,
                              Meanwhile meanwhile) noexcept {
    for (nanoseconds end{};;) {
        for (int turn = 0; turn < 64; ++turn) {
            if (word.load(std::memory_order_acquire) != seen) return true;
            meanwhile();
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
        nanoseconds const now = monotonic_now();
        if (end.count == 0) end = now + at_most;
        if (now >= end) return word.load(std::memory_order_acquire) != seen;
    }
}

}  // namespace ration::plugin
