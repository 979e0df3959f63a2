// SPDX-License-Identifier: BSL-1.0
// Measured speeds of Gavel and ElasticFlow: against the figures in their own files.
#include <string>
#include <vector>

#include <ration/sim/rate_model.hpp>
#include <ration/sim/trace/read.hpp>

#include "support/catch.hpp"

using namespace ration::sim;
using Catch::Approx;

namespace {

[[nodiscard]] model_library measured(std::vector<std::string> const& types) {
    auto const text = trace::contents(RATION_BENCH_DATA "/rates/rates.csv");
    REQUIRE(text);
    auto const library = read_rates(*text, types);
    INFO((library ? std::string() : to_text(in_file("rates.csv", library.failure()))));
    REQUIRE(library);
    return *library;
}

}  // namespace

TEST_CASE("rates: by type, number of devices and whether they are on one node", "[rates]") {
    auto const library = measured({"v100", "k80"});
    named_model const* const resnet = find_model(library, "ResNet-18 (batch size 32)");
    REQUIRE(resnet != nullptr);
    std::vector<std::int32_t> const one{4}, two{2, 2};
    auto const speed = [&](std::vector<std::int32_t> const& spread, std::int64_t devices, std::uint32_t type) {
        return resnet->model->at({}, {.spread = spread, .devices = devices, .type = type}, 0).steps_per_second;
    };
    CHECK(speed(one, 4, 0) == Approx(114.733));
    CHECK(speed(two, 4, 0) == Approx(38.1152));
    CHECK(speed(one, 4, 1) == Approx(22.5293));
    CHECK(speed(one, 5, 0) == speed(one, 4, 0));
    CHECK(speed(one, 0, 0) == 0);
    CHECK(speed(one, 4, 2) == 0);
    CHECK(speed(two, 4, 2) == 0);
    CHECK(find_model(library, "vgg16") == nullptr);  // has no type of these
}

TEST_CASE("rates: the batch that was asked for, and what policies are shown", "[rates]") {
    auto const library = measured({"a100"});
    named_model const* const vgg = find_model(library, "vgg16");
    REQUIRE(vgg != nullptr);
    std::vector<double> goodput(9), fixed(9);
    std::vector<std::int64_t> batch(9);
    vgg->model->show({.batch = 128}, 0, 0, 4, {goodput, fixed, batch});
    CHECK(goodput[0] == 0);
    CHECK(goodput[1] == Approx(2.62478));
    CHECK(goodput[3] == Approx(4.87362));
    CHECK(goodput[8] == Approx(13.573));
    CHECK(goodput == fixed);
    CHECK(batch[8] == 128);
    CHECK(batch[0] == 0);
    vgg->model->show({.batch = 127}, 0, 0, 4, {goodput, fixed, batch});
    CHECK(goodput[1] == Approx(5.05302));  // the measured batch of 64
}

TEST_CASE("rates: a wrong file is refused with its line", "[rates]") {
    std::string const titles = "model,type,several_nodes,batch,devices,steps_per_second\n";
    std::vector<std::string> const types{"a"};
    auto const error_of = [&](std::string const& text) {
        auto const read = read_rates(text, types);
        return read ? std::string() : to_text(in_file("r", read.failure()));
    };
    CHECK(error_of(titles + "m,a,0,0,1,2\nm,b,0,0,1,2\n").empty());
    CHECK(error_of("").starts_with("r:1: the columns have to be model,type"));
    CHECK(error_of("model,type\n").starts_with("r:1: the columns have to be model,type"));
    CHECK(error_of(titles + "m,a,0,0,1,2\nm,a,0,0,1,3\n") == "r:3: an earlier row has this setting; keep one of them");
    for (char const* const row :
         {"m,a,0,0,1", "m,a,0,0,0,2", "m,a,0,0,1,0", ",a,0,0,1,2", "m,a,x,0,1,2", "m,a,0,-1,1,2"})
        CHECK(error_of(titles + row) ==
              "r:2: a row has a model, a type, and four numbers from 0 to 1e12, the last two above 0");
    CHECK(error_of(titles + "\"m,a,0,0,1,2\n") == "r:2: a double quote is never closed; close it in the same line");
}
