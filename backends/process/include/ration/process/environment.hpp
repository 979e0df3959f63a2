// SPDX-License-Identifier: BSL-1.0
/// The environment of a job: inherited entries, the user's entries, the number of threads, and the
/// socket for progress messages.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <ration/result.hpp>
#include <ration/units.hpp>

namespace ration::process {

/// Variables from which libraries of training jobs read their number of threads: OpenMP (GCC, LLVM,
/// Intel; also PyTorch), MKL (also PyTorch), OpenBLAS, BLIS, numexpr, Numba, Rayon (tokenizers),
/// TensorFlow. A user's value of the first one is the default of the others.
inline constexpr std::array<std::string_view, 8> thread_count_variables{
    "OMP_NUM_THREADS",     "MKL_NUM_THREADS",   "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS",    "TF_NUM_INTRAOP_THREADS",
};

/// A variable and its default.
struct default_entry {
    std::string_view name, value;
};

/// Variables that make the threads of OpenMP sleep while they wait: the standard's, that of libgomp
/// (spins), and that of LLVM, Intel and MKL (milliseconds). By default each thread spins for 3 ms
/// (libgomp) or 200 ms (LLVM) at each barrier. Spinning threads of one job take the cores from the
/// threads of another job for which that job waits.
inline constexpr std::array<default_entry, 3> openmp_waiting{{
    {"OMP_WAIT_POLICY", "PASSIVE"},
    {"GOMP_SPINCOUNT", "0"},
    {"KMP_BLOCKTIME", "0"},
}};

/// The same for the threads of OpenBLAS: they spin for 2^value cycles; 4 is the smallest value.
inline constexpr default_entry openblas_waiting{"OPENBLAS_THREAD_TIMEOUT", "4"};

/// The even share of `capacity` for each of `jobs` jobs, at least 1, rounded up to whole cores: rounded down, cores
/// would stay idle.
[[nodiscard]] constexpr millicores even_share(millicores capacity, std::size_t jobs) noexcept {
    auto const parts = static_cast<std::int64_t>(jobs) * 1000;
    return {(capacity.count + parts - 1) / parts * 1000};
}

/// The number of threads for this amount of CPU: whole cores, rounded down, at least one. With more
/// threads than cores, the others wait at every barrier.
[[nodiscard]] constexpr std::int64_t threads_for(millicores cpu) noexcept {
    return std::max<std::int64_t>(1, cpu.count / 1000);
}

/// The names of two entries that list other entries of a job's environment, as NAME=VALUE and separated by spaces:
/// those that ration and not the user has chosen, and the masks of devices. A program that the job starts must not take
/// them for choices of the user.
inline constexpr std::string_view chosen_entries = "RATION_CHOSEN", mask_entries = "RATION_MASKS";

/// The parts of a job's environment. Lists contain KEY=VALUE.
struct environment_request {
    std::vector<std::string> inherited = {};  ///< the caller's own; see `current_environment`
    std::vector<std::string> declared = {};   ///< the user's, for this job; they override everything except RATION_*
    /// Amount at the start of the job, >= 0; the machine's capacity if it is unlimited
    millicores cpu{1000};
    /// Bounds the threads and not `cpu`: the job's part of the machine while others run, see `even_share`
    millicores share{std::numeric_limits<std::int64_t>::max()};
    std::string job = {};          ///< its name: RATION_JOB
    incarnation_id incarnation{};  ///< RATION_INCARNATION
    std::string token = {};        ///< RATION_TOKEN; also marks the job's processes, see `mark_of`
    std::string progress = {};     ///< RATION_PROGRESS: "unix:" and the path of the socket; empty: none
    std::size_t ranks = 1;         ///< processes that share `cpu`; at least 1
    /// RATION_DEVICES: names separated by commas, one for each rank; empty: none
    std::string devices = {};
    /// RATION_BATCH: samples per step over all ranks; empty: chosen by the job
    std::string batch = {};
    std::string checkpoint = {};  ///< RATION_CHECKPOINT: absolute path of a folder; empty: none
    std::string output = {};      ///< RATION_OUTPUT: path of the file with its output; empty: none
    /// KEY=VALUE, with precedence over the user's entries: the devices that the job's libraries see
    std::vector<std::string> masks = {};
    /// Likewise: the place of the processes among those of the job on other nodes
    std::vector<std::string> world = {};
};

/// The entry that only this launch has in its environment, for `tree_root::mark`.
[[nodiscard]] inline std::string mark_of(std::string_view token) noexcept {
    return "RATION_TOKEN=" + std::string(token);
}

/// The environment of this process.
[[nodiscard]] inline std::vector<std::string> current_environment() noexcept {
    std::vector<std::string> out;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) out.emplace_back(*entry);
    return out;
}

