package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/atomicfile"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
	"github.com/drawbridge-mcp/drawbridge/sandbox"
)

// The files of a built connector, in its output directory.
const (
	releaseFile   = "release.json"     // canonical
	signatureFile = "release.json.asc" // detached, armored
	moduleFile    = "module.wasm"
)

func (a *app) connectorCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "connector", Short: "build, check, sign and publish connectors"}
	cmd.AddCommand(a.connectorBuildCmd(), a.connectorSignCmd(), a.connectorPublishCmd(), a.connectorProposeCmd(), a.connectorCheckCmd())
	return cmd
}

// A buildPlan is the flags of connector build.
type buildPlan struct {
	dir, out, registry, namespace, wasm string
}

func (a *app) connectorBuildCmd() *cobra.Command {
	var p buildPlan
	cmd := &cobra.Command{
		Use: "build DIR", Short: "compile a connector and write its canonical release, ready to be signed", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.dir = args[0]
			return a.buildConnector(cmd.Context(), p)
		},
	}
	cmd.Flags().StringVar(&p.out, "out", "dist", "directory for release.json and module.wasm")
	cmd.Flags().StringVar(&p.registry, "registry", "", "id of the registry that the release is for")
	cmd.Flags().StringVar(&p.namespace, "namespace", "", "namespace in that registry")
	cmd.Flags().StringVar(&p.wasm, "wasm", "", "a module that is already built; default: build the Go package or AssemblyScript project in DIR")
	for _, f := range []string{"registry", "namespace"} {
		_ = cmd.MarkFlagRequired(f) // the flags exist
	}
	return cmd
}

func (a *app) buildConnector(ctx context.Context, p buildPlan) error {
	text, err := os.ReadFile(filepath.Join(p.dir, "plugin.yaml"))
	if err != nil {
		return fmt.Errorf("reading manifest: %w", err)
	}
	manifest, err := release.ParseManifest(text)
	if err != nil {
		return err
	}
	wasm, err := a.module(ctx, p)
	if err != nil {
		return err
	}
	rel, err := makeRelease(manifest, wasm, p)
	if err != nil {
		return err
	}
	if err := a.tryModule(ctx, rel, wasm); err != nil {
		return err
	}
	canonical, err := release.Canonical(rel)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(p.out, 0o755); err != nil { //nolint:gosec // what is in it is made to be published
		return err
	}
	if err := os.Remove(filepath.Join(p.out, signatureFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err // it would be of another release
	}
	if err := atomicfile.Write(filepath.Join(p.out, moduleFile), wasm, 0o644); err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(p.out, releaseFile), canonical, 0o644); err != nil {
		return err
	}
	built := builtResult{
		Plugin: rel.Namespace + "/" + rel.Name, Version: rel.Version, Registry: rel.Registry, Dir: p.out,
		Module: rel.Module.SHA256, ModuleBytes: rel.Module.Size, Permissions: release.Explain(rel, nil),
	}
	a.show(built, func(w io.Writer) {
		fmt.Fprintf(w, "built %s/%s %s, module %s (%d bytes)\n", rel.Namespace, rel.Name, rel.Version, rel.Module.SHA256, rel.Module.Size)
		for _, l := range built.Permissions {
			fmt.Fprintf(w, "  %s\n", l)
		}
	})
	a.note("next: drawbridge connector sign %s --key KEY", platform.ShellQuote(p.out))
	return nil
}

func makeRelease(m abi.Manifest, wasm []byte, p buildPlan) (abi.Release, error) {
	info, err := sandbox.Prescan(wasm, sandbox.DefaultLimits())
	if err != nil {
		return abi.Release{}, err
	}
	imports := make([]string, len(info.Capabilities))
	for i, c := range info.Capabilities {
		imports[i] = string(c)
	}
	return release.Build(m, release.BuildInfo{Registry: p.registry, Namespace: p.namespace, Module: wasm, Imports: imports})
}

// tryModule compiles the module as an install does, and asks what tools it has: a
// name that differs from the manifest's would show only at the user's.
func (a *app) tryModule(ctx context.Context, rel abi.Release, wasm []byte) (err error) {
	tmp, err := os.MkdirTemp("", "drawbridge-build-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	a.note("compiling the module as an install does")
	box, err := sandbox.Open(ctx, sandbox.Config{Dir: filepath.Join(tmp, "compiled"), Command: a.worker})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, box.Close()) }()
	compiled, err := box.Compile(ctx, wasm)
	if err != nil {
		return err
	}
	return host.CheckModule(rel, compiled)
}

// module returns the connector's WASM bytes.
func (a *app) module(ctx context.Context, p buildPlan) (_ []byte, err error) {
	if p.wasm != "" {
		return os.ReadFile(p.wasm)
	}
	tmp, err := os.MkdirTemp("", "drawbridge-build-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	out := filepath.Join(tmp, moduleFile)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	a.note("compiling %s for WASM", p.dir)
	if isAssemblyScript(p.dir) {
		if err := buildAssemblyScript(ctx, p.dir, out); err != nil {
			return nil, err
		}
		return os.ReadFile(out)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w -buildid=", "-o", out, ".")
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if msg, err := cmd.CombinedOutput(); err != nil {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "build", "the Go compiler refused %q: %w\n%s", p.dir, err, strings.TrimSpace(string(msg)))
	}
	return os.ReadFile(out)
}

func (a *app) connectorSignCmd() *cobra.Command {
	var k signerFlags
	cmd := &cobra.Command{
		Use: "sign OUT", Short: "sign the release in a build's output directory", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := os.ReadFile(filepath.Join(args[0], releaseFile))
			if err != nil {
				return fmt.Errorf("reading release: %w", err)
			}
			rel, err := release.ParseRelease(text)
			if err != nil {
				return err
			}
			key, err := k.open(cmd.Context(), a)
			if err != nil {
				return err
			}
			sig, err := key.Sign(text, time.Now())
			if err != nil {
				return err
			}
			if err := atomicfile.Write(filepath.Join(args[0], signatureFile), sig, 0o644); err != nil {
				return err
			}
			a.show(signedResult{rel.Namespace + "/" + rel.Name, rel.Version, args[0], string(key.Certificate().Fingerprint)}, func(w io.Writer) {
				fmt.Fprintf(w, "signed %s/%s %s with %s\n", rel.Namespace, rel.Name, rel.Version, key.Certificate().Fingerprint)
			})
			return nil
		},
	}
	k.register(a, cmd)
	return cmd
}
