// SPDX-License-Identifier: BSL-1.0
// Which files are loaded at all, and that a copy cannot be changed.
#include <filesystem>
#include <fstream>

#include "loaded.hpp"

using namespace plugin_test;
namespace fs = std::filesystem;

namespace {

struct folder {
    fs::path path;
    folder() {
        std::string name = (fs::temp_directory_path() / "ration-plugins-XXXXXX").string();
        path = ::mkdtemp(name.data());
    }
    ~folder() { fs::remove_all(path); }
    [[nodiscard]] std::string with_plugin(fs::perms perms = fs::perms(0644)) const {
        fs::copy_file(path_of("counter"), path / "p.so", fs::copy_options::overwrite_existing);
        fs::permissions(path / "p.so", perms);
        return (path / "p.so").string();
    }
};

[[nodiscard]] errc code_of(std::string const& path) {
    auto const opened = plugin::plugin_file::open(path);
    REQUIRE_FALSE(opened);
    return opened.failure().code;
}

[[nodiscard]] std::string remedy_of(std::string const& path) {
    auto const opened = plugin::plugin_file::open(path);
    REQUIRE_FALSE(opened);
    return opened.failure().remedy;
}

}  // namespace

TEST_CASE("a file that is not loaded is refused with what to do", "[plugin]") {
    folder const here;
    auto const path = here.with_plugin(), link = (here.path / "link.so").string();
    CHECK(remedy_of("p.so") == "give the whole path, from / on");
    CHECK(remedy_of(path + "x") == "name a file that is there and can be read");
    CHECK(remedy_of(here.path.string()) == "it is not a regular file: name the .so of a policy");
    fs::create_symlink(link, link);  // to itself
    CHECK(remedy_of(link) == "it is a symbolic link: name the file that it leads to");
    CHECK(remedy_of(here.with_plugin(fs::perms(0664))) ==
          "its group or others may write to it, or own it: chmod go-w the file, or copy it to one of your own");
    static_cast<void>(here.with_plugin());
    fs::permissions(here.path, fs::perms(0770));
    CHECK(remedy_of(path) ==
          "its group or others may write to this folder, or own it: chmod go-w it, or move the plugin");
}

TEST_CASE("only a file that nobody else can change is loaded", "[plugin]") {
    folder const here;
    auto const path = here.with_plugin();
    REQUIRE(plugin::plugin_file::open(path));
    CHECK(code_of("p.so") == errc::invalid_value);
    CHECK(code_of(path + "x") == errc::not_found);
    CHECK(code_of(here.path.string()) == errc::invalid_value);
    fs::create_symlink(path, here.path / "link.so");
    CHECK(code_of((here.path / "link.so").string()) == errc::invalid_value);
    CHECK(code_of(here.with_plugin(fs::perms(0664))) == errc::denied);
    CHECK(code_of(here.with_plugin(fs::perms(0646))) == errc::denied);
    static_cast<void>(here.with_plugin());
    fs::permissions(here.path, fs::perms(0770));
    CHECK(code_of(path) == errc::denied);
    fs::permissions(here.path, fs::perms(0700));
    if (::geteuid() == 0) {
        REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
        CHECK(code_of(path) == errc::denied);
    }
}

TEST_CASE("what is no plugin is refused with a sentence, however it is damaged", "[plugin]") {
    folder const here;
    auto const path = here.with_plugin();
    std::string whole;
    {
        std::ifstream file(path, std::ios::binary);
        whole.assign(std::istreambuf_iterator<char>(file), {});
    }
    auto const write = [&](std::string const& bytes) {
        std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    };
    for (std::size_t size : {std::size_t{0}, std::size_t{3}, std::size_t{64}, whole.size() / 2, whole.size() - 1}) {
        write(whole.substr(0, size));
        CHECK_FALSE(plugin::plugin_file::open(path));
    }
    write("#!/bin/sh\n");
    CHECK(plugin::plugin_file::open(path).failure().remedy ==
          std::string("it is not an ELF file: name a .so that was built as a policy"));
    auto const opened = plugin::plugin_file::open("/proc/self/exe");
    REQUIRE_FALSE(opened);
    // One byte at a time, all over the headers: never a crash, and what opens has the manifest that was written.
    for (std::size_t at = 0; at < 4096; at += 7) {
        auto bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ 0x55);
        write(bytes);
        auto const damaged = plugin::plugin_file::open(path);
        if (damaged) CHECK(std::string(damaged->manifest.id) == "org.example.test-counter");
    }
}

TEST_CASE("a sealed copy cannot be written, and outlives its file", "[plugin]") {
    folder const here;
    auto const path = here.with_plugin();
    auto opened = plugin::plugin_file::open(path);
    REQUIRE(opened);
    CHECK(::write(opened->copy.fd(), "x", 1) == -1);
    CHECK(::ftruncate(opened->copy.fd(), 0) == -1);
    std::ofstream(path, std::ios::trunc) << "rewritten";
    auto code = plugin::library::load(std::move(opened).value());
    REQUIRE(code);
    CHECK(std::string(code->file().manifest.version) == "2.1.0");
    CHECK(code->unload());
}
