// SPDX-License-Identifier: BSL-1.0
//! The policy of plain.c in Rust, without any crate: bindings by hand, and no panic that could cross the boundary.
use std::ffi::{c_char, c_void, CStr};
use std::panic::catch_unwind;

const OK: i32 = 0;
const E_CAPACITY: i32 = -1;
const E_ARG: i32 = -2;
const E_UNSUPPORTED: i32 = -4;
const E_EXCEPTION: i32 = -7;
const DETERMINISTIC: u32 = 1;
const JOBS: usize = 0;
const NODES: usize = 1;
const RUNNING: u32 = 1;
const NO_SLOT: u32 = 0xFFFF_FFFF;

#[repr(C)]
pub struct Column {
    name: *const c_char,
    table: u32,
    type_: u32,
    width: u32,
    slot: u32,
    flags: u32,
    reserved: u32,
}
#[repr(C)]
pub struct Schema {
    sizes: [u32; 2],
    column_stride: u32,
    n_resources: u32,
    most: [u64; 3],
    column: *const u8,
}
#[repr(C)]
pub struct Table {
    sizes: [u32; 2],
    n_rows: u64,
    slot: *const *const c_void,
}
#[repr(C)]
pub struct Tick {
    sizes: [u32; 2],
    number: u64,
    seed: u64,
    now_ns: i64,
    budget_ns: i64,
    cancel: *const u32,
    table: *const *const Table,
    scratch: *mut c_void,
    scratch_size: u64,
}
#[repr(C)]
pub struct Grant {
    job: u32,
    node: u32,
    resource: u16,
    reason: u16,
    group: u32,
    amount: i64,
}
#[repr(C)]
pub struct Out {
    struct_size: u32,
    flags: u32,
    capacity: u64,
    count: u64,
    needed: u64,
    grant: *mut Grant,
}
#[repr(C)]
pub struct Manifest {
    magic: [u8; 8],
    struct_size: u32,
    abi_minor_needed: u32,
    layout: u32,
    flags: u32,
    id: [u8; 64],
    name: [u8; 64],
    version: [u8; 32],
    vendor: [u8; 64],
    license: [u8; 32],
    summary: [u8; 128],
    needs: [u8; 1024],
    extensions: [u8; 256],
    reasons: [u8; 1024],
    parameters: [u8; 3072],
}
#[repr(C)]
pub struct Policy {
    struct_size: u32,
    flags: u32,
    manifest: &'static Manifest,
    create: extern "C" fn(*const c_void, *const c_char, u64, *mut *mut c_void, *mut c_char, u64) -> i32,
    destroy: extern "C" fn(*mut c_void),
    bind: extern "C" fn(*mut c_void, *const Schema, *mut u64, *mut c_char, u64) -> i32,
    on_event: Option<extern "C" fn(*mut c_void, *const c_void, u64, u32) -> i32>,
    decide: extern "C" fn(*mut c_void, *const Tick, *mut Out) -> i32,
    save: Option<extern "C" fn(*mut c_void, *mut c_void, u64, *mut u64) -> i32>,
    load: Option<extern "C" fn(*mut c_void, *const c_void, u64) -> i32>,
    extension: Option<extern "C" fn(*mut c_void, *const c_char) -> *const c_void>,
}

const fn text<const N: usize>(from: &str) -> [u8; N] {
    let mut to = [0; N];
    let mut i = 0;
    while i < from.len() {
        to[i] = from.as_bytes()[i];
        i += 1;
    }
    to
}

#[used]
#[link_section = "ration"]
static MANIFEST: Manifest = Manifest {
    magic: text("RATION1"),
    struct_size: std::mem::size_of::<Manifest>() as u32,
    abi_minor_needed: 0,
    layout: 8 | 24 << 8 | 40 << 16 | 48 << 24,
    flags: DETERMINISTIC,
    id: text("org.example.rust"),
    name: text("rust"),
    version: text("1.0.0"),
    vendor: text(""),
    license: text("BSL-1.0"),
    summary: text("equal shares on every node"),
    needs: text("jobs/state u32\nnodes/capacity.cpu i64\n"),
    extensions: text(""),
    reasons: text("\nthe same for all\n"),
    parameters: text(""),
};

