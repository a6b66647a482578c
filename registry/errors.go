package registry

import (
	"errors"
	"fmt"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// refuse makes the error of a check that failed. fprs are the keys concerned: the
// signer, or those whose signature was expected. They are named in the message.
func refuse(reason abi.Reason, fprs []signing.Fingerprint, format string, args ...any) *abi.Error {
	return refuseFor(nil, reason, fprs, format, args...)
}

func refuseFor(cause error, reason abi.Reason, fprs []signing.Fingerprint, format string, args ...any) *abi.Error {
	msg := fmt.Sprintf(format, args...)
	if names := nameKeys(msg, fprs); names != "" {
		msg += " (key " + names + ")"
	}
	return &abi.Error{Code: abi.ErrUntrusted, Reason: reason, Msg: msg, Err: cause}
}

// nameKeys lists the fingerprints that msg doesn't name yet.
func nameKeys(msg string, fprs []signing.Fingerprint) string {
	var names []string
	for _, f := range fprs {
		if f != "" && !strings.Contains(msg, string(f)) {
			names = append(names, string(f))
		}
	}
	return strings.Join(names, ", ")
}

// because gives a refusal of the signing package the file it is about and the
// keys that would have been right.
func because(err error, path string, want []signing.Fingerprint) error {
	var e *abi.Error
	if !errors.As(err, &e) || e.Code != abi.ErrUntrusted {
		return fmt.Errorf("verifying %q: %w", path, err)
	}
	return refuseFor(err, e.Reason, want, "%q: %s", path, e.Msg)
}

// malformed is the refusal of a file that doesn't have its form.
func malformed(path string, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if len(path) > 200 {
		path = path[:200] + "..."
	}
	return refuseFor(errors.Unwrap(err), abi.ReasonMalformed, nil, "%q is malformed: %v", path, err)
}
