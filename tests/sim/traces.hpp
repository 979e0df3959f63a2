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

inline constexpr std::string_view swf =
    "; Version: 2.2\n;   MaxProcs: 8\n\n10000\n1 907 -1 4173 1 -1 -1 2 3600 -1 0 1 7 -1 1 -1 -1 -1\n"
    "  2 910  5 0\t4 -1 -1 -1 60 -1 1 2 7 -1 1 -1 -1 -1\r\n3 911 0 90.5 2 -1 -1 2 60 -1 3 2 7 -1 1 -1 -1 -1\n"
    "4 912 0 -1 2 -1 -1 2 60 -1 5 -1 7 -1 1 -1 -1 -1\n5 912 0 9 0 -1 -1 0 60 -1 5 -1 7 -1 1 -1 -1 -1\n";
inline constexpr std::string_view acme =
    "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time\n"
    "j1,u1,1,8,128,Other,FAILED,2023-03-01 00:00:00+08:00,2023-03-01 00:00:10+08:00,2023-03-01 00:10:10+08:00,610,10,4880\n"
    "j2,u2,1,1,16,Eval,COMPLETED,2023-02-28 17:00:00+00:00,2023-02-28 17:00:00+00:00,2023-02-28 17:00:08+00:00,18,10,18\n"
    "j3,u2,1,0,16,Other,COMPLETED,2023-03-01 00:00:00+08:00,2023-03-01 00:00:10+08:00,2023-03-01 00:10:10+08:00,600,10,0\n"
    "j4,u2,1,4,16,Other,CANCELLED,2023-03-01 00:00:00+08:00,,2023-03-01 00:10:10+08:00,0,10,0\n";
inline constexpr std::string_view openb =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "p0,12000,16384,2,1000,T4|V100M32,LS,Running,5,700,100\np1,6000,12288,1,460,,BE,Succeeded,30,900,30\n"
    "p2,6000,12288,1,460,,LS,Pending,30,900,\np3,6000,12288,0,0,,LS,Succeeded,30,900,40\n";
inline constexpr std::string_view shockwave =
    "ResNet-18 (batch size 32)\tpython3 main.py\tcifar10\t--num_steps\t1\t5000\t2\taccordion\t1\t-1.0\t3338\t0\n"
    "LM (batch size 10)\tpython3 main.py\tlm\t--steps\t1\t1000\t1\tgns\t2.5\t-1.000000\t1418\t55\n";
inline constexpr std::string_view muri =
    "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,resource_time_0,resource_time_1,resource_time_2,priority\n"
    "0,1,1500,100,vgg16,16,60000,0,600,500,50,50,0\n1,2,31500,200,vgg16,16,120500,30000,600,500,50,50,0\n";
inline constexpr std::string_view chronus =
    "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,expect_time_list,expect_value_list,best_effort,job_type\n"
    "0,vc_a,1,10,500,m1,60,5,70,10,0,strict\n1,vc_a,2,25,500,m1,120,5,159-189,10-8,0,soft\n"
    "2,vc_b,1,26,500,m1,10,5,1,10,1,best\n3,vc_b,0,26,500,m1,10,5,1,10,1,best\n";

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

/// The trace of a workload from its first submission on, as it is read again. Precondition: there is a job.
[[nodiscard]] inline std::string written_from_first(workload from) {
    auto const first = from.jobs.front().submitted;
    for (auto& job : from.jobs) job.submitted = job.submitted - first;
    return trace::written(from);
}

/// "" when the text can be read.
[[nodiscard]] inline std::string refusal(std::string_view text, trace::format as = trace::format::detect) {
    auto const made = read(text, as);
    return made ? std::string() : to_text(in_file("t.csv", made.failure()));
}

}  // namespace traces
