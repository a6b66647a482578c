package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
	"github.com/drawbridge-mcp/drawbridge/host/redact"
	"github.com/drawbridge-mcp/drawbridge/signing"
	"github.com/drawbridge-mcp/drawbridge/signing/keyring"
)

// keyring opens the user's keyring.
func (a *app) keyring() (*keyring.Ring, error) {
	dirs, err := a.dirs()
	if err != nil {
		return nil, err
	}
	return keyring.Open(dirs.Keys()), nil
}

func describeKey(i signing.KeyInfo, path string) keyResult {
	return keyResult{
		Fingerprint: string(i.Certificate.Fingerprint), Secret: i.Secret, UserIDs: append([]string{}, i.UserIDs...),
		Created: i.Created.UTC(), Expires: i.Expires.UTC(), Reason: i.Problem, File: path,
	}
}

func (r keyResult) kind() string {
	if r.Secret {
		return "secret key"
	}
	return "certificate"
}

// state is the problem in a word, or until when there is none.
func (r keyResult) state() string {
	switch {
	case r.Error != nil:
		return "unreadable"
	case r.Reason != "":
		return string(r.Reason)
	case !r.Expires.IsZero():
		return "until " + day(r.Expires)
	}
	return "good"
}

func (a *app) keyListCmd() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "list the keys in the keyring", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			ring, err := a.keyring()
			if err != nil {
				return err
			}
			entries, err := ring.Entries()
			if err != nil {
				return err
			}
			list := []keyResult{}
			for _, e := range entries {
				_, info, err := ring.Read(e, time.Now())
				k := describeKey(info, e.Path)
				if err != nil {
					a.note("%s can't be read: %v", e.Fingerprint, err)
					k = keyResult{Fingerprint: string(e.Fingerprint), Secret: e.Secret, UserIDs: []string{}, File: e.Path, Error: errorOf(err)}
				}
				list = append(list, k)
			}
			a.show(keysResult{list}, func(w io.Writer) {
				t := table{head: []any{"FINGERPRINT", "KIND", "STATE", "USER ID"}}
				for _, k := range list {
					t.row(k.Fingerprint, k.kind(), k.state(), strings.Join(k.UserIDs, ", "))
				}
				t.write(w)
			})
			a.ifNone(len(entries), "no key yet: drawbridge key new --user-id NAME, or drawbridge key import FILE")
			return nil
		},
	}
}

func (a *app) keyShowCmd() *cobra.Command {
	return &cobra.Command{
		Use: "show FINGERPRINT|FILE", Short: "print what a key or certificate says, and its public part; needs no passphrase",
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.keyNamesOrFiles,
		RunE: func(_ *cobra.Command, args []string) error {
			info, path, err := a.findKey(args[0])
			if err != nil {
				return err
			}
			r := describeKey(info, path)
			r.PublicKey = string(info.Certificate.Armored())
			// Beside the certificate, so that a redirection makes a file of it.
			a.note("fingerprint %s", r.Fingerprint)
			for _, id := range r.UserIDs {
				a.note("user id     %s", redact.Visible(id))
			}
			a.note("created     %s\n%s, %s", r.Created.Format(time.RFC3339), r.kind(), r.state())
			a.show(r, func(w io.Writer) { fmt.Fprintf(w, "%s\n", r.PublicKey) })
			return nil
		},
	}
}

// findKey reads a key by its name in the keyring or from a file.
func (a *app) findKey(name string) (signing.KeyInfo, string, error) {
	if !keyring.IsName(name) {
		text, err := readRegular("key file", name, signing.MaxKeyringFile)
		if err != nil {
			return signing.KeyInfo{}, "", orFingerprint(name, err)
		}
		info, err := signing.InspectKey(text, time.Now())
		return info, name, inFile("key file", name, err)
	}
	ring, err := a.keyring()
	if err != nil {
		return signing.KeyInfo{}, "", err
	}
	e, err := ring.Find(name)
	if err != nil {
		return signing.KeyInfo{}, "", err
	}
	_, info, err := ring.Read(e, time.Now())
	return info, e.Path, err
}

// orFingerprint is the error of a key file that isn't there, with the command that
// lists what else could have been meant.
func orFingerprint(name string, err error) error {
	e, ok := errors.AsType[*abi.Error](err)
	if !ok || !errors.Is(err, abi.ErrNotFound) {
		return err
	}
	if keyring.LooksLikeName(name) {
		return abi.Errorf(abi.ErrNotFound, "", "no key %q in the keyring, and no file of that name; a key is named by at least its last %d digits", name, keyring.MinName).
			WithHint("drawbridge key list")
	}
	return e.WithHint("drawbridge key list, for the fingerprints of your keyring")
}

