package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

func (a *app) registryMirrorCmd() *cobra.Command {
	var fingerprint, lock string
	cmd := &cobra.Command{
		Use:   "mirror REGISTRY|URL DIR",
		Short: "make or update a verified copy of a registry, modules included, to install from without the network",
		Long: `DIR becomes a bare Git repository with the registry's newest metadata and its
modules, each verified before it is taken. Run it again to bring DIR up to date;
what was interrupted goes on. REGISTRY is one that is trusted here; a URL needs the
owner's --fingerprint and is not remembered.

Machines use it as another address of the same registry, pinned to the same key:
  drawbridge registry add DIR FINGERPRINT       the first time
  drawbridge registry set-url REGISTRY DIR      in place of where it was fetched from
  drawbridge sync FILE --from DIR               for one run
A mirror expires when the registry's snapshot does, 14 days after it was signed at
the latest: what is installed runs on, and nothing new is installed until the
mirror is brought up to date.`,
		Args: cobra.ExactArgs(2), ValidArgsFunction: thenDirectory(a.named("registries.list", "registry")),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := filepath.Abs(args[1])
			if err != nil {
				return err
			}
			how := registry.Mirroring{Progress: a.mirrored}
			if lock != "" {
				if how.Only, err = readLockFile(lock); err != nil {
					return err
				}
			}
			report, err := a.mirror(cmd.Context(), args[0], fingerprint, dir, how)
			if err != nil {
				return err
			}
			a.show(report, func(w io.Writer) { printMirror(w, dir, report) })
			if report.Expired != "" {
				a.note("%s: nothing new is installed from the mirror until the owner refreshes the registry", report.Expired)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&fingerprint, "fingerprint", "", "of the owner's key, for a registry that is not trusted here")
	cmd.Flags().StringVar(&lock, "lock", "", "take only the modules that this lock file names")
	return cmd
}

// thenDirectory completes the second argument with directories.
func thenDirectory(first completer) completer {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 1 {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		return first(cmd, args, word)
	}
}

// readLockFile reads a lock file to choose by; nothing is installed by it, so its
// signature is not looked at.
func readLockFile(path string) (*registry.TeamLock, error) {
	data, err := readRegular("lock file", path, abi.MaxMetadata)
	if err != nil {
		return nil, err
	}
	return registry.ParseTeamLock(data)
}

func printMirror(w io.Writer, dir string, r registry.MirrorReport) {
	fmt.Fprintf(w, "%s: registry %s, snapshot %d, good until %s\n", dir, r.Registry, r.Snapshot, moment(r.Expires.Time))
	fmt.Fprintf(w, "%s, %d of them fetched now (%.1f MB)\n", plural(r.Modules, "module"), r.Fetched, float64(r.Bytes)/1e6)
	for _, s := range r.Skipped {
		row(w, "left out: "+s)
	}
}

// mirrored tells how far a mirror is.
func (a *app) mirrored(done, total int, bytes, totalBytes int64) {
	a.progress(control.Progress{
		Done: float64(bytes), Total: float64(totalBytes), Passing: true,
		Message: fmt.Sprintf("%d of %d modules", done, total),
	})
}

// mirror works in this process, because it may take long: beside the daemon on the
// registry that it knows, or in a directory of its own on one that it doesn't.
func (a *app) mirror(ctx context.Context, which, fingerprint, dir string, how registry.Mirroring) (registry.MirrorReport, error) {
	ctx = registry.WithTransfer(ctx, func(what string, percent int) {
		a.progress(control.Progress{Done: float64(percent), Total: 100, Message: what, Passing: true})
	})
	if fingerprint != "" {
		return a.mirrorUnknown(ctx, which, fingerprint, dir, how)
	}
	dirs, err := a.dirs()
	if err != nil {
		return registry.MirrorReport{}, err
	}
	own, err := carried(a.carries())
	if err != nil {
		return registry.MirrorReport{}, err
	}
	c, err := registry.New(registry.Config{Dir: dirs.Data(), Builtin: own})
	if err != nil {
		return registry.MirrorReport{}, err
	}
	id := which
	all, err := c.Registries()
	for _, r := range all {
		if r.URL == which {
			id = r.ID
		}
	}
	if err != nil {
		a.note("%v", err)
	}
	if !registry.ValidTeamName(id) {
		return registry.MirrorReport{}, abi.Errorf(abi.ErrNotFound, "mirror", "no registry at %q is added", which).
			WithHint("drawbridge registry mirror URL DIR --fingerprint FINGERPRINT")
	}
	return c.Mirror(ctx, id, dir, how)
}

// mirrorUnknown pins a registry for as long as it takes to mirror it.
func (a *app) mirrorUnknown(ctx context.Context, url, fingerprint, dir string, how registry.Mirroring) (report registry.MirrorReport, err error) {
	fpr, err := signing.ParseFingerprint(fingerprint)
	if err != nil {
		return report, usage(err)
	}
	where, err := registryURL(url)
	if err != nil {
		return report, err
	}
	if err := registry.CheckAddress(where); err != nil {
		return report, usage(err)
	}
	home, err := os.MkdirTemp("", "drawbridge-mirror-")
	if err != nil {
		return report, err
	}
	defer func() { _ = os.RemoveAll(home) }()
	c, err := registry.New(registry.Config{Dir: home})
	if err != nil {
		return report, err
	}
	r, err := c.AddRegistry(ctx, where, fpr)
	if err != nil {
		return report, err
	}
	return c.Mirror(ctx, r.ID, dir, how)
}

func (a *app) registrySetURLCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "set-url REGISTRY URL",
		Short: "fetch a trusted registry from another address, such as a mirror; its key stays pinned",
		Args:  cobra.ExactArgs(2), ValidArgsFunction: a.named("registries.list", "registry"),
		RunE: func(cmd *cobra.Command, args []string) error {
			where, err := registryURL(args[1])
			if err != nil {
				return err
			}
			if err := registry.CheckAddress(where); err != nil {
				return usage(err)
			}
			var res host.RegistryInfo
			if err := a.call(cmd.Context(), "registries.move", control.RegistryParams{ID: args[0], URL: where}, &res); err != nil {
				return err
			}
			a.show(res, func(w io.Writer) {
				fmt.Fprintf(w, "registry %s is fetched from %s, pinned to %s as before\n", res.ID, res.URL, res.Fingerprint)
			})
			return nil
		},
	}
}
