// SPDX-License-Identifier: BSL-1.0
// The place of a job that the program launches on chosen CPUs, as the job and its group report it. On v1 here,
// on v2 in the guest.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include <ration/cgroup/detail/controller.hpp>

#include "process/support.hpp"
#include "run/node_backend.hpp"

using namespace ration;
using namespace ration::program;
using process_test::content_of;

namespace {

/// The value of a line `key: value`, as in /proc/PID/status.
[[nodiscard]] std::string value_of(std::string const& text, std::string const& key) {
    auto const at = text.find("\n" + key + ":\t");
    REQUIRE(at != std::string::npos);
    auto const begin = at + key.size() + 3;
    return text.substr(begin, text.find('\n', begin) - begin);
}

/// Where the files of a process's cpuset are.
[[nodiscard]] std::string cpuset_of(std::string const& memberships) {
    auto const v2 = memberships.rfind("0::/");
    auto const v1 = memberships.find(":cpuset:/");
    if (v1 == std::string::npos)
        return "/sys/fs/cgroup" + memberships.substr(v2 + 3, memberships.find('\n', v2) - v2 - 3);
    return "/sys/fs/cgroup/cpuset" + memberships.substr(v1 + 8, memberships.find('\n', v1) - v1 - 8);
}

[[nodiscard]] std::string line_of(std::string const& file) {
    auto const text = content_of(file);
    return text.substr(0, text.find('\n'));
}

[[nodiscard]] process::cpu_set only(unsigned cpu) {
    process::cpu_set out;
    out.insert(cpu);
    return out;
}

/// A run on cgroups with a cpuset, or the end of the program.
[[nodiscard]] node_backend open_here() {
    auto opened = node_backend::open({.choice = "cgroup", .cpus = {}});
    if (!opened || opened->cpus().all().size() < 2) {
        std::puts("skipped: no cgroups can be used here, or there is one CPU to choose from");
        std::exit(77);
    }
    return std::move(opened).value();
}

/// A group in which this process has no cpuset, as in a login without one. Made in the root of a v2 hierarchy that has
/// no other group, so that no other process loses a cpuset by it.
class group_without_cpuset {
    std::string const root_ = "/sys/fs/cgroup", path_ = root_ + "/ration-test-" + std::to_string(::getpid());
    bool there_ = false;

    [[nodiscard]] static bool put(std::string const& file, std::string const& text) {
        std::ofstream out(file);
        out << text << std::flush;
        return out.good();
    }

public:
    group_without_cpuset() {
        bool const alone = content_of("/proc/self/cgroup") == "0::/\n" &&
                           std::ranges::none_of(std::filesystem::directory_iterator(root_),
                                                [](auto const& entry) { return entry.is_directory(); });
        there_ = alone && put(root_ + "/cgroup.subtree_control", "-cpuset") &&
                 std::filesystem::create_directory(path_) && put(path_ + "/cgroup.procs", "0");
    }
    group_without_cpuset(group_without_cpuset const&) = delete;
    group_without_cpuset& operator=(group_without_cpuset const&) = delete;
    ~group_without_cpuset() {
        if (there_) CHECK((put(root_ + "/cgroup.procs", "0") && std::filesystem::remove(path_)));
    }
    [[nodiscard]] explicit operator bool() const noexcept { return there_; }
};

[[nodiscard]] unsigned last_of(process::cpu_set const& cpus) {
    unsigned last = 0;
    cpus.for_each([&last](unsigned cpu) { last = cpu; });
    return last;
}

struct job_here {
    process_test::folder const folder;
    std::string const name = "vae", output = folder / "output";
    node_backend node = open_here();
    std::optional<process::child> child;

    void launch(process::cpu_set const& cpus, char const* script) {
        auto started = node.launch(
            {.job = {1}, .name = name, .token = "0123456789abcdef", .memory = bytes{64 << 20}, .cpus = cpus},
            {.command = {"/bin/sh", "-c", script}, .environment = {"PATH=/usr/bin:/bin"}, .output_file = output});
        REQUIRE(started);
        child.emplace(std::move(started).value());
    }
    /// What a job on this one CPU sees, once it has ended: its status, and its groups.
    [[nodiscard]] std::string seen_on(unsigned cpu) {
        launch(only(cpu), "cat /proc/self/status /proc/self/cgroup");
        REQUIRE(child->wait_for(process_test::patience));
        auto seen = content_of(output);
        CHECK(value_of(seen, "Cpus_allowed_list") == std::to_string(cpu));
        return seen;
    }
    [[nodiscard]] std::string of_process(char const* file) const {
        return content_of("/proc/" + std::to_string(child->pid()) + file);
    }
    ~job_here() { CHECK(node.remove({1})); }
};

}  // namespace

TEST_CASE("a job has the CPUs that it was launched on from its first instruction, and its group says so") {
    job_here job;
    auto const last = last_of(job.node.cpus().all());
    auto const seen = job.seen_on(last);
    CHECK(value_of(seen, "Mems_allowed_list") == value_of(content_of("/proc/self/status"), "Mems_allowed_list"));
    auto const group = cpuset_of(seen.substr(seen.find("\nMems_allowed")));
    CHECK(line_of(group + "/cpuset.cpus") == std::to_string(last));
    bool const v2 = job.node.jobs().name() == "cgroup v2";
    CHECK(line_of(group + (v2 ? "/cpuset.cpus.effective" : "/cpuset.effective_cpus")) == std::to_string(last));
    if (!v2) return;
    CHECK(line_of(group + "/memory.max") == std::to_string(64 << 20));
    CHECK(line_of(group + "/cpuset.mems") == "");  // memory is not bound: the kernel takes it beside the CPUs
    CHECK(line_of(group + "/cpuset.mems.effective") == value_of(seen, "Mems_allowed_list"));
    for (char const* const of : {"", "/.."}) CHECK(line_of(group + of + "/cpuset.cpus.partition") == "member");
}

TEST_CASE("a job that runs is bound to other CPUs under way") {
    job_here job;
    unsigned first = 0;
    job.node.cpus().all().lowest(1).for_each([&first](unsigned cpu) { first = cpu; });
    job.launch({}, "kill -STOP $$");
    CHECK(value_of(job.of_process("/status"), "Cpus_allowed_list") == job.node.cpus().all().list().view());
    REQUIRE(job.node.jobs().confine({1}, only(first)));
    CHECK(value_of(job.of_process("/status"), "Cpus_allowed_list") == std::to_string(first));
    CHECK(line_of(cpuset_of("\n" + job.of_process("/cgroup")) + "/cpuset.cpus") == std::to_string(first));
}

TEST_CASE("a job that has no cpuset is bound to its CPUs by affinity") {
    group_without_cpuset const here;
    if (!here) return;  // done in the guest
    job_here job;
    auto const last = last_of(job.node.cpus().all());
    auto const seen = job.seen_on(last);
    CHECK_FALSE(std::filesystem::exists(cpuset_of(seen.substr(seen.find("\nMems_allowed"))) + "/cpuset.cpus"));
    CHECK(job.node.jobs().confine({1}, only(last)));
}
