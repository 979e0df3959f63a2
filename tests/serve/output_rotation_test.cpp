// SPDX-License-Identifier: BSL-1.0
#include "serve/output_rotation.hpp"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include <ration/process/descriptor.hpp>

#include "support/catch.hpp"
#include "temporary_folder.hpp"

using namespace ration;
using namespace ration::program;

namespace {

[[nodiscard]] std::string content_of(std::string const& path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
}

/// The output of a job, as its launcher opens it.
struct output {
    std::string path;
    process::descriptor file{::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};

    void write(std::string const& text) const {
        REQUIRE(::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    }
};

}  // namespace

TEST_CASE("output_rotation: a large output moves aside, and its program goes on in an empty file") {
    temporary_folder const folder;
    output const out{folder.path + "/a.log"};
    out.write("short");
    rotate_output(out.file.get(), out.path, 10);
    CHECK(content_of(out.path) == "short");
    CHECK_FALSE(std::filesystem::exists(earlier_output(out.path)));
    out.write(" and long");
    rotate_output(out.file.get(), out.path, 10);
    CHECK(content_of(earlier_output(out.path)) == "short and long");
    out.write("after");
    CHECK(content_of(out.path) == "after");
    out.write(std::string(200'000, 'x'));
    rotate_output(out.file.get(), out.path, 10);
    CHECK(content_of(earlier_output(out.path)) == "after" + std::string(200'000, 'x'));
    CHECK(std::filesystem::file_size(out.path) == 0);
}

TEST_CASE("output_rotation: a pipe of the job in its way neither holds it up nor gets the output") {
    temporary_folder const folder;
    output const out{folder.path + "/a.log"};
    auto const pipe = out.path + ".new";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    out.write("0123456789");
    rotate_output(out.file.get(), out.path, 10);  // an open of the pipe would wait for a reader
    CHECK(content_of(earlier_output(out.path)) == "0123456789");
    CHECK(std::filesystem::is_regular_file(earlier_output(out.path)));
    CHECK_FALSE(std::filesystem::exists(pipe));
}

TEST_CASE("output_rotation: nothing is emptied that was not kept, or that is another file") {
    temporary_folder const folder;
    output const out{folder.path + "/a.log"};
    out.write("0123456789");
    std::filesystem::create_directory(earlier_output(out.path));  // nothing can be renamed to it
    rotate_output(out.file.get(), out.path, 10);
    CHECK(content_of(out.path) == "0123456789");
    CHECK_FALSE(std::filesystem::exists(out.path + ".new"));
    std::filesystem::remove(earlier_output(out.path));
    output const other{folder.path + "/b.log"};
    other.write("another file");
    rotate_output(out.file.get(), other.path, 10);
    CHECK(content_of(out.path) == "0123456789");
    CHECK(content_of(other.path) == "another file");
    CHECK_FALSE(std::filesystem::exists(earlier_output(other.path)));
}
