// SPDX-License-Identifier: BSL-1.0
//! ration's plugin ABI, major 1, as far as this policy uses it: `ration/plugin/abi.h` by hand, without any crate. A panic becomes a code.
use std::ffi::{c_char, c_void, CStr};
use std::mem::size_of;

pub const OK: i32 = 0;
pub const E_CAPACITY: i32 = -1;
pub const E_ARG: i32 = -2;
pub const E_UNSUPPORTED: i32 = -4;
pub const E_EXCEPTION: i32 = -7;
pub const DETERMINISTIC: u32 = 1;
pub const JOBS: usize = 0;
pub const NODES: usize = 1;
pub const CPU: u16 = 0;
pub const LEAST_CPU: i64 = 10; // millicores: the smallest positive grant of CPU
pub const RUNNING: u32 = 1;
const NO_SLOT: u32 = 0xFFFF_FFFF;

/// The type of a column.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    U32 = 1,
    I64 = 2,
}

#[repr(C)]
pub struct RawColumn {
    name: *const c_char,
    table: u32,
    kind: u32,
    width: u32,
    slot: u32,
    flags: u32,
    reserved: u32,
}
#[repr(C)]
pub struct Schema {
    struct_size: u32,
    n_columns: u32,
    column_stride: u32,
    n_resources: u32,
    most: [u64; 3],
    column: *const u8,
}
#[repr(C)]
pub struct Table {
    struct_size: u32,
    n_slots: u32,
    n_rows: u64,
    slot: *const *const c_void,
}
#[repr(C)]
pub struct RawTick {
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
#[derive(Clone, Copy, Default)]
pub struct Grant {
    pub job: u32,
    pub node: u32,
    pub resource: u16,
    pub reason: u16,
    pub group: u32,
    pub amount: i64,
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
    pub magic: [u8; 8],
    pub struct_size: u32,
    pub abi_minor_needed: u32,
    pub layout: u32,
    pub flags: u32,
    pub id: [u8; 64],
    pub name: [u8; 64],
    pub version: [u8; 32],
    pub vendor: [u8; 64],
    pub license: [u8; 32],
    pub summary: [u8; 128],
    pub needs: [u8; 1024],
    pub extensions: [u8; 256],
    pub reasons: [u8; 1024],
    pub parameters: [u8; 3072],
}
#[repr(C)]
pub struct Policy {
    pub struct_size: u32,
    pub flags: u32,
    pub manifest: &'static Manifest,
    pub create: extern "C" fn(*const c_void, *const c_char, u64, *mut *mut c_void, *mut c_char, u64) -> i32,
    pub destroy: extern "C" fn(*mut c_void),
    pub bind: extern "C" fn(*mut c_void, *const Schema, *mut u64, *mut c_char, u64) -> i32,
    pub on_event: Option<extern "C" fn(*mut c_void, *const c_void, u64, u32) -> i32>,
    pub decide: extern "C" fn(*mut c_void, *const RawTick, *mut Out) -> i32,
    pub save: Option<extern "C" fn(*mut c_void, *mut c_void, u64, *mut u64) -> i32>,
    pub load: Option<extern "C" fn(*mut c_void, *const c_void, u64) -> i32>,
    pub extension: Option<extern "C" fn(*mut c_void, *const c_char) -> *const c_void>,
}
const _: () = assert!(size_of::<Grant>() == 24 && size_of::<RawColumn>() == 32 && size_of::<Schema>() == 48);
const _: () = assert!(size_of::<Table>() == 24 && size_of::<RawTick>() == 72 && size_of::<Out>() == 40);
const _: () = assert!(size_of::<Manifest>() == 5784 && size_of::<Policy>() == 80);

/// A text of the manifest: it ends with a zero byte.
pub const fn text<const N: usize>(from: &str) -> [u8; N] {
    assert!(from.len() < N, "the text is too long for the manifest");
    let mut to = [0; N];
    let mut i = 0;
    while i < from.len() {
        to[i] = from.as_bytes()[i];
        i += 1;
    }
    to
}

impl Manifest {
    pub const EMPTY: Manifest = Manifest {
        magic: text("RATION1"),
        struct_size: size_of::<Manifest>() as u32,
        abi_minor_needed: 0,
        layout: 8 | 24 << 8 | 40 << 16 | 48 << 24, // RATION_LAYOUT
        flags: DETERMINISTIC,
        id: [0; 64],
        name: [0; 64],
        version: [0; 32],
        vendor: [0; 64],
        license: [0; 32],
        summary: [0; 128],
        needs: [0; 1024],
        extensions: [0; 256],
        reasons: [0; 1024],
        parameters: [0; 3072],
    };
}

/// One tick as the policy sees it.
pub struct Tick<'a> {
    table: *const *const Table,
    slots: &'a [usize],
}

impl<'a> Tick<'a> {
    pub fn of(raw: &'a RawTick, slots: &'a [usize]) -> Self {
        Tick { table: raw.table, slots }
    }
    /// Column number `index` of the list, which is one of `table`.
    pub fn column<T>(&self, table: usize, index: usize) -> &'a [T] {
        // The host keeps every bound column readable for as many rows as its table has, until decide returns.
        unsafe {
            let table = &**self.table.add(table);
            std::slice::from_raw_parts((*table.slot.add(self.slots[index])).cast(), table.n_rows as usize)
        }
    }
}

