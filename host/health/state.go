package health

import (
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A State says how a connector is.
type State string

// The states.
const (
	Unknown     State = "unknown"      // neither a call nor a check has told yet
	OK          State = "ok"           // the last that told found somebody signed in
	AuthExpired State = "auth_expired" // nobody is signed in; true of all that share the login
	Failing     State = "failing"      // a check failed in another way
)

// A Connector is what there is to know of one. Two that differ in a field are two
// connectors: what was known of the one says nothing of the other.
type Connector struct {
	ID      string
	Group   string // the plugin: connectors of one group share a login
	Release string // namespace/name@version
	Address string // of its system
	HasPage bool   // it declares a page that a check can visit
}

// A Status is what is known of a connector.
type Status struct {
	Connector
	State   State
	Since   time.Time  // when it came into that state; zero if unknown
	Checked time.Time  // when a check last ended; zero if none did
	Err     *abi.Error // why, if AuthExpired or Failing; Hint is the command to run next
}

// A login is what all connectors of a group share.
type login struct {
	lost    *abi.Error // nil if it is not known to be lost
	since   time.Time
	changed uint64
}

// An entry is what is known of one connector by itself.
type entry struct {
	Connector
	known   bool
	failed  *abi.Error // with known: why it fails, or nil
	since   time.Time
	changed uint64

	used    time.Time // by the last call
	tried   time.Time // when the last check began
	checked time.Time // when the last check ended
	next    time.Time // when the next check is due, while somebody uses it
	flight  *flight   // the check under way, or nil
}

// set puts an entry into the state that failed says, and reports whether that is
// another one.
func (e *entry) set(failed *abi.Error, now time.Time) bool {
	same := e.known && (e.failed == nil) == (failed == nil)
	e.known, e.failed = true, failed
	if !same {
		e.since = now
	}
	return !same
}

// status is e as it is seen from outside: a lost login hides the rest.
func (e *entry) status(l *login) Status {
	s := Status{Connector: e.Connector, State: Unknown, Since: e.since, Checked: e.checked}
	switch {
	case l.lost != nil:
		s.State, s.Since = AuthExpired, l.since
		s.Err = told(l.lost).WithHint("drawbridge login %s", e.ID)
	case e.failed != nil:
		s.State, s.Err = Failing, told(e.failed).WithHint("drawbridge check %s", e.ID)
	case e.known:
		s.State = OK
	}
	return s
}

// told is a copy of err without its cause.
func told(err *abi.Error) *abi.Error {
	return &abi.Error{Code: err.Code, Reason: err.Reason, Op: err.Op, Msg: err.Msg}
}

// refusal is what a paused connector's calls are answered with.
func (s *Status) refusal() error {
	return abi.Errorf(s.Err.Code, "paused", "%s is paused since %s: %s", s.ID, s.Since.UTC().Format(time.RFC3339), s.Err.Error()).
		WithHint("%s", s.Err.Hint)
}

// saysNothing reports whether a check failed for a reason that lies on this side:
// the browser, not the site.
func saysNothing(code abi.Code) bool {
	return slices.Contains([]abi.Code{
		abi.ErrBrowserGone, abi.ErrPageCrashed, abi.ErrPageClosed, abi.ErrConsentPending, abi.ErrDialogOpen,
		abi.ErrUnsupportedAction, abi.ErrInternal,
	}, code)
}
