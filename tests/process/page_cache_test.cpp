// SPDX-License-Identifier: BSL-1.0
// Files that are locked in memory, by the kernel's own numbers.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stop_token>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <ration/process/page_cache.hpp>
#include <ration/testing/backend_laws.hpp>

#include "support/catch.hpp"

using ration::errc;
using ration::job_id;
using ration::resource_id;
using ration::setting;
using ration::process::page_cache;

namespace {

constexpr std::int64_t large = 300'000, small = 5'000;  // neither is a whole number of pages
constexpr job_id first{1}, second{2}, unknown{7};

struct folder {
    std::filesystem::path path;
    folder() {
        std::string name = (std::filesystem::temp_directory_path() / "ration-test-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path = name;
        std::ofstream(path / "large") << std::string(large, 'x');
        std::ofstream(path / "small") << std::string(small, 'y');
    }
    folder(folder const&) = delete;
    folder& operator=(folder const&) = delete;
    ~folder() { std::filesystem::remove_all(path); }
};

/// Both files as items.
[[nodiscard]] page_cache opened(folder const& of) {
    page_cache cache;
    REQUIRE(cache.add(first, of.path / "large"));
    REQUIRE(cache.add(second, of.path / "small"));
    return cache;
}
[[nodiscard]] setting holding(job_id item, std::int64_t amount, resource_id resource = resource_id::cache) {
    return {.job = item, .node = 0, .resource = resource, .amount = amount};
}
/// Plans and applies. Returns the first failure.
[[nodiscard]] ration::result<void> hold(page_cache& cache, job_id item, std::int64_t amount) {
    ration::plan<page_cache::operation> plan;
    if (auto planned = cache.plan(holding(item, amount), plan); !planned) return planned;
    for (auto const& op : plan) {
        if (auto done = cache.apply(op); !done) return done;
        if (auto seen = cache.verify(op); !seen) return seen;
    }
    return {};
}
/// KiB that the kernel has locked for this process.
[[nodiscard]] long locked() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmLck:")) return std::stol(line.substr(6));
    return -1;
}

}  // namespace

TEST_CASE("page cache: the laws of a backend") {
    folder const files;
    auto cache = opened(files);
    setting const settings[] = {holding(first, large), holding(second, small), holding(first, 0),
                                holding(first, large)};
    auto const broken = ration::testing::backend_laws(cache, unknown, settings);
    INFO((broken ? "" : broken.failure().operation) << " " << (broken ? "" : broken.failure().subject.c_str()));
    CHECK(broken);
}

TEST_CASE("page cache: a held file is locked and in memory, and a released one is not locked") {
    folder const files;
    long const before = locked();
    {
        auto cache = opened(files);
        CHECK(cache.observe(first)->memory.count == 0);
        REQUIRE(hold(cache, first, large));
        CHECK(cache.observe(first)->memory.count == large);
        CHECK(locked() - before >= large / 1024);
        REQUIRE(hold(cache, second, small));
        REQUIRE(hold(cache, first, 0));
        CHECK(cache.observe(first)->memory.count == 0);
        CHECK(locked() - before <= 8);  // the pages of the small file
        CHECK(locked() > before);
    }
    CHECK(locked() == before);  // the end of the backend releases all
}

TEST_CASE("page cache: an item that is removed is released, and its number can be used again") {
    folder const files;
    auto cache = opened(files);
    long const before = locked();
    REQUIRE(hold(cache, first, large));
    cache.remove(first);
    cache.remove(unknown);
    CHECK(locked() == before);
    CHECK(cache.size(first).failure().code == errc::not_found);
    REQUIRE(cache.add(first, files.path / "small"));
    CHECK(*cache.size(first) == small);
}

TEST_CASE("page cache: a request to stop ends the reading of a file, and leaves nothing locked") {
    folder const files;
    std::stop_source stop;
    page_cache cache(stop.get_token());
    REQUIRE(cache.add(first, files.path / "large"));
    long const before = locked();
    stop.request_stop();
    auto const stopped = hold(cache, first, large);
    REQUIRE_FALSE(stopped);
    CHECK(stopped.failure().code == errc::busy);
    CHECK(locked() == before);
}

