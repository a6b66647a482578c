package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// The exit codes. They are part of the command's interface.
const (
	exitOK        = 0
	exitError     = 1 // anything else
	exitUsage     = 2 // the command line is wrong
	exitDenied    = 3 // a person, a policy or a grant said no
	exitAuth      = 4 // nobody is signed in at the site
	exitUntrusted = 5 // a signature, hash or trust check refused
)

// errUsage marks a wrong command line.
var errUsage = errors.New("usage")

// errSaid ends a command with exitError whose output says what is wrong.
var errSaid = errors.New("it was said")

// errSaidUntrusted is errSaid that ends with exitUntrusted.
var errSaidUntrusted = fmt.Errorf("%w: %w", errSaid, abi.ErrUntrusted)

// usageError is a wrong command line with its message, and the command whose
// help says how it is meant.
type usageError struct {
	error
	command string // such as "drawbridge install"; root.go fills it in
	meant   string // what was probably meant; empty shows the command's help
}

// hint is the command to run next.
func (u usageError) hint() string {
	if u.meant != "" {
		return u.meant
	}
	return u.command + " --help"
}

func (usageError) Is(target error) bool { return target == errUsage }

// usage makes err a wrong command line; nil stays nil.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{error: err}
}

// of names the command of a wrong command line, unless it is named already.
func (u usageError) of(cmd *cobra.Command) usageError {
	if u.command == "" {
		u.command = cmd.CommandPath()
	}
	return u
}

// exitCode is the table from errors to exit codes.
func exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errUsage):
		return exitUsage
	case errors.Is(err, abi.ErrConfirmationDenied), errors.Is(err, abi.ErrConfirmationRequired),
		errors.Is(err, abi.ErrOriginDenied), errors.Is(err, abi.ErrCapabilityDenied), errors.Is(err, abi.ErrForbidden):
		return exitDenied
	case errors.Is(err, abi.ErrAuthExpired):
		return exitAuth
	case errors.Is(err, abi.ErrUntrusted):
		return exitUntrusted
	}
	return exitError
}
