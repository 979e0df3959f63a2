// SPDX-License-Identifier: BSL-1.0
//! The policy: it reads the columns of `COLUMNS`, and writes grants into `out`. `abi.rs` is the rest of a plugin.
mod abi;

use abi::{Grant, Kind, Manifest, Out, Tick};

/// The columns that it reads; the numbers below are places in this list.
const COLUMNS: [(&str, Kind); 5] = [
    ("jobs/state", Kind::U32),
    ("jobs/tier", Kind::U32),
    ("jobs/min.cpu", Kind::I64),
    ("jobs/max.cpu", Kind::I64),
    ("nodes/capacity.cpu", Kind::I64),
];
const STATE: usize = 0;
const TIER: usize = 1;
const LEAST: usize = 2;
const MOST: usize = 3;
const CAPACITY: usize = 4;

/// The host reads it from the file before any code runs, so it repeats the list of columns.
#[used]
#[link_section = "ration"]
static MANIFEST: Manifest = Manifest {
    id: abi::text("org.example.my-policy"),
    name: abi::text("my_policy"),
    version: abi::text("0.1.0"),
    summary: abi::text("more CPU for jobs below their first tier"),
    needs: abi::text("jobs/state u32\njobs/tier u32\njobs/min.cpu i64\njobs/max.cpu i64\nnodes/capacity.cpu i64\n"),
    reasons: abi::text("\non its way to the first tier\nhas reached its first tier\n"),
    ..Manifest::EMPTY
};

/// The weight of a job when the CPU is divided.
fn weight(tier: u32) -> i64 {
    if tier == 0 {
        2
    } else {
        1
    }
}

fn decide(tick: &Tick, out: &mut Out) -> i32 {
    let state: &[u32] = tick.column(abi::JOBS, STATE);
    let tier: &[u32] = tick.column(abi::JOBS, TIER);
    let least: &[i64] = tick.column(abi::JOBS, LEAST);
    let most: &[i64] = tick.column(abi::JOBS, MOST);
    let capacity: &[i64] = tick.column(abi::NODES, CAPACITY);
    let running = || (0..state.len()).filter(|job| state[*job] == abi::RUNNING);
    let all: i64 = running().map(|job| weight(tier[job])).sum();
    for job in running() {
        let share = capacity[0] / all * weight(tier[job]);
        let amount = if share < least[job] { 0 } else { share.max(abi::LEAST_CPU).min(most[job]) }; // 0 pauses the job
        let reason = if tier[job] == 0 { 1 } else { 2 };
        if !out.set(Grant { job: job as u32, node: 0, resource: abi::CPU, reason, group: 0, amount }) {
            return out.too_small(running().count());
        }
    }
    abi::OK
}

export_policy!(COLUMNS, MANIFEST, decide);

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::c_void;

    /// One tick, by hand: no host, no process, no clock.
    #[test]
    fn a_job_below_its_first_tier_gets_twice_as_much() {
        let (state, tier) = ([abi::RUNNING, abi::RUNNING, 0], [1u32, 0, 0]);
        let (least, most, capacity) = ([1i64; 3], [100_000i64; 3], [3000i64]);
        let slots: [*const c_void; 5] =
            [state.as_ptr().cast(), tier.as_ptr().cast(), least.as_ptr().cast(), most.as_ptr().cast(), capacity.as_ptr().cast()];
        let tables = [abi::Table::new(3, &slots), abi::Table::new(1, &slots)];
        let mut space = [Grant::default(); 3];
        let mut out = Out::new(&mut space);
        assert_eq!(decide(&Tick::new(&tables, &[0, 1, 2, 3, 4]), &mut out), abi::OK);
        assert_eq!(out.rows(), 2);
        assert_eq!((space[0].amount, space[1].amount), (1000, 2000));
    }
}
