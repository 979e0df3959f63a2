// SPDX-License-Identifier: BSL-1.0
// A plugin that reads and starts what is none of its business (policies/thief.cpp), and a worker that lets it have
// nothing.
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <ration/plugin/host/readable_files.hpp>

#include "loaded.hpp"

using namespace plugin_test;
namespace fs = std::filesystem;

namespace {

/// What it came to, in the order of its rows.
struct loot {
    std::int64_t while_loading = -1, file = -1, folder = -1, environment_of_host = -1, threads = -1,
                 files_inherited = -1;
    friend bool operator==(loot const&, loot const&) = default;
};

std::ostream& operator<<(std::ostream& out, loot const& l) {
    return out << "while loading " << l.while_loading << ", file " << l.file << ", folder " << l.folder
               << ", environment " << l.environment_of_host << ", threads " << l.threads << ", files inherited "
               << l.files_inherited;
}

/// A home with a key in it, and one open file that a program it starts would have too.
struct home {
    fs::path const folder = fs::temp_directory_path() / ("ration-home-" + std::to_string(::getpid()));
    std::string const key = folder / ".ssh/id_ed25519";
    int left_open;

    home() {
        fs::create_directories(folder / ".ssh");
        std::ofstream(key) << "secret\n";
        left_open = ::fcntl(::open(key.c_str(), O_RDONLY | O_CLOEXEC), F_DUPFD, 40);
        REQUIRE(left_open >= 40);
    }
    home(home const&) = delete;
    ~home() {
        ::close(left_open);
        fs::remove_all(folder);
    }
};

[[nodiscard]] loot stolen(std::string const& plugin, plugin::open_options with) {
    with.worker.deadline = seconds(20);  // 200 threads take their time
    loaded thief(plugin, with);
    REQUIRE(thief.tick() == status::ok);
    REQUIRE(thief.rows == 6);
    auto const of = [&](std::size_t row) { return thief.space[row].amount; };
    return {of(0), of(1), of(2), of(3), of(4), of(5)};
}

[[nodiscard]] bool has_landlock() {
    if (plugin::landlock_version() == 0) WARN("skipped: this kernel has no Landlock");
    return plugin::landlock_version() != 0;
}

/// Opens each of these in a process that may read nothing but libraries and what this object is linked with: an errno,
/// or 0.
[[nodiscard]] std::vector<int> errors_of_opening(std::vector<std::string> const& paths,
                                                 plugin::elf_facts const& linked) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    pid_t const child = ::fork();
    if (child == 0) {
        plugin::readable_files files;
        files.add_system();
        files.add_libraries_of(linked);
        bool const good = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && files.enforce();
        for (auto const& path : paths) {
            int const reply = !good ? -1 : ::open(path.c_str(), O_RDONLY) >= 0 ? 0 : errno;
            static_cast<void>(!::write(ends[1], &reply, sizeof reply));
        }
        ::_exit(0);
    }
    ::close(ends[1]);
    std::vector<int> reply(paths.size(), -2);
    for (int& one : reply) REQUIRE(::read(ends[0], &one, sizeof one) == sizeof one);
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return reply;
}

}  // namespace

TEST_CASE("a plugin in a worker opens no file, lists no folder, starts no thread and inherits nothing",
          "[plugin][hostile]") {
    if (!has_landlock()) return;
    home const h;
    auto const plugin = GENERATE("thief", "thief_threads");
    CHECK(stolen(plugin, options(isolation::worker, h.key)) == loot{EACCES, EACCES, EACCES, EACCES, 0, 0});
}

TEST_CASE("the same plugin in the host's process gets all of it", "[plugin][hostile]") {
    home const h;
    auto const had = stolen("thief", options(isolation::in_process, h.key));
    CHECK(had.while_loading == 0);
    CHECK(had.file == 0);
    CHECK(had.folder == 0);
    CHECK(had.environment_of_host == 0);
    CHECK(had.threads == 200);
    CHECK(had.files_inherited >= 1);
}

TEST_CASE("on a kernel without Landlock a worker reads what its user reads, and starts no thread all the same",
          "[plugin][hostile]") {
    home const h;
    auto with = options(isolation::worker, h.key);
    with.worker.program = {RATION_TEST_WITHOUT_LANDLOCK, {RATION_TEST_WORKER}};
    CHECK(stolen("thief", with) == loot{0, 0, 0, 0, 0, 0});
}

TEST_CASE("a worker lets threads be started where its host says so and the manifest does", "[plugin][hostile]") {
    home const h;
    auto with = options(isolation::worker, h.key);
    with.worker.threads = true;
    CHECK(stolen("thief", with).threads == 0);
    CHECK(stolen("thief_threads", with).threads == 200);
}

TEST_CASE("a plugin with threads of its own is tried before it runs in the host's process, and refused in a worker",
          "[plugin][hostile]") {
    loaded l("thief_threads", options(isolation::in_process, "thread"));
    CHECK(l.tick() == status::ok);
    CHECK(refusal(path_of("thief_threads"), options(isolation::worker, "thread")).subject == "threw an exception");
}

TEST_CASE("what a plugin is linked with can be read if it is a library, and nothing else by that way",
          "[plugin][hostile]") {
    if (!has_landlock()) return;
    home const h;
    auto const at = [&](char const* name) { return (h.folder / name).string(); };
    fs::create_directories(at("lib/python3.99"));
    fs::create_directories(at("lib/python3.98"));
    fs::create_directories(at("more"));
    for (char const* const name :
         {"lib/libone.so", "lib/libtwo.so", "lib/libpython3.99.so.1.0", "lib/libpython3.98.so", "more/libpython3.so"})
        fs::copy_file(path_of("counter"), at(name));
    for (char const* const name : {"lib/python3.99/os.py", "lib/python3.98/secret.py", "lib/note"})
        std::ofstream(at(name)) << "text\n";
    plugin::elf_facts linked;
    linked.needed = {"libone.so",        "note",          "id_ed25519", "libpython3.99.so.1.0",
                     "libpython3.98.so", "libpython3.so", "."};
    linked.search = {at("nowhere") + "::$ORIGIN/lib:lib:" + at("lib"), at(".ssh") + ":" + at("more") + ":"};
    // May be read
    auto const reply =
        errors_of_opening({at("lib/libone.so"), at("lib/libpython3.99.so.1.0"), at("lib/python3.99/os.py"),
                           at("more/libpython3.so"), at("lib/libtwo.so"), at("lib/note"),
                           at("lib/python3.98/secret.py"), h.key, at("lib"), at("more"), "/etc/passwd"},
                          linked);
    CHECK(reply == std::vector<int>{0, 0, 0, 0, EACCES, EACCES, EACCES, EACCES, EACCES, EACCES, EACCES});
}
