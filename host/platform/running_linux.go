package platform

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxProcFile bounds what is read of a command line or an environment.
const maxProcFile = 256 << 10

// OwnProcesses lists the processes of this user whose command line match accepts.
// Those that end meanwhile, or that can't be read, are left out. It is empty on
// systems that don't tell.
func OwnProcesses(match func(args []string) bool) ([]Running, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var list []Running
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		args := procStrings(filepath.Join(dir, "cmdline"))
		if len(args) == 0 || !match(args) {
			continue
		}
		env := procStrings(filepath.Join(dir, "environ")) // another user's can't be read
		if env == nil {
			continue
		}
		r := Running{PID: pid, Args: args, Env: map[string]string{}}
		for _, e := range env {
			if name, value, ok := strings.Cut(e, "="); ok {
				r.Env[name] = value
			}
		}
		list = append(list, r)
	}
	return list, nil
}

// procStrings reads a file of strings that each end in a zero byte; nil if it
// can't be read.
func procStrings(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxProcFile))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimRight(string(data), "\x00"), "\x00")
}
