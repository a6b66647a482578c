package sandbox

import (
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Limits bound what a module may be and what a call may use. The zero value of
// a field means its default, which [DefaultLimits] lists.
type Limits struct {
	ModuleBytes int    // size of a module
	MemoryPages uint32 // linear memory, in pages of 64 KiB

	CompileTime  time.Duration // wall clock of one compilation
	CompileBytes int64         // resident memory of a compiling worker

	StartTime time.Duration // wall clock from starting a worker to its first instance
	CallTime  time.Duration // wall clock of one call, whatever its context allows
	GuestCPU  time.Duration // CPU of one call; host calls are not counted
	RunBytes  int64         // resident memory of a running worker
	DataBytes int64         // what the kernel lets a worker allocate (RLIMIT_DATA); negative: no limit

	InputBytes   int // input of one call
	RequestBytes int // request of one host call
	AnswerBytes  int // answer of one host call
	ResultBytes  int // result of one call
	LogBytes     int // log text of one call
	HostCalls    int // host calls in one call, progress not counted
	ProgressSent int // progress reports in one call

	Workers int           // workers of one module at a time, besides those that a call owns
	Idle    time.Duration // how long an unused worker lives
}

// DefaultLimits returns the limits that hold where a [Config] says nothing.
func DefaultLimits() Limits {
	return Limits{
		ModuleBytes:  abi.MaxModule,
		MemoryPages:  abi.MaxMemory / wasmPage,
		CompileTime:  30 * time.Second,
		CompileBytes: 1 << 30,
		StartTime:    15 * time.Second,
		CallTime:     abi.MaxCallTimeout,
		GuestCPU:     abi.GuestCPU,
		RunBytes:     512 << 20,
		DataBytes:    1 << 30,
		InputBytes:   abi.MaxArgs + 256<<10, // arguments, and the settings and clock around them
		RequestBytes: 2 << 20,               // a body of abi.MaxBody, escaped
		AnswerBytes:  abi.MaxAnswer,
		ResultBytes:  abi.MaxResult,
		LogBytes:     64 << 10,
		HostCalls:    abi.MaxHostCalls,
		ProgressSent: 256,
		Workers:      4,
		Idle:         time.Minute,
	}
}

const wasmPage = 64 << 10

// withDefaults fills what is zero.
func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	orDefault(&l.ModuleBytes, d.ModuleBytes)
	orDefault(&l.MemoryPages, d.MemoryPages)
	orDefault(&l.CompileTime, d.CompileTime)
	orDefault(&l.CompileBytes, d.CompileBytes)
	orDefault(&l.StartTime, d.StartTime)
	orDefault(&l.CallTime, d.CallTime)
	orDefault(&l.GuestCPU, d.GuestCPU)
	orDefault(&l.RunBytes, d.RunBytes)
	orDefault(&l.DataBytes, d.DataBytes)
	orDefault(&l.InputBytes, d.InputBytes)
	orDefault(&l.RequestBytes, d.RequestBytes)
	orDefault(&l.AnswerBytes, d.AnswerBytes)
	orDefault(&l.ResultBytes, d.ResultBytes)
	orDefault(&l.LogBytes, d.LogBytes)
	orDefault(&l.HostCalls, d.HostCalls)
	orDefault(&l.ProgressSent, d.ProgressSent)
	orDefault(&l.Workers, d.Workers)
	orDefault(&l.Idle, d.Idle)
	return l
}

func orDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}
