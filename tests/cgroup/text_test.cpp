// SPDX-License-Identifier: BSL-1.0
// Texts of the kernel and values for it: /proc, lists of cpus, names, limits. No machine needed.
#include <random>

#include <ration/cgroup/detail/cpu_set.hpp>
#include <ration/cgroup/detail/proc_text.hpp>
#include <ration/cgroup/detail/values.hpp>
#include <ration/cgroup/hierarchy.hpp>
#include <ration/cgroup/limits.hpp>
#include <ration/cgroup/names.hpp>

#include "support/catch.hpp"

using namespace ration;
using namespace ration::cgroup;

TEST_CASE("mountinfo: only cgroup lines count, with escapes, optional fields and co-mounted controllers") {
    auto const mounts = parse_mounts(
        "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 master:1 - cgroup cgroup rw,cpu,cpuacct\n"
        "33 31 0:30 / /mnt/a\\040b\\134c ro - cgroup none rw,memory\n"
        "34 31 0:31 /user.slice /run/x rw - cgroup2 cgroup2 rw,nsdelegate\n"
        "35 31 0:32 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
        "junk\n"
        "36 31 0:33 / /short rw - cgroup\n"
        "\n");
    REQUIRE(mounts.size() == 4);
    CHECK(mounts[0].kind == version::v1);
    CHECK(mounts[0].point == "/sys/fs/cgroup/cpu,cpuacct");
    CHECK(detail::has(mounts[0].controllers, "cpu"));
    CHECK(detail::has(mounts[0].controllers, "cpuacct"));
    CHECK_FALSE(mounts[0].read_only);
    CHECK(mounts[1].point == "/mnt/a b\\c");
    CHECK(mounts[1].read_only);
    CHECK(mounts[2].kind == version::v2);
    CHECK(mounts[2].root == "/user.slice");
    CHECK(mounts[2].controllers.empty());
    CHECK(detail::has(mounts[3].controllers, "name=systemd"));
}

TEST_CASE("memberships: the first two colons divide, a removed group is told") {
    auto const lines =
        parse_memberships("4:memory:/a:b/c\n2:cpu,cpuacct:/x\n1:name=systemd:/y\n0::/z (deleted)\nnonsense\nx:cpu:/\n");
    REQUIRE(lines.size() == 4);
    CHECK(lines[0].path == "/a:b/c");
    CHECK(lines[1].controllers == std::vector<std::string>{"cpu", "cpuacct"});
    CHECK(lines[2].controllers == std::vector<std::string>{"name=systemd"});
    CHECK(lines[3].hierarchy == 0);
    CHECK(lines[3].path == "/z");
    CHECK(lines[3].deleted);
    CHECK_FALSE(lines[0].deleted);
}

TEST_CASE("the own group's directory: whole mounts, bind mounts, foreign namespaces") {
    auto const at = [](char const* root, char const* path) {
        return directory_of({.root = root, .point = "/m", .kind = version::v2, .read_only = false, .controllers = {}},
                            path);
    };
    CHECK(at("/", "/")->compare("/m") == 0);
    CHECK(at("/", "/a/b")->compare("/m/a/b") == 0);
    CHECK(at("/docker/x", "/docker/x")->compare("/m") == 0);
    CHECK(at("/docker/x", "/docker/x/y")->compare("/m/y") == 0);
    for (auto const& [root, path] :
         {std::pair{"/docker/x", "/docker/xy"}, {"/docker/x", "/"}, {"/..", "/"}, {"/../..", "/a"}, {"/", "/../a"}}) {
        auto const lost = at(root, path);
        REQUIRE_FALSE(lost);
        CHECK(lost.failure().code == errc::namespace_mismatch);
        CHECK_FALSE(std::string_view(lost.failure().remedy).empty());
    }
}

