// SPDX-License-Identifier: BSL-1.0
// Traces that are tables: every format, what its columns mean, and our own there and back.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <ration/sim/cpu_model.hpp>

#include "support/catch.hpp"
#include "traces.hpp"

using namespace ration;
using namespace ration::sim;
using trace::format;

namespace {

[[nodiscard]] workload good(std::string_view text, format as = format::detect) {
    auto made = traces::read(text, as);
    INFO((made ? std::string() : to_text(in_file("t.csv", made.failure()))));
    REQUIRE(made);
    return *made;
}

[[nodiscard]] std::vector<std::string> names(workload const& w) { return w.job_names; }
using words = std::vector<std::string>;

}  // namespace

TEST_CASE("common: the simplest trace", "[trace]") {
    workload const w = good(traces::common);
    REQUIRE(w.jobs.size() == 3);
    CHECK(w.name == "synthetic");
    CHECK(names(w) == words{"0", "1", "2"});
    CHECK(w.model_names == words{"rigid"});
    CHECK(w.tenants == words{"default"});
    CHECK(w.jobs[1].submitted == seconds(422));
    CHECK(w.jobs[1].request == 4);
    CHECK(w.jobs[1].least == 4);
    CHECK(w.jobs[1].most == 4);
    CHECK(w.jobs[1].length == 602);
    CHECK(w.jobs[2].length == 7.5);
    CHECK(w.jobs[2].deadline.count == -1);
    CHECK(w.jobs[2].restart_cost == 0);
}

TEST_CASE("jobs come out in the order in which they are submitted, those of one moment in the order of the file",
          "[trace]") {
    workload const w = good("job_id,submit_time,num_gpus,duration\na,5,1,1\nb,3,2,2\nc,5,3,3\nd,3,4,4\n");
    CHECK(names(w) == words{"b", "d", "a", "c"});
    CHECK(w.jobs[0].length == 2);
    CHECK(w.jobs[3].request == 3);
}

TEST_CASE("philly: times from the first job on, clusters are tenants, jobs without run time are counted", "[trace]") {
    workload const w = good(traces::philly);
    REQUIRE(w.jobs.size() == 2);
    CHECK(w.left_out == 1);
    CHECK(w.job_names.empty());
    CHECK(w.jobs[0].submitted.count == 0);
    CHECK(w.jobs[0].request == 8);
    CHECK(w.jobs[1].submitted == seconds(48 * 60 + 52));  // 06:13:03 to 07:01:55
    CHECK(w.tenants.at(w.jobs[0].tenant) == "6214e9");
    CHECK(w.tenants.at(w.jobs[1].tenant) == "11cb48");
}

TEST_CASE("helios: the virtual cluster is the tenant, and the user where there is none", "[trace]") {
    workload const w = good(traces::helios);
    REQUIRE(w.jobs.size() == 2);
    CHECK(w.left_out == 1);
    CHECK(w.tenants == words{"vcA", "vcB"});
    CHECK(w.jobs[1].submitted == seconds(86400));
    CHECK(w.jobs[0].length == 60);
    workload const users = good("job_id,user,gpu_num,submit_time,duration\n7,u1,8,2020-04-01 00:00:05,60\n");
    CHECK(users.tenants == words{"u1"});
}

TEST_CASE("alibaba: the tasks of a job add up, with and without a line of titles", "[trace]") {
    std::string const titles =
        "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type\n";
    for (std::string const& text : {std::string(traces::alibaba), titles + std::string(traces::alibaba)}) {
        workload const w = good(text);
        REQUIRE(w.jobs.size() == 2);
        CHECK(w.left_out == 2);  // c has no end, d no device
        CHECK(names(w) == words{"a", "b"});
        CHECK(w.jobs[0].request == 2);  // 2 x 50 % + 25 %
        CHECK(w.jobs[0].length == 310);
        CHECK(w.jobs[1].submitted == seconds(60));
        CHECK(w.jobs[1].request == 4);
    }
}

TEST_CASE("tiresias and elasticflow: models that are not loaded are rigid, those that are have steps", "[trace]") {
    workload const t = good(traces::tiresias);
    CHECK(names(t) == words{"2", "1"});
    CHECK(t.jobs[1].length == 1200);
    CHECK(t.jobs[1].request == 8);
    workload const e = good(traces::elasticflow);
    CHECK(e.jobs[0].length == 11773);
    CHECK(e.jobs[0].submitted.count == 0);
    CHECK(e.jobs[0].deadline == seconds(269135 - 256458));
    CHECK(e.jobs[0].batch == 128);
    model_library const vgg{
        {.name = "vgg16", .model = std::make_shared<rigid_model>(), .usual = {.least = 1, .most = 64}}};
    auto const modelled = trace::read(traces::elasticflow, vgg, "e");
    REQUIRE(modelled);
    CHECK(modelled->jobs[0].length == 30901);
    CHECK(modelled->jobs[0].most == 64);
    CHECK(modelled->model_names == words{"vgg16"});
}

