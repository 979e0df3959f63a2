// SPDX-License-Identifier: BSL-1.0
// Files of profiles and of fitted losses with damage: models whose numbers can be used, or one printable line.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include <ration/sim/cpu_files.hpp>
#include <ration/sim/profile_files.hpp>
#include <ration/sim/trace/read.hpp>

#include "support/catch.hpp"
#include "support/mutations.hpp"

using namespace ration::sim;

namespace {

constexpr std::string_view pieces[] = {
    ",", "\n", "\"", "-", "e", "nan", "inf", "1e300", "1e-300", "0", "9999999999999", "\xff", std::string_view("\0", 1),
    " ", "a",  "64"};

constexpr std::string_view applications =
    "application,initial_batch,max_batch,min_local_batch,max_local_batch,most_devices,fixed_batch,restart_cost\n"
    "a,8,32,4,16,4,0,10\nb,8,8,8,8,2,1,5\n";
constexpr std::string_view step_times =
    "application,nodes,devices,spread,local_batch,step_time,sync_time\n"
    "a,1,1,1,4,0.1,0\na,1,1,1,16,0.3,0\na,1,2,2,4,0.15,0.05\na,1,2,2,16,0.35,0.05\na,1,1,,4,0.1,0\na,1,1,,16,0.3,0\na,2,2,,4,0.2,0.1\nb,1,1,,8,0.5,0\n";
constexpr std::string_view gradients =
    "application,progress,batch,grad_sqr,grad_var\n"
    "a,100,8,0.5,2\na,100,16,0.5,1\na,100,32,0.5,0.5\na,200,8,0.2,3\na,200,16,0.2,2\na,200,32,0.2,1\nb,50,8,1,1\n";
constexpr std::string_view fits =
    "name,batch,floor,power,power_steps,exponent,fast,fast_steps,noise,steps_per_core_second,acceptable,objective,steps,error\n"
    "m,64,0.2,1.5,100,0.7,0.5,20,0.05,110,0.9,0.5,3000,0.01\nn,32,1,2,50,0.5,0,1,0.1,300,2,1.5,900,0.02\n";

/// One line, for a terminal.
void require_sentence(ration::diagnostic const& why) {
    auto const sentence = to_text(in_file("file.csv", why));
    REQUIRE((sentence.size() > 12 && sentence.size() < 500));
    REQUIRE(std::ranges::all_of(sentence, [](char c) { return c >= ' ' && c <= '~'; }));
}

void require_sound(model_library const& library) {
    for (auto const& m : library) {
        REQUIRE((!m.name.empty() && m.model != nullptr));
        REQUIRE((std::isfinite(m.usual.length) && m.usual.length > 0 && std::isfinite(m.usual.restart_cost) &&
                 m.usual.restart_cost >= 0));
        REQUIRE((m.usual.least >= 0 && m.usual.least <= m.usual.most));
    }
}

}  // namespace

TEST_CASE("damaged files of fitted losses are read soundly or refused in one line", "[trace]") {
    REQUIRE(read_cpu_models(fits));
    support::mutations change(21, pieces);
    int read = 0, refused = 0;
    for (int round = 0; round < 10'000; ++round) {
        std::string text(fits);
        change.damage(text);
        if (auto const made = read_cpu_models(text)) {
            require_sound(*made);
            ++read;
        } else {
            require_sentence(made.failure());
            ++refused;
        }
    }
    CHECK(read > 500);
    CHECK(refused > 2000);
}

TEST_CASE("damaged profiles are read soundly or refused in one line", "[trace]") {
    auto const good = read_profiles({applications, step_times, gradients});
    INFO((good ? std::string() : to_text(in_file("profiles", good.failure()))));
    REQUIRE(good);
    support::mutations change(22, pieces);
    int read = 0, refused = 0;
    for (int round = 0; round < 3000; ++round) {
        std::string text[] = {std::string(applications), std::string(step_times), std::string(gradients)};
        change.damage(text[change.below(3)]);
        if (auto const made = read_profiles({text[0], text[1], text[2]})) {
            require_sound(*made);
            ++read;
        } else {
            require_sentence(made.failure());
            ++refused;
        }
    }
    CHECK(read > 100);
    CHECK(refused > 500);
}
