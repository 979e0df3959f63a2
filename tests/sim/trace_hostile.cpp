// SPDX-License-Identifier: BSL-1.0
// Files that are wrong, by mistake or on purpose: each gives one clear sentence, or is read rightly.
#include <cmath>
#include <cstdint>
#include <random>
#include <string>

#include "support/catch.hpp"
#include "traces.hpp"

using namespace ration::sim;
using traces::refusal;

namespace {

/// A trace of one job with these four values.
[[nodiscard]] std::string one(std::string const& values) {
    return "job_id,submit_time,num_gpus,duration\n" + values + "\n";
}

/// What must hold of every workload, whatever it was read from.
void check_sound(workload const& w) {
    REQUIRE((w.job_names.empty() || w.job_names.size() == w.jobs.size()));
    REQUIRE(w.models.size() == w.model_names.size());
    std::int64_t last = 0;
    for (auto const& job : w.jobs) {
        bool const sound = job.submitted.count >= last && job.tenant < w.tenants.size() &&
                           job.model < w.models.size() && job.request >= 1 && job.least >= 1 &&
                           job.least <= job.request && job.most >= job.request && job.most <= 1'000'000 &&
                           job.batch >= 0 && job.length > 0 && std::isfinite(job.length) && job.weight > 0 &&
                           std::isfinite(job.weight) && job.restart_cost >= 0 && std::isfinite(job.restart_cost) &&
                           (job.deadline.count == -1 || job.deadline.count >= job.submitted.count);
        REQUIRE(sound);
        last = job.submitted.count;
    }
}

}  // namespace

TEST_CASE("a wrong number is named with its line, its column and what to write", "[trace]") {
    CHECK(refusal(one("a,0,1.5,10")) == "t.csv:2: num_gpus is '1.5'; write a whole number from 1 to 1000000");
    CHECK(refusal(one("a,0,0,10")) == "t.csv:2: num_gpus is '0'; write a whole number from 1 to 1000000");
    CHECK(refusal(one("a,0,-1,10")) == "t.csv:2: num_gpus is '-1'; write a whole number from 1 to 1000000");
    CHECK(refusal(one("a,0,,10")) == "t.csv:2: num_gpus is empty; write a whole number from 1 to 1000000");
    CHECK(refusal(one("a,0,1000001,10")) == "t.csv:2: num_gpus is '1000001'; write a whole number from 1 to 1000000");
    CHECK(refusal(one("a,0,1,nan")) == "t.csv:2: duration is 'nan'; write seconds above 0, at most 9000000000");
    CHECK(refusal(one("a,0,1,inf")) == "t.csv:2: duration is 'inf'; write seconds above 0, at most 9000000000");
    CHECK(refusal(one("a,0,1,1e400")) == "t.csv:2: duration is '1e400'; write seconds above 0, at most 9000000000");
    CHECK(refusal(one("a,0,1,0")) == "t.csv:2: duration is '0'; write seconds above 0, at most 9000000000");
    CHECK(refusal(one("a,-0.5,1,3")) == "t.csv:2: submit_time is '-0.5'; write seconds, from 0 to 9000000000");
    CHECK(
        refusal(one("a,9000000001,1,3")) ==
        "t.csv:2: submit_time is '9000000001'; write seconds, from 0 to 9000000000, or name another unit with --time-unit");
    CHECK(
        refusal(one("a,99999999999999999999999999,1,3")) ==
        "t.csv:2: submit_time is '99999999999999999999999999'; write seconds, from 0 to 9000000000, or name another unit "
        "with --time-unit");
    // 2^64 + 1
    CHECK(refusal(one("a,0,18446744073709551617,3")) ==
          "t.csv:2: num_gpus is '18446744073709551617'; write a whole number from 1 to 1000000");
    CHECK(refusal(one("a,0x10,1,3")) == "t.csv:2: submit_time is '0x10'; write seconds, from 0 to 9000000000");
    CHECK(refusal(one("a,3 4,1,3")) == "t.csv:2: submit_time is '3 4'; write seconds, from 0 to 9000000000");
    CHECK(refusal(one(",0,1,3")) ==
          "t.csv:2: job_id is empty; write a word of 1 to 256 bytes without control characters");
    CHECK(refusal(one("a\x1b[2J,0,1,3")) ==
          "t.csv:2: job_id is 'a?[2J'; write a word of 1 to 256 bytes without control characters");
    CHECK(refusal(one("ok,0,1,3\n\nb,1,x,3")) == "t.csv:4: num_gpus is 'x'; write a whole number from 1 to 1000000");
}

TEST_CASE("a job that contradicts itself is refused", "[trace]") {
    std::string const titles = "job_id,submit_time,num_gpus,duration,min_gpus,max_gpus,deadline,model,length\n";
    CHECK(refusal(titles + "a,5,4,10,5,8,,,") == "t.csv:2: min_gpus is '5'; write at most as many as num_gpus");
    CHECK(refusal(titles + "a,5,4,10,1,3,,,") == "t.csv:2: max_gpus is '3'; write at least as many as num_gpus");
    CHECK(refusal(titles + "a,5,4,10,1,4,4,,") ==
          "t.csv:2: deadline is '4'; write a time that is not before the job is submitted");
    CHECK(refusal(titles + "a,5,4,,1,4,,,") == "t.csv:2: duration is empty; write seconds above 0, at most 9000000000");
    CHECK(refusal(titles + "a,5,1,10,,,,A3C,") == "t.csv:2: length is empty; write a number above 0, at most 1e15");
    CHECK(refusal(titles + "a,5,1,10,,,,bert,7") ==
          "t.csv:2: model is 'bert'; write the name of a model whose profile is loaded: cifar10, ncf, "
          "ResNet-18 (batch size 32), A3C");
    CHECK(refusal(titles + "a,5,1,,,,,rigid,7").empty());
    CHECK(refusal("name,time,application,num_replicas,batch_size\na,1,bert,1,12\n")
              .starts_with("t.csv:2: application is 'bert'; write the name"));
}

