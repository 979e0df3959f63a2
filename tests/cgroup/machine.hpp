// SPDX-License-Identifier: BSL-1.0
// What the suite runs on: the model or the kernel, with processes to put into groups.
#pragma once

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <ration/cgroup/backend.hpp>
#include <ration/cgroup/detail/filter.hpp>
#include <ration/cgroup/kernel_io.hpp>

#include "support/cgroup/model.hpp"

namespace cgroup_test {

using namespace ration;
using namespace ration::cgroup;
using ration::cgroup::controller;  // not any other library's

class machine {
public:
    machine() = default;
    machine(machine const&) = delete;
    machine& operator=(machine const&) = delete;
    virtual ~machine() = default;
    [[nodiscard]] virtual std::string name() const = 0;
    [[nodiscard]] virtual io& calls() = 0;
    // A process that does nothing, where we are.
    [[nodiscard]] virtual int spawn() = 0;
    // From now on it uses so much memory and will not give it back.
    virtual void use_memory(int pid, std::int64_t amount) = 0;
    // From now on so much of a file that it does not map is cached on its account.
    virtual void fill_cache(int pid, std::int64_t amount) = 0;
    [[nodiscard]] virtual bool alive(int pid) = 0;
    [[nodiscard]] virtual modelled::world* world() { return nullptr; }  // the model's
};

class model_machine final : public machine {
    model calls_;
    std::string name_;

public:
    explicit model_machine(flavour which, std::string own = "", std::uint32_t cpus = 4)
        : calls_(which, cpus, own), name_("model " + std::string(name_of(which)) + (own.empty() ? "" : " in " + own)) {}
    std::string name() const override { return name_; }
    io& calls() override { return calls_; }
    int spawn() override { return calls_.spawn(); }
    void use_memory(int pid, std::int64_t amount) override { calls_.machine().use_memory(pid, amount); }
    void fill_cache(int pid, std::int64_t amount) override {
        auto& all = calls_.machine();
        all.reclaimable[all.memory_node(pid)] = amount;
    }
    bool alive(int pid) override { return calls_.machine().processes.contains(pid); }
    modelled::world* world() override { return &calls_.machine(); }
};

// The kernel without its v2 hierarchy, as an older system sees it.
class without_v2 final : public filter {
public:
    using filter::filter;

protected:
    int after(call const& what, answer const& got) noexcept override {
        if (what.name == "/proc/self/mountinfo") {
            std::string kept;
            for_each_line(*got.text, [&](std::string_view line) {
                kept += line.find(" - cgroup2 ") == std::string_view::npos ? std::string(line) + "\n" : "";
            });
            *got.text = kept;
        }
        return got.failed;
    }
};

class kernel_machine final : public machine {
    struct helper {
        int pid, commands, answers;
    };
    kernel_io kernel_;
    without_v2 older_{kernel_};
    bool v2_;
    std::vector<helper> helpers_;

public:
    explicit kernel_machine(bool v2) : v2_(v2) {}
    ~kernel_machine() override {
        for (helper const& each : helpers_) {
            ::close(each.commands);
            ::close(each.answers);
            ::kill(each.pid, SIGKILL);
            ::waitpid(each.pid, nullptr, 0);
        }
    }
    std::string name() const override { return v2_ ? "kernel" : "kernel without v2"; }
    io& calls() override { return v2_ ? static_cast<io&>(kernel_) : static_cast<io&>(older_); }

    int spawn() override {
        int commands[2], answers[2];
        if (::pipe2(commands, O_CLOEXEC) != 0 || ::pipe2(answers, O_CLOEXEC) != 0) return -1;
        int const pid = ::fork();
        if (pid == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::signal(SIGTERM, SIG_DFL);  // Catch installs its own handler
            ::close(commands[1]);
            serve(commands[0], answers[1]);
        }
        ::close(commands[0]);
        ::close(answers[1]);
        helpers_.push_back({pid, commands[1], answers[0]});
        return pid;
    }

    void use_memory(int pid, std::int64_t amount) override { ask(pid, {amount, false}); }
    void fill_cache(int pid, std::int64_t amount) override { ask(pid, {amount, true}); }

    // A zombie does not count. SIGKILL takes a moment.
    bool alive(int pid) override {
        siginfo_t info{};
        return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
    }

private:
    struct request {
        std::int64_t amount;
        bool cached;
    };

    // A helper that dies of it does not answer.
    void ask(int pid, request const& what) {
        for (helper const& each : helpers_) {
            char done = 0;
            bool const asked = each.pid == pid && ::write(each.commands, &what, sizeof what) == sizeof what;
            if (asked && ::read(each.answers, &done, 1) < 0) std::perror("helper");
        }
    }

    [[noreturn]] static void serve(int commands, int answers) {
        request wanted{};
        while (::read(commands, &wanted, sizeof wanted) == sizeof wanted) {
            auto const size = static_cast<std::size_t>(wanted.amount);
            wanted.cached ? write_file(size) : touch(size);
            if (::write(answers, "x", 1) != 1) break;
        }
        ::_exit(0);
    }

    static void touch(std::size_t size) {
        auto* const block =
            static_cast<char*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        for (std::size_t i = 0; block != MAP_FAILED && i < size; i += 4096) block[i] = 1;
    }

    // Open until the helper ends: the pages of a file without a name go with its last descriptor.
    static void write_file(std::size_t size) {
        int const file = ::open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        std::vector<char> const block(1 << 20, 'x');
        for (std::size_t done = 0; file >= 0 && done < size; done += block.size())
            if (::write(file, block.data(), block.size()) < 0) std::perror("helper");
    }
};

// Those that this test program runs on; each program has its own.
[[nodiscard]] std::vector<std::unique_ptr<machine>> machines();

// A name for a run of this test that cleanup by hand would recognise.
[[nodiscard]] inline std::string run_name_here() { return "test-" + std::to_string(::getpid()); }

// Groups of this test program that are still there, by path.
[[nodiscard]] inline std::vector<std::string> left_behind(io& calls) {
    std::vector<std::string> found;
    auto const where = tree::discover(calls);
    if (!where) return {"(no tree)"};
    for (branch const& each : where->branches()) {
        auto const names = each.own.list();
        for (std::string const& name : names ? *names : std::vector<std::string>{}) {
            auto const run = parse_run_name(name);
            // Also what a run has left without the rest of its name; what a killed program left is not ours.
            if ((run && run->who.pid == calls.self()) || name == "ration-" + run_name_here())
                found.push_back(each.own.path() + "/" + name);
        }
    }
    return found;
}

// Until `done()` or a second has passed.
template <class Done>
[[nodiscard]] bool soon(io& calls, Done done) {
    for (int turn = 0; turn < 200; ++turn) {
        if (done()) return true;
        calls.sleep(milliseconds(5));
    }
    return false;
}

}  // namespace cgroup_test