TEST_CASE("of several mounts of a hierarchy the writable one that shows our group is taken") {
    std::vector<mount> const mounts{{"/other", "/bound", version::v1, false, {"cpu"}},
                                    {"/", "/readonly", version::v1, true, {"cpu"}},
                                    {"/", "/good", version::v1, false, {"cpu", "cpuacct"}},
                                    {"/", "/later", version::v1, false, {"cpu"}}};
    membership const line{.hierarchy = 3, .controllers = {"cpu"}, .path = "/me", .deleted = false};
    CHECK(locate(version::v1, "cpu", mounts, line)->first == "/good/me");
    CHECK(locate(version::v1, "cpuset", mounts, line).failure().code == errc::not_supported);
    CHECK(locate(version::v2, "cgroup2", mounts, line).failure().code == errc::not_supported);
    CHECK(locate(version::v1, "cpu", {mounts[0]}, line).failure().code == errc::namespace_mismatch);
    CHECK(locate(version::v1, "cpu", {mounts[1]}, line)->first == "/readonly/me");
    CHECK(locate(version::v1, "cpu", mounts, {3, {"cpu"}, "/me", true}).failure().code == errc::gone);
}

TEST_CASE("a list of cpus is read and printed as the kernel does") {
    auto const list = [](char const* text) {
        auto const set = cpu_set::parse(text);
        return set ? set->list() : "error " + std::to_string(static_cast<int>(set.failure().code));
    };
    CHECK(list("0-3,8") == "0-3,8");
    CHECK(list("8,3,1,2,0") == "0-3,8");
    CHECK(list("") == "");
    CHECK(list("\n") == "");
    CHECK(list("0,,1") == "0-1");
    CHECK(list(" 5 , 7\n") == "5,7");
    CHECK(list("0-7:2/4") == "0-1,4-5");
    CHECK(list("63-64,127-129") == "63-64,127-129");
    CHECK(list("0-4095") == "0-4095");
    std::string const bad = "error " + std::to_string(static_cast<int>(errc::invalid_value));
    for (char const* const text : {"3-0", "0-", "-1", "-", "0x3", "a", "1 2", "0:1/2", "0-3:", "0-3:2", "0-3:3/2",
                                   "0-3:0/0", "1.5", "+1", "0-3-5", "0-3:1/2/3"}) {
        INFO(text);
        CHECK(list(text) == bad);
    }
    for (char const* const text : {"65536", "0-65536"})
        CHECK(list(text) == "error " + std::to_string(static_cast<int>(errc::out_of_range)));
    CHECK(list("99999999999999999999999") == bad);
}

TEST_CASE("any set of cpus survives printing and reading; a long list needs no fixed room") {
    std::mt19937 rng(7);
    for (int round = 0; round < 200; ++round) {
        cpu_set set;
        std::size_t const wanted = rng() % 300;
        for (std::size_t i = 0; i < wanted; ++i) set.insert(rng() % 8192);
        auto const again = cpu_set::parse(set.list());
        REQUIRE(again);
        CHECK(*again == set);
        CHECK(again->size() == set.size());
        cpu_set const some = set.lowest(5);
        CHECK(some.size() == std::min<std::size_t>(5, set.size()));
        CHECK(some.within(set));
    }
}

TEST_CASE("sets: within, equal and size count members, not the room they take") {
    auto const small = *cpu_set::parse("1"), large = *cpu_set::parse("1,500");
    CHECK(small.within(large));
    CHECK_FALSE(large.within(small));
    CHECK_FALSE(small == large);
    CHECK(*cpu_set::parse("0-1") == *cpu_set::parse("1,0"));
    CHECK(cpu_set{}.within(small));
    CHECK(cpu_set{}.empty());
    CHECK(large.size() == 2);
}

