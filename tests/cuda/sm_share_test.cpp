// SPDX-License-Identifier: BSL-1.0
// A job's share of a GPU's SMs: a C99 program is run under the fake drivers, as a job would be.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <ration/cuda/detail/ask.hpp>

#include "scene.hpp"
#include "support/catch.hpp"

using namespace ration;
using ration::test::line;
using ration::test::scene;

namespace {

struct reply {
    int state = 9, per_mille = 0;
    unsigned granted = 0, total = 0, minimum = 0, step = 0;
    int error = 0;
    std::string message, contexts;
};

constexpr int held = 1, whole = 0, refused = -1;

[[nodiscard]] reply job(char const* share, std::string const& libraries = RATION_FAKE_DRIVER,
                        std::string const& device = "0") {
    auto environment = process::current_environment();
    std::erase_if(environment, [](std::string const& e) {
        return e.starts_with("LD_LIBRARY_PATH=") || e.starts_with("RATION_SM_SHARE=");
    });
    environment.push_back("LD_LIBRARY_PATH=" + libraries);
    if (share != nullptr) environment.push_back(std::string("RATION_SM_SHARE=") + share);
    auto const answer =
        cuda::run_program({"run", "a job", ""}, {RATION_SM_SHARE_JOB, device}, environment, "", seconds(20));
    REQUIRE(answer);
    INFO(answer->text);
    REQUIRE(answer->ended.success());
    reply out;
    std::sscanf(answer->text.c_str(), "%d %d %u %u %u %u %d", &out.state, &out.per_mille, &out.granted, &out.total,
                &out.minimum, &out.step, &out.error);
    auto const first = answer->text.find('\n') + 1, second = answer->text.find('\n', first) + 1;
    out.message = answer->text.substr(first, second - first - 1);
    out.contexts = answer->text.substr(second, answer->text.find('\n', second) - second);
    return out;
}

}  // namespace

TEST_CASE("a share is what the architecture can cut off, rounded down, and its least at least") {
    struct expectation {
        char const *gpu, *share;
        unsigned granted, minimum, step;
    };
    for (char const* driver : {"driver 13000\n", "driver 12040\n"}) {  // the older one does not say what it can cut off
        for (auto const& [gpu, share, granted, minimum, step] :
             {expectation{"sms=132 cc=9.0", "250", 32, 8, 8}, expectation{"sms=132 cc=9.0", "500", 64, 8, 8},
              expectation{"sms=132 cc=9.0", "1", 8, 8, 8}, expectation{"sms=132 cc=9.0", "999", 128, 8, 8},
              expectation{"sms=108 cc=8.0", "250", 26, 4, 2}, expectation{"sms=108 cc=8.0", "10", 4, 4, 2},
              expectation{"sms=80 cc=7.0", "333", 26, 2, 2}, expectation{"sms=188 cc=12.0", "750", 136, 8, 8}}) {
            scene const machine(driver + line(0, "0000:17:00.0", gpu));
            auto const got = job(share);
            CAPTURE(driver, gpu, share);
            CHECK(got.state == held);
            CHECK(got.granted == granted);
            CHECK((got.minimum == minimum && got.step == step && got.error == 0));
            CHECK(got.contexts == "contexts 1, then 0; current 1");
        }
    }
    scene const machine(line(0, "0000:17:00.0", "sms=132"));
    CHECK(job("500").message == "ration: this job uses 64 of 132 SMs, for a share of 500 per mille");
}

TEST_CASE("where nothing less is asked for the driver is not even loaded") {
    scene const machine("cuinit crash\n");
    for (char const* share : {static_cast<char const*>(nullptr), "1000"}) {
        auto const got = job(share);
        CHECK((got.state == whole && got.per_mille == 1000 && got.contexts == "contexts 0, then 0; current 0"));
        CHECK(got.message == "ration: this job uses all SMs: no share was asked for");
    }
}

TEST_CASE("a share that cannot be had is said, and the job runs on all SMs") {
    scene const machine(line(0, "0000:17:00.0", "sms=132"));
    for (char const* wrong : {"0", "", "-5", "1001", "50%", "0x10", "99999999999999999999"}) {
        auto const got = job(wrong);
        CHECK(got.state == refused);
        CHECK(got.message == "ration: this job uses all SMs: RATION_SM_SHARE is not a number from 1 to 1000");
    }
    CHECK(job("500", RATION_FAKE_DRIVER "/old").message ==
          "ration: this job uses all SMs: the driver has no green contexts: CUDA 12.4 or later is needed");
    auto const absent = job("500", RATION_FAKE_DRIVER, "7");
    CHECK((absent.state == refused && absent.error == 101));
    CHECK(absent.message == "ration: this job uses all SMs: the driver does not show the device (CUDA error 101)");
}

TEST_CASE("what the driver refuses is said with its code, and nothing is left") {
    auto const refusal = [](std::string const& script) {
        scene const machine(script);
        auto const got = job("500");
        CHECK(got.state == refused);
        CHECK(got.contexts == "contexts 0, then 0; current 0");
        return got.error;
    };
    CHECK(refusal("current 201\n" + line(0, "0000:17:00.0")) == 201);
    CHECK(refusal("cuinit 802\n") == 802);
    CHECK(refusal(line(0, "0000:17:00.0", "mode=exclusive users=4711")) == 46);
    CHECK(refusal(line(0, "0000:17:00.0", "mode=prohibited")) == 46);
    CHECK(refusal(line(0, "0000:17:00.0", "sms=8 cc=9.0")) == 0);  // the least that can be cut off is all there is
}
