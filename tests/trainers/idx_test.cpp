// SPDX-License-Identifier: BSL-1.0
// The reader takes what is right, and names the file and the fault of what is not.
#include "idx.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <unistd.h>
#include <variant>
#include <vector>
#include <zlib.h>

#include "fashion_mnist.hpp"
#include "support/catch.hpp"

using namespace trainers;
namespace fs = std::filesystem;

namespace {

struct scratch {
    fs::path folder;

    scratch() {
        std::string name = (fs::temp_directory_path() / "ration-idx-XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        folder = name;
    }
    scratch(scratch const&) = delete;
    ~scratch() { fs::remove_all(folder); }
};

using bytes = std::string;

bytes word(std::uint32_t x) {
    return {static_cast<char>(x >> 24), static_cast<char>(x >> 16), static_cast<char>(x >> 8), static_cast<char>(x)};
}

bytes idx_bytes(std::vector<std::uint32_t> const& sizes, bytes const& elements) {
    bytes all{0, 0, 8, static_cast<char>(sizes.size())};
    for (auto const size : sizes) all += word(size);
    return all + elements;
}

void write_raw(fs::path const& to, bytes const& content) { std::ofstream(to, std::ios::binary) << content; }

void write_packed(fs::path const& to, bytes const& content) {
    gzFile const file = gzopen(to.c_str(), "wb");
    REQUIRE(gzwrite(file, content.data(), static_cast<unsigned>(content.size())) == static_cast<int>(content.size()));
    REQUIRE(gzclose(file) == Z_OK);
}

bytes raw(fs::path const& from) {
    std::ifstream file(from, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string problem_of(fs::path const& path, unsigned axes) {
    auto const got = read_idx(path, axes);
    auto const* problem = std::get_if<std::string>(&got);
    return problem != nullptr ? *problem : "none";
}

/// The problem that the reader reports for a file with this content.
std::string problem_with(bytes const& content, unsigned axes = 1) {
    scratch const here;
    auto const path = here.folder / "f.gz";
    write_packed(path, content);
    auto const problem = problem_of(path, axes);
    auto const named = path.string() + ": ";
    if (problem == "none") return problem;
    CHECK(problem.substr(0, named.size()) == named);
    return problem.substr(named.size());
}

bytes const images_of_two = idx_bytes({2, 28, 28}, bytes(2 * 784, '\x40'));

std::string problem_with_set(bytes const& images, bytes const& labels) {
    scratch const here;
    write_packed(here.folder / "train-images-idx3-ubyte.gz", images);
    write_packed(here.folder / "train-labels-idx1-ubyte.gz", labels);
    auto const got = load_fashion_mnist(here.folder);
    auto const* problem = std::get_if<std::string>(&got);
    return problem != nullptr ? problem->substr(here.folder.string().size()) : "none";
}

}  // namespace

TEST_CASE("what was written is read, compressed or plain") {
    scratch const here;
    auto const content = idx_bytes({2, 3}, "abcdef");
    write_packed(here.folder / "packed.gz", content);
    write_raw(here.folder / "plain", content);
    for (auto const* name : {"packed.gz", "plain"}) {
        auto const got = read_idx(here.folder / name, 2);
        REQUIRE(std::holds_alternative<idx>(got));
        CHECK(std::get<idx>(got).sizes == std::vector<std::uint32_t>{2, 3});
        CHECK(std::get<idx>(got).elements == std::vector<std::uint8_t>{'a', 'b', 'c', 'd', 'e', 'f'});
    }
}

TEST_CASE("a wrong header is refused") {
    auto const wrong_magic = "not an idx file of unsigned bytes with 1 axes";
    CHECK(problem_with(idx_bytes({3}, "abc")) == "none");
    CHECK(problem_with(bytes{0, 0, 9, 1} + word(3) + "abc") == wrong_magic);
    CHECK(problem_with(bytes{0, 1, 8, 1} + word(3) + "abc") == wrong_magic);
    CHECK(problem_with(bytes{1, 0, 8, 1} + word(3) + "abc") == wrong_magic);
    CHECK(problem_with(idx_bytes({3, 1}, "abc")) == wrong_magic);
    CHECK(problem_with("these are no images") == wrong_magic);
    CHECK(problem_with(idx_bytes({0}, "")) == "its header asks for 0 elements");
    CHECK(problem_with(idx_bytes({4, 0}, ""), 2) == "its header asks for 0 elements");
    CHECK(problem_with(idx_bytes({0xffffffff}, "abc")) == "its header asks for 4294967295 elements");
    CHECK(problem_with(idx_bytes({0xffff, 0xffff, 0xffffffff}, "abc"), 3) == "its header asks for 4294836225 elements");
    CHECK(problem_with(idx_bytes({0x10000, 0x10000, 0x10000, 0x10000}, "abc"), 4) ==
          "its header asks for 4294967296 elements");
}

TEST_CASE("a file that ends elsewhere than its header says is refused") {
    CHECK(problem_with("") == "ends too early");
    CHECK(problem_with(bytes{0, 0, 8}) == "ends too early");
    CHECK(problem_with(bytes{0, 0, 8, 2} + word(3), 2) == "ends too early");
    CHECK(problem_with(idx_bytes({3}, "ab")) == "ends too early");
    CHECK(problem_with(idx_bytes({3}, "abcd")) == "continues after its last element");
}

TEST_CASE("a file cut anywhere, or with any byte changed behind gzip's header, is refused") {
    scratch const here;
    auto const path = here.folder / "f.gz";
    bytes varied(300, '\0');
    std::iota(varied.begin(), varied.end(), '\0');
    write_packed(path, idx_bytes({300}, varied));
    auto const whole = raw(path);
    REQUIRE(problem_of(path, 1) == "none");
    for (std::size_t size = 0; size < whole.size(); ++size) {
        write_raw(path, whole.substr(0, size));
        INFO("cut to " << size);
        CHECK(problem_of(path, 1) != "none");
    }
    for (std::size_t at = 10; at < whole.size(); ++at) {
        auto changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ 0x10);
        write_raw(path, changed);
        INFO("changed at " << at);
        CHECK(problem_of(path, 1) != "none");
    }
}

TEST_CASE("a file that is absent or no file is named with the system's reason") {
    CHECK(problem_of("/nowhere/f.gz", 1) == "/nowhere/f.gz: No such file or directory");
    CHECK(problem_of("/tmp", 1) == "/tmp: Is a directory");
}

TEST_CASE("images and labels must fit together") {
    CHECK(problem_with_set(images_of_two, idx_bytes({2}, {3, 9})) == "none");
    CHECK(problem_with_set(images_of_two, idx_bytes({3}, {3, 9, 1})) == ": 2 images, but 3 labels");
    CHECK(problem_with_set(images_of_two, idx_bytes({1}, {3})) == ": 2 images, but 1 labels");
    CHECK(problem_with_set(images_of_two, idx_bytes({2}, {3, 10})) == ": a label above 9");
    CHECK(problem_with_set(idx_bytes({2, 28, 27}, bytes(2 * 756, 'x')), idx_bytes({2}, {3, 9})) ==
          ": images of 28 x 27 pixels, not 28 x 28");
    CHECK(problem_with_set(idx_bytes({2, 784}, bytes(2 * 784, 'x')), idx_bytes({2}, {3, 9})) ==
          "/train-images-idx3-ubyte.gz: not an idx file of unsigned bytes with 3 axes");
}

TEST_CASE("the real data set is read whole") {
    if (!fs::exists(fashion_mnist::default_folder)) {
        WARN("no data set in " << fashion_mnist::default_folder << ": not tried");
        return;
    }
    auto const got = load_fashion_mnist(fashion_mnist::default_folder);
    REQUIRE(std::holds_alternative<fashion_mnist>(got));
    auto const& data = std::get<fashion_mnist>(got);
    CHECK(data.images.size() == 60'000 * fashion_mnist::pixels);
    std::array<int, 10> counts{};
    for (auto const label : data.labels) ++counts[label];
    CHECK(std::ranges::all_of(counts, [](int n) { return n == 6'000; }));
}
