// SPDX-License-Identifier: BSL-1.0
// Small traces in every format, for the tests of the readers.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <ration/sim/trace/read.hpp>
#include <ration/sim/trace/write.hpp>

namespace traces {

using namespace ration::sim;

inline constexpr std::string_view common =
    "job_id,submit_time,num_gpus,duration\n0,0,1,2482\n1,422,4,602\n2,422,2,7.5\n";
inline constexpr std::string_view philly =
    "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,11cb48\n2017-10-09 06:13:03,2951.0,8,23608.0,6214e9\n"
    "2017-10-09 07:00:00,0,1,0,11cb48\n";
inline constexpr std::string_view helios =
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
    "7,u1,vcA,8,64,1,COMPLETED,2020-04-01 00:00:05,2020-04-01 00:00:07,2020-04-01 00:01:07,60,2\n"
    "8,u2,vcA,0,4,1,FAILED,2020-04-01 00:00:06,2020-04-01 00:00:07,2020-04-01 00:01:07,60,1\n"
    "9,u1,vcB,1,8,1,TIMEOUT,2020-04-02 00:00:05,2020-04-02 00:00:05,2020-04-02 00:00:25,20,0\n";
inline constexpr std::string_view alibaba =
    "a,tensorflow,2,Terminated,100.0,400.0,600,30,50,V100\nb,worker,4,Terminated,150.0,250.0,600,30,100,P100\n"
    "a,ps,1,Terminated,90.0,380.0,600,30,25,\nc,worker,1,Failed,200.0,,600,30,100,T4\nd,worker,1,Terminated,300.0,310.0,600,30,,\n";
inline constexpr std::string_view tiresias =
    "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n1,8,10,5000,resnet50,1200,0\n2,1,5,100,vgg16,60,0\n";
inline constexpr std::string_view gavel =
    "ResNet-18 (batch size 32)\tpython3 main.py\tcifar\t--num_steps\t1\t5000\t2\t1\t-1.0\t0\n"
    "A3C\tpython3 a3c.py\trl\t--max-steps\t0\t700\t1\t2.5\t-1.0\t12.5\n";
inline constexpr std::string_view elasticflow =
    "job_id,submit_time,real_iteration,model_name,ddl,batch_size,num_gpu,real_duration,duration,iteration\n"
    "5,256458,30901,vgg16,269135,128,1,11773,11773,30901\n";
inline constexpr std::string_view pollux =
    "name,time,application,num_replicas,batch_size\ncifar10-0,107,cifar10,6,2048\nncf-2,135,ncf,1,32768\n";
inline constexpr std::string_view philly_json = R"([
  {"status": "Pass", "vc": "ee9e8c", "jobid": "application_1", "attempts": [
     {"start_time": "2017-10-07 01:00:00", "end_time": "2017-10-07 01:10:00",
      "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}, {"ip": "m2", "gpus": ["gpu3"]}]},
     {"start_time": "2017-10-07 02:00:00", "end_time": "2017-10-07 02:00:30", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}],
   "submitted_time": "2017-10-07 00:59:00", "user": "u\"1"},
  {"status": "Killed", "vc": "ee9e8c", "jobid": "application_2", "attempts": [], "submitted_time": "2017-10-07 00:00:00", "user": "u2"},
  {"status": "Failed", "vc": "ed69ec", "jobid": "application_3", "attempts": [
     {"start_time": "2017-10-07 01:00:00", "end_time": null, "detail": [{"ip": "m1", "gpus": ["gpu0"]}]},
     {"start_time": "2017-10-07 01:00:00", "end_time": "2017-10-07 01:00:05", "detail": [{"ip": "m1", "gpus": ["gpu7"]}]}],
   "submitted_time": "2017-10-07 00:58:30", "user": "u3"}
]
)";

/// Three models that the traces above name; how they behave is of no interest here.
[[nodiscard]] inline model_library library() {
    auto const model = std::make_shared<rigid_model>();
    return {{.name = "cifar10", .model = model, .usual = {.least = 1, .most = 64, .length = 1000, .restart_cost = 30}},
            {.name = "ncf", .model = model, .usual = {.least = 1, .most = 1, .length = 500, .restart_cost = 30}},
            {.name = "ResNet-18 (batch size 32)", .model = model},
            {.name = "A3C", .model = model}};
}

[[nodiscard]] inline ration::result<workload, ration::diagnostic> read(std::string_view text,
                                                                       trace::format as = trace::format::detect) {
    return trace::read(text, library(), "synthetic", as);
}

/// "" when the text can be read.
[[nodiscard]] inline std::string refusal(std::string_view text, trace::format as = trace::format::detect) {
    auto const made = read(text, as);
    return made ? std::string() : to_text(in_file("t.csv", made.failure()));
}

}  // namespace traces
