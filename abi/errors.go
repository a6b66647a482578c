package abi

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Code names a class of failure. Codes are the same in WASM, MCP, the command
// line and the audit log. The list is append-only: a code is never renamed and
// never reused.
//
//nolint:errname // it is a code first; Error only makes it a target of errors.Is
type Code string

// The codes of ABI version 1.
const (
	ErrAuthExpired          Code = "auth_expired"          // the site says that nobody is signed in
	ErrForbidden            Code = "forbidden"             // signed in, and not allowed to see or do this
	ErrNotFound             Code = "not_found"             // the thing asked for does not exist
	ErrSelectorDrift        Code = "selector_drift"        // the page no longer looks as the connector expects
	ErrUntrusted            Code = "untrusted"             // a signature, hash or policy check refused; see Reason
	ErrTargetAmbiguous      Code = "target_ambiguous"      // a selector that must match one element matched several
	ErrCoveredBy            Code = "covered_by"            // another element would receive the click
	ErrStaleRef             Code = "stale_ref"             // the element is no longer in the page
	ErrTimeout              Code = "timeout"               // a deadline passed, and nothing was written
	ErrDialogOpen           Code = "dialog_open"           // a JavaScript dialog waits for an answer
	ErrOriginDenied         Code = "origin_denied"         // a URL outside the grants or the tool's lists
	ErrCapabilityDenied     Code = "capability_denied"     // a host call that the connector was not granted
	ErrConfirmationRequired Code = "confirmation_required" // a person has to approve first
	ErrConfirmationDenied   Code = "confirmation_denied"   // a person, or policy, said no
	ErrOutcomeUnknown       Code = "outcome_unknown"       // a write may or may not have happened; never retried
	ErrInvalidArgs          Code = "invalid_args"          // the caller's input is wrong
	ErrInvalidResult        Code = "invalid_result"        // the connector's output is wrong
	ErrGuestTrap            Code = "guest_trap"            // the module crashed
	ErrLimitExceeded        Code = "limit_exceeded"        // size, count or CPU limit
	ErrBrowserGone          Code = "browser_gone"          // the browser ended or the connection was lost
	ErrPageCrashed          Code = "page_crashed"          // the tab's renderer ended
	ErrPageClosed           Code = "page_closed"           // the tab was closed under the call
	ErrConsentPending       Code = "consent_pending"       // the browser waits for its user
	ErrUnsupportedAction    Code = "unsupported_action"    // this host does not serve that step
	ErrInternal             Code = "internal"              // our fault; the audit id is all that is told
)

// Codes lists every code in the order above.
func Codes() []Code {
	return []Code{
		ErrAuthExpired, ErrForbidden, ErrNotFound, ErrSelectorDrift, ErrUntrusted, ErrTargetAmbiguous,
		ErrCoveredBy, ErrStaleRef, ErrTimeout, ErrDialogOpen, ErrOriginDenied, ErrCapabilityDenied,
		ErrConfirmationRequired, ErrConfirmationDenied, ErrOutcomeUnknown, ErrInvalidArgs, ErrInvalidResult,
		ErrGuestTrap, ErrLimitExceeded, ErrBrowserGone, ErrPageCrashed, ErrPageClosed, ErrConsentPending,
		ErrUnsupportedAction, ErrInternal,
	}
}

// Error makes a Code usable as a target of errors.Is.
func (c Code) Error() string { return string(c) }

// A Reason says which check made something untrusted. The list is append-only.
type Reason string

// The reasons that go with ErrUntrusted.
const (
	ReasonUnsigned        Reason = "unsigned"
	ReasonBadSignature    Reason = "bad_signature"
	ReasonUnknownKey      Reason = "unknown_key"
	ReasonKeyExpired      Reason = "key_expired"
	ReasonKeyRevoked      Reason = "key_revoked"
	ReasonWeakAlgorithm   Reason = "weak_algorithm"
	ReasonTampered        Reason = "tampered"
	ReasonWrongName       Reason = "wrong_name"
	ReasonSnapshotExpired Reason = "snapshot_expired"
	ReasonSnapshotOlder   Reason = "snapshot_older"
	ReasonArtifactRevoked Reason = "artifact_revoked"
	ReasonMalformed       Reason = "malformed"
)

// Shorten bounds what a message repeats of a hostile value: at most so many bytes
// of it, cut between characters, and a sign that it goes on.
func Shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// An Error is a failure that a user, a client or a connector may see. Msg is
// lower case, without a full stop, and quotes the value at fault; Hint is the
// command to run next. Err is the cause and never crosses a boundary.
type Error struct {
	Code   Code
	Reason Reason // only with ErrUntrusted
	Op     string // what was being done, such as "navigate"; may be empty
	Msg    string
	Hint   string
	Err    error
}

// Errorf makes an Error with a formatted message. %w works and sets Err. Of an Error
// among args the message stands in it without its operation: one is told.
func Errorf(code Code, op, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	e := &Error{Code: code, Op: op, Msg: err.Error()}
	for _, a := range args {
		inner := (*Error)(nil)
		if cause, ok := a.(error); ok && errors.As(cause, &inner) && inner.Op != "" {
			e.Msg = strings.Replace(e.Msg, inner.Error(), inner.Msg, 1)
		}
	}
	if u, ok := err.(interface{ Unwrap() error }); ok {
		e.Err = u.Unwrap()
	}
	return e
}

// WithHint returns e with its hint set.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// Error implements error. The hint is left to the presenter.
func (e *Error) Error() string {
	if e.Op == "" {
		return e.Msg
	}
	return e.Op + ": " + e.Msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is e's Code.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Code
}
