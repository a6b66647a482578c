//! The way to the host. It keeps memory for both sides; a block is known by its
//! offset. Bytes go over eight at a time, because each single one is a host call.

use alloc::{string::String, vec::Vec};

mod env {
    #[link(wasm_import_module = "extism:host/env")]
    extern "C" {
        pub fn alloc(n: u64) -> u64;
        pub fn free(at: u64);
        pub fn length(at: u64) -> u64;
        pub fn load_u8(at: u64) -> u32;
        pub fn load_u64(at: u64) -> u64;
        pub fn store_u8(at: u64, v: u32);
        pub fn store_u64(at: u64, v: u64);
        pub fn input_length() -> u64;
        pub fn input_load_u8(at: u64) -> u32;
        pub fn input_load_u64(at: u64) -> u64;
        pub fn output_set(at: u64, n: u64);
        pub fn log_info(at: u64);
    }
}

mod calls {
    #[link(wasm_import_module = "drawbridge:host/v1")]
    extern "C" {
        pub fn read(at: u64) -> u64;
        pub fn act(at: u64) -> u64;
        pub fn screenshot(at: u64) -> u64;
        pub fn fetch(at: u64) -> u64;
        pub fn progress(at: u64) -> u64;
    }
}

// Each is the only caller of its import: what a connector does not reach, the
// linker drops, and so its imports are its capabilities.
pub fn read(text: &str) -> String {
    trip(text, |at| unsafe { calls::read(at) })
}
pub fn act(text: &str) -> String {
    trip(text, |at| unsafe { calls::act(at) })
}
pub fn screenshot(text: &str) -> String {
    trip(text, |at| unsafe { calls::screenshot(at) })
}
pub fn fetch(text: &str) -> String {
    trip(text, |at| unsafe { calls::fetch(at) })
}
pub fn progress(text: &str) -> String {
    trip(text, |at| unsafe { calls::progress(at) })
}

/// A line for the connector's log.
pub fn log(text: &str) {
    let at = put(text);
    unsafe {
        env::log_info(at);
        env::free(at);
    }
}

/// The input of the export that runs.
pub fn input() -> String {
    text(unsafe { env::input_length() }, |i| unsafe { env::input_load_u64(i) }, |i| unsafe { env::input_load_u8(i) })
}

/// The output of the export that runs.
pub fn output(text: &str) {
    let at = put(text);
    unsafe { env::output_set(at, text.len() as u64) }
}

fn trip(request: &str, call: impl Fn(u64) -> u64) -> String {
    let out = put(request);
    let at = call(out);
    unsafe { env::free(out) };
    let answer = text(unsafe { env::length(at) }, |i| unsafe { env::load_u64(at + i) }, |i| unsafe { env::load_u8(at + i) });
    unsafe { env::free(at) };
    answer
}

fn text(n: u64, word: impl Fn(u64) -> u64, byte: impl Fn(u64) -> u32) -> String {
    let mut b = Vec::with_capacity(n as usize);
    let mut i = 0;
    while i + 8 <= n {
        b.extend_from_slice(&word(i).to_le_bytes());
        i += 8;
    }
    while i < n {
        b.push(byte(i) as u8);
        i += 1;
    }
    String::from_utf8(b).unwrap_or_default()
}

fn put(text: &str) -> u64 {
    let b = text.as_bytes();
    let at = unsafe { env::alloc(b.len() as u64) };
    let words = b.chunks_exact(8);
    let rest = words.remainder();
    let mut i = at;
    for w in words {
        let mut a = [0; 8];
        a.copy_from_slice(w);
        unsafe { env::store_u64(i, u64::from_le_bytes(a)) };
        i += 8;
    }
    for v in rest {
        unsafe { env::store_u8(i, *v as u32) };
        i += 1;
    }
    at
}
