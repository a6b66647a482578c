package gpg

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// statusPrefix begins each line for programs. The others are for people.
const statusPrefix = "[GNUPG:] "

// maxStatusLines bounds how many of them are looked at.
const maxStatusLines = 1000

// Codes of libgpg-error that a person can do something about.
const (
	errBadPassphrase  = 11
	errNoSecretKey    = 17
	errTimeout        = 62
	errNoAgent        = 77
	errNoPinentry     = 85
	errCanceled       = 99
	errCardNotPresent = 112
	errFullyCanceled  = 198
)

// A status is what gpg reported to programs.
type status struct {
	created int // detached binary signatures that it made
	invalid int // the reason of INV_SGNR; -1: none
	failed  int // the error code of FAILURE; 0: none
}

// parseStatus reads gpg's report. A line of a kind that matters has to be whole; one
// of another kind is passed over, because new versions have new ones.
func parseStatus(report []byte) (status, error) {
	s := status{invalid: -1}
	lines := 0
	for line := range strings.Lines(string(report)) {
		text, ok := strings.CutPrefix(line, statusPrefix)
		if !ok {
			continue
		}
		if lines++; lines > maxStatusLines {
			return status{}, malformed("more than %d lines", maxStatusLines)
		}
		text, whole := strings.CutSuffix(text, "\n")
		f := strings.Split(strings.TrimSuffix(text, "\r"), " ")
		if err := s.take(f); err != nil {
			return status{}, err
		}
		if !whole {
			return status{}, malformed("%q is cut off", abi.Shorten(text, 80))
		}
	}
	return s, nil
}

// take reads the fields of one line.
func (s *status) take(f []string) error {
	var err error
	switch f[0] {
	case "SIG_CREATED":
		// type, key algorithm, hash algorithm, class, time, fingerprint
		if len(f) != 7 || f[1] != "D" || f[4] != "00" {
			return malformed("%q, want a detached signature of a binary document", abi.Shorten(strings.Join(f, " "), 120))
		}
		s.created++
	case "INV_SGNR":
		if len(f) < 2 {
			return malformed("INV_SGNR without a reason")
		}
		s.invalid, err = number(f[1])
	case "FAILURE":
		if len(f) < 3 {
			return malformed("FAILURE without a code")
		}
		var n int
		n, err = number(f[2])
		s.failed = n & 0xffff // the rest says which part of gpg it was
	}
	return err
}

func number(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, malformed("%q, want a number", abi.Shorten(text, 40))
	}
	return int(n), nil
}

func malformed(format string, args ...any) error {
	return abi.Errorf(abi.ErrInvalidResult, "", "gpg's status report can't be read: %w", fmt.Errorf(format, args...))
}

// failure says why a run of gpg failed, as exactly as it was reported.
func failure(report []byte, cause error) error {
	s, err := parseStatus(report)
	if err != nil {
		return err
	}
	if e := s.fault(); e != nil {
		return e
	}
	return abi.Errorf(abi.ErrInvalidArgs, "", "gpg gave no signature: %s: %w", abi.Shorten(lastWords(report), 200), cause)
}

// fault is nil for a status that names none that is known.
func (s status) fault() error {
	switch s.invalid {
	case 1, 9:
		return abi.Errorf(abi.ErrNotFound, "", "gpg has no secret key that signs for this").WithHint("gpg --list-secret-keys --with-fingerprint; and is the card in its reader?")
	case 3:
		return abi.Errorf(abi.ErrInvalidArgs, "", "no key of this certificate may sign").WithHint("gpg --quick-add-key FINGERPRINT ed25519 sign")
	case 4:
		return abi.Errorf(abi.ErrInvalidArgs, "", "the key is revoked").WithHint("gpg --list-secret-keys")
	case 5:
		return abi.Errorf(abi.ErrInvalidArgs, "", "the key has expired").WithHint("gpg --quick-set-expire FINGERPRINT 2y")
	}
	switch s.failed {
	case errBadPassphrase:
		return abi.Errorf(abi.ErrInvalidArgs, "", "wrong passphrase or PIN")
	case errNoSecretKey, errCardNotPresent:
		return abi.Errorf(abi.ErrNotFound, "", "gpg has no secret key that signs for this").WithHint("gpg --list-secret-keys --with-fingerprint; and is the card in its reader?")
	case errCanceled, errFullyCanceled:
		return abi.Errorf(abi.ErrConfirmationDenied, "", "no passphrase or PIN was given")
	case errTimeout:
		return abi.Errorf(abi.ErrTimeout, "", "nobody gave the passphrase or PIN in time")
	case errNoAgent, errNoPinentry:
		return abi.Errorf(abi.ErrUnsupportedAction, "", "gpg has no way to ask for the passphrase").WithHint("sudo apt-get install pinentry-curses; then, in a terminal, export GPG_TTY=$(tty)")
	}
	return nil
}
