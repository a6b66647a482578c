package nodejs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestOlder(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"v20.20.2", Oldest, true},
		{"v22.18.9", Oldest, true},
		{"v22.19.0", Oldest, false},
		{"v22.23.3", Oldest, false},
		{"v24.0.0", Oldest, false},
		{"v9.99.99", Oldest, true},
		{"", Oldest, true},
		{"22.23.3", Oldest, true},
		{"v22", Oldest, true},
	} {
		if got := older(tt.a, tt.b); got != tt.want {
			t.Errorf("older(%q, %q) = %v", tt.a, tt.b, got)
		}
	}
}

// Only a machine without npm, or without its registry, is a reason to skip: anything
// else is a fault, such as a lock file that doesn't fit.
func TestFetchSaysWhatIsAbsent(t *testing.T) {
	for _, tt := range []struct {
		name, npm string // a shell script; none if empty
		absent    bool
	}{
		{"no npm", "", true},
		{"no network", "echo 'npm error code ENOTFOUND' >&2; exit 1", true},
		{"no route", "echo 'npm error errno ENETUNREACH' >&2; exit 1", true},
		{"the lock file", "echo 'npm error code EUSAGE' >&2; exit 1", false},
		{"a wrong digest", "echo 'npm error code EINTEGRITY' >&2; exit 1", false},
		{"no such version", "echo 'npm error code ETARGET: ENOTFOUND' >&2; exit 1", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bin := t.TempDir()
			if tt.npm != "" {
				if err := os.WriteFile(filepath.Join(bin, "npm"), []byte("#!/bin/sh\n"+tt.npm+"\n"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", bin)
			if err := fetch(t.Context(), filepath.Join(bin, "work"), nil, nil); err == nil || errors.Is(err, errAbsent) != tt.absent {
				t.Errorf("%v", err)
			}
		})
	}
}