TEST_CASE("gavel: steps of a model that has to be loaded", "[trace]") {
    workload const w = good(traces::gavel);
    REQUIRE(w.jobs.size() == 2);
    CHECK(w.model_names == words{"ResNet-18 (batch size 32)", "A3C"});
    CHECK(w.jobs[0].length == 5000);
    CHECK(w.jobs[0].request == 2);
    CHECK(w.jobs[0].most == 2);
    CHECK(w.jobs[1].weight == 2.5);
    CHECK(w.jobs[1].submitted == milliseconds(12500));
    CHECK(w.jobs[1].model == 1);
}

TEST_CASE("gavel: its older traces have seven or nine columns", "[trace]") {
    workload const nine = good("A3C\tpython3 a3c.py\t--max-steps\t0\t700\t4\t2.5\t-1.0\t12.5\n");
    CHECK(nine.jobs[0].length == 700);
    CHECK(nine.jobs[0].request == 4);
    CHECK(nine.jobs[0].submitted.count == 0);
    std::string const seven =
        "A3C\tpython3 a3c.py\t--max-steps\t0\t700\t12.5\t4\nA3C\tx\ty\t0\t9\t13\t0\nA3C\tx\ty\t0\t9\t13.5\t1\n";
    for (auto const as : {format::detect, format::gavel}) {
        workload const w = good(seven, as);
        REQUIRE(w.jobs.size() == 2);
        CHECK(w.left_out == 1);
        CHECK(w.jobs[0].request == 4);
        CHECK(w.jobs[0].length == 700);
        CHECK(w.jobs[1].submitted == seconds(1));
    }
}

TEST_CASE("pollux: what the trace does not say, the profile does", "[trace]") {
    workload const w = good(traces::pollux);
    REQUIRE(w.jobs.size() == 2);
    CHECK(w.model_names == words{"cifar10", "ncf"});
    CHECK(w.jobs[0].request == 6);
    CHECK(w.jobs[0].least == 1);
    CHECK(w.jobs[0].most == 64);
    CHECK(w.jobs[0].batch == 2048);
    CHECK(w.jobs[0].length == 1000);
    CHECK(w.jobs[0].restart_cost == 30);
    CHECK(w.jobs[1].most == 1);
    CHECK(w.jobs[1].submitted == seconds(135 - 107));
}

TEST_CASE("each format is found by its first line", "[trace]") {
    struct {
        std::string_view text;
        format is;
    } const all[] = {{traces::common, format::ration},
                     {traces::philly, format::philly},
                     {traces::helios, format::helios},
                     {traces::alibaba, format::alibaba},
                     {traces::tiresias, format::tiresias},
                     {traces::gavel, format::gavel},
                     {traces::elasticflow, format::elasticflow},
                     {traces::pollux, format::pollux},
                     {traces::philly_json, format::philly_json},
                     {traces::swf, format::swf},
                     {traces::acme, format::acme},
                     {traces::openb, format::openb},
                     {traces::shockwave, format::shockwave},
                     {traces::muri, format::muri},
                     {traces::chronus, format::chronus}};
    for (auto const& one : all) {
        CHECK(trace::format_of(one.text) == one.is);
        CHECK(trace::format_of("\xef\xbb\xbf" + std::string(one.text)) == one.is);
        CHECK(!good(one.text, one.is).jobs.empty());
    }
    CHECK(trace::format_of("") == format::detect);
    format f{};
    CHECK(trace::to_format("philly-json", f));
    CHECK(f == format::philly_json);
    CHECK_FALSE(trace::to_format("csv", f));
}