TEST_CASE("names of groups") {
    for (char const* const good : {"a", "vae", "vae-2_x.y+z@1", "0", "a..b", "ration-ctl"}) CHECK(check_name(good));
    CHECK(check_name(std::string(100, 'a')));
    CHECK_FALSE(check_name(std::string(101, 'a')));
    for (char const* const bad : {"",
                                  ".",
                                  "..",
                                  ".a",
                                  "a/b",
                                  "/",
                                  "a\n",
                                  "a b",
                                  "a\tb",
                                  "ä",
                                  "a:b",
                                  "a\\b",
                                  "tasks",
                                  "notify_on_release",
                                  "release_agent",
                                  "cgroup.procs",
                                  "cgroup.x",
                                  "cpu.max",
                                  "cpuset.cpus",
                                  "memory.max",
                                  "pids.max",
                                  "io.max",
                                  "hugetlb.2MB.max",
                                  "freezer.state"}) {
        INFO(bad);
        auto const refused = check_name(bad);
        REQUIRE_FALSE(refused);
        CHECK(refused.failure().code == errc::invalid_value);
    }
}

TEST_CASE("a run's group names its owner, and nothing else is taken for one") {
    run_name const run{"my.run-1", {4242, 987654321, 4026531836}};
    CHECK(group_name_of(run) == "ration-my.run-1.4242.987654321.4026531836");
    CHECK(parse_run_name(group_name_of(run)) == run);
    for (char const* const other :
         {"ration-", "ration-ctl", "ration-x.1.2", "ration-x.1.2.y", "ration-.1.2.3", "ration-x.0.2.3",
          "ration-x.-1.2.3", "ration-x.1.2.3.", "ration-x..2.3", "rations-x.1.2.3", "x.1.2.3", "", "ration-probe-77",
          "ration-x.99999999.2.3", "ration-cpu.max.1.2.3"}) {
        INFO(other);
        CHECK_FALSE(parse_run_name(other));
    }
}

TEST_CASE("the number of a namespace is read from its link") {
    CHECK(namespace_number("pid:[4026531836]") == 4026531836U);
    CHECK_FALSE(namespace_number("pid:4026531836"));
    CHECK_FALSE(namespace_number("]["));
}

