// SPDX-License-Identifier: BSL-1.0
#include "common/quantity.hpp"

#include "support/catch.hpp"

using namespace ration;
using namespace ration::program;

TEST_CASE("parse_duration: durations") {
    CHECK(parse_duration("250ms") == milliseconds(250));
    CHECK(parse_duration("20s") == seconds(20));
    CHECK(parse_duration("1.5m") == seconds(90));
    CHECK(parse_duration("2h") == seconds(7200));
    CHECK(parse_duration("0s") == nanoseconds{0});
    CHECK(parse_duration("0.1s") == milliseconds(100));
    CHECK(parse_duration("8760h") == seconds(365.0 * 24 * 3600));
    for (auto const* bad : {"",      "s",   "20",  "-1s",  "+1s", "1 s",  " 1s", "1s ",   "1e3s",
                            "1..5s", "1.s", ".5s", "1sec", "1M",  "infs", "nan", "8761h", "99999999999999999999999h",
                            "1s2s",  "0x1s"})
        CHECK_FALSE(parse_duration(bad).has_value());
}

TEST_CASE("parse_size: sizes") {
    CHECK(parse_size("512B") == bytes{512});
    CHECK(parse_size("64MiB") == bytes{64 << 20});
    CHECK(parse_size("1.5GiB") == bytes{3ll << 29});
    CHECK(parse_size("2GB") == bytes{2'000'000'000});
    CHECK(parse_size("1kB") == bytes{1000});
    CHECK(parse_size("1KiB") == bytes{1024});
    CHECK(parse_size("1TiB") == bytes{1ll << 40});
    CHECK(parse_size("1.7B") == bytes{1});
    for (auto const* bad : {"", "2G", "2g", "2gib", "2", "-1MiB", "1 MiB", "1KB", "MiB", "9000000TiB", "1PiB"})
        CHECK_FALSE(parse_size(bad).has_value());
}

TEST_CASE("size_text: sizes as people read them") {
    CHECK(size_text(bytes{0}) == "0 B");
    CHECK(size_text(bytes{1023}) == "1023 B");
    CHECK(size_text(bytes{4096}) == "4 KiB");
    CHECK(size_text(bytes{64 << 20}) == "64 MiB");
    CHECK(size_text(bytes{3ll << 29}) == "1.5 GiB");
    CHECK(size_text(bytes{1000ll << 30}) == "1000 GiB");
    CHECK(size_text(bytes{3ll << 50}) == "3072 TiB");
}

TEST_CASE("duration_text: durations as people read them") {
    CHECK(duration_text(nanoseconds{0}) == "0.0 s");
    CHECK(duration_text(milliseconds(12'340)) == "12.3 s");
    CHECK(duration_text(milliseconds(12'360)) == "12.4 s");
    CHECK(duration_text(milliseconds(59'949)) == "59.9 s");
    CHECK(duration_text(milliseconds(59'950)) == "1:00");
    CHECK(duration_text(seconds(60)) == "1:00");
    CHECK(duration_text(seconds(3599)) == "59:59");
    CHECK(duration_text(seconds(3600)) == "1:00:00");
    CHECK(duration_text(seconds(45'296)) == "12:34:56");
}