namespace detail {

/// The name of an entry KEY=VALUE.
[[nodiscard]] inline std::string_view name_of_entry(std::string_view entry) noexcept {
    return entry.substr(0, entry.find('='));
}

/// Sets an entry; without `replace` an existing one stays.
inline void put_entry(std::vector<std::string>& entries, std::string_view name, std::string_view value,
                      bool replace) noexcept {
    auto const at = std::ranges::find(entries, name, [](std::string const& e) { return name_of_entry(e); });
    std::string entry = std::string(name) + '=' + std::string(value);
    if (at == entries.end())
        entries.push_back(std::move(entry));
    else if (replace)
        *at = std::move(entry);
}

/// The value of an entry; empty without one.
[[nodiscard]] inline std::string_view entry_value(std::vector<std::string> const& entries,
                                                  std::string_view name) noexcept {
    auto const at = std::ranges::find(entries, name, [](std::string const& e) { return name_of_entry(e); });
    return at == entries.end() ? std::string_view{} : std::string_view(*at).substr(name.size() + 1);
}

/// The number of threads that the user set by OMP_NUM_THREADS, of a list for nested regions the first; empty if it
/// is not a number above 0.
[[nodiscard]] inline std::string_view threads_of_user(std::vector<std::string> const& entries) noexcept {
    auto const list = entry_value(entries, thread_count_variables.front());
    auto const first = list.substr(0, list.find(','));
    bool const is_count = !first.empty() && first.front() != '0' && first.find_first_not_of("0123456789") == first.npos;
    return is_count ? first : std::string_view{};
}

/// Sets the numbers of threads and the way in which they wait, where the user did not. One variable of the user about
/// waiting in OpenMP decides alone: the others would override it in some runtimes.
inline void put_thread_defaults(std::vector<std::string>& entries, std::string_view threads) noexcept {
    for (std::string_view const name : thread_count_variables) put_entry(entries, name, threads, false);
    bool const user_decides =
        std::ranges::any_of(openmp_waiting, [&](auto const& e) { return !entry_value(entries, e.name).empty(); });
    if (!user_decides)
        for (auto const& [name, value] : openmp_waiting) put_entry(entries, name, value, true);
    put_entry(entries, openblas_waiting.name, openblas_waiting.value, false);
}

/// Cores with three decimals, as "1.500", independent of the locale.
[[nodiscard]] inline std::string cores_text(millicores cpu) noexcept {
    std::string const rest = std::to_string(1000 + cpu.count % 1000);
    return std::to_string(cpu.count / 1000) + '.' + rest.substr(1);
}

/// Sets entries that the user cannot override.
inline void put_entries(std::vector<std::string>& entries, std::vector<std::string> const& added) noexcept {
    for (std::string const& entry : added)
        put_entry(entries, name_of_entry(entry), std::string_view(entry).substr(entry.find('=') + 1), true);
}

/// The entries, separated by spaces.
[[nodiscard]] inline std::string list_of(std::vector<std::string> const& entries) noexcept {
    std::string out;
    for (std::string const& entry : entries) out.append(out.empty() ? "" : " ").append(entry);
    return out;
}

/// An error about an entry.
[[nodiscard]] inline error refuse_entry(std::string_view entry, char const* remedy) noexcept {
    return {.code = errc::invalid_value, .operation = "set environment", .subject = entry, .remedy = remedy};
}

/// Validates the user's entries.
[[nodiscard]] inline result<void> check_declared(std::vector<std::string> const& declared) noexcept {
    for (std::string const& entry : declared) {
        if (entry.find('=') == std::string::npos || entry.front() == '=' || entry.find('\0') != std::string::npos)
            return refuse_entry(entry.c_str(), "write NAME=VALUE, without a zero byte");
        if (entry.starts_with("RATION_")) {
            return refuse_entry(name_of_entry(entry),
                                "names that begin with RATION_ are set by ration itself; choose another");
        }
    }
    return {};
}

}  // namespace detail

