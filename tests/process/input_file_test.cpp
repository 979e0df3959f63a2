// SPDX-License-Identifier: BSL-1.0
// Inputs of every type: only a regular file of the right size is read, and nothing blocks.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <ration/process/input_file.hpp>

#include "support/catch.hpp"

using namespace ration;
using namespace ration::process;

namespace {

constexpr input_rules small{
    .remedy = "name a smaller one", .most_bytes = 100'000, .too_large = "is larger than 100 kB"};

struct folder {
    std::filesystem::path path = std::filesystem::temp_directory_path() / ("ration-test-" + std::to_string(::getpid()));
    folder() { std::filesystem::create_directory(path); }
    folder(folder const&) = delete;
    folder& operator=(folder const&) = delete;
    ~folder() { std::filesystem::remove_all(path); }

    [[nodiscard]] std::string with(char const* name, std::size_t bytes) const {
        std::ofstream(path / name) << std::string(bytes, 'x');
        return path / name;
    }
};

[[nodiscard]] std::string refusal(std::string const& path) {
    auto const read = read_input(path, small);
    REQUIRE_FALSE(read);
    CHECK(read.failure().subject.view() == path);
    return input_sentence(read.failure());
}

}  // namespace

TEST_CASE("a regular file is read whole, up to its limit") {
    folder const here;
    for (std::size_t const bytes : {0UL, 1UL, 65'535UL, 65'536UL, 65'537UL, 100'000UL}) {
        auto const read = read_input(here.with("file", bytes), small);
        REQUIRE(read);
        CHECK(*read == std::string(bytes, 'x'));
    }
    CHECK(refusal(here.with("file", 100'001)) == "is larger than 100 kB; name a smaller one");
    std::filesystem::create_symlink(here.path / "file", here.path / "link");
    CHECK(refusal(here.path / "link") == "is larger than 100 kB; name a smaller one");
}

TEST_CASE("a file that has no size is read as far as it goes") {
    auto const own = read_input("/proc/self/status", small);
    REQUIRE(own);
    CHECK(own->find("State:") != std::string::npos);
    auto const large = read_input(
        "/proc/self/maps", {.remedy = "name a smaller one", .most_bytes = 10, .too_large = "is larger than 10 bytes"});
    REQUIRE_FALSE(large);
    CHECK(large.failure().code == errc::out_of_range);
}

TEST_CASE("everything else is refused by its type, and nothing blocks") {
    folder const here;
    auto const pipe = (here.path / "pipe").string();
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(refusal(pipe) == "is a pipe; name a smaller one");
    descriptor const writer(::open(pipe.c_str(), O_RDWR | O_CLOEXEC));
    CHECK(refusal(pipe) == "is a pipe; name a smaller one");
    CHECK(refusal("/dev/zero") == "is a device; name a smaller one");
    CHECK(refusal(here.path) == "is a folder; name a smaller one");
    CHECK(refusal(here.path / "absent") == "cannot be opened (No such file or directory); name a smaller one");
    CHECK(refusal("/proc/self/mem") == "cannot be read (Input/output error); name a smaller one");
    CHECK(open_input(here.path, small).failure().code == errc::invalid_value);
    CHECK(open_input(here.path / "absent", small).failure().code == errc::not_found);
}
