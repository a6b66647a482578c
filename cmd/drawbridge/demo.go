package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/connectors-src/tracker/site"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

func (a *app) demoCmd() *cobra.Command {
	var source string
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "run the main job from start to end, in a temporary home",
		Long: `Makes keys and a registry, builds, signs, publishes, pins and installs the
sample connector, starts the sample tracker and a headless browser, signs in,
and calls over MCP: a list, a detail, a comment that a person confirms, and an
attempt to write with a tool that only reads. Every step's result is checked.

Nothing is skipped: what a person types, the demo types into a terminal that it
makes itself, as a person at a keyboard would.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context(), source, keep) },
	}
	cmd.Flags().StringVar(&source, "source", ".", "checkout of the project, for the connectors' sources")
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the host and the sample tracker running until interrupted")
	return cmd
}

// A demoRun is one run of the demo.
type demoRun struct {
	out    io.Writer
	source string
	home   string // of the host, temporary
	work   string // keys, registry, builds
	exe    string
	site   *site.Site
	step   int

	fingerprint string
	mcp         *demoClient
}

const (
	demoPassphrase = "demo passphrase, of no worth"
	demoUser       = "alice"
	demoIssue      = 12
	demoComment    = "Seen again on Ünïcödé paths 🌉\nsecond line"
)

// demoTimeout bounds all steps together, connector builds included.
const demoTimeout = 10 * time.Minute

func (a *app) demo(ctx context.Context, source string, keep bool) (err error) {
	d := &demoRun{out: a.stdout}
	if d.source, err = filepath.Abs(source); err != nil {
		return err
	}
	if d.exe, err = executable(); err != nil {
		return err
	}
	base, err := os.MkdirTemp("", "drawbridge-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.cleanUp(context.WithoutCancel(ctx), base)) }()
	d.home, d.work = filepath.Join(base, "home"), filepath.Join(base, "work")
	for _, dir := range []string{d.home, d.work} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	if err := d.all(ctx); err != nil {
		return err
	}
	return d.finish(ctx, keep)
}

// all runs the steps within demoTimeout.
func (d *demoRun) all(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	for _, step := range d.steps() {
		d.step++
		fmt.Fprintf(d.out, "\n[%d] %s\n", d.step, step.title)
		if err := d.timed(ctx, step.run); err != nil {
			return fmt.Errorf("step %d, %s: %w", d.step, step.title, err)
		}
	}
	return nil
}

type demoStep struct {
	title string
	run   func(context.Context) error
}

func (d *demoRun) steps() []demoStep {
	return []demoStep{
		{"make an OpenPGP key and a registry that it owns", d.makeRegistry},
		{"build, sign and publish the sample tracker's connector", func(ctx context.Context) error {
			return d.publish(ctx, "connectors-src/tracker")
		}},
		{"build, sign and publish a connector that says it only reads, and lies", func(ctx context.Context) error {
			return d.publish(ctx, "connectors-src/trespasser")
		}},
		{"start the sample tracker: three origins, one of them for signing in", d.startSite},
		{"pin the registry by its owner's fingerprint", d.pin},
		{"install both connectors, after reading what they may do", d.install},
		{"sign in, once", d.login},
		{"connect an MCP client", d.connect},
		{"call tracker_list", d.list},
		{"call tracker_get", d.get},
		{"call tracker_add_comment, and let a person decide", d.comment},
		{"let the lying connector try to close an issue", d.trespass},
		{"look at the audit log", d.audit},
	}
}

// timed shows that a step is still at work.
func (d *demoRun) timed(ctx context.Context, run func(context.Context) error) error {
	start := time.Now()
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(2 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(d.out, "    … %s\n", time.Since(start).Round(time.Second))
			case <-done:
				return
			}
		}
	}()
	err := run(ctx)
	close(done)
	<-stopped
	return err
}

func (d *demoRun) makeRegistry(ctx context.Context) error {
	out, err := d.json(ctx, "key", "new", d.file("owner.key"), "--user-id", "Demo <demo@drawbridge.example>", "--passphrase-fd", "3")
	if err != nil {
		return err
	}
	var key struct {
		Fingerprint string `json:"fingerprint"`
		PublicKey   string `json:"public_key"`
	}
	if err := json.Unmarshal(out, &key); err != nil {
		return err
	}
	d.fingerprint = key.Fingerprint
	if err := os.WriteFile(d.file("owner.asc"), []byte(key.PublicKey), 0o600); err != nil {
		return err
	}
	d.say("key %s", d.fingerprint)
	if err := d.run(ctx, "registry", "init", d.file("registry.git"), "--id", "demo", "--key", d.file("owner.key"), "--passphrase-fd", "3"); err != nil {
		return err
	}
	return d.run(ctx, "registry", "add-publisher", d.file("registry.git"), "demo", d.file("owner.asc"), d.fingerprint,
		"--key", d.file("owner.key"), "--passphrase-fd", "3")
}

func (d *demoRun) publish(ctx context.Context, source string) error {
	out := d.file(filepath.Base(source))
	if err := d.run(ctx, "connector", "build", filepath.Join(d.source, source), "--registry", "demo", "--namespace", "demo", "--out", out); err != nil {
		return err
	}
	if err := d.run(ctx, "connector", "sign", out, "--key", d.file("owner.key"), "--passphrase-fd", "3"); err != nil {
		return err
	}
	return d.run(ctx, "connector", "publish", out, "--registry", d.file("registry.git"), "--key", d.file("owner.key"), "--passphrase-fd", "3")
}

func (d *demoRun) startSite(ctx context.Context) error {
	d.site = site.New(site.Options{})
	if err := d.site.Start(context.WithoutCancel(ctx)); err != nil { // until cleanUp
		return err
	}
	d.say("tracker at %s, assets at %s, identity provider at %s", d.site.AppURL(), d.site.AssetsURL(), d.site.IdentityURL())
	return nil
}

func (d *demoRun) pin(ctx context.Context) error {
	return d.typed(ctx, agree(), "registry", "add", d.file("registry.git"), d.fingerprint)
}

func (d *demoRun) install(ctx context.Context) error {
	set := []string{
		"--set", "base_url=" + d.site.AppURL(), "--set", "assets_url=" + d.site.AssetsURL(), "--set", "login_url=" + d.site.IdentityURL(),
	}
	for _, name := range []string{"demo/tracker", "demo/trespasser"} {
		if err := d.typed(ctx, agree(), append([]string{"install", name}, set...)...); err != nil {
			return err
		}
	}
	return nil
}

// login signs in at the tracker; the other connector works on the same site,
// where the browser is signed in then.
func (d *demoRun) login(ctx context.Context) error {
	return d.typed(ctx, []keystroke{{"name: ", demoUser}, {"password: ", demoPassword()}}, "login", "tracker", "--form")
}

// demoPassword is the one that demoUser has at the sample tracker.
func demoPassword() string {
	for _, u := range site.Users() {
		if u.Login == demoUser {
			return u.Password
		}
	}
	return ""
}

func (d *demoRun) connect(ctx context.Context) error {
	out, err := d.json(ctx, "clients", "add", "demo")
	if err != nil {
		return err
	}
	var c struct{ URL, Token string }
	if err := json.Unmarshal(out, &c); err != nil {
		return err
	}
	if d.mcp, err = dialMCP(ctx, c.URL, c.Token); err != nil {
		return err
	}
	names, err := d.mcp.tools(ctx)
	if err != nil {
		return err
	}
	d.say("tools: %s", strings.Join(names, ", "))
	for _, want := range []string{"tracker_add_comment", "tracker_get", "tracker_list", "tracker_picture"} {
		if !slices.Contains(names, want) {
			return fmt.Errorf("tool %q is not listed", want)
		}
	}
	return nil
}

// cleanUp ends what the demo started and removes its files.
func (d *demoRun) cleanUp(ctx context.Context, base string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if d.mcp != nil {
		d.mcp.close()
	}
	err := d.stopDaemon(ctx)
	if d.site != nil {
		err = errors.Join(err, d.site.Close())
	}
	return errors.Join(err, os.RemoveAll(base))
}

// stopDaemon ends the demo's daemon, if it runs, and waits for it.
func (d *demoRun) stopDaemon(ctx context.Context) error {
	dirs, err := platform.NewDirs(d.getenv)
	if err != nil {
		return err
	}
	if _, held, err := platform.ReadLock(dirs.LockFile()); err != nil || !held {
		return nil //nolint:nilerr // there is no lock file: no daemon was started
	}
	_, err = d.json(ctx, "stop")
	return err
}
