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
	"syscall"
	"time"

	"github.com/drawbridge-mcp/drawbridge/test/bench/results"
)

// A runOnce is one thing done once.
type runOnce struct {
	command bool // a program was run for it alone
	took    time.Duration
	bytes   int64 // on the wire, both ways, TLS included
	rss     int64 // peak, of the largest process
}

// A result is one thing's medians, or why there are none.
type result struct {
	Seconds float64 `json:"seconds"`
	Bytes   float64 `json:"bytes"`
	RSS     float64 `json:"peak_rss_bytes"`
	Command bool    `json:"command,omitempty"` // it is a command of its own, and no part of another
	Error   string  `json:"error,omitempty"`
}

// A report is everything that was measured.
type report struct {
	Size       string            `json:"size"`
	Module     int               `json:"module_bytes"`
	Repository int64             `json:"repository_bytes"` // on disk
	PublishOne float64           `json:"publish_one_seconds"`
	Results    map[string]result `json:"results"`
	Machine    string            `json:"machine"`
	Krew       string            `json:"krew,omitempty"` // its version, if it was there
	Helm       string            `json:"helm,omitempty"`
	Rounds     int               `json:"rounds"`
}

// What is measured, by its key in report.Results.
const (
	drawbridgeAdd     = "drawbridge add"
	drawbridgeInstall = "drawbridge install"
	drawbridgeVerify  = "drawbridge verify"
	drawbridgeLoad    = "drawbridge load"
	drawbridgeFile    = "drawbridge install, file"
	krewAdd           = "krew index add"
	krewInstall       = "krew install"
	helmInstall       = "helm plugin install"
	cloneShallow      = "git clone --depth 1"
	cloneMirror       = "git clone --mirror"
)

// A bench is one run of all of it.
type bench struct {
	options
	dir     string
	made    *made
	server  *server
	runs    map[string][]runOnce
	errs    map[string]error
	krewDir string
}

// measure generates everything in dir and measures it, in turn.
func measure(ctx context.Context, o options, dir string, progress func(string)) (*report, error) {
	b := &bench{options: o, dir: dir, runs: map[string][]runOnce{}, errs: map[string]error{}}
	var err error
	if b.made, err = prepare(ctx, o, dir); err != nil {
		return nil, err
	}
	if b.server, err = serve(ctx, dir, b.made.Dir); err != nil {
		return nil, err
	}
	defer b.server.Close()
	if err := b.makeKrewIndex(ctx); err != nil {
		return nil, err
	}
	if err := b.makeHelmPlugin(ctx); err != nil {
		return nil, err
	}
	for i := range o.rounds {
		progress(fmt.Sprintf("round %d of %d", i+1, o.rounds))
		home := filepath.Join(dir, fmt.Sprintf("home-%d", i))
		for _, f := range []func(context.Context, string) error{b.drawbridge, b.fromFile, b.krewOnce, b.helmOnce, b.shallow} {
			if err := f(ctx, home); err != nil {
				return nil, err
			}
		}
	}
	progress("cloning all of it, once")
	b.mirror(ctx)
	return b.report(ctx)
}

// prepare generates a registry, or takes the one of that size that is kept in
// o.dir.
func prepare(ctx context.Context, o options, dir string) (*made, error) {
	if o.dir == "" {
		return generated(ctx, dir, o.size)
	}
	home := filepath.Join(o.dir, fmt.Sprintf("%d-%d-%d", o.size.Connectors, o.size.Versions, o.size.Module))
	note := filepath.Join(home, "made.json")
	var m made
	data, err := os.ReadFile(note)
	if err == nil {
		return &m, json.Unmarshal(data, &m)
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	got, err := generated(ctx, home, o.size)
	if err != nil {
		return nil, err
	}
	if data, err = json.Marshal(got); err != nil {
		return nil, err
	}
	return got, os.WriteFile(note, data, 0o600)
}

// generated generates a registry in a process of its own.
func generated(ctx context.Context, dir string, s size) (*made, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	in, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, exe, generateArg, dir)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("generating the registry: %w", err)
	}
	var m made
	return &m, json.Unmarshal(out, &m)
}

// count runs f and adds what it moved over the wire.
func (b *bench) count(f func() (runOnce, error)) (runOnce, error) {
	before := b.server.moved.Load()
	r, err := f()
	r.bytes = b.server.moved.Load() - before
	return r, err
}

func (b *bench) note(name string, r runOnce, err error) {
	if err != nil {
		b.errs[name] = err
		return
	}
	b.runs[name] = append(b.runs[name], r)
}

