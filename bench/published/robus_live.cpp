// SPDX-License-Identifier: BSL-1.0
// ROBUS on real files: four loaders read data sets, some of which the policy shared_cache keeps in the page cache.
//
//     bench/run.sh published.robus_live [FOLDER]
//
// Two data sets have two readers each, and each tenant also reads a private one. Three of the six fit. A loader drops
// from the page cache what it has read, so that only locked files stay. The folder needs 150 MB on a disk, and the
// limit of locked memory has to be 75 MB at least (ulimit -l).
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>

#include <ration/host/engine.hpp>
#include <ration/host/tenants.hpp>
#include <ration/policies/none.hpp>
#include <ration/policies/shared_cache.hpp>
#include <ration/process/page_cache.hpp>

#include "scene.hpp"

namespace {

using namespace ration;
using policies::cache_mode;

constexpr std::size_t tenants = 4, items = 6, held_items = 3;
/// A third of the memory that a process may lock here, at most 24 MiB.
[[nodiscard]] std::int64_t bytes_of_item() {
    rlimit lockable{};
    ::getrlimit(RLIMIT_MEMLOCK, &lockable);
    return static_cast<std::int64_t>(std::min<rlim_t>(lockable.rlim_cur / 3, 24 << 20)) / 4096 * 4096;
}
std::int64_t const item_bytes = bytes_of_item();
constexpr double round_seconds = 2, run_seconds = 16;

/// The items of a tenant: the one that it shares, and its own.
[[nodiscard]] std::array<std::size_t, 2> read_by(std::size_t tenant) { return {tenant / 2, 2 + tenant}; }

/// Reads its files again and again, and counts the bytes.
[[noreturn]] void load(std::array<std::string, 2> const& paths, std::atomic<std::uint64_t>& bytes) {
    std::vector<char> space(1 << 20);
    for (;;)
        for (auto const& path : paths) {
            auto const file = process::open_input(path, {.remedy = ""});
            if (!file) ::_exit(1);
            for (;;) {
                auto const got = process::read_next(*file, space.data(), space.size());
                if (!got) ::_exit(1);
                if (*got == 0) break;
                bytes += *got;
            }
            ::posix_fadvise(file->get(), 0, 0, POSIX_FADV_DONTNEED);  // has no effect on locked pages
        }
}

/// The loaders of all tenants, which end with this.
class loaders {
    std::array<std::atomic<std::uint64_t>, tenants>* bytes_;
    std::array<pid_t, tenants> all_{};

public:
    explicit loaders(std::vector<std::string> const& paths) {
        void* const common = ::mmap(nullptr, sizeof *bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        RATION_ASSERT(common != MAP_FAILED, "the memory for four numbers could not be mapped");
        bytes_ = ::new (common) std::array<std::atomic<std::uint64_t>, tenants>{};
        for (std::size_t t = 0; t < tenants; ++t) {
            all_[t] = ::fork();
            if (all_[t] != 0) continue;
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // it ends with this program, however that ends
            auto const own = read_by(t);
            load({paths[own[0]], paths[own[1]]}, (*bytes_)[t]);
        }
    }
    loaders(loaders const&) = delete;
    loaders& operator=(loaders const&) = delete;
    ~loaders() {
        for (pid_t const one : all_)
            if (one > 0) {
                ::kill(one, SIGKILL);
                ::waitpid(one, nullptr, 0);
            }
        ::munmap(bytes_, sizeof *bytes_);
    }
    [[nodiscard]] double megabytes(std::size_t tenant) const {
        return static_cast<double>((*bytes_)[tenant].load()) / 1e6;
    }
    /// The part of the bytes that the kernel did not read from the disk for the tenant.
    [[nodiscard]] double from_cache(std::size_t tenant) const {
        std::ifstream counters("/proc/" + std::to_string(all_[tenant]) + "/io");
        double read = 0;
        for (std::string key; counters >> key;)
            if (key == "read_bytes:") counters >> read;
        return std::max(0.0, 1 - read / 1e6 / megabytes(tenant));
    }
};

/// A host whose jobs are the files.
class item_host {
    snapshot_store store_;
    standard_columns columns_;
    process::page_cache cache_;
    policy_adapter<policies::shared_cache> policy_;
    policy_adapter<policies::none> fallback_;

