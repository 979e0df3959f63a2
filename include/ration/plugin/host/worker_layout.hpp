// SPDX-License-Identifier: BSL-1.0
/// What a host and a worker process share: memory files. `brief` says what to load and how to bind, read once. `input`,
/// and `columns` where the host has its store in one, are written by the host and cannot be written by the worker.
/// `output` is written by the worker and believed by nobody.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ration/event.hpp>
#include <ration/plugin/abi.h>
#include <ration/plugin/host/worker_log.hpp>
#include <ration/policy.hpp>
#include <ration/snapshot.hpp>
#include <ration/units.hpp>

namespace ration::plugin {

/// The worker's files, at fixed numbers.
enum worker_fd : int { plugin_fd = 3, brief_fd = 4, input_fd = 5, output_fd = 6, columns_fd = 7 };

inline constexpr std::size_t most_worker_events = 4096;
/// A manifest has room for fewer.
inline constexpr std::size_t most_worker_columns = sizeof(ration_manifest::needs) / sizeof("jobs/x i64");

/// Followed by the columns, the config text and the saved state, each on a 64-byte boundary.
struct worker_brief {
    std::uint64_t size = 0;
    std::uint64_t columns = 0;  ///< so many column_info follow
    std::uint64_t config_size = 0, state_size = 0;
    std::uint64_t most_jobs = 0, most_nodes = 0, most_resources = 0, most_grants = 0;
    std::uint64_t input_size = 0, output_size = 0, state_capacity = 0;
    std::uint64_t columns_size = 0;  ///< of the file `columns`; 0 when there is none
    std::uint32_t create_only = 0;   ///< to try a plugin that was never seen before: load, create, destroy
    std::uint32_t threads = 0;       ///< 1: it may start some
    std::int32_t host = 0;           ///< its process; when it is gone, so is the worker
};

/// At the front of `input`.
struct worker_request {
    alignas(64) std::atomic<std::uint32_t> sequence{0};  ///< counts requests; the worker sleeps on it
    alignas(64) std::uint64_t number = 0;
    std::uint64_t seed = 0;
    std::int64_t now = 0, budget = 0;
    std::uint64_t capacity = 0;  ///< grants that the host has space for in this tick
    std::uint64_t rows[table_count] = {};
    /// Where each column begins in `input`, or with `in_columns` in `columns`
    std::uint64_t place[most_worker_columns] = {};
    std::uint32_t cancel = 0, events = 0;
    std::uint32_t accepted = 0;  ///< 1: the last answer was taken, so the state after it is worth keeping
    std::uint32_t log_read = 0;  ///< so many bytes of the log need not be kept
    std::uint32_t known = 0;     ///< the request whose answer the host still has as it was; 0: none
    std::uint32_t save = 0;      ///< 1: the state after this answer is to be written whatever that takes
    event event_at[most_worker_events];
};

/// At the front of `output`; the grants follow, then the list of changed rows, then the two places for saved state.
struct worker_reply {
    alignas(64) std::atomic<std::uint32_t> sequence{0};  ///< of the request that this answers
    std::atomic<std::uint32_t> kept{0};                  ///< of the last request whose state is written
    std::atomic<std::uint32_t> asleep{0};                ///< 1: the next request has to wake it
    /// So many rows of the next answer can be fetched already; 0 between two ticks
    std::uint64_t written = 0;
    alignas(64) std::int32_t code = 0;
    std::uint32_t meddled = 0, changed = 0, state_lost = 0;
    std::uint64_t count = 0;
    /// So many are listed, against the answer that the host has; or `all_rows`
    std::uint64_t changed_rows = 0;
    std::uint32_t written_again = 0;  ///< 1: those that could be fetched already are not what they were
    std::uint64_t state_tick[2] = {}, state_size[2] = {};
    char sentence[256] = {};
    worker_log log;
};

/// A word that the worker may change at any time, read once: what has been checked is what is used.
template <class T>
[[nodiscard]] T once(T const& shared) noexcept {
    return __atomic_load_n(&shared, __ATOMIC_ACQUIRE);
}

inline constexpr std::size_t on_line(std::size_t size) noexcept { return (size + 63) / 64 * 64; }

inline constexpr std::uint64_t all_rows = ~std::uint64_t{0};

/// Of an answer with so many rows: beyond one in 32 it is as quick to take them all.
inline constexpr std::size_t most_listed(std::size_t rows) noexcept { return rows / 32 + 16; }

/// What follows the reply in `output`, from its beginning.
struct output_paths {
    std::size_t grants = on_line(sizeof(worker_reply)), changed, states, state_capacity, most_changed;

    output_paths(std::size_t most_grants, std::size_t capacity_of_state) noexcept
        : changed(grants + on_line(most_grants * sizeof(ration_grant))), state_capacity(capacity_of_state),
          most_changed(most_listed(most_grants)) {
        states = changed + on_line(most_changed * sizeof(std::uint32_t));
    }
    [[nodiscard]] std::size_t state(std::size_t place) const noexcept { return states + place * state_capacity; }
    [[nodiscard]] std::size_t size() const noexcept { return state(2); }
};

/// Places are multiples of 64, so their lowest bit is free to say in which file.
inline constexpr std::uint64_t in_columns = 1;

/// Where the columns' values are in `input`: one after the other, each with room for all rows there can be.
struct worker_places {
    [[nodiscard]] static std::size_t bytes_of(column_info const& c, limits const& most) noexcept {
        std::size_t const rows[table_count] = {most.jobs, most.nodes, most.jobs * most.nodes * most.resources};
        return on_line(rows[static_cast<std::size_t>(c.table)] * c.width * size_of(c.type)) + 64;
    }
};

/// Sleeps until the word is no longer `seen`, or for at most `at_most`. Spurious returns happen.
inline void wait_while(std::atomic<std::uint32_t> const& word, std::uint32_t seen, nanoseconds at_most) noexcept {
    timespec const limit{static_cast<time_t>(at_most.count / 1'000'000'000),
                         static_cast<long>(at_most.count % 1'000'000'000)};
    static_cast<void>(::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0));
}
inline void wake(std::atomic<std::uint32_t>& word) noexcept {
    static_cast<void>(::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0));
}

[[nodiscard]] inline nanoseconds monotonic_now() noexcept {
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return {std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec};
}

/// A thread that sleeps takes some 30 us to be woken; for shorter waits it is better to stay awake.
inline constexpr nanoseconds short_wait{50'000};

/// Waits for so long without sleeping, and says whether the word has changed. The clock is looked at every microsecond
/// or two.
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
