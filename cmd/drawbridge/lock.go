package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/atomicfile"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/registry"
)

func (a *app) lockCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "lock", Short: "a lock file for a team: exactly what its machines install"}
	cmd.AddCommand(a.lockExportCmd())
	return cmd
}

// An exported is the answer of lock export.
type exported struct {
	File       string `json:"file"`
	Name       string `json:"team"`
	Version    int64  `json:"lock_version"`
	Plugins    int    `json:"plugin_count"`
	Registries int    `json:"registry_count"`
	Signature  string `json:"signature,omitempty"` // its file
	Signer     string `json:"signer,omitempty"`

	LeftOut []host.LeftOut `json:"left_out_settings"` // settings of this machine
}

func (a *app) lockExportCmd() *cobra.Command {
	var k signerFlags
	var name string
	var version int64
	var empty bool
	cmd := &cobra.Command{
		Use:   "export FILE",
		Short: "write what is installed here as a team's lock file, and sign it",
		Long: `The lock file pins registries, versions and hashes, and it holds the settings that
each of these versions has: they are no secrets. What else is set here, such as for an
older version, is left out and told. With --key or --gpg its signature is written
beside it as FILE.asc; without, sign it elsewhere (gpg --armor --detach-sign FILE). A
FILE of the same name that is there already is replaced by its next version, and never
by one that is no higher: machines that followed it would refuse that. What is revoked
has to be mended or removed first, and a lock file without plugins is written only
with --empty: machines that sync with --prune would remove all they have.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !registry.ValidTeamName(name) {
				return usage(fmt.Errorf("name %q: want lower-case letters, digits, dots and dashes", name))
			}
			next, err := nextVersion(args[0], name, version)
			if err != nil {
				return err
			}
			var draft control.TeamDraft
			if err := a.call(cmd.Context(), "teams.draft", control.TeamParams{Name: name, Version: next}, &draft); err != nil {
				return err
			}
			out, err := a.writeLock(cmd.Context(), args[0], []byte(draft.Lock), &k, empty)
			if err != nil {
				return err
			}
			out.LeftOut = draft.LeftOut
			a.show(out, func(w io.Writer) {
				fmt.Fprintf(w, "%s: lock file %s version %d, %s\n", out.File, out.Name, out.Version, plural(out.Plugins, "plugin"))
				if out.Signer != "" {
					fmt.Fprintf(w, "%s: signed by %s\n", out.Signature, out.Signer)
				}
			})
			for _, l := range out.LeftOut {
				a.note("%s %s: setting %s is left out: %s", visible(l.Plugin), visible(l.Version), visible(l.Setting), l.Why)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "what the team's machines know the lock file by")
	cmd.Flags().Int64Var(&version, "version", 0, "the version (default: one above the one in FILE, or 1)")
	cmd.Flags().BoolVar(&empty, "empty", false, "write it even if nothing is installed here")
	_ = cmd.MarkFlagRequired("name") // the flag exists
	k.registerOptional(a, cmd)
	return cmd
}

// nextVersion is the version of a lock file: the one that is asked for, if it is above
// that of the file that is there, or one above that if version is 0.
func nextVersion(path, name string, version int64) (int64, error) {
	data, err := readRegular("lock file", path, abi.MaxMetadata)
	if errors.Is(err, abi.ErrNotFound) {
		return cmp.Or(version, 1), nil
	}
	if err != nil {
		return 0, err
	}
	old, err := registry.ParseTeamLock(data)
	switch {
	case err != nil || old.Name != name:
		return 0, abi.Errorf(abi.ErrInvalidArgs, "lock export", "%q is there already and holds no lock file named %q", path, name).
			WithHint("drawbridge lock export ANOTHER-FILE --name %s", name)
	case version == 0:
		return old.Version + 1, nil
	case version <= old.Version:
		return 0, abi.Errorf(abi.ErrInvalidArgs, "lock export", "%q is version %d already, and machines that followed it refuse version %d", path, old.Version, version).
			WithHint("drawbridge lock export %s --name %s, which writes version %d", path, name, old.Version+1)
	}
	return version, nil
}

// writeLock writes a lock file, signature first, so that a file is never there
// without the signature that was asked for. One without plugins is written if empty
// says so.
func (a *app) writeLock(ctx context.Context, path string, data []byte, k *signerFlags, empty bool) (exported, error) {
	lock, err := registry.ParseTeamLock(data)
	if err != nil {
		return exported{}, err
	}
	if len(lock.Plugins) == 0 && !empty {
		return exported{}, abi.Errorf(abi.ErrInvalidArgs, "lock export", "nothing is installed here: machines that sync with --prune would remove everything").
			WithHint("drawbridge list, or the same command with --empty if that is meant")
	}
	out := exported{File: path, Name: lock.Name, Version: lock.Version, Plugins: len(lock.Plugins), Registries: len(lock.Registries)}
	if k.given() {
		key, err := k.open(ctx, a)
		if err != nil {
			return exported{}, err
		}
		sig, err := key.Sign(data, time.Now())
		if err != nil {
			return exported{}, err
		}
		out.Signature, out.Signer = path+".asc", string(key.Certificate().Fingerprint)
		if err := atomicfile.Write(out.Signature, sig, 0o644); err != nil {
			return exported{}, err
		}
	} else {
		a.note("it is not signed, and so nobody follows it: gpg --armor --detach-sign %s", path)
	}
	return out, atomicfile.Write(path, data, 0o644)
}