    /// A value that has to be there; the program ends with the reason otherwise.
    template <class T>
    static T must(result<T> made) {
        if (!made) end_with(made.failure());
        return std::move(made).value();
    }
    static void must(result<void> const& made) {
        if (!made) end_with(made.failure());
    }
    [[noreturn]] static void end_with(error const& why) {
        std::fprintf(stderr, "published.robus_live: %s: %s; %s\n", why.subject.c_str(), why.operation, why.remedy);
        std::exit(2);
    }
    void fill(std::vector<std::string> const& paths) {
        columns_ = must(standard_columns::declare(store_, standard_resources));
        auto const benefit = must(store_.declare<double>("jobs/benefit", tenants));
        must(store_.resize(table_id::nodes, 1));
        must(store_.resize(table_id::jobs, items));
        auto const& cache = columns_.resources[static_cast<std::size_t>(resource_id::cache)];
        store_.at(cache.capacity, 0) = held_items * item_bytes;
        for (std::size_t i = 0; i < items; ++i) {
            must(cache_.add({i + 1}, paths[i]));
            store_.at(columns_.id, i) = i + 1;
            store_.at(columns_.state, i) = static_cast<std::uint32_t>(job_state::running);
            store_.at(cache.minimum, i) = store_.at(cache.maximum, i) = item_bytes;
        }
        for (std::size_t t = 0; t < tenants; ++t)
            for (std::size_t const i : read_by(t)) (&store_.at(benefit, i))[t] = static_cast<double>(item_bytes);
        std::array<tenant_description, tenants> all{};
        for (std::size_t t = 0; t < tenants; ++t) all[t].id = t + 1;
        must(fill_tenants(store_, columns_, all));
    }

public:
    item_host(std::vector<std::string> const& paths, cache_mode mode)
        : policy_(policies::shared_cache({.mode = mode, .round = round_seconds})) {
        fill(paths);
    }
    /// Decides every 0.1 s for `seconds`. Returns the mean number of files that were held.
    double run(double seconds) {
        engine<process::page_cache> deciding(cache_, policy_, fallback_, store_, columns_, standard_resources,
                                             {.settle = {.dead_band = 0, .dwell = {}, .grace = {}}});
        must(deciding.bind({.jobs = items, .nodes = 1, .tenants = tenants}));
        double held = 0;
        int ticks = 0;
        auto const start = std::chrono::steady_clock::now();
        for (double now = 0; now < seconds; ++ticks) {
            auto const report = deciding.tick(ration::seconds(now));
            if (!report.failed.empty()) end_with(report.failed.front().failure.cause);
            held += static_cast<double>(deciding.holdings().sum(0, resource_id::cache) / item_bytes);
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            now = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        }
        return held / ticks;
    }
};

/// One run: what each tenant read, and the files held on average.
struct measured {
    std::array<double, tenants> rate{};   // MB/s
    std::array<double, tenants> share{};  // from the cache
    double held = 0;
};
[[nodiscard]] measured measure(std::vector<std::string> const& paths, cache_mode mode) {
    item_host host(paths, mode);
    loaders const all(paths);
    auto const start = std::chrono::steady_clock::now();
    measured m{.held = host.run(run_seconds)};
    double const took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (std::size_t t = 0; t < tenants; ++t) {
        m.rate[t] = all.megabytes(t) / took;
        m.share[t] = all.from_cache(t);
    }
    return m;
}

}  // namespace

int main(int count, char** arguments) {
    std::filesystem::path const parent = count > 1 ? arguments[1] : std::filesystem::temp_directory_path();
    std::string name = (parent / "robus-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
        std::fprintf(stderr, "published.robus_live: %s: cannot be written; name a folder on a disk\n", parent.c_str());
        return 2;
    }
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < items; ++i) {
        paths.push_back(name + "/" + std::to_string(i));
        std::ofstream(paths.back()) << std::string(static_cast<std::size_t>(item_bytes), static_cast<char>('a' + i));
        process::descriptor const file(::open(paths.back().c_str(), O_RDONLY | O_CLOEXEC));
        ::fsync(file.get());  // pages that are not written yet cannot be dropped
    }
    published::findings found;
    found.print("| cache | MB/s of the four tenants | of it from the cache, %% | files held |\n|---|---|---|--:|\n");
    auto const row = [&](char const* mode, measured const& m) {
        auto const& [rate, share, held] = m;
        found.print("| %s | %.0f, %.0f, %.0f, %.0f | %.0f, %.0f, %.0f, %.0f | %.1f |\n", mode, rate[0], rate[1],
                    rate[2], rate[3], 100 * share[0], 100 * share[1], 100 * share[2], 100 * share[3], held);
    };
    auto const alone = measure(paths, cache_mode::partition), shared = measure(paths, cache_mode::pf),
               again = measure(paths, cache_mode::partition);
    row("partition", alone);
    row("pf", shared);
    row("partition", again);
    std::filesystem::remove_all(name);
    double const most = std::max(*std::ranges::max_element(alone.share), *std::ranges::max_element(again.share));
    found.expect(alone.held == 0 && again.held == 0, "control: no file fits into a fourth of the cache");
    found.expect(*std::ranges::min_element(shared.share) >= 0.45, "with pf each tenant reads half from the cache");
    found.expect(*std::ranges::min_element(shared.share) >= most + 0.2,
                 "with pf each tenant's part from the cache is 20 points above any with a partition");
    return published::conclude(found);
}
