// SPDX-License-Identifier: BSL-1.0
// The replacement of a jobs file.
#include "measure/jobs_file.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include "support/catch.hpp"

using namespace ration::program;
using ration::to_text;
namespace fs = std::filesystem;

namespace {

class folder {
    std::string path_ = (fs::temp_directory_path() / "ration-test-XXXXXX").string();

public:
    folder() { REQUIRE(::mkdtemp(path_.data()) != nullptr); }
    ~folder() { fs::remove_all(path_); }
    folder(folder const&) = delete;
    folder& operator=(folder const&) = delete;

    [[nodiscard]] std::string file(std::string const& name) const { return path_ + '/' + name; }
    [[nodiscard]] auto files() const { return std::distance(fs::directory_iterator(path_), {}); }
};

void write(std::string const& path, std::string const& text) { std::ofstream(path) << text; }

[[nodiscard]] std::string content(std::string const& path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
}

[[nodiscard]] std::string refusal_to_replace(std::string const& file) {
    auto const done = replace_jobs_file(file, "old", "new");
    return done ? "replaced" : to_text(done.failure()).substr(file.size());
}

}  // namespace

TEST_CASE("replace_jobs_file: the mode and a link to the file stay") {
    folder const here;
    auto const file = here.file("jobs.toml"), link = here.file("link.toml");
    write(file, "old");
    REQUIRE(::chmod(file.c_str(), 0640) == 0);
    fs::create_symlink("jobs.toml", link);
    CHECK(static_cast<bool>(check_replaceable(link)));
    CHECK(refusal_to_replace(link) == "replaced");
    CHECK((content(file) == "new" && fs::is_symlink(link)));
    struct stat about{};
    REQUIRE(::stat(file.c_str(), &about) == 0);
    CHECK((about.st_mode & 07777) == 0640);
    CHECK(here.files() == 2);
}

TEST_CASE("replace_jobs_file: refuses a file that changed, with the file as it is") {
    folder const here;
    auto const file = here.file("jobs.toml");
    write(file, "other");
    CHECK(refusal_to_replace(file) ==
          ": it cannot be replaced: it changed during the measurement; put the list into it yourself");
    CHECK((content(file) == "other" && here.files() == 1));
}

TEST_CASE("replace_jobs_file: refuses files whose other names or places it would cut off") {
    folder const here;
    auto const file = here.file("jobs.toml");
    CHECK(refusal_to_replace(file) ==
          ": it cannot be replaced: it is not there any more; put the list into it yourself");
    write(file, "old");
    fs::create_hard_link(file, here.file("second.toml"));
    CHECK(refusal_to_replace(file) ==
          ": it cannot be replaced: it has hard links, which would keep the old text; put the list into it yourself");
    CHECK_FALSE(static_cast<bool>(check_replaceable(file)));
    REQUIRE(::mkfifo(here.file("pipe").c_str(), 0600) == 0);
    CHECK(refusal_to_replace(here.file("pipe")) ==
          ": it cannot be replaced: it is not a regular file; put the list into it yourself");
    CHECK(content(file) == "old");
}
