// SPDX-License-Identifier: BSL-1.0
//! The policy of plain.c in Rust, without any crate. The ABI is that of the template of `ration new --lang rust`.
#[allow(dead_code)]
#[path = "../../../tools/ration/new/rust/src/abi.rs"]
mod abi;

use abi::{Grant, Kind, Manifest, Out, Tick};

const COLUMNS: [(&str, Kind); 2] = [("jobs/state", Kind::U32), ("nodes/capacity.cpu", Kind::I64)];
const STATE: usize = 0;
const CAPACITY: usize = 1;

#[used]
#[link_section = "ration"]
static MANIFEST: Manifest = Manifest {
    id: abi::text("org.example.rust"),
    name: abi::text("rust"),
    version: abi::text("1.0.0"),
    license: abi::text("BSL-1.0"),
    summary: abi::text("equal shares on every node"),
    needs: abi::text("jobs/state u32\nnodes/capacity.cpu i64\n"),
    reasons: abi::text("\nthe same for all\n"),
    ..Manifest::EMPTY
};

fn decide(tick: &Tick, out: &mut Out) -> i32 {
    let state: &[u32] = tick.column(abi::JOBS, STATE);
    let capacity: &[i64] = tick.column(abi::NODES, CAPACITY);
    let running = state.iter().filter(|s| **s == abi::RUNNING).count();
    for job in (0..state.len()).filter(|job| state[*job] == abi::RUNNING) {
        for node in 0..capacity.len() {
            let amount = capacity[node] / running as i64;
            if !out.set(Grant { job: job as u32, node: node as u32, resource: abi::CPU, reason: 1, group: 0, amount }) {
                return out.too_small(running * capacity.len());
            }
        }
    }
    abi::OK
}

export_policy!(COLUMNS, MANIFEST, decide);