TEST_CASE("a wrong table is refused as a whole", "[trace]") {
    CHECK(refusal("") == "t.csv: this file is empty; a trace of jobs is expected");
    CHECK(refusal(" \n\r\n ") == "t.csv: this file is empty; a trace of jobs is expected");
    constexpr auto unknown_columns =
        "t.csv:1: the columns are not those of a known trace; name them job_id,submit_time,num_gpus,duration";
    CHECK(refusal("a,b,c\n1,2,3\n") == unknown_columns);
    CHECK(refusal("a,b,c,d,e,f,g,h,i,j\n1,2,3,4,5,6,7,8,9,10\n") == unknown_columns);  // as many as alibaba
    CHECK(refusal("job_id,submit_time,duration\n1,2,3\n", trace::format::ration) ==
          "t.csv:1: the column num_gpus is missing; the first line names the columns, separated by commas");
    CHECK(refusal("", trace::format::ration) ==
          "t.csv: there is nothing in this file; a line of titles and one line for each job are expected");
    CHECK(refusal("job_id,submit_time,num_gpus,duration,num_gpus\n", trace::format::ration) ==
          "t.csv:1: two columns are called 'num_gpus'; keep one");
    CHECK(refusal(one("a,0,1")) == "t.csv:2: this line has 3 columns, and the first line has 4; write as many");
    CHECK(refusal(one("a,0,1,2,")) == "t.csv:2: this line has 5 columns, and the first line has 4; write as many");
    CHECK(refusal(one("\"a,0,1,2")) == "t.csv:2: a double quote is never closed; close it in the same line");
    CHECK(
        refusal(one("\"a\"b,0,1,2")) ==
        "t.csv:2: there is text between a closing double quote and the end of its column; remove it, or double the quote");
    CHECK(refusal(one(std::string(100, ','))) ==
          "t.csv:2: this line has more than 64 columns; is this a table of jobs?");
}

TEST_CASE("a file without jobs is a workload without jobs", "[trace]") {
    auto const made = traces::read("job_id,submit_time,num_gpus,duration\n");
    REQUIRE(made);
    check_sound(*made);
    CHECK(made->jobs.empty());
}

TEST_CASE("lines of ten megabytes and binary files end in one short sentence", "[trace]") {
    std::string const long_line(10'000'000, 'x');
    CHECK(refusal(long_line).size() < 300);
    CHECK(refusal(one(long_line + ",0,1,3")).size() < 300);
    CHECK(refusal(one("a," + long_line + ",1,3")) ==
          "t.csv:2: submit_time is '" + std::string(40, 'x') + "...'; write seconds, from 0 to 9000000000");
    CHECK(refusal(one("a," + std::string(10'000'000, '9') + ",1,3")).size() < 300);
    std::string binary;
    for (int i = 0; i < 4096; ++i) binary += static_cast<char>(i * 37 % 256);
    std::string const sentence = refusal(binary);
    CHECK_FALSE(sentence.empty());
    for (char const c : sentence + refusal(one(binary))) REQUIRE((c >= ' ' && c <= '~'));
}

TEST_CASE("random mutations of every format are read soundly or refused in one printable line", "[trace]") {
    std::string_view const all[] = {traces::common,      traces::philly, traces::helios,      traces::alibaba,
                                    traces::tiresias,    traces::gavel,  traces::elasticflow, traces::pollux,
                                    traces::philly_json, traces::swf,    traces::acme,        traces::openb,
                                    traces::shockwave,   traces::muri,   traces::chronus};
    std::mt19937 rng(20);
    auto const below = [&](std::size_t n) { return static_cast<std::size_t>(rng() % n); };
    std::string_view const inserts[] = {
        "\"",   ",", "\n", "\t", "-",    "e", "9999999999", "nan", std::string_view("\0", 1),
        "\xff", "[", "}",  "\\", "\r\n", ".", " "};
    std::size_t read = 0, refused = 0;
    for (int round = 0; round < 40'000; ++round) {
        std::string text(all[below(std::size(all))]);
        trace::format const as = round % 2 == 0 ? trace::format::detect : trace::format_of(text);
        for (std::size_t n = 1 + below(4); n > 0; --n) {
            std::size_t const at = below(text.size());
            switch (below(4)) {
                case 0: text.insert(at, inserts[below(std::size(inserts))]); break;
                case 1: text.erase(at, 1 + below(8)); break;
                case 2: text[at] = static_cast<char>(rng()); break;
                default: text = text.substr(0, at) + text.substr(below(text.size())); break;
            }
            if (text.empty()) text = "x";
        }
        auto const made = traces::read(text, as);
        if (made) {
            check_sound(*made);
            ++read;
            continue;
        }
        ++refused;
        std::string const sentence = to_text(in_file("t.csv", made.failure()));
        REQUIRE((sentence.size() > 12 && sentence.size() < 400));
        for (char const c : sentence) REQUIRE((c >= ' ' && c <= '~'));
    }
    CHECK(read > 1000);
    CHECK(refused > 10000);
}
