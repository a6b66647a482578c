package host

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/audit"
	"github.com/drawbridge-mcp/drawbridge/host/gate"
)

// A journal writes the audit log. For a destructive call the row before is on
// disk before anything is sent, and the row after before the caller is
// answered. A reading call's rows are written off the call's path, in order.
type journal struct {
	log     *audit.Log
	logger  *slog.Logger
	queue   chan func(context.Context)
	closing chan struct{}
	done    chan struct{}
	once    sync.Once
}

const (
	// journalQueue is how many rows of reading calls may wait; after that a call
	// waits for its turn, so that no row is lost.
	journalQueue = 1024
	// journalTimeout bounds one write.
	journalTimeout = 10 * time.Second
	// journalPause is how long the writer leaves the machine to the answer of the
	// call that it writes about. Rows that came meanwhile are written with it.
	journalPause = 5 * time.Millisecond
)

// newJournal starts the one goroutine that writes rows, until close.
//
//nolint:contextcheck // it writes for all calls
func newJournal(log *audit.Log, logger *slog.Logger) *journal {
	j := &journal{log: log, logger: logger, queue: make(chan func(context.Context), journalQueue), closing: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(j.done)
		for write := range j.queue {
			j.pause()
			carryOut(write)
			for range len(j.queue) {
				carryOut(<-j.queue)
			}
		}
	}()
	return j
}

// pause lasts journalPause, and no longer than until close.
func (j *journal) pause() {
	timer := time.NewTimer(journalPause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-j.closing:
	}
}

// carryOut lets write have its time, and no more.
func carryOut(write func(context.Context)) {
	ctx, cancel := context.WithTimeout(context.Background(), journalTimeout)
	defer cancel()
	write(ctx)
}

// close writes what waits. No call may be running.
func (j *journal) close() {
	j.once.Do(func() { close(j.closing); close(j.queue) })
	<-j.done
}

// begin writes a destructive call's row before. Nothing may be sent if it fails.
func (j *journal) begin(ctx context.Context, c *call) error {
	if !c.tool.Destructive {
		return nil
	}
	id, err := j.log.Begin(ctx, c.entry())
	if err != nil {
		return abi.Errorf(abi.ErrInternal, "audit", "writing the row before: %w", err)
	}
	c.row = id
	return nil
}

// end writes how a call ended. It outlives the call's context: what happened
// has to be written down even when the caller is gone. written is known only of
// destructive calls and of those that failed for a reason of ours, which wait for
// their turn: their callers are told to look there.
func (j *journal) end(ctx context.Context, c *call, e *abi.Error) (written bool) {
	if c.tool == nil {
		return false // no such tool: nothing ran
	}
	out := audit.Outcome{Duration: c.host.now().Sub(c.started), Result: c.out}
	if e != nil {
		out.Code, out.Reason, out.Message, out.Result = e.Code, e.Reason, e.Error(), nil
	}
	if c.guard != nil {
		out.Requests = c.guard.Sent()
	}
	if c.row != "" {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), journalTimeout)
		defer cancel()
		return j.report(c, j.log.End(ctx, c.row, out))
	}
	entry := c.entry()
	done := make(chan bool, 1)
	j.queue <- func(ctx context.Context) {
		id, err := j.log.Begin(ctx, entry)
		if err == nil {
			err = j.log.End(ctx, id, out)
		}
		done <- j.report(c, err)
	}
	if e != nil && e.Code == abi.ErrInternal {
		return <-done
	}
	return false
}

// report logs that a row could not be written, and says whether it was.
func (j *journal) report(c *call, err error) bool {
	if err != nil {
		j.logger.Error("writing the audit log", slog.String("call", c.id), slog.Any("error", err))
	}
	return err == nil
}

// entry is what the log says of a call before it runs.
func (c *call) entry() audit.Entry {
	e := audit.Entry{
		CallID: c.id, PrincipalID: c.req.Principal.ID, Principal: c.req.Principal.Name, Client: c.req.Client,
		Connector: c.tool.conn.def.ID, Tool: c.tool.Dotted,
		Release: c.tool.conn.plugin.ref, ModuleSHA256: c.tool.conn.plugin.sha256, Signer: c.tool.conn.plugin.signer,
		Origin: string(c.tool.conn.site.base.Origin()), Account: c.account, Destructive: c.tool.Destructive, Args: c.args,
		Basis: string(c.grant.Basis), Approval: c.grant.Approval, Digest: string(c.grant.Digest),
	}
	if c.grant.Approval != "" {
		e.Approver = who(c.grant.Approver)
	}
	return e
}

// who names a person who decided, as the kernel knows the process, or the client in
// whose dialog it was.
func who(by gate.Approver) string {
	if by.Via == gate.ViaClient {
		return fmt.Sprintf("client %s (%s), in its own dialog", by.Principal.Name, by.Principal.ID)
	}
	return fmt.Sprintf("user %d, process %d, %s %s", by.UID, by.PID, by.Via, by.TTY)
}