// client runs a registry client in a process of its own.
func (b *bench) client(ctx context.Context, task clientTask) (times clientTimes, rss int64, err error) {
	exe, err := os.Executable()
	if err != nil {
		return times, 0, err
	}
	in, err := json.Marshal(task)
	if err != nil {
		return times, 0, err
	}
	if err := os.MkdirAll(task.Home, 0o700); err != nil {
		return times, 0, err
	}
	cmd := exec.CommandContext(ctx, exe, clientArg)
	cmd.Env = b.server.env(task.Home)
	cmd.Stdin = bytes.NewReader(in)
	out, err := outputOf(cmd)
	if err != nil {
		return times, 0, err
	}
	return times, peak(cmd), json.Unmarshal(out, &times)
}

// outputOf runs a command; what it says on standard error is in its error.
func outputOf(cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.Output()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, bytes.TrimSpace(e.Stderr))
	}
	return out, err
}

// peak is the resident memory of the largest process that a command was.
func peak(cmd *exec.Cmd) int64 {
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		return u.Maxrss * 1024
	}
	return 0
}

// target is the connector that is installed: one in the middle.
func (b *bench) target() int { return b.size.Connectors / 2 }

// drawbridge adds the registry, and then installs a connector, so that what an
// install itself moves is apart.
func (b *bench) drawbridge(ctx context.Context, home string) error {
	task := clientTask{Home: home + "-drawbridge", URL: b.server.URL + "/registry.git", Fingerprint: string(b.made.Fingerprint)}
	task.Add = true
	added, err := b.count(func() (r runOnce, err error) {
		times, rss, err := b.client(ctx, task)
		return runOnce{command: true, took: times.Add, rss: rss}, err
	})
	b.note(drawbridgeAdd, added, err)
	if err != nil {
		return err
	}
	task.Add = false
	task.Ref = namespace + "/" + pluginName(b.target())
	var times clientTimes
	installed, err := b.count(func() (r runOnce, err error) {
		times, r.rss, err = b.client(ctx, task)
		r.command, r.took = true, times.Install
		return r, err
	})
	if err != nil {
		return err
	}
	b.note(drawbridgeInstall, installed, nil)
	b.note(drawbridgeVerify, runOnce{took: times.Verify, rss: installed.rss}, nil)
	b.note(drawbridgeLoad, runOnce{took: times.Load}, nil)
	return nil
}

// fromFile does both from the repository's own folder.
func (b *bench) fromFile(ctx context.Context, home string) error {
	times, rss, err := b.client(ctx, clientTask{
		Home: home + "-file", URL: b.made.Dir, Fingerprint: string(b.made.Fingerprint), Add: true, Ref: namespace + "/" + pluginName(b.target()),
	})
	b.note(drawbridgeFile, runOnce{took: times.Add + times.Install, rss: rss}, err)
	return err
}

// clone clones the registry into a folder that is removed.
func (b *bench) clone(ctx context.Context, name, home string, args ...string) {
	into := filepath.Join(b.dir, "clone")
	r, err := b.count(func() (runOnce, error) {
		cmd := exec.CommandContext(ctx, "git", append(append([]string{"clone", "--quiet"}, args...), b.server.URL+"/registry.git", into)...)
		cmd.Env = b.server.env(home)
		began := time.Now()
		_, err := outputOf(cmd)
		return runOnce{command: true, took: time.Since(began), rss: peak(cmd)}, err
	})
	b.note(name, r, errors.Join(err, os.RemoveAll(into)))
}

func (b *bench) shallow(ctx context.Context, home string) error {
	b.clone(ctx, cloneShallow, home, "--depth=1", "--bare")
	return nil
}

func (b *bench) mirror(ctx context.Context) { b.clone(ctx, cloneMirror, b.dir, "--mirror") }

// report makes medians of the runs.
func (b *bench) report(ctx context.Context) (*report, error) {
	disk, err := sizeOnDisk(b.made.Dir)
	if err != nil {
		return nil, err
	}
	r := &report{
		Size: b.size.String(), Module: b.size.Module, Repository: disk, Rounds: b.rounds,
		PublishOne: b.made.PublishOne.Seconds(), Results: map[string]result{},
		Machine: results.Machine(), Krew: b.version(ctx, b.krew, "version"), Helm: b.version(ctx, b.helm, "version"),
	}
	for name, runs := range b.runs {
		r.Results[name] = result{
			Seconds: median(runs, func(x runOnce) float64 { return x.took.Seconds() }),
			Bytes:   median(runs, func(x runOnce) float64 { return float64(x.bytes) }),
			RSS:     median(runs, func(x runOnce) float64 { return float64(x.rss) }),
			Command: runs[0].command,
		}
	}
	for name, err := range b.errs {
		said, _, _ := strings.Cut(err.Error(), "\n")
		r.Results[name] = result{Error: said}
	}
	return r, nil
}

// version is the version of a program beside which drawbridge is measured.
func (b *bench) version(ctx context.Context, program string, ask ...string) string {
	if program == "" {
		return ""
	}
	return results.Version(ctx, program, ask...)
}

func median(runs []runOnce, of func(runOnce) float64) float64 {
	list := make([]float64, len(runs))
	for i, r := range runs {
		list[i] = of(r)
	}
	return results.Median(list)
}
