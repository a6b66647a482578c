package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/test/bench/results"
)

// A machine is what the numbers depend on.
type machine struct {
	Go         string  `json:"go"`
	OS         string  `json:"os"`
	CPUs       int     `json:"cpus"`
	MemoryGiB  int     `json:"memory_gib"`
	Chromium   string  `json:"chromium"`
	Node       string  `json:"node"`
	LoadBefore float64 `json:"load_before"` // average of a minute
	LoadAfter  float64 `json:"load_after"`
}

func describe(ctx context.Context, chromium, node string) machine {
	return machine{
		Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(),
		MemoryGiB: memoryGiB(), Chromium: results.Version(ctx, chromium, "--version"), Node: results.Version(ctx, node, "--version"), LoadBefore: loadAverage(),
	}
}

// loadAverage is how many processes wanted to run in the last minute; 0 where the
// system doesn't say.
func loadAverage() float64 {
	text, err := os.ReadFile(procDir + "/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	v, _ := strconv.ParseFloat(first, 64)
	return v
}

func memoryGiB() int {
	text, err := os.ReadFile(procDir + "/meminfo")
	if err != nil {
		return 0
	}
	var kib int
	if _, err := fmt.Sscanf(string(text), "MemTotal: %d kB", &kib); err != nil {
		return 0
	}
	return (kib + 1<<19) >> 20
}

// busy says whether other work kept the machine from being measured alone.
func (m machine) busy() string {
	if m.LoadBefore > float64(m.CPUs)/2 {
		return "The machine was loaded with other work: read the ratios, not the times."
	}
	return "Little else was running."
}