TEST_CASE("data file: two paths to one file have the same device and inode") {
    folder const files;
    std::filesystem::create_symlink(files.path / "large", files.path / "link");
    auto const direct = ration::process::open_data_file(files.path / "large", "");
    auto const linked = ration::process::open_data_file(files.path / "link", "");
    auto const other = ration::process::open_data_file(files.path / "small", "");
    CHECK(direct->bytes == large);
    CHECK(std::pair(direct->device, direct->inode) == std::pair(linked->device, linked->inode));
    CHECK(direct->inode != other->inode);
}

TEST_CASE("page cache: what is no whole item of the cache is refused") {
    folder const files;
    auto cache = opened(files);
    CHECK(*cache.size(first) == large);
    ration::plan<page_cache::operation> none;
    for (std::int64_t const amount : {std::int64_t{1}, large - 1, large + 1, ration::unlimited, std::int64_t{-1}}) {
        auto const refused = cache.plan(holding(first, amount), none);
        REQUIRE_FALSE(refused);
        CHECK(refused.failure().code == errc::invalid_value);
        CHECK(std::string(refused.failure().remedy) ==
              "grant the item whole: set its minimum and maximum of cache to its bytes");
    }
    CHECK(cache.plan(holding(first, large, resource_id::memory), none).failure().code == errc::not_supported);
    CHECK(none.empty());
    for (auto const& failure : {cache.plan(holding(unknown, 1), none).failure(), cache.size(unknown).failure(),
                                cache.apply({unknown, 0, 1}).failure(), cache.verify({unknown, 0, 1}).failure()}) {
        CHECK(failure.code == errc::not_found);
        CHECK(failure.subject == "item 7");
        CHECK(std::string(failure.remedy) == "add the item first");
    }
}

TEST_CASE("page cache: only regular files with data become items") {
    folder const files;
    auto cache = opened(files);
    std::ofstream(files.path / "empty").flush();
    auto const empty = cache.add(unknown, files.path / "empty");
    CHECK(ration::process::input_sentence(empty.failure()) ==
          "is empty; name a file with data as an item of the cache");
    CHECK(cache.add(unknown, files.path).failure().code == errc::invalid_value);
    CHECK(cache.add(unknown, files.path / "absent").failure().code == errc::not_found);
    CHECK(cache.add(first, files.path / "small").failure().code == errc::already_exists);
}

TEST_CASE("page cache: a file that shrank is not verified, and its pages are not touched") {
    folder const files;
    auto cache = opened(files);
    REQUIRE(hold(cache, first, large));
    std::filesystem::resize_file(files.path / "large", small);
    auto const seen = cache.verify({first, 0, large});
    REQUIRE_FALSE(seen);
    CHECK(seen.failure().code == errc::unverified);
    CHECK(std::string(seen.failure().remedy) == "add the item again if its file has changed");
}

TEST_CASE("page cache: the operation is described by the file and its bytes") {
    folder const files;
    auto cache = opened(files);
    ration::plan<page_cache::operation> plan;
    REQUIRE(cache.plan(holding(second, small), plan));
    auto const shown = cache.describe(plan.at(0));
    CHECK(shown.subject == (files.path / "small").string());
    CHECK(shown.old_value == "0 bytes");
    CHECK(shown.new_value == "5000 bytes");
}

// In a child, since a process cannot return from this.
TEST_CASE("page cache: the limit of locked memory is an error with its remedy, and leaves nothing locked") {
    folder const files;
    auto cache = opened(files);
    pid_t const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        rlimit const least{small, small};
        bool fine = ::setrlimit(RLIMIT_MEMLOCK, &least) == 0;
        if (::geteuid() == 0) fine = fine && ::setuid(65534) == 0;  // root may lock without a limit
        auto const refused = hold(cache, first, large);
        fine = fine && !refused && refused.failure().code == errc::limit && locked() == 0 &&
               std::string_view(refused.failure().remedy) ==
                   "raise RLIMIT_MEMLOCK (ulimit -l), or grant less of the cache";
        ::_exit(fine ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}
