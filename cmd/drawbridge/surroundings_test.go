package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// noting puts programs in the place of others that write down a variable of their
// environment, and fail.
func (h *home) noting(vars map[string]string) {
	h.t.Helper()
	bin := filepath.Join(h.work, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		h.t.Fatal(err)
	}
	for program, name := range vars {
		text := "#!/bin/sh\nprintf '%s\\n' \"$" + name + "\" >>'" + filepath.Join(h.work, name) + "'\nexit 1\n"
		if err := os.WriteFile(filepath.Join(bin, program), []byte(text), 0o700); err != nil {
			h.t.Fatal(err)
		}
	}
	h.t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// noted is what was written down of a variable.
func (h *home) noted(name string) []string {
	h.t.Helper()
	data, _ := os.ReadFile(filepath.Join(h.work, name)) // none: no program was started
	return strings.Fields(string(data))
}

// A daemon that something else started knows neither the ssh agent nor the display
// of the terminal at which its user is: a command brings both.
func TestCommandsBringTheirSurroundings(t *testing.T) {
	h := newHome(t)
	h.noting(map[string]string{"ssh": "SSH_AUTH_SOCK", "chromium": "DISPLAY"})
	for _, name := range []string{"SSH_AUTH_SOCK", "DISPLAY", "WAYLAND_DISPLAY"} {
		t.Setenv(name, "")
	}
	h.ready("http://app.localhost:1") // starts the daemon
	at := func(env []string, keys []keystroke, args ...string) string {
		t.Helper()
		cmd := h.command(t.Context(), "drawbridge", args...)
		cmd.Env = append(cmd.Env, env...)
		tty, err := pty.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tty.Close() }()
		seen, _ := play(t.Context(), tty, keys)
		if err := cmd.Wait(); err == nil {
			t.Errorf("%q succeeded:\n%s", args, seen)
		}
		return seen
	}
	key := h.fingerprint("key")
	at([]string{"SSH_AUTH_SOCK=/run/agent.7"}, agree(), "registry", "add", "git@forge.example:x.git", key)
	at(nil, agree(), "registry", "add", "git@forge.example:x.git", key)
	if got := h.noted("SSH_AUTH_SOCK"); !slices.Equal(got, []string{"/run/agent.7"}) {
		t.Errorf("ssh was told of the agents %q, want that of the first command alone", got)
	}
	seen := at([]string{"DISPLAY=:77"}, agree(), "logout", "sample") // starts the browser
	if got := h.noted("DISPLAY"); len(got) == 0 || got[0] != ":77" {
		t.Errorf("the browser was told of the displays %q:\n%s", got, seen)
	}
}
