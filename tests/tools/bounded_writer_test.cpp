// SPDX-License-Identifier: BSL-1.0
#include "events/bounded_writer.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <unistd.h>

#include "support/catch.hpp"
#include "temporary.hpp"

using namespace ration;
using namespace ration::program;
using ration::process::descriptor;

namespace {

struct both_ends {
    descriptor reading, writing;
};

[[nodiscard]] both_ends make_pipe() {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    return {descriptor(ends[0]), descriptor(ends[1])};
}

[[nodiscard]] descriptor opened(std::string const& path) {
    auto file = open_for_writing(path);
    REQUIRE(file);
    return std::move(*file);
}

[[nodiscard]] std::string read_all(int from) {
    std::string out;
    char buffer[4096];
    for (ssize_t got; (got = ::read(from, buffer, sizeof buffer)) > 0;)
        out.append(buffer, static_cast<std::size_t>(got));
    return out;
}

}  // namespace

TEST_CASE("bounded_writer: lines reach a file in order, and only when flushed") {
    temporary_file const file;
    bounded_writer out(opened(file.path()));
    CHECK(out.add("one"));
    CHECK(out.add(""));
    CHECK(file.content().empty());
    CHECK(out.waiting() == 2);
    CHECK(out.flush({}));
    CHECK(file.content() == "one\n\n");
    CHECK(out.waiting() == 0);
    CHECK(out.add("three"));
    CHECK(out.close());
    CHECK(file.content() == "one\n\nthree\n");
    CHECK(out.lost() == 0);
}

TEST_CASE(
    "bounded_writer: opening empties the file; a default-constructed writer takes everything and writes nothing") {
    temporary_file const file;
    std::ofstream(file.path()) << "old";
    CHECK(open_for_writing(file.path()));
    CHECK(file.content().empty());
    auto const failed = open_for_writing("/nowhere/at/all");
    REQUIRE_FALSE(failed);
    CHECK(failed.failure().system == ENOENT);
    bounded_writer none;
    CHECK_FALSE(none);
    CHECK(none.add("x"));
    CHECK(none.waiting() == 0);
    CHECK(none.flush({}));
    CHECK(none.close());
}

TEST_CASE(
    "a full disk: the error comes back, nothing is lost while there is room in memory, tries are a second apart") {
    if (::access("/dev/full", W_OK) != 0) SKIP_TEST("/dev/full is not here");
    bounded_writer out(opened("/dev/full"), 12);
    CHECK(out.add("12345"));
    auto const failed = out.flush(seconds(1));
    REQUIRE_FALSE(failed);
    CHECK(failed.failure().system == ENOSPC);
    CHECK(out.flush(milliseconds(1999)));  // too early: not tried
    CHECK_FALSE(out.flush(seconds(2)));
    CHECK(out.add("12345"));
    CHECK_FALSE(out.add(""));  // 12 bytes are in use
    CHECK(out.lost() == 1);
    CHECK(out.waiting() == 2);
    CHECK_FALSE(out.close());
    CHECK(out.lost() == 3);
}

TEST_CASE("bounded_writer: a line that was cut in two by the end of the disk is completed when there is room again") {
    temporary_file const file;
    file_size_limit const limit;
    bounded_writer out(opened(file.path()));
    CHECK(out.add("first line"));
    CHECK(out.add("second line"));
    limit.set(15);
    auto const failed = out.flush({});
    REQUIRE_FALSE(failed);
    CHECK(failed.failure().system == EFBIG);
    CHECK(file.content() == "first line\nseco");
    CHECK(out.waiting() == 1);
    limit.lift();
    CHECK(out.flush(seconds(1)));
    CHECK(file.content() == "first line\nsecond line\n");
    CHECK(out.waiting() == 0);
    CHECK(out.lost() == 0);
}

TEST_CASE("bounded_writer: half a line is removed from the file at the end") {
    temporary_file const file;
    file_size_limit const limit;
    bounded_writer out(opened(file.path()));
    CHECK(out.add("first line"));
    CHECK(out.add("second line"));
    CHECK(out.add("third line"));
    limit.set(13);
    CHECK_FALSE(out.flush({}));
    limit.set(15);
    CHECK_FALSE(out.close());  // the second half-write must not hide the first
    limit.lift();
    CHECK(file.content() == "first line\n");
    CHECK(out.lost() == 2);
}

TEST_CASE("bounded_writer: a pipe that nobody empties costs lines, never time") {
    auto ends = make_pipe();
    bounded_writer out(std::move(ends.writing), 100'000);
    std::string const line(999, 'x');
    std::size_t taken = 0;
    for (int i = 0; i < 500; ++i) {
        taken += out.add(line) ? 1 : 0;
        CHECK(out.flush({}));  // a slow reader is not an error
    }
    CHECK(out.lost() == 500 - taken);
    CHECK(taken >= 150);  // what the pipe and the buffer hold
    CHECK(taken < 300);
    REQUIRE(::fcntl(ends.reading.get(), F_SETFL, O_NONBLOCK) == 0);
    std::string got;
    while (out.waiting() > 0) {
        got += read_all(ends.reading.get());
        CHECK(out.flush({}));
    }
    got += read_all(ends.reading.get());
    CHECK(got.size() == taken * 1000);  // every line that was taken in, whole
}

TEST_CASE("bounded_writer: a reader that is gone is an error, not the end of the program") {
    auto ends = make_pipe();
    bounded_writer out(std::move(ends.writing));
    ends.reading.reset();
    CHECK(out.add("x"));
    auto* const before = std::signal(SIGPIPE, SIG_IGN);
    auto const failed = out.flush({});
    std::signal(SIGPIPE, before);
    REQUIRE_FALSE(failed);
    CHECK(failed.failure().system == EPIPE);
}
