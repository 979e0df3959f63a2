// SPDX-License-Identifier: BSL-1.0
/// Changing the memory limit of a running group without killing what runs in it.
/// Source: kernel document cgroup-v2 (memory.max, memory.high, memory.reclaim).
#pragma once

#include <algorithm>
#include <string>

#include <ration/cgroup/detail/values.hpp>
#include <ration/cgroup/limits.hpp>

namespace ration::cgroup {

namespace detail {

inline constexpr char const* memory_remedy =
    "the job uses more than that: ask it to give memory back, or leave it the limit it has";

[[nodiscard]] inline result<std::int64_t> number_in(directory const& where, char const* file,
                                                    std::string& scratch) noexcept {
    auto const shown = where.read(file, scratch);
    if (!shown) return shown.failure();
    auto const number = amount_of(*shown);
    return number ? result<std::int64_t>(*number) : result<std::int64_t>(where.problem(errc::io, "read", file, 0, ""));
}

[[nodiscard]] inline result<std::int64_t> number_in(directory const& where, char const* file) noexcept {
    std::string scratch;
    return number_in(where, file, scratch);
}

/// File pages and slab that the kernel can drop. Shared memory counts as file and cannot be dropped: the lists separate
/// them.
[[nodiscard]] inline result<std::int64_t> reclaimable(directory const& where) noexcept {
    std::string text;
    if (auto const shown = where.read("memory.stat", text); !shown) return shown.failure();
    return keyed_number(text, "active_file").value_or(0) + keyed_number(text, "inactive_file").value_or(0) +
           keyed_number(text, "slab_reclaimable").value_or(0);
}

/// Bytes in use that the kernel cannot reclaim.
[[nodiscard]] inline result<std::int64_t> unreclaimable(directory const& where) noexcept {
    auto const used = number_in(where, "memory.current");
    auto const spare = reclaimable(where);
    if (!used || !spare) return used ? spare.failure() : used.failure();
    return *used - *spare;
}

/// Puts memory.high back in its destructor: left below what a job needs, it slows the job down forever.
class high_guard {
    directory const& where_;
    text<64> old_;

public:
    high_guard(directory const& where, std::string_view old) noexcept : where_(where), old_(old) {}
    high_guard(high_guard const&) = delete;
    high_guard& operator=(high_guard const&) = delete;
    ~high_guard() { static_cast<void>(where_.write("memory.high", old_)); }
};

/// Waits until the group uses no more than `target`.
[[nodiscard]] inline result<void> await_usage(directory const& where, std::int64_t target,
                                              nanoseconds at_most) noexcept {
    nanoseconds const deadline = where.machine().now() + at_most;
    for (;;) {
        auto const used = number_in(where, "memory.current");
        if (!used) return used.failure();
        if (*used <= target) return {};
        if (where.machine().now() >= deadline)
            return make_error(errc::timed_out, "reclaim memory from", where.path(), 0, memory_remedy);
        where.machine().sleep(milliseconds(2));
    }
}

/// v2 lets a limit below the usage through and kills. So: refuse what cannot be reclaimed, make the kernel reclaim the
/// rest, and set the limit only when the usage is below it.
[[nodiscard]] inline result<void> shrink_memory_v2(directory const& where, memory_limit target,
                                                   nanoseconds at_most) noexcept {
    auto const fixed = unreclaimable(where);
    auto const used = number_in(where, "memory.current");
    if (!used || !fixed) return used ? fixed.failure() : used.failure();
    if (*fixed > target.count()) return make_error(errc::conflict, "shrink memory of", where.path(), 0, memory_remedy);
    std::string high;
    auto const old_high = where.read("memory.high", high);
    if (!old_high) return old_high.failure();
    high_guard const restore(where, *old_high);
    if (auto const written = where.write("memory.high", target.v2_text()); !written) return written;
    if (*used > target.count()) {
        // EAGAIN means that not all of it could be reclaimed at once; kernels before 5.19 have no such file. The wait
        // decides.
        static_cast<void>(where.write("memory.reclaim", number_text(*used - target.count())));
    }
    if (auto const below = await_usage(where, target.count(), at_most); !below) return below;
    return write_value(where, "memory.max", target.v2_text());
}

/// Resident memory of the processes of a group, each page once: anonymous memory and mapped pages. Cached files that no
/// process maps are left out, which a usage counter of the kernel includes.
[[nodiscard]] inline std::int64_t resident_in(std::string_view memory_stat, version kind) noexcept {
    bool const v2 = kind == version::v2;
    return keyed_number(memory_stat, v2 ? "anon" : "total_rss").value_or(0) +
           keyed_number(memory_stat, v2 ? "file_mapped" : "total_mapped_file").value_or(0);
}

}  // namespace detail

/// Whether, and why, the kernel killed processes of a group for lack of memory. Counted since the group was made.
struct memory_shortage {
    std::int64_t killed = 0;         ///< processes
    bool at_limit = false;           ///< at the group's own limit; else a group above, or the machine, had none left
    std::int64_t limit = unlimited;  ///< the group's own, bytes
};

/// `where`: the group's directory with the memory controller. v1 leaves out groups below it.
/// Sources: cgroup-v2 (memory.events), cgroup-v1/memory (memory.oom_control, memory.failcnt). Errors: gone,
/// not_supported.
[[nodiscard]] inline result<memory_shortage> find_shortage(directory const& where) noexcept {
    bool const v2 = where.kind() == version::v2;
    std::string text;
    if (auto const read = where.read(v2 ? "memory.events" : "memory.oom_control", text); !read) return read.failure();
    auto const limit = detail::number_in(where, v2 ? "memory.max" : "memory.limit_in_bytes");
    auto const hits =
        v2 ? result<std::int64_t>(keyed_number(text, "oom").value_or(0)) : detail::number_in(where, "memory.failcnt");
    if (!limit || !hits) return limit ? hits.failure() : limit.failure();
    return memory_shortage{.killed = keyed_number(text, "oom_kill").value_or(0),
                           .at_limit = *hits > 0 && *limit != unlimited,
                           .limit = *limit};
}

/// The file of the limit.
[[nodiscard]] inline char const* memory_file(directory const& where) noexcept {
    return where.kind() == version::v2 ? "memory.max" : "memory.limit_in_bytes";
}

/// Writes the limit. v1 refuses one below what cannot be reclaimed and keeps the old; v2 would kill, so this refuses
/// for it: the present limit is read here and not taken from a plan, because a wrong guess would kill. May block for
/// `at_most` on v2, and as long as the kernel reclaims inside the write. Errors: conflict, timed_out, gone.
[[nodiscard]] inline result<void> write_memory(directory const& where, memory_limit target,
                                               nanoseconds at_most = milliseconds(100)) noexcept {
    if (where.kind() == version::v1) {
        auto const written = write_value(where, memory_file(where), target.v1_text());
        if (!written && written.failure().system == EBUSY) {
            error why = written.failure();
            why.remedy = detail::memory_remedy;
            return why;
        }
        return written;
    }
    auto const old = detail::number_in(where, "memory.max");
    if (!old) return old.failure();
    return target.count() < *old ? detail::shrink_memory_v2(where, target, at_most)
                                 : write_value(where, "memory.max", target.v2_text());
}

/// Writes memory.high. Refuses to lower it below the memory that cannot be reclaimed: the kernel would slow the job
/// down until it makes no progress. A raise is never refused: the kernel lets a job exceed memory.high, so the job may
/// use more than the target already. The present limit is read here, as in `write_memory`. Errors: not_supported
/// (cgroup v1 has nothing like it), conflict, gone.
[[nodiscard]] inline result<void> write_soft_memory(directory const& where, soft_memory_limit target) noexcept {
    if (where.kind() == version::v1)
        return make_error(errc::not_supported, "set memory.soft of", where.path(), 0,
                          "cgroup v1 has no such limit: boot with cgroup v2, or limit the memory");
    auto const old = detail::number_in(where, "memory.high");
    if (!old) return old.failure();
    if (target.from.count() < *old) {
        auto const fixed = detail::unreclaimable(where);
        if (!fixed) return fixed.failure();
        if (*fixed > target.from.count())
            return make_error(errc::conflict, "set memory.soft of", where.path(), 0, detail::memory_remedy);
    }
    return write_value(where, "memory.high", target.from.v2_text());
}

/// The same, and reads it back. Errors: those of `write_memory`; unverified.
[[nodiscard]] inline result<void> set_memory(directory const& where, memory_limit target,
                                             nanoseconds at_most = milliseconds(100)) noexcept {
    if (auto const written = write_memory(where, target, at_most); !written) return written;
    auto const now = detail::number_in(where, memory_file(where));
    if (!now) return now.failure();
    return *now == target.count() ? result<void>() : unverified(where, "write and read back", memory_file(where));
}

}  // namespace ration::cgroup
