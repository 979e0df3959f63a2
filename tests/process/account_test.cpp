// SPDX-License-Identifier: BSL-1.0
// Jobs of another user, which only root can start.
#include <future>
#include <thread>

#include "support.hpp"

using namespace process_test;

namespace {

constexpr uid_t other_uid = 60'001, other_group = 60'002;
process::account const other{.uid = other_uid, .gid = other_uid, .groups = {other_group}};

bool is_root() {
    if (::geteuid() == 0) return true;
    WARN("not tested: only root can start a process of another user");
    return false;
}

uid_t owner_of(std::string const& path) {
    struct stat about{};
    REQUIRE(::lstat(path.c_str(), &about) == 0);
    return about.st_uid;
}

/// As the other user, in this directory.
process::launch_spec as_other(std::string const& script, std::string const& directory) {
    auto spec = shell(script);
    spec.user = other;
    spec.working_directory = directory;
    return spec;
}

int refusal_of(process::launch_spec const& spec) {
    auto const started = process::launch(spec);
    REQUIRE_FALSE(started);
    return started.failure().system;
}

}  // namespace

TEST_CASE("a job of another user has its user and its groups, and nothing of root") {
    if (!is_root()) return;
    folder const here;
    auto const secret = here.write("secret", "of root\n", 0600);
    auto job = start(
        as_other("id -u; id -ru; id -g; id -G; cat secret 2>/dev/null; echo written 2>/dev/null >secret; touch made",
                 here.path()));
    CHECK(output_of(job) == "60001\n60001\n60001\n60001 60002\n");
    CHECK(finish(job).success());
    CHECK(owner_of(here / "made") == other_uid);
    CHECK(content_of(secret) == "of root\n");
}

TEST_CASE("a job of another user starts in no directory and no program that this user cannot reach") {
    if (!is_root()) return;
    folder const here;
    auto const closed = here / "closed";
    ::mkdir(closed.c_str(), 0700);
    CHECK(refusal_of(as_other("true", closed)) == EACCES);
    std::filesystem::create_directory(closed + "/open");
    CHECK(refusal_of(as_other("true", closed + "/open")) == EACCES);  // a descriptor of root leads there
    auto spec = as_other("true", here.path());
    spec.command = {closed + "/program"};
    std::filesystem::copy_file("/bin/true", spec.command.front());
    CHECK(refusal_of(spec) == EACCES);
}

TEST_CASE("the output of a job of another user goes to no file that is closed to this user") {
    if (!is_root()) return;
    folder const here;
    auto const secret = here.write("secret", "of root\n", 0600);
    auto spec = as_other("echo written", here.path());
    spec.output_file = here / "log";
    std::filesystem::create_symlink(secret, spec.output_file);
    CHECK(refusal_of(spec) == EACCES);
    CHECK(content_of(secret) == "of root\n");
    std::filesystem::remove(spec.output_file);
    auto job = start(spec);
    CHECK(finish(job).success());
    CHECK(owner_of(spec.output_file) == other_uid);
}

TEST_CASE("the rights of another user end with their object, and are those of one thread") {
    if (!is_root()) return;
    folder const here;
    auto const secret = here.write("secret", "of root\n", 0600);
    {
        process::file_rights const rights(&other);
        CHECK(::open(secret.c_str(), O_RDONLY | O_CLOEXEC) == -1);
        CHECK(::getgroups(0, nullptr) == 1);
        CHECK(::kill(1, 0) == 0);
    }
    CHECK(content_of(secret) == "of root\n");
    std::promise<void> changed, over;
    std::thread another([&] {
        process::file_rights const rights(&other);
        changed.set_value();
        over.get_future().wait();
    });
    changed.get_future().wait();
    CHECK(content_of(secret) == "of root\n");
    over.set_value();
    another.join();
    process::file_rights const none(nullptr);
    CHECK(content_of(secret) == "of root\n");
}