TEST_CASE("quotas can be written or not be made") {
    CHECK(cpu_quota::of(50'000, 100'000)->v2_text() == "50000 100000");
    CHECK(cpu_quota().v2_text() == "max 100000");
    CHECK(cpu_quota().v1_text() == "-1");
    CHECK(cpu_quota::of(1000, 1000));
    CHECK(cpu_quota::of(cpu_quota::largest, 1'000'000));
    CHECK(cpu_quota::of(5000, 100'000, 5000));
    for (auto const& [quota, period, burst] : {std::array<std::int64_t, 3>{999, 100'000, 0},
                                               {0, 100'000, 0},
                                               {-2, 100'000, 0},
                                               {50'000, 999, 0},
                                               {50'000, 1'000'001, 0},
                                               {cpu_quota::largest + 1, 100'000, 0},
                                               {5000, 100'000, 5001},
                                               {5000, 100'000, -1},
                                               {-1, 100'000, 1}}) {
        auto const made = cpu_quota::of(quota, period, burst);
        REQUIRE_FALSE(made);
        CHECK(made.failure().code == errc::out_of_range);
    }
}

TEST_CASE("millicores become quotas; the least is the kernel's least") {
    CHECK(cpu_quota::of(millicores{250})->quota() == 25'000);
    CHECK(cpu_quota::of(millicores{1})->quota() == 1000);
    CHECK(cpu_quota::of(millicores{9})->quota() == 1000);
    CHECK(cpu_quota::of(millicores{11})->quota() == 1100);
    CHECK(cpu_quota::of(millicores{64'000})->quota() == 6'400'000);
    CHECK(cpu_quota::of(millicores{500}, 20'000)->quota() == 10'000);
    CHECK(cpu_quota::of(millicores{10}, 20'000)->quota() == 1000);
    CHECK(cpu_quota::of(millicores{unlimited})->is_unlimited());
    CHECK_FALSE(cpu_quota::of(millicores{0}));
    CHECK_FALSE(cpu_quota::of(millicores{-1}));
    CHECK_FALSE(cpu_quota::of(millicores{max_amount}));
}

TEST_CASE("weights keep their ratio on v1") {
    CHECK(weight().shares() == 1024);
    CHECK(weight::of(1)->shares() == 10);
    CHECK(weight::of(200)->shares() == 2048);
    CHECK(weight::of(400)->shares() == 4 * weight::of(100)->shares());
    CHECK(weight::of(10'000)->shares() == 102'400);
    CHECK_FALSE(weight::of(0));
    CHECK_FALSE(weight::of(10'001));
}

TEST_CASE("memory is in whole pages and never none") {
    std::int64_t const page = memory_limit::page();
    CHECK(memory_limit::of(bytes{page})->count() == page);
    CHECK(memory_limit::of(bytes{2 * page + 1})->v2_text() == std::to_string(2 * page));
    CHECK(memory_limit().v1_text() == "-1");
    CHECK(memory_limit().v2_text() == "max");
    CHECK(memory_limit::of(bytes{unlimited})->is_unlimited());
    CHECK_FALSE(memory_limit::of(bytes{0}));
    CHECK_FALSE(memory_limit::of(bytes{page - 1}));
    CHECK_FALSE(memory_limit::of(bytes{-page}));
    CHECK_FALSE(memory_limit::of(bytes{max_amount + 1}));
    CHECK(pids_limit::of(1)->text() == "1");
    CHECK(pids_limit::of(4'194'304)->text() == "4194304");
    CHECK_FALSE(pids_limit::of(0));
    CHECK_FALSE(pids_limit::of(4'194'305));
}

TEST_CASE("the kernel's ways to say no limit are one value") {
    CHECK(amount_of("max") == unlimited);
    CHECK(amount_of("-1") == unlimited);
    CHECK(amount_of("9223372036854771712") == unlimited);
    CHECK(amount_of("9223372036854710272") == unlimited);  // pages of 64 KiB
    CHECK(amount_of("4096") == 4096);
    CHECK_FALSE(amount_of(""));
    CHECK_FALSE(amount_of("max 100000"));
    CHECK_FALSE(amount_of("12x"));
    CHECK_FALSE(amount_of("-01"));  // the kernel writes no other number below 0 than -1
    CHECK_FALSE(amount_of("-4096"));
    CHECK(same_value("max", "-1"));
    CHECK(same_value("max 100000", "max 100000"));
    CHECK_FALSE(same_value("max 100000", "50000 100000"));
    CHECK_FALSE(same_value("4096", "8192"));
}

TEST_CASE("numbers by key") {
    constexpr char const* text = "usage_usec 12\nuser_usec 7\nbroken x\nempty\nthrottled_usec 99";
    CHECK(keyed_number(text, "usage_usec") == 12);
    CHECK(keyed_number(text, "throttled_usec") == 99);
    CHECK_FALSE(keyed_number(text, "usage"));
    CHECK_FALSE(keyed_number(text, "broken"));
    CHECK_FALSE(keyed_number(text, "empty"));
    CHECK_FALSE(keyed_number("", "usage_usec"));
    CHECK(parse_pids("7\n3\n7\nx\n-2\n0\n") == std::vector<int>{0, 3, 7});
}

TEST_CASE("each errno has its code, and a long path keeps its end") {
    CHECK(code_of(EINVAL) == errc::invalid_value);
    CHECK(code_of(ERANGE) == errc::out_of_range);
    CHECK(code_of(EACCES) == errc::denied);
    CHECK(code_of(EPERM) == errc::denied);
    CHECK(code_of(EROFS) == errc::denied);
    CHECK(code_of(EBUSY) == errc::busy);
    CHECK(code_of(ENOSPC) == errc::empty_set);
    CHECK(code_of(EAGAIN) == errc::limit);
    CHECK(code_of(ENODEV) == errc::gone);
    CHECK(code_of(EOPNOTSUPP) == errc::not_supported);
    CHECK(code_of(EIO) == errc::io);
    auto const cut = tail_of<10>("/a/very/long/path");
    CHECK(cut.view() == "~long/path");
    CHECK(tail_of<10>("short").view() == "short");
}
