package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const procDir = "/proc"

// A process, as Linux's /proc shows it.
type process struct {
	pid, parent int
	started     string // clock ticks since the machine started
	rss         int64  // bytes
	exe         string // "" if we may not know
}

// readProcess reads one process. Its name, in brackets, may hold anything.
func readProcess(dir string, pid int) (process, error) {
	own := filepath.Join(dir, strconv.Itoa(pid))
	text, err := os.ReadFile(filepath.Join(own, "stat"))
	if err != nil {
		return process{}, err
	}
	f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(f) < 22 {
		return process{}, fmt.Errorf("%s/stat has %d fields after the name", own, len(f))
	}
	p := process{pid: pid, started: f[19]}
	pages, err := strconv.ParseInt(f[21], 10, 64)
	if err != nil {
		return process{}, err
	}
	p.rss = pages * int64(os.Getpagesize())
	if p.parent, err = strconv.Atoi(f[1]); err != nil {
		return process{}, err
	}
	p.exe, _ = os.Readlink(filepath.Join(own, "exe")) // not readable of a process that hides itself
	return p, nil
}

// descendants are the roots and all below them, a parent before its children.
func descendants(dir string, roots []int) ([]process, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	all, children := map[int]process{}, map[int][]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, err := readProcess(dir, pid); err == nil { // else it has ended meanwhile
			all[pid] = p
			children[p.parent] = append(children[p.parent], pid)
		}
	}
	var list []process
	seen := map[int]bool{}
	for queue := roots; len(queue) > 0; queue = queue[1:] {
		p, ok := all[queue[0]]
		if !ok || seen[p.pid] {
			continue
		}
		seen[p.pid] = true
		list = append(list, p)
		queue = append(queue, children[p.pid]...)
	}
	return list, nil
}

// split sums the resident memory of a server's processes and of its browser's. The
// browser is what runs another program than the server, and all below it.
func split(list []process) (server, browser int64, err error) {
	if len(list) == 0 {
		return 0, 0, errors.New("no process of the server was found")
	}
	own, foreign := list[0].exe, map[int]bool{}
	for _, p := range list {
		if foreign[p.parent] || p.exe != "" && p.exe != own {
			foreign[p.pid] = true
			browser += p.rss
			continue
		}
		server += p.rss
	}
	if browser == 0 {
		return 0, 0, errors.New("no browser was found below the server")
	}
	return server, browser, nil
}