#[derive(Default)]
struct Plain {
    state: usize,
    capacity: usize,
}

fn say(sentence: &str, err: *mut c_char, size: u64) {
    let n = sentence.len().min((size as usize).saturating_sub(1));
    if size > 0 {
        unsafe {
            std::ptr::copy_nonoverlapping(sentence.as_ptr(), err as *mut u8, n);
            *err.add(n) = 0;
        }
    }
}

/// A panic becomes a code.
fn guarded(action: impl FnOnce() -> i32 + std::panic::UnwindSafe) -> i32 {
    catch_unwind(action).unwrap_or(E_EXCEPTION)
}

extern "C" fn create(_: *const c_void, _: *const c_char, length: u64, this: *mut *mut c_void, err: *mut c_char, size: u64) -> i32 {
    if length != 0 {
        say("it takes no parameters: leave them out", err, size);
        return E_ARG;
    }
    guarded(|| {
        unsafe { *this = Box::into_raw(Box::<Plain>::default()) as *mut c_void };
        OK
    })
}

extern "C" fn destroy(this: *mut c_void) {
    drop(unsafe { Box::from_raw(this as *mut Plain) });
}

fn find(schema: &Schema, sizes: u32, name: &CStr, type_: u32) -> Option<usize> {
    for i in 0..sizes as usize {
        let column = unsafe { &*(schema.column.add(i * schema.column_stride as usize) as *const Column) };
        if unsafe { CStr::from_ptr(column.name) } == name {
            let good = column.type_ == type_ && column.width == 1 && column.slot != NO_SLOT;
            return good.then_some(column.slot as usize);
        }
    }
    None
}

extern "C" fn bind(this: *mut c_void, schema: *const Schema, scratch: *mut u64, err: *mut c_char, size: u64) -> i32 {
    let (mine, schema) = unsafe { (&mut *(this as *mut Plain), &*schema) };
    unsafe { *scratch = 0 };
    let n = schema.sizes[1];
    match (find(schema, n, c"jobs/state", 1), find(schema, n, c"nodes/capacity.cpu", 2)) {
        (Some(state), Some(capacity)) => {
            *mine = Plain { state, capacity };
            OK
        }
        _ => {
            say("jobs/state or nodes/capacity.cpu is missing", err, size);
            E_UNSUPPORTED
        }
    }
}

/// The column of a table, as long as the table has rows.
unsafe fn column<'a, T>(table: *const Table, slot: usize) -> &'a [T] {
    std::slice::from_raw_parts(*(*table).slot.add(slot) as *const T, (*table).n_rows as usize)
}

extern "C" fn decide(this: *mut c_void, tick: *const Tick, out: *mut Out) -> i32 {
    let (mine, tick, out) = unsafe { (&*(this as *const Plain), &*tick, &mut *out) };
    let state: &[u32] = unsafe { column(*tick.table.add(JOBS), mine.state) };
    let capacity: &[i64] = unsafe { column(*tick.table.add(NODES), mine.capacity) };
    let running = state.iter().filter(|s| **s == RUNNING).count();
    if (running * capacity.len()) as u64 > out.capacity {
        out.needed = (running * capacity.len()) as u64;
        return E_CAPACITY;
    }
    let jobs = (0..state.len()).filter(|job| state[*job] == RUNNING);
    let places = jobs.flat_map(|job| (0..capacity.len()).map(move |node| (job, node)));
    out.count = 0;
    for (job, node) in places {
        let amount = capacity[node] / running as i64;
        let grant = Grant { job: job as u32, node: node as u32, resource: 0, reason: 1, group: 0, amount };
        unsafe { *out.grant.add(out.count as usize) = grant };
        out.count += 1;
    }
    OK
}

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static ration_policy_v1: Policy = Policy {
    struct_size: std::mem::size_of::<Policy>() as u32,
    flags: DETERMINISTIC,
    manifest: &MANIFEST,
    create,
    destroy,
    bind,
    on_event: None,
    decide,
    save: None,
    load: None,
    extension: None,
};
