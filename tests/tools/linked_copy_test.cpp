// SPDX-License-Identifier: BSL-1.0
#include "run/linked_copy.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>

#include "support/catch.hpp"

using namespace ration::program;
namespace fs = std::filesystem;

namespace {

void write(fs::path const& path, std::string const& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

[[nodiscard]] std::string text_of(fs::path const& path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
}

struct place {
    fs::path here = fs::temp_directory_path() / ("ration-test-" + std::to_string(::getpid()));
    fs::path from = here / "from", to = here / "to";

    place() { fs::create_directory(here); }
    ~place() { fs::remove_all(here); }
    place(place const&) = delete;
    place& operator=(place const&) = delete;
    [[nodiscard]] ration::result<std::uint64_t> copy() const { return make_linked_copy(from.string(), to.string()); }
};

}  // namespace

TEST_CASE("linked_copy: has the regular files of the folder, and keeps them when they are replaced") {
    place p;
    write(p.from / "model", "one");
    write(p.from / "part" / "optimizer", "two");
    fs::create_symlink("/etc/passwd", p.from / "link");
    CHECK(p.copy().value_or(0) == 2);
    CHECK(fs::equivalent(p.to / "model", p.from / "model"));
    CHECK(text_of(p.to / "part" / "optimizer") == "two");
    CHECK_FALSE(fs::exists(fs::symlink_status(p.to / "link")));
    write(p.from / "new", "later");
    fs::rename(p.from / "new", p.from / "model");
    CHECK(text_of(p.to / "model") == "one");
}

TEST_CASE("linked_copy: takes the place of an earlier one, and a failure leaves that one") {
    place p;
    write(p.to / "old", "old");
    CHECK(p.copy().failure().code == ration::errc::io);  // the folder to copy does not exist
    fs::create_directory(p.from);
    CHECK(p.copy().failure().code == ration::errc::not_found);
    CHECK(text_of(p.to / "old") == "old");
    write(p.from / "model", "one");
    CHECK(p.copy().value_or(0) == 1);
    CHECK_FALSE(fs::exists(p.to / "old"));
    CHECK_FALSE(fs::exists(p.to.string() + ".new"));
}

TEST_CASE("linked_copy: folders that are nested too deep are refused") {
    place p;
    fs::path deep = p.from;
    for (int level = 0; level < 40; ++level) deep /= "d";
    write(deep / "model", "one");
    CHECK(p.copy().failure().code == ration::errc::limit);
    CHECK_FALSE(fs::exists(p.to));
    CHECK_FALSE(fs::exists(p.to.string() + ".new"));
}
