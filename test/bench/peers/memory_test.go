package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// proc makes a process as /proc shows it; exe "" can't be read.
func proc(t *testing.T, dir string, pid, parent int, name, exe string, pages int) {
	t.Helper()
	own := filepath.Join(dir, strconv.Itoa(pid))
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	stat := fmt.Sprintf("%d (%s) S %d 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 %d 1000 %d 99 1 1\n", pid, name, parent, 100+pid, pages)
	if err := os.WriteFile(filepath.Join(own, "stat"), []byte(stat), 0o600); err != nil {
		t.Fatal(err)
	}
	if exe == "" {
		return
	}
	if err := os.Symlink(exe, filepath.Join(own, "exe")); err != nil {
		t.Fatal(err)
	}
}

func TestMemoryOfServerAndBrowser(t *testing.T) {
	dir := t.TempDir()
	const own, chromium = "/opt/drawbridge", "/usr/lib/chromium/chromium"
	proc(t, dir, 10, 1, "drawbridge", own, 1)
	proc(t, dir, 20, 1, "drawbridge", own, 2)      // the daemon
	proc(t, dir, 21, 20, "drawbridge", own, 4)     // its worker
	proc(t, dir, 22, 20, "worker) S 1", "", 8)     // one that hides itself, with a name that tries to mislead
	proc(t, dir, 30, 20, "chromium", chromium, 16) // the browser
	proc(t, dir, 31, 30, "chromium", "", 32)       // its zygote
	proc(t, dir, 32, 31, "chromium", own, 64)      // whatever it runs
	proc(t, dir, 40, 1, "another", chromium, 128)
	if err := os.Mkdir(filepath.Join(dir, "50"), 0o700); err != nil { // it has just ended
		t.Fatal(err)
	}
	list, err := descendants(dir, []int{10, 20, 10, 99})
	if err != nil || len(list) != 7 {
		t.Fatalf("descendants = %v, %v", list, err)
	}
	server, browser, err := split(list)
	if page := int64(os.Getpagesize()); err != nil || server != 15*page || browser != 112*page {
		t.Errorf("split = %d, %d pages, %v; want 15, 112", server/page, browser/page, err)
	}
	if list[0].started != "110" {
		t.Errorf("started = %q", list[0].started)
	}
}

func TestMemoryThatCantBeMeasured(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := split(nil); err == nil {
		t.Error("no process, no error")
	}
	proc(t, dir, 10, 1, "node", "/usr/bin/node", 1)
	list, err := descendants(dir, []int{10})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := split(list); err == nil {
		t.Error("no browser, no error")
	}
	for _, stat := range []string{"", "11 (x", "11 (x) S 1", "11 (x) S one 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 5 1000 6", "11 (x) S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 5 1000 many"} {
		own := filepath.Join(t.TempDir(), "11")
		if err := os.Mkdir(own, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(own, "stat"), []byte(stat), 0o600); err != nil {
			t.Fatal(err)
		}
		if p, err := readProcess(filepath.Dir(own), 11); err == nil {
			t.Errorf("readProcess of %q = %+v", stat, p)
		}
	}
}
