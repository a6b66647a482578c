//go:build !linux

package sandbox

import (
	"os"
	"time"
)

// waitsWithoutReaping is false where a child can only be waited for by reaping
// it. Killing then goes through a handle that knows about the end.
const waitsWithoutReaping = false

func selfExecutable() (string, error) { return os.Executable() }

func waitExited(int) {}

func readCPU(int) (time.Duration, bool) { return 0, false }

// readUsage can't tell: a call's clock then takes the place of its CPU time.
func readUsage(int) (usage, bool) { return usage{}, false }

func readPeak(int) int64 { return 0 }

// A spawner starts workers.
type spawner struct{}

func newSpawner() *spawner { return &spawner{} }

func (*spawner) run(f func() error) error { return f() }

func (*spawner) close() {}