TEST_CASE("our own format says everything there is, there and back", "[trace]") {
    workload w = good(traces::pollux);
    w.jobs[0].weight = 0.1;
    w.jobs[0].deadline = seconds(9000);
    w.jobs[1].least = 1;
    w.jobs[1].submitted = nanoseconds{1'000'000'007};
    w.job_names[0] = "a \"quoted\", name";
    w.tenants.push_back("t 2");
    w.jobs[1].tenant = 1;
    w.models.push_back(std::make_shared<rigid_model>());
    w.model_names.push_back("rigid");
    w.jobs.push_back({.submitted = seconds(3), .model = 2, .request = 3, .least = 3, .most = 5, .length = 1.0 / 3});
    w.job_names.push_back("r");
    w.items.push_back({"images, \"small\"", 1'000'000});
    w.jobs[1].item = w.jobs[2].item = 0;
    w.jobs[2].read = 0.5;
    w.jobs[1].read = 3;
    std::string const text = trace::written(w);
    workload const again = good(text);
    CHECK(trace::written(again) == text);
    CHECK(names(again) == names(w));
    CHECK(again.jobs[1].submitted == w.jobs[1].submitted);
    CHECK(again.jobs[0].weight == 0.1);
    CHECK(again.jobs[0].deadline == seconds(9000));
    CHECK(again.jobs[0].length == 1000);
    CHECK(again.tenants.at(again.jobs[1].tenant) == "t 2");
    CHECK(again.model_names.at(again.jobs[2].model) == "rigid");
    CHECK(again.jobs[2].length == 1.0 / 3);
    CHECK(again.jobs[2].most == 5);
    REQUIRE(again.items.size() == 1);
    CHECK(again.items[0].name == "images, \"small\"");
    CHECK(again.items[0].bytes == 1'000'000);
    CHECK(again.jobs[0].item == no_item);
    CHECK(again.jobs[1].item == 0);
    CHECK(again.jobs[2].read == 0.5);
}

TEST_CASE("a job whose model runs on processors has no devices, and nobody else may have none", "[trace]") {
    auto models = traces::library();
    models.push_back({.name = "vae",
                      .model = std::make_shared<cpu_model>(loss_curve{.floor = 1}, 100, 1, 0),
                      .usual = {.request = 0, .least = 0, .most = 0, .length = 900}});
    std::string const titles = "job_id,submit_time,num_gpus,model,duration,min_gpus,max_gpus,length\n";
    auto const read = trace::read(titles + "a,0,0,vae,,,,\nb,1,,vae,,0,0,70\nc,2,3,,60,,,\n", models, "mixed");
    REQUIRE(read);
    for (std::size_t j : {0, 1}) {
        CHECK((read->jobs[j].request == 0 && read->jobs[j].least == 0 && read->jobs[j].most == 0));
        CHECK(read->runs_on_cpu(read->jobs[j]));
    }
    CHECK((read->jobs[0].length == 900 && read->jobs[1].length == 70));
    CHECK_FALSE(read->runs_on_cpu(read->jobs[2]));
    auto const again = trace::read(trace::written(*read), models, "mixed");
    REQUIRE(again);
    CHECK(trace::written(*again) == trace::written(*read));
    auto const error_of = [&](std::string const& row) {
        auto const wrong = trace::read(titles + row, models, "mixed");
        return wrong ? std::string() : wrong.failure().text;
    };
    CHECK(error_of("a,0,1,vae,,,,\n") ==
          "num_gpus is '1'; write 0, or leave it empty: jobs of this model run on processors");
    CHECK(error_of("a,0,0,vae,,,2,\n") ==
          "max_gpus is '2'; write 0, or leave it empty: jobs of this model run on processors");
    CHECK(error_of("a,0,0,,60,,,\n") == "num_gpus is '0'; write a whole number from 1 to 1000000");
    CHECK(error_of("a,0,,cifar10,,,,\n") == "num_gpus is empty; write a whole number from 1 to 1000000");
}

TEST_CASE("spaces, CR LF, a byte order mark, quotes, empty lines and a missing last newline change nothing",
          "[trace]") {
    std::string const plain = trace::written(good("job_id,submit_time,num_gpus,duration\nx,1,2,3\ny,2,2,3\n"));
    CHECK(trace::written(good("job_id,submit_time,num_gpus,duration\r\nx,1,2,3\r\ny,2,2,3\r\n")) == plain);
    CHECK(trace::written(good("\xef\xbb\xbfjob_id,submit_time,num_gpus,duration\nx,1,2,3\ny,2,2,3")) == plain);
    CHECK(trace::written(good(
              "\n job_id , submit_time,num_gpus ,duration\n\n x , 1 ,2,3\r\n\r\n\"y\",\"2\",2,\"3\"\r\n\n")) == plain);
    CHECK(trace::written(good("duration,note,num_gpus,submit_time,job_id\n3,,2,1,x\n3,\"a,\"\"b\",2,2,y")) == plain);
}

TEST_CASE("a file is read whole and gives the workload its name", "[trace]") {
    char const* const path = "trace_table_test.one.csv";
    std::FILE* const file = std::fopen(path, "wb");
    REQUIRE(file != nullptr);
    std::fwrite(traces::common.data(), 1, traces::common.size(), file);
    std::fclose(file);
    auto const made = trace::read_file(path, {});
    std::remove(path);
    REQUIRE(made);
    CHECK(made->name == "trace_table_test.one");
    CHECK(made->jobs.size() == 3);
    auto const absent = trace::read_file("no such folder/none.csv", {});
    REQUIRE_FALSE(absent);
    CHECK(
        to_text(absent.failure()) ==
        "no such folder/none.csv: cannot be opened (No such file or directory); name a file that is there and may be read");
    auto const folder = trace::read_file(".", {});
    REQUIRE_FALSE(folder);
    CHECK(folder.failure().text == "is a folder; name a file that is there and may be read");
}
