package sandbox

import (
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// The import modules that a connector may name.
const (
	moduleExtism = "extism:host/env"
	moduleWASI   = "wasi_snapshot_preview1"
)

// signature returns the only type that the import module.name may have, in the
// notation of funcType.String, or false if nothing of that name is served.
func signature(module, name string) (string, bool) {
	var table string
	switch module {
	case moduleExtism:
		table = extismImports
	case moduleWASI:
		table = wasiImports
	case abi.Namespace:
		if slices.Contains(abi.Capabilities(), abi.Capability(name)) {
			return hostCallType, true
		}
		return "", false
	}
	for line := range strings.Lines(table) {
		if n, sig, ok := strings.Cut(strings.TrimSpace(line), " "); ok && n == name {
			return sig, true
		}
	}
	return "", false
}

// hostCallType takes and returns the offset of a JSON block in Extism memory.
const hostCallType = "l>l"

// What the Extism PDKs need to read input, write output and log. The rest of
// Extism's environment (HTTP, variables, configuration) is never served.
const extismImports = `
alloc l>l
free l>
length l>l
length_unsafe l>l
load_u8 l>i
load_u64 l>l
store_u8 li>
store_u64 ll>
input_length >l
input_offset >l
input_load_u8 l>i
input_load_u64 l>l
output_set ll>
error_set l>
get_log_level >i
log_trace l>
log_debug l>
log_info l>
log_warn l>
log_error l>
`

// What the runtimes of Go, C and Rust need to link. There are no files, no
// arguments and no environment behind these: every descriptor but the log is
// EBADF.
const wasiImports = `
args_get ii>i
args_sizes_get ii>i
clock_time_get ili>i
environ_get ii>i
environ_sizes_get ii>i
fd_close i>i
fd_fdstat_get ii>i
fd_fdstat_set_flags ii>i
fd_prestat_dir_name iii>i
fd_prestat_get ii>i
fd_read iiii>i
fd_seek ilii>i
fd_write iiii>i
poll_oneoff iiii>i
proc_exit i>
random_get ii>i
sched_yield >i
`
