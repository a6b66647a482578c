package gate

import (
	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Via is the way by which an answer came.
type Via string

// The ways.
const (
	ViaTerminal Via = "terminal" // the command line in a terminal
	ViaClient   Via = "client"   // a dialog of the calling client: see Inquiry
)

// A Process is one process as the kernel knows it. Start tells it from a later
// process of the same number; 0 says that it is not known.
type Process struct {
	PID   int
	Start uint64
	TTY   string // its controlling terminal; empty if none
}

// An Approver is who answers, as the kernel and not as the caller says, or the
// client that asked for us. All of it goes into the audit log.
type Approver struct {
	PID   int
	Start uint64 // of the process when it connected
	UID   int
	TTY   string
	Via   Via
	// Principal is the client whose dialog was answered, by way of ViaClient.
	// Nothing else is known then.
	Principal Principal
}

// CheckApprover says whether a may answer. line is a's process, its parent, and
// so on, as read now; connected are the processes of connected clients (those
// that started a stdio server, not the server itself); uid is the daemon's user.
//
// It refuses another user, a process without a terminal, and one that descends
// from a client, which is how an agent's shell calls our command line. It does
// not stop a program of the same user that takes trouble: one that detaches
// itself and opens a terminal of its own has no ancestry left to be judged by.
func CheckApprover(a Approver, uid int, line, connected []Process) error {
	switch {
	case a.Via != ViaTerminal:
		return refuse("answers by way of %q are not accepted", a.Via)
	case a.UID != uid:
		return refuse("user id %d can't answer for user id %d", a.UID, uid)
	case len(line) == 0 || line[0].PID != a.PID || a.PID <= 0:
		return refuse("the process that answers (%d) is not known", a.PID)
	case a.Start != 0 && line[0].Start != a.Start:
		return refuse("process %d is not the one that connected", a.PID)
	case line[0].TTY == "":
		return refuse("process %d has no terminal", a.PID)
	case a.TTY != "" && a.TTY != line[0].TTY:
		return refuse("process %d is on terminal %q, not on %q", a.PID, line[0].TTY, a.TTY)
	}
	for i, p := range line {
		if i > 0 && p.Start > line[i-1].Start {
			return refuse("the ancestry of process %d is not its own", a.PID)
		}
		for _, c := range connected {
			if p.PID == c.PID && (p.Start == c.Start || p.Start == 0 || c.Start == 0) {
				return refuse("process %d was started by the connected client %d", a.PID, c.PID)
			}
		}
	}
	return nil
}

func refuse(format string, args ...any) error {
	return abi.Errorf(abi.ErrForbidden, "approve", format, args...).
		WithHint("drawbridge approvals (typed by you, in a terminal that no client started)")
}
