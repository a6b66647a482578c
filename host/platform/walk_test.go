//go:build linux

package platform

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// table is a process table that can change between two reads.
func table(ps ...Process) func(int) (Process, error) {
	return func(pid int) (Process, error) {
		for _, p := range ps {
			if p.PID == pid {
				return p, nil
			}
		}
		return Process{}, os.ErrNotExist
	}
}

func TestWalk(t *testing.T) {
	steady := table(Process{PID: 30, Parent: 20, StartTime: 9}, Process{PID: 20, Parent: 1, StartTime: 5}, Process{PID: 1, StartTime: 0})
	if got, err := ancestors(30, steady); err != nil || len(got) != 3 || got[2].PID != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	reads := 0
	orphaned := func(pid int) (Process, error) { // its parent ends after the first look
		p, err := steady(pid)
		if reads++; reads > 3 && pid == 30 {
			p.Parent = 1
		}
		return p, err
	}
	tests := []struct {
		name string
		read func(int) (Process, error)
	}{
		{"a parent that ended", table(Process{PID: 30, Parent: 20, StartTime: 9})},
		{"a parent's number given out again", table(Process{PID: 30, Parent: 20, StartTime: 9}, Process{PID: 20, Parent: 0, StartTime: 10})},
		{"a circle", table(Process{PID: 30, Parent: 20}, Process{PID: 20, Parent: 30})},
		{"orphaned during the walk", orphaned},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := ancestors(30, tt.read); err == nil {
				t.Errorf("took %+v for an ancestry", got)
			}
		})
	}
}

func TestClientOf(t *testing.T) {
	server := Process{PID: 50, Session: 10, Exe: "/usr/bin/drawbridge"}
	tests := []struct {
		name string
		line []Process
		want int // 0: refused
	}{
		{"started directly", []Process{server, {PID: 40, Session: 10, Exe: "/opt/agent"}, {PID: 10, Session: 10, Exe: "/bin/bash"}, {PID: 1}}, 40},
		{"through sh -c", []Process{server, {PID: 45, Session: 10, Exe: "/usr/bin/dash"}, {PID: 40, Session: 10, Exe: "/opt/agent"}, {PID: 1}}, 40},
		{"through env and sh", []Process{server, {PID: 46, Session: 10, Exe: "/usr/bin/env"}, {PID: 45, Session: 10, Exe: "/bin/sh"}, {PID: 40, Session: 10, Exe: "/opt/agent"}, {PID: 1}}, 40},
		{"through a detached sh", []Process{server, {PID: 45, Session: 45, Exe: "/bin/sh"}, {PID: 40, Session: 10, Exe: "/opt/agent"}, {PID: 1}}, 40},
		{"typed into a shell", []Process{server, {PID: 10, Session: 10, TTY: "pts/1", Exe: "/bin/bash"}, {PID: 9, Exe: "/usr/bin/sshd"}, {PID: 1}}, 10},
		{"an orphan", []Process{server, {PID: 1, Exe: "/sbin/init"}}, 0},
		{"only wrappers", []Process{server, {PID: 45, Session: 10, Exe: "/bin/sh"}, {PID: 1, Exe: "/sbin/init"}}, 0},
		{"nobody", []Process{server}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := clientOf(tt.line)
			if got.PID != tt.want || (err != nil) != (tt.want == 0) {
				t.Errorf("client is %+v, %v, want %d", got, err, tt.want)
			}
		})
	}
}

const stat = "4242 (%s) S 41 4242 40 34819 4242 4194304 100 0 0 0 1 2 0 0 20 0 1 0 987654 1000 10 18446744073709551615 1 1 0"

func TestParseStat(t *testing.T) {
	for _, comm := range []string{"bash", "a b", "x) S 1 1 1 0 (y", ")", "", "(", ") Z 7 7 7 0 7 0 0 0 0 0 0 0 0 0 0 0 0 0 1"} {
		p, err := parseStat([]byte(strings.Replace(stat, "%s", comm, 1)))
		want := Process{PID: 4242, Parent: 41, Session: 40, StartTime: 987654, TTY: "pts/3"}
		if err != nil || p != want {
			t.Errorf("command %q: %+v, %v", comm, p, err)
		}
	}
	for _, bad := range []string{
		"", "4242", "4242 (bash", ") 4242 (", "4242 (bash) S 41 4242", "x (bash)" + stat[9:],
		strings.Replace(stat, " 41 ", " -41 ", 1), strings.Replace(stat, "987654", "soon", 1),
		strings.Replace(stat, "34819", "pts/3", 1), strings.Replace(stat, " 41 ", " 99999999999 ", 1),
	} {
		if p, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q is %+v", bad, p)
		}
	}
}

func TestTTYName(t *testing.T) {
	for dev, want := range map[uint32]string{
		0: "", 34816: "pts/0", 34819: "pts/3", 34816 + 255: "pts/255", 1<<20 | 34816: "pts/256", 0x401: "tty1", 0x440: "4:64", 0x500: "5:0",
	} {
		if got := ttyName(dev); got != want {
			t.Errorf("device %#x is %q, want %q", dev, got, want)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte(stat))
	f.Add([]byte("1 (systemd) S 0 1 1 0 -1 4194560"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parseStat(data)
		if err == nil && (p.PID < 0 || p.Parent < 0 || p.Session < 0) {
			t.Errorf("%+v", p)
		}
	})
}

func FuzzParseLock(f *testing.F) {
	f.Add([]byte(`{"pid":1,"version":"1"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		info, err := parseLock(data)
		if err == nil && info.PID <= 0 {
			t.Errorf("%+v", info)
		}
	})
}

func TestReadProcessOfAnother(t *testing.T) {
	if _, err := readProcess(1 << 30); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error is %v", err)
	}
}
