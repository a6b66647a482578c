package registry

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// sshInstead puts a program in ssh's place that notes its arguments and runs the
// command here.
func sshInstead(t *testing.T, body string) (noted string) {
	t.Helper()
	dir := t.TempDir()
	noted = filepath.Join(dir, "noted")
	text := "#!/bin/sh\nfor a; do printf '%s\\n' \"$a\"; last=$a; done >>'" + noted + "'\n" + body + "\n"
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("GIT_SSH_COMMAND", "false") // ours decides
	return noted
}

func TestOverSSH(t *testing.T) {
	f := newOrigin(t, "main")
	noted := sshInstead(t, `for a; do last=$a; done; exec sh -c "$last"`)
	for _, form := range []string{"ssh://git@forge.example" + f.origin, "git@forge.example:" + f.origin, "ssh://forge.example:2222" + f.origin} {
		f.client = f.newClient()
		if _, err := f.client.AddRegistry(t.Context(), form, f.owner.Fingerprint()); err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		f.mustInstall(tracker)
		args, err := os.ReadFile(noted)
		f.must(err)
		for _, want := range []string{"-oBatchMode=yes\n", "-oStrictHostKeyChecking=yes\n", "-oForwardAgent=no\n", "forge.example\n", "git-upload-pack '" + f.origin + "'"} {
			if !strings.Contains(string(args), want) {
				t.Errorf("%s: ssh wasn't given %q:\n%s", form, want, args)
			}
		}
		f.must(os.Remove(noted))
	}
}

// What ssh says reaches the user, although ssh ends its lines as a terminal in raw
// mode wants them, and git's advice comes after.
func TestWhatSSHSays(t *testing.T) {
	f := newOrigin(t, "main")
	for says, want := range map[string]error{
		"Host key verification failed.":                            abi.ErrUntrusted,
		"git@forge.example: Permission denied (publickey).":        abi.ErrForbidden,
		"ssh: Could not resolve hostname forge.example: not known": abi.ErrTimeout, // nobody was asked
		"ERROR: Repository not found.":                             abi.ErrNotFound,
	} {
		for _, end := range []string{`\n`, `\r\n`} {
			sshInstead(t, "printf '"+says+end+"' >&2; exit 255")
			_, err := f.newClient().AddRegistry(t.Context(), "git@forge.example:"+f.origin, f.owner.Fingerprint())
			if !errors.Is(err, want) || !errors.Is(want, abi.ErrUntrusted) && !strings.Contains(err.Error(), says) {
				t.Errorf("%s%s: got %v, want %v", says, end, err, want)
			}
		}
	}
	_, err := f.newClient().AddRegistry(t.Context(), f.origin+"/nothing.git", f.owner.Fingerprint())
	if e, ok := errors.AsType[*abi.Error](err); !ok || !strings.Contains(e.Error(), "does not appear to be a git repository") || e.Hint == "" {
		t.Errorf("got %v", err)
	}
}

// Whatever the user's own configuration says of ssh, the registry's server gets
// no agent, no port and no display, and no connection stays. ssh itself says what
// it makes of it.
func TestSSHGivesNothingAway(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("ssh")
	if err != nil {
		t.Skip("ssh is not installed")
	}
	config := filepath.Join(t.TempDir(), "config")
	text := "Host *\n ForwardAgent yes\n ForwardX11 yes\n LocalForward 127.0.0.1:1 127.0.0.1:2\n RemoteForward 127.0.0.1:3 127.0.0.1:4\n" +
		" PermitLocalCommand yes\n LocalCommand id\n ControlMaster auto\n ControlPersist 10m\n StrictHostKeyChecking no\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append(strings.Fields(sshCommand)[1:], "-F", config, "-G", "git@forge.example")
	out, err := exec.CommandContext(t.Context(), program, args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		switch name, _, _ := strings.Cut(line, " "); name {
		case "localforward", "remoteforward", "dynamicforward":
			if !strings.Contains(string(out), "clearallforwardings yes") {
				t.Errorf("ssh has %q", line)
			}
		case "forwardagent", "forwardx11", "permitlocalcommand", "controlmaster":
			if line != name+" no" && line != name+" false" {
				t.Errorf("ssh has %q", line)
			}
		case "stricthostkeychecking":
			if line != name+" true" && line != name+" yes" {
				t.Errorf("ssh has %q", line)
			}
		}
	}
}

// A helper that stays in the background, as ssh's shared connections do, may keep
// git's messages open: what was fetched was fetched.
func TestOverSSHWithSomebodyLeftBehind(t *testing.T) {
	f := newOrigin(t, "main")
	pid := filepath.Join(t.TempDir(), "pid")
	sshInstead(t, `for a; do last=$a; done; sleep 600 </dev/null >/dev/null & echo $! >>'`+pid+`'; exec sh -c "$last"`)
	t.Cleanup(func() {
		list, _ := os.ReadFile(pid)
		for id := range strings.FieldsSeq(string(list)) {
			_ = exec.Command("kill", id).Run() //nolint:noctx // it ends at once
		}
	})
	if _, err := f.newClient().AddRegistry(t.Context(), "git@forge.example:"+f.origin, f.owner.Fingerprint()); err != nil {
		t.Error(err)
	}
}
