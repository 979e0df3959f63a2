// SPDX-License-Identifier: BSL-1.0
// The fork server of the Python package, with a module of the standard library.
#include <csignal>
#include <memory>

#include <ration/process/fork_server.hpp>

#include "support.hpp"

using namespace process_test;

namespace {

process::launch_spec python(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "python3");
    return {.command = std::move(arguments),
            .environment = {"PATH=/usr/bin:/bin", "PYTHONPATH=" RATION_PYTHON_PACKAGE, "PYTHONDONTWRITEBYTECODE=1"}};
}

std::unique_ptr<process::fork_server> server_with(std::string const& module) {
    auto started = process::fork_server::start(python({"-m", "ration.fork_server", module}));
    REQUIRE(started);
    return std::move(started).value();
}

std::unique_ptr<process::fork_server> ready_server() {
    auto server = server_with("colorsys");
    REQUIRE(eventually([&] { return server->is_ready(); }));
    return server;
}

}  // namespace

TEST_CASE("a fork server launches a child of the controller, which has its modules") {
    folder const here;
    process::descriptor const journal(
        ::open((here / "journal").c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
    auto spec = python({here.write("a.py",
                                   "import os, sys\n"
                                   "print('colorsys' in sys.modules, sys.argv[1], os.environ['WHERE'])\n"
                                   "sys.exit(3)\n"),
                        "b c"});
    spec.working_directory = here.path();
    spec.environment.push_back("WHERE=here");
    spec.journal = journal.get();
    spec.journal_entry = "begun\n";
    pid_t placed = 0;
    auto const place = [&](pid_t pid) -> ration::result<void> {
        placed = pid;
        auto const row = process::read_process(pid);
        CHECK((row && row->parent == ::getpid() && row->session == pid));
        return {};
    };
    spec.place = place;
    auto const server = ready_server();
    for (int i = 0; i < 2; ++i) {
        auto started = server->launch(spec);
        REQUIRE(started);
        test_job job(std::move(started).value());
        CHECK(job.pid() == placed);
        CHECK(content_of(here / "journal") == (i == 0 ? "begun\n" : "begun\nbegun\n"));
        CHECK(output_of(job) == "True b c here\n");
        CHECK(finish(job).number == 3);
    }
}

TEST_CASE("a process of a fork server that cannot be placed never runs") {
    folder const here;
    auto spec = python({here.write("a.py", "open('" + here / "ran" + "', 'w')")});
    pid_t placed = 0;
    auto const place = [&](pid_t pid) -> ration::result<void> {
        placed = pid;
        return ration::error{.code = errc::no_capacity};
    };
    spec.place = place;
    auto const failed = ready_server()->launch(spec);
    REQUIRE_FALSE(failed);
    CHECK(failed.failure().code == errc::no_capacity);
    CHECK(::kill(placed, 0) != 0);
    CHECK_FALSE(std::filesystem::exists(here / "ran"));
}

TEST_CASE("a fork server that has ended launches nothing, and one without its module is never ready") {
    auto const server = server_with("no_such_module");
    REQUIRE(eventually([&] { return server->ended().has_value(); }));
    CHECK(server->ended()->number == 1);
    CHECK_FALSE(server->is_ready());
    auto const failed = server->launch(python({"-m", "this"}));
    REQUIRE_FALSE(failed);
    CHECK(failed.failure().code == errc::gone);
    CHECK(std::string_view(failed.failure().remedy) == "it did not fork the job's process; read the output of the job");
}

TEST_CASE("a fork server does not outlive its controller's handle, and its processes do") {
    folder const here;
    auto const script = here.write("a.py", "import time\nprint('up', flush=True)\ntime.sleep(100)");
    auto server = ready_server();
    auto started = server->launch(python({script}));
    REQUIRE(started);
    test_job job(std::move(started).value());
    server.reset();
    CHECK_FALSE(job.try_wait());
    CHECK(job.signal(SIGTERM));
    CHECK(finish(job).number == SIGTERM);
}