/// The entries without those that `list` names: `chosen_entries` or `mask_entries`. One that the job has changed stays.
[[nodiscard]] inline std::vector<std::string> without_listed(std::vector<std::string> entries,
                                                             std::string_view list) noexcept {
    std::string const listed = ' ' + std::string(detail::entry_value(entries, list)) + ' ';
    std::erase_if(entries, [&](std::string const& entry) { return listed.find(' ' + entry + ' ') != listed.npos; });
    return entries;
}

/// The user's part of an environment: inherited entries, overridden by declared ones (both KEY=VALUE). Dropped are
/// inherited RATION_* entries, which describe the job that this program may itself be, and those that ration has chosen
/// for that job. Its masks bound also the programs that it starts.
[[nodiscard]] inline std::vector<std::string> user_environment(std::vector<std::string> const& inherited,
                                                               std::vector<std::string> const& declared) noexcept {
    std::vector<std::string> out;
    auto const put = [&out](std::string const& entry) {
        auto const name = detail::name_of_entry(entry);
        detail::put_entry(out, name, std::string_view(entry).substr(name.size() + 1), true);
    };
    for (std::string const& entry : without_listed(inherited, chosen_entries))
        if (entry.find('=') != std::string::npos && !entry.starts_with("RATION_") && !entry.starts_with('='))
            put(entry);
    for (std::string const& entry : declared) put(entry);
    return out;
}

/// The complete environment, for `launch_spec::environment`. Order of precedence: RATION_* and
/// masks, declared entries, inherited ones, defaults. The defaults are the numbers of threads, threads
/// that sleep while they wait, and PYTHONUNBUFFERED=1, so that a script's lines arrive when they are
/// printed. RATION_CPUS (cores, as "1.500") and RATION_THREADS are hints for the job itself.
/// Error: invalid_value.
[[nodiscard]] inline result<std::vector<std::string>> make_environment(environment_request const& request) noexcept {
    if (auto const checked = detail::check_declared(request.declared); !checked) return checked.failure();
    auto out = user_environment(request.inherited, request.declared);
    std::string threads(detail::threads_of_user(out));
    if (threads.empty())
        threads = std::to_string(threads_for({std::min(request.cpu, request.share).count /
                                              static_cast<std::int64_t>(std::max<std::size_t>(1, request.ranks))}));
    auto const of_user = static_cast<std::ptrdiff_t>(out.size());
    detail::put_thread_defaults(out, threads);
    detail::put_entry(out, "PYTHONUNBUFFERED", "1", false);
    std::vector<std::string> chosen(out.begin() + of_user, out.end());
    chosen.insert(chosen.end(), request.world.begin(), request.world.end());

    auto const ours = [&out](std::string_view name, std::string_view value) {
        if (!value.empty()) detail::put_entry(out, name, value, true);
    };
    ours("RATION_JOB", request.job);
    ours("RATION_INCARNATION", std::to_string(request.incarnation.value));
    ours("RATION_TOKEN", request.token);
    ours("RATION_PROGRESS", request.progress);
    ours("RATION_CPUS", detail::cores_text(request.cpu));
    ours("RATION_THREADS", threads);
    ours("RATION_DEVICES", request.devices);
    ours("RATION_BATCH", request.batch);
    ours("RATION_CHECKPOINT", request.checkpoint);
    ours("RATION_OUTPUT", request.output);
    ours(chosen_entries, detail::list_of(chosen));
    ours(mask_entries, detail::list_of(request.masks));
    detail::put_entries(out, request.masks);
    detail::put_entries(out, request.world);
    return out;
}

}  // namespace ration::process
