// The way to the host. It keeps memory for both sides; a block is known by its
// offset. Bytes go over eight at a time, because each single one is a host call.
// A function here is the only caller of its import: the compiler leaves out what a
// connector does not reach, and so its imports are its capabilities.

@external("extism:host/env", "alloc") declare function alloc(n: u64): u64;
@external("extism:host/env", "free") declare function free(at: u64): void;
@external("extism:host/env", "length") declare function length(at: u64): u64;
@external("extism:host/env", "load_u8") declare function load_u8(at: u64): u32;
@external("extism:host/env", "load_u64") declare function load_u64(at: u64): u64;
@external("extism:host/env", "store_u8") declare function store_u8(at: u64, v: u32): void;
@external("extism:host/env", "store_u64") declare function store_u64(at: u64, v: u64): void;
@external("extism:host/env", "input_length") declare function input_length(): u64;
@external("extism:host/env", "input_load_u8") declare function input_load_u8(at: u64): u32;
@external("extism:host/env", "input_load_u64") declare function input_load_u64(at: u64): u64;
@external("extism:host/env", "output_set") declare function output_set(at: u64, n: u64): void;
@external("extism:host/env", "log_info") declare function log_info(at: u64): void;

@external("drawbridge:host/v1", "read") declare function importRead(at: u64): u64;
@external("drawbridge:host/v1", "act") declare function importAct(at: u64): u64;
@external("drawbridge:host/v1", "screenshot") declare function importScreenshot(at: u64): u64;
@external("drawbridge:host/v1", "fetch") declare function importFetch(at: u64): u64;
@external("drawbridge:host/v1", "progress") declare function importProgress(at: u64): u64;

export function hostRead(text: string): string { const at = put(text); return answer(at, importRead(at)); }
export function hostAct(text: string): string { const at = put(text); return answer(at, importAct(at)); }
export function hostScreenshot(text: string): string { const at = put(text); return answer(at, importScreenshot(at)); }
export function hostFetch(text: string): string { const at = put(text); return answer(at, importFetch(at)); }
export function hostProgress(text: string): string { const at = put(text); return answer(at, importProgress(at)); }

// A line for the connector's log.
export function hostLog(text: string): void {
  const at = put(text);
  log_info(at);
  free(at);
}

// The input of the export that runs.
export function input(): string {
  const n = input_length();
  const b = new ArrayBuffer(<i32>n);
  const p = changetype<usize>(b);
  let i: u64 = 0;
  for (; i + 8 <= n; i += 8) store<u64>(p + <usize>i, input_load_u64(i));
  for (; i < n; i++) store<u8>(p + <usize>i, <u8>input_load_u8(i));
  return String.UTF8.decode(b);
}

// The output of the export that runs.
export function output(text: string): void {
  const at = put(text);
  output_set(at, <u64>String.UTF8.byteLength(text));
}

function put(text: string): u64 {
  const b = String.UTF8.encode(text);
  const n = <u64>b.byteLength;
  const p = changetype<usize>(b);
  const at = alloc(n);
  let i: u64 = 0;
  for (; i + 8 <= n; i += 8) store_u64(at + i, load<u64>(p + <usize>i));
  for (; i < n; i++) store_u8(at + i, load<u8>(p + <usize>i));
  return at;
}

function answer(request: u64, at: u64): string {
  free(request);
  const n = length(at);
  const b = new ArrayBuffer(<i32>n);
  const p = changetype<usize>(b);
  let i: u64 = 0;
  for (; i + 8 <= n; i += 8) store<u64>(p + <usize>i, load_u64(at + i));
  for (; i < n; i++) store<u8>(p + <usize>i, <u8>load_u8(at + i));
  free(at);
  return String.UTF8.decode(b);
}
