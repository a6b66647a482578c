package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

const (
	bridgeTimeout = 10 * time.Minute // for building and installing
	stopTimeout   = time.Minute
	passphrase    = "benchmark passphrase, of no worth"
)

// A bridge is the built command in a home of its own, with the connector that reads
// the page installed.
type bridge struct {
	exe, source string
	home, work  string
}

func newBridge(ctx context.Context, exe, source, dir, url string) (*bridge, error) {
	ctx, cancel := context.WithTimeout(ctx, bridgeTimeout)
	defer cancel()
	exe, err := filepath.Abs(exe)
	if err != nil {
		return nil, err
	}
	if exe, err = filepath.EvalSymlinks(exe); err != nil {
		return nil, fmt.Errorf("%w (make build)", err)
	}
	b := &bridge{exe: exe, source: source, home: filepath.Join(dir, "home"), work: filepath.Join(dir, "work")}
	for _, d := range []string{b.home, b.work} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, err
		}
	}
	if err := b.writeConnector(ctx, url); err != nil {
		return nil, err
	}
	err = b.publishAndInstall(ctx)
	return b, errors.Join(err, b.stop(ctx)) // every measured start begins without a daemon
}

// writeConnector puts the manifest for url, and the module, into work.
func (b *bridge) writeConnector(ctx context.Context, url string) error {
	manifest, err := os.ReadFile(filepath.Join(b.source, "test/bench/testdata/plugin.yaml"))
	if err != nil {
		return err
	}
	text := strings.ReplaceAll(string(manifest), "http://bench.localhost", url)
	if err := os.WriteFile(filepath.Join(b.work, "plugin.yaml"), []byte(text), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w -buildid=", "-o", b.file("module.wasm"), "./test/bench/reader")
	cmd.Dir = b.source
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the connector: %w\n%s", err, tail(out))
	}
	return nil
}

// publishAndInstall does what an author, a registry's owner and a user do.
func (b *bridge) publishAndInstall(ctx context.Context) error {
	key, registry, built := b.file("owner.key"), b.file("registry.git"), b.file("built")
	out, err := b.command(ctx, "key", "new", key, "--user-id", "Bench <bench@drawbridge.example>", "--passphrase-fd", "3", "--json")
	if err != nil {
		return err
	}
	var made struct {
		Fingerprint string `json:"fingerprint"`
		PublicKey   string `json:"public_key"`
	}
	if err := json.Unmarshal(out, &made); err != nil {
		return err
	}
	if err := os.WriteFile(b.file("owner.asc"), []byte(made.PublicKey), 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"registry", "init", registry, "--id", "bench", "--key", key, "--passphrase-fd", "3"},
		{"registry", "add-publisher", registry, "bench", b.file("owner.asc"), made.Fingerprint, "--key", key, "--passphrase-fd", "3"},
		{"connector", "build", b.work, "--wasm", b.file("module.wasm"), "--registry", "bench", "--namespace", "bench", "--out", built},
		{"connector", "sign", built, "--key", key, "--passphrase-fd", "3"},
		{"connector", "publish", built, "--registry", registry, "--key", key, "--passphrase-fd", "3"},
	} {
		if _, err := b.command(ctx, args...); err != nil {
			return err
		}
	}
	if err := b.agree(ctx, "registry", "add", registry, made.Fingerprint); err != nil {
		return err
	}
	return b.agree(ctx, "install", "bench/bench")
}

func (b *bridge) file(name string) string { return filepath.Join(b.work, name) }

func (b *bridge) env() []string {
	return append(os.Environ(), platform.HomeVar+"="+b.home, "DRAWBRIDGE_PORT=0")
}

// prepare makes a command whose passphrase waits on file descriptor 3.
func (b *bridge) prepare(ctx context.Context, args []string) (*exec.Cmd, func(), error) {
	cmd := exec.CommandContext(ctx, b.exe, args...)
	cmd.Env = b.env()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	_, err = w.WriteString(passphrase + "\n")
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, nil, errors.Join(err, r.Close())
	}
	cmd.ExtraFiles = []*os.File{r}
	return cmd, func() { _ = r.Close() }, nil
}

// command runs the command and returns its standard output.
func (b *bridge) command(ctx context.Context, args ...string) ([]byte, error) {
	cmd, done, err := b.prepare(ctx, args)
	if err != nil {
		return nil, err
	}
	defer done()
	var out, msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &msg
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("drawbridge %s: %w\n%s", strings.Join(args[:min(2, len(args))], " "), err, tail(msg.Bytes()))
	}
	return out.Bytes(), nil
}

// stop ends the daemon and waits until it has.
func (b *bridge) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	_, err := b.command(ctx, "stop")
	return err
}

// daemon is the process that the stdio server has joined.
func (b *bridge) daemon() (int, error) {
	dirs, err := platform.NewDirs(func(name string) string {
		if name == platform.HomeVar {
			return b.home
		}
		return os.Getenv(name)
	})
	if err != nil {
		return 0, err
	}
	info, held, err := platform.ReadLock(dirs.LockFile())
	if err == nil && !held {
		err = errors.New("no daemon is running")
	}
	return info.PID, err
}

// server describes drawbridge as the others are described. Its one tool goes to the
// page itself.
func (b *bridge) server(ctx context.Context) (*server, error) {
	version, err := b.command(ctx, "version")
	if err != nil {
		return nil, err
	}
	return &server{
		key: "drawbridge", name: "drawbridge", version: strings.TrimPrefix(strings.TrimSpace(string(version)), "drawbridge "),
		argv: []string{b.exe, "mcp", "--client", "bench"}, env: b.env(), dir: b.work,
		ways:   []way{{tool: "reader_list", args: map[string]any{}, loadArgs: map[string]any{"load": true}}},
		daemon: b.daemon, after: b.stop,
	}, nil
}
