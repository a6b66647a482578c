package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// verifyPlan is the flags of key verify.
type verifyPlan struct {
	keyrings  []string
	signature string
	at, mode  string
}

// keyVerdict is what key verify prints. Key, SigningKey and Time are of the first
// signer, and empty in a refusal: nobody is known to have signed then.
type keyVerdict struct {
	Verdict    string         `json:"verdict"`     // accept or reject
	Reason     signing.Detail `json:"reason"`      // which rule refused; empty for accept
	Class      abi.Reason     `json:"class"`       // the reason that install and update would give
	Message    string         `json:"message"`     // the same in words
	Hint       string         `json:"hint"`        // what to do about it; empty if nothing is known
	Key        string         `json:"key"`         // the certificate's fingerprint
	SigningKey string         `json:"signing_key"` // the same, or a subkey's
	Time       string         `json:"time"`        // what the signature says
	Signers    []keySigner    `json:"signers"`     // everybody who signed
	Mode       string         `json:"mode"`        // install or archive
	At         string         `json:"at"`          // the moment that it was judged at
}

type keySigner struct {
	Key        string `json:"key"`
	SigningKey string `json:"signing_key"`
	Time       string `json:"time"`
}

func (a *app) keyVerifyCmd() *cobra.Command {
	var p verifyPlan
	cmd := &cobra.Command{
		Use: "verify FILE", Short: "judge a detached signature as every other command does; prints the verdict as JSON",
		Long: `Everybody in the keyring counts as trusted, and one good signature is enough. The
verdict is "accept", with exit code 0, or "reject", with exit code 5 and the reason.

--mode install asks for a key that was valid when it signed and still is at --at;
archive for one that was valid when it signed.

A keyring or a signature that is there and can't be read as one is a verdict, too.
Exit code 1 means that a file is not there or can't be opened, and 2 that the command
line is wrong: nothing was judged then, and nothing is on standard output.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.verifySignature(p, args[0]) },
	}
	cmd.Flags().StringArrayVar(&p.keyrings, "keyring", nil, "file of OpenPGP certificates, armored or binary; may be repeated")
	cmd.Flags().StringVar(&p.signature, "signature", "", "file of the detached signature, armored or binary")
	cmd.Flags().StringVar(&p.at, "at", "", "judge at this moment, such as 2026-11-30T12:00:00Z or 2026-11-30; default: now")
	cmd.Flags().StringVar(&p.mode, "mode", signing.Install.String(), "install or archive")
	for _, f := range []string{"keyring", "signature"} {
		_ = cmd.MarkFlagRequired(f) // the flags exist
	}
	_ = cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions([]string{"install", "archive"}, noFiles))
	return cmd
}

func (a *app) verifySignature(p verifyPlan, file string) error {
	mode, err := parseMode(p.mode)
	if err != nil {
		return err
	}
	at, err := parseMoment(p.at)
	if err != nil {
		return err
	}
	in := judging{file: judgedFile{what: "file", path: file}, signature: judgedFile{what: "signature", path: p.signature}}
	if in.signature.text, err = readRegular("signature", p.signature, signing.MaxSignatureFile); err != nil {
		return err
	}
	if in.file.text, err = readRegular("file", file, signing.MaxData); err != nil {
		return err
	}
	for _, path := range p.keyrings {
		k := judgedFile{what: "keyring", path: path}
		if k.text, err = readRegular("keyring", path, signing.MaxKeyringFile); err != nil {
			return err
		}
		in.keyrings = append(in.keyrings, k)
	}
	trust := signing.Trust{Mode: mode, Now: at}
	verdict, err := in.judge(&trust)
	return a.sayVerdict(trust, verdict, err)
}

// sayVerdict prints a verdict, and returns the refusal as one that was said.
func (a *app) sayVerdict(trust signing.Trust, v signing.Verdict, err error) error {
	said := keyVerdict{Verdict: "accept", Mode: trust.Mode.String(), At: trust.Now.UTC().Format(time.RFC3339), Signers: []keySigner{}}
	if err != nil {
		said.Verdict, said.Reason, said.Message = "reject", signing.DetailOf(err), err.Error()
		if e, ok := errors.AsType[*abi.Error](err); ok {
			said.Class, said.Hint = e.Reason, e.Hint
		}
		a.printJSON(said)
		return fmt.Errorf("%w: %w", errSaid, err)
	}
	for _, s := range v.Signers {
		said.Signers = append(said.Signers, keySigner{string(s.Primary), string(s.Key), s.Created.UTC().Format(time.RFC3339)})
	}
	first := said.Signers[0]
	said.Key, said.SigningKey, said.Time = first.Key, first.SigningKey, first.Time
	a.printJSON(said)
	return nil
}

func parseMode(text string) (signing.Mode, error) {
	for _, m := range []signing.Mode{signing.Install, signing.Archive} {
		if text == m.String() {
			return m, nil
		}
	}
	return 0, usage(fmt.Errorf("--mode %q, want install or archive", text))
}

// parseMoment reads a moment: to the second with a time zone, or a day, which
// begins at midnight UTC. The empty one is now.
func parseMoment(text string) (time.Time, error) {
	if text == "" {
		return time.Now(), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usage(fmt.Errorf("--at %q, want a moment such as 2026-11-30T12:00:00Z, or a day such as 2026-11-30", text))
}
