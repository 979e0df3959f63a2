// SPDX-License-Identifier: BSL-1.0
/// A jobs file with nearly everything that one can say: to be read to the letter, and to be damaged.
#pragma once

#include <string_view>

constexpr std::string_view whole_jobs_file = R"(policy = "tradl"
tradl = { alpha = 0.9, scenario = "FT", rounds = 3, strict = true }
cpus = 2
tick = "250ms"
devices = { count = 4, cpu = 0.25 }

[equal_share]
slack = 0.5

[[job]]
name = "vae"
command = ["build/train", "vae", "--seed", "1"]
directory = "work"
environment = { DATA = "/data", OMP_NUM_THREADS = 1 }
at = "1.5m"
target = { loss = { acceptable = 120, objective = 110.5, mean_of = 10 } }
bounds = { cpu = { min = 0.1, max = 2 }, memory = "2GiB" }
log = 'step=(?<step>\d+) loss=(?<loss>\S+)'
on_acceptable = "save"
tenant = "alice"
weight = 2

[[job]]
name = "cnn.2"
command = ["python3", "cnn.py"]
target.accuracy.objective = 0.9
bounds = { gpu = { min = 1, max = 2 }, batch = { min = 16, max = 512 } }
speedup = [0, 1, 1.8]
restart_cost = "20s"
priority = 5
)";
