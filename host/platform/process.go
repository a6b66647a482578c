package platform

import (
	"fmt"
	"path/filepath"
	"slices"
)

// maxAncestors ends a walk that would not end by itself.
const maxAncestors = 128

// A Process is one process as the kernel knows it. PID and StartTime together
// name it for as long as the machine is up; the PID alone is given out again.
type Process struct {
	PID       int
	Parent    int
	Session   int    // process id of the session's leader; 0 if not known
	StartTime uint64 // grows from parent to child; the unit is the system's own
	TTY       string // its controlling terminal, such as "pts/3"; empty if none
	Exe       string // path of its program; empty if not known
}

// Ancestors lists the process pid, its parent, and so on up to one without a
// parent that we can see. It fails if any of them ended meanwhile, since what
// it found would then be no proof of anything.
//
// A process that detached itself (double fork) has lost its ancestry. This is
// a hurdle for an agent's shell, not a wall.
func Ancestors(pid int) ([]Process, error) {
	return ancestors(pid, readProcess)
}

func ancestors(pid int, read func(int) (Process, error)) ([]Process, error) {
	var line []Process
	for pid > 0 {
		if len(line) == maxAncestors {
			return nil, fmt.Errorf("reading ancestry: more than %d processes", maxAncestors)
		}
		p, err := read(pid)
		if err != nil {
			return nil, fmt.Errorf("reading ancestry: %w", err)
		}
		if n := len(line); n > 0 && p.StartTime > line[n-1].StartTime {
			return nil, fmt.Errorf("reading ancestry: process %d is younger than its child %d", p.PID, line[n-1].PID)
		}
		line = append(line, p)
		pid = p.Parent
	}
	if len(line) == 0 {
		return nil, fmt.Errorf("reading ancestry: process id %d", pid)
	}
	// Again from the start: a parent that ended meanwhile shows as a new one.
	for _, p := range line {
		now, err := read(p.PID)
		if err != nil || now.Parent != p.Parent || now.StartTime != p.StartTime {
			return nil, fmt.Errorf("reading ancestry: process %d changed meanwhile", p.PID)
		}
	}
	return line, nil
}

// HasTerminal reports whether the process pid has a controlling terminal.
func HasTerminal(pid int) (bool, error) {
	p, err := readProcess(pid)
	if err != nil {
		return false, fmt.Errorf("reading terminal: %w", err)
	}
	return p.TTY != "", nil
}

// ClientOf finds the program that started the stdio server pid: its nearest
// ancestor that is not a wrapper such as "sh -c". The programs that the client
// starts, an agent's shell among them, descend from it, but not from pid. A
// shell that leads a session on a terminal is no wrapper: somebody types there,
// and counts as the client.
func ClientOf(pid int) (Process, error) {
	line, err := Ancestors(pid)
	if err != nil {
		return Process{}, err
	}
	return clientOf(line)
}

func clientOf(line []Process) (Process, error) {
	for _, p := range line[1:] {
		if p.PID == 1 {
			break
		}
		if p.Session == p.PID && p.TTY != "" || !isWrapper(p.Exe) {
			return p, nil
		}
	}
	return Process{}, fmt.Errorf("finding client: process %d was started by nobody that is still there", line[0].PID)
}

func isWrapper(exe string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "env", "timeout", "nice", "nohup"}, filepath.Base(exe))
}