impl Out {
    /// False when all places are taken.
    pub fn set(&mut self, grant: Grant) -> bool {
        if self.count == self.capacity {
            return false;
        }
        unsafe { *self.grant.add(self.count as usize) = grant };
        self.count += 1;
        true
    }
    /// An answer that is refused leaves no trace but `needed`.
    pub fn fill(&mut self, decide: impl FnOnce(&mut Out) -> i32) -> i32 {
        let before = self.count;
        self.count = 0;
        let said = decide(self);
        if said != OK {
            self.count = before;
        }
        said
    }
    pub fn too_small(&mut self, needed: usize) -> i32 {
        self.needed = needed as u64;
        E_CAPACITY
    }
}

pub fn say(sentence: &str, err: *mut c_char, size: u64) {
    let n = sentence.len().min((size as usize).saturating_sub(1));
    if size > 0 {
        unsafe {
            std::ptr::copy_nonoverlapping(sentence.as_ptr(), err.cast(), n);
            *err.add(n) = 0;
        }
    }
}

/// The slots of `wanted`, or the name of the first column that this host does not offer as the policy needs it.
pub fn find_all(schema: &Schema, wanted: &[(&'static str, Kind)], slots: &mut [usize]) -> Result<(), &'static str> {
    for (place, (name, kind)) in slots.iter_mut().zip(wanted) {
        *place = find(schema, name, *kind).ok_or(*name)?;
    }
    Ok(())
}

fn find(schema: &Schema, name: &str, kind: Kind) -> Option<usize> {
    for i in 0..schema.n_columns as usize {
        // By the stride, since a later host's columns are longer.
        let column = unsafe { &*schema.column.add(i * schema.column_stride as usize).cast::<RawColumn>() };
        if unsafe { CStr::from_ptr(column.name) }.to_bytes() == name.as_bytes() {
            let good = column.kind == kind as u32 && column.width == 1 && column.slot != NO_SLOT;
            return good.then_some(column.slot as usize);
        }
    }
    None
}

/// Functions and entry symbol of a policy: its columns, its manifest, its `fn(&Tick, &mut Out) -> i32`.
#[macro_export]
macro_rules! export_policy {
    ($columns:ident, $manifest:ident, $decide:path) => {
        mod exported {
            use super::*;
            use std::ffi::{c_char, c_void};
            use std::panic::{catch_unwind, AssertUnwindSafe};

            type Slots = [usize; $columns.len()];

            fn guarded(action: impl FnOnce() -> i32) -> i32 {
                catch_unwind(AssertUnwindSafe(action)).unwrap_or(abi::E_EXCEPTION)
            }
            extern "C" fn create(_: *const c_void, _: *const c_char, length: u64, this: *mut *mut c_void, err: *mut c_char, size: u64) -> i32 {
                if length != 0 {
                    abi::say("this policy takes no parameters: leave them out", err, size);
                    return abi::E_ARG;
                }
                guarded(|| {
                    unsafe { *this = Box::into_raw(Box::<Slots>::default()).cast() };
                    abi::OK
                })
            }
            extern "C" fn destroy(this: *mut c_void) {
                drop(unsafe { Box::from_raw(this.cast::<Slots>()) });
            }
            extern "C" fn bind(this: *mut c_void, schema: *const abi::Schema, scratch: *mut u64, err: *mut c_char, size: u64) -> i32 {
                unsafe { *scratch = 0 };
                guarded(|| match abi::find_all(unsafe { &*schema }, &$columns, unsafe { &mut *this.cast::<Slots>() }) {
                    Ok(()) => abi::OK,
                    Err(name) => {
                        abi::say(&format!("{name}: this host does not offer the column as the policy needs it"), err, size);
                        abi::E_UNSUPPORTED
                    }
                })
            }
            extern "C" fn one_tick(this: *mut c_void, tick: *const abi::RawTick, out: *mut Out) -> i32 {
                guarded(|| unsafe { (*out).fill(|out| $decide(&Tick::of(&*tick, &*this.cast::<Slots>()), out)) })
            }

            #[no_mangle]
            #[allow(non_upper_case_globals)]
            pub static ration_policy_v1: abi::Policy = abi::Policy {
                struct_size: std::mem::size_of::<abi::Policy>() as u32,
                flags: abi::DETERMINISTIC,
                manifest: &$manifest,
                create,
                destroy,
                bind,
                on_event: None,
                decide: one_tick,
                save: None,
                load: None,
                extension: None,
            };
        }
    };
}

/// A host for tests.
#[cfg(test)]
mod by_hand {
    use super::*;

    impl Table {
        pub fn new(rows: u64, slots: &[*const c_void]) -> Box<Table> {
            Box::new(Table { struct_size: size_of::<Table>() as u32, n_slots: slots.len() as u32, n_rows: rows, slot: slots.as_ptr() })
        }
    }
    impl<'a> Tick<'a> {
        pub fn new(tables: &[Box<Table>], slots: &'a [usize]) -> Self {
            Tick { table: tables.as_ptr().cast(), slots }
        }
    }
    impl Out {
        pub fn new(space: &mut [Grant]) -> Out {
            let size = size_of::<Out>() as u32;
            Out { struct_size: size, flags: 0, capacity: space.len() as u64, count: 0, needed: 0, grant: space.as_mut_ptr() }
        }
        pub fn rows(&self) -> u64 {
            self.count
        }
    }
}