// keyInRing finds a key of the keyring.
func (a *app) keyInRing(name string) (*keyring.Ring, keyring.Entry, error) {
	ring, err := a.keyring()
	if err != nil {
		return nil, keyring.Entry{}, err
	}
	e, err := ring.Find(name)
	return ring, e, err
}

func (a *app) keyExportCmd() *cobra.Command {
	var secret bool
	cmd := &cobra.Command{
		Use: "export FINGERPRINT", Short: "print a key's armored certificate, for others to have",
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.keyNames,
		RunE: func(_ *cobra.Command, args []string) error {
			ring, e, err := a.keyInRing(args[0])
			if err != nil {
				return err
			}
			file, info, err := ring.Read(e, time.Now())
			if err != nil {
				return err
			}
			text := string(info.Certificate.Armored())
			out := exportedKey{Fingerprint: string(e.Fingerprint), PublicKey: text}
			if secret {
				if !e.Secret {
					return abi.Errorf(abi.ErrNotFound, "key export", "the keyring holds only the certificate of %s", e.Fingerprint)
				}
				text = string(file)
				out.PublicKey, out.SecretKey = "", text
				a.note("this is the secret key: whoever has it and its passphrase signs as %s", e.Fingerprint)
			}
			a.show(out, func(w io.Writer) {
				fmt.Fprintf(w, "%s\n", strings.TrimRight(text, "\n"))
			})
			return nil
		},
	}
	cmd.Flags().BoolVar(&secret, "secret", false, "print the secret key in place of it, encrypted as it is")
	return cmd
}

func (a *app) keyRemoveCmd() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "remove FINGERPRINT", Short: "take a key out of the keyring; a secret key that has no copy is lost",
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.keyNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			ring, e, err := a.keyInRing(args[0])
			if err != nil {
				return err
			}
			if e.Secret && !yes {
				if err := a.confirmRemoval(cmd, e.Fingerprint); err != nil {
					return err
				}
			}
			if err := ring.Remove(e.Fingerprint); err != nil {
				return err
			}
			a.show(keyRemovedResult{string(e.Fingerprint), true}, func(w io.Writer) { fmt.Fprintf(w, "removed %s\n", e.Fingerprint) })
			return nil
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "remove a secret key without asking")
	return cmd
}

// confirmRemoval has the last digits of a secret key typed.
func (a *app) confirmRemoval(cmd *cobra.Command, fpr signing.Fingerprint) error {
	code := strings.ToUpper(string(fpr[len(fpr)-8:]))
	if a.terminal() == nil {
		return abi.Errorf(abi.ErrConfirmationDenied, "key remove", "%s is a secret key, and standard input is no terminal to ask at", fpr).
			WithHint("drawbridge key remove --yes %s", fpr)
	}
	fmt.Fprintf(a.stderr, "%s is a secret key. Without a copy of it nobody signs as it again.\nTo remove it, type %s: ", fpr.Grouped(), code)
	line, err := a.line(cmd.Context())
	if err != nil {
		return err
	}
	if !strings.EqualFold(line, code) {
		return abi.Errorf(abi.ErrConfirmationDenied, "key remove", "%s stays", fpr)
	}
	return nil
}

// keyNames completes a key of the keyring.
func (a *app) keyNames(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, noFiles
	}
	return a.keysWhere(func(keyring.Entry) bool { return true }), noFiles
}

// keyNamesOrFiles is keyNames, and the shell adds files.
func (a *app) keyNamesOrFiles(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
	names, directive := a.keyNames(cmd, args, text)
	if len(args) == 0 {
		directive = cobra.ShellCompDirectiveDefault
	}
	return names, directive
}

// keysWhere lists fingerprints of the keyring. It makes no directory.
func (a *app) keysWhere(want func(keyring.Entry) bool) (names []string) {
	dirs, err := platform.NewDirs(a.getenv)
	if err != nil {
		return nil
	}
	entries, err := keyring.Open(dirs.Keys()).Entries()
	if err != nil {
		return nil // a shell shows no reason
	}
	for _, e := range entries {
		if want(e) {
			names = append(names, string(e.Fingerprint))
		}
	}
	return names
}
