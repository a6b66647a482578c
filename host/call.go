package host

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/audit"
	"github.com/drawbridge-mcp/drawbridge/host/gate"
	"github.com/drawbridge-mcp/drawbridge/host/guard"
	"github.com/drawbridge-mcp/drawbridge/host/health"
	"github.com/drawbridge-mcp/drawbridge/sandbox"
)

// A call is one tools/call on its way.
type call struct {
	id      string // names the call in the audit log and to its caller
	host    *Host
	req     CallRequest
	tool    *tool
	args    json.RawMessage // canonical
	guard   *guard.Guard    // of a destructive call
	lease   *lease
	account string
	grant   gate.Grant
	row     audit.ID // of the row before, for a destructive call
	health  health.Ticket
	out     json.RawMessage
	album   album // pictures that the module took
	started time.Time
}

// Call carries one call from the caller to the page and back. It always returns
// a result or an error that is safe to show, and within the tool's deadline.
func (h *Host) Call(ctx context.Context, r CallRequest) CallResult {
	if !h.enter() {
		return CallResult{Err: abi.Errorf(abi.ErrBrowserGone, "call", "the host is closed")}
	}
	defer h.calls.Done()
	ctx, leave := h.untilEnd(ctx)
	defer leave()
	c := &call{id: rand.Text()[:16], host: h, req: r, started: h.now()}
	err := c.find()
	if err == nil {
		err = c.whileInstalled(ctx)
	}
	return c.result(ctx, err)
}

// whileInstalled runs the call's stages on the version that it was found in: that
// one stays, whatever is installed meanwhile, unless it is revoked.
func (c *call) whileInstalled(ctx context.Context) error {
	life := c.tool.conn.plugin.life
	defer life.leave()
	ctx, unbind := life.during(ctx)
	defer unbind()
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	return life.explain(c.stages(ctx))
}

// stages is the order of a call. The gate is asked only once the caller's
// arguments, the sign-in and the account are known to be right, so that nobody
// confirms what can't run; the audit log's first row comes before anything is sent.
func (c *call) stages(ctx context.Context) error {
	defer c.close()
	for _, stage := range []func(context.Context) error{
		c.validate, // arguments fit the signed schema
		c.enter,    // its connector is not paused
		c.identify, // destructive only: who is signed in
		c.allow,    // the gate: policy, or a person
		c.present,  // it was not removed meanwhile
		c.begin,    // audit, the row before
		c.open,     // a tab under this tool's guard
		c.run,      // the module, in its sandbox
		c.check,    // its output fits the signed schema
		c.redact,   // secrets taken out
	} {
		if err := stage(ctx); err != nil {
			return err
		}
	}
	return nil
}

// find looks the tool up and takes part in its plugin's life: a plugin that is
// replaced meanwhile stays until the call is over.
func (c *call) find() error {
	for {
		cat := c.host.catalog.Load()
		t, ok := cat.tools[c.req.Tool]
		if !ok {
			return cat.noTool(c.req.Tool)
		}
		if t.conn.plugin.life.enter() {
			c.tool = t
			return nil
		}
	}
}

// noTool says why there is no such tool.
func (c *catalog) noTool(name string) error {
	if e := c.refused(name); e != nil {
		return e
	}
	hint := "drawbridge tools"
	if len(c.problems) > 0 {
		hint = "drawbridge list" // it may be a tool of a plugin that was refused
	}
	return abi.Errorf(abi.ErrNotFound, "call", "no tool %q is installed", name).WithHint("%s", hint)
}

func (c *call) timeout() time.Duration {
	d := time.Duration(c.tool.def.TimeoutSec) * time.Second
	if d <= 0 {
		d = abi.DefaultCallTimeout
	}
	d = min(d, abi.MaxCallTimeout)
	if c.tool.Destructive {
		d += c.host.opts.Wait // a person's time is not the tool's
	}
	return d
}

func (c *call) validate(context.Context) error {
	args, err := gate.Canonical(c.req.Args)
	if err != nil {
		return err
	}
	c.args = args
	return c.tool.in.Validate(args)
}

// enter refuses a call of a connector that is known to be signed out or to fail,
// unless a look at its page finds that this is over.
func (c *call) enter(ctx context.Context) error {
	var err error
	c.health, err = c.host.health.Enter(ctx, c.tool.conn.def.ID)
	return err
}

// identify finds out which account the site knows the browser as, in a tab
// that can only read, so that an approval can be bound to it.
func (c *call) identify(ctx context.Context) error {
	if !c.tool.Destructive {
		return nil
	}
	g, err := c.newGuard(false)
	if err != nil {
		return err
	}
	c.lease, err = c.host.tabs.own(ctx, g)
	if err != nil {
		return err
	}
	c.account, err = c.host.account(ctx, c.tool.conn, c.lease)
	return err
}

func (c *call) allow(ctx context.Context) error {
	var err error
	about := c.subject()
	if c.grant, err = c.host.gate.AllowAsking(ctx, about, c.req.Ask.toGate(about)); err != nil {
		return err
	}
	c.args = c.grant.Args // what was allowed is what runs
	return nil
}

func (c *call) subject() gate.Subject {
	return gate.Subject{
		Principal: c.req.Principal, Client: c.req.Client,
		Connector: c.tool.conn.def.ID, Tool: c.tool.Dotted, Title: c.tool.Title,
		Definition: c.tool.definition, ModuleSHA256: c.tool.conn.plugin.sha256, Release: c.tool.conn.plugin.ref,
		Args: c.args, Origin: c.tool.conn.site.address(), Account: c.account,
		Destructive: c.tool.Destructive, Writes: explainWrites(c.tool),
	}
}

func (c *call) begin(ctx context.Context) error {
	return c.host.journal.begin(ctx, c)
}

// open gives the call its page. A reading call uses its client's tab; a
// destructive one makes the tab it was identified in writable, by a reload, and
// looks at the account again: the user may have changed it meanwhile.
func (c *call) open(ctx context.Context) error {
	var err error
	if !c.tool.Destructive {
		c.tool.conn.plugin.module.Prepare(ctx)
		key := tabKey{c.req.Principal.ID, c.tool.conn.def.ID}
		c.lease, err = c.host.tabs.reading(ctx, key, c.policy(), func() (*guard.Guard, error) { return c.newGuard(false) })
		return err
	}
	if c.guard, err = c.newGuard(true); err != nil {
		return err
	}
	account, err := c.host.account(ctx, c.tool.conn, c.lease)
	if err != nil {
		return err
	}
	if account != c.account {
		return abi.Errorf(abi.ErrConfirmationRequired, c.tool.Name, "the account is now %q and was %q when this was approved: call again", account, c.account)
	}
	return c.host.tabs.rearm(ctx, c.lease, c.guard)
}

// policy names what the guard of a reading call is made from; while it is the
// same, the tab's page may stay. Only lists that name arguments depend on them.
func (c *call) policy() string {
	h := sha256.New()
	h.Write(c.tool.definition)
	fmt.Fprintf(h, "\x00%s\x00%s", c.tool.conn.plugin.sha256, c.tool.conn.site.base)
	if namesArguments(c.tool.def.Reads) {
		h.Write(c.args)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (c *call) run(ctx context.Context) error {
	in, err := json.Marshal(abi.CallInput{
		V: abi.Version, Tool: c.tool.Dotted, Args: c.args, Now: c.host.now().UnixMilli(), Seed: seed(),
		Settings: c.tool.conn.settings, Locale: c.host.opts.Locale,
	})
	if err != nil {
		return err
	}
	page := &grantedPage{
		site: c.tool.conn.site, page: c.lease.page, guard: c.lease.guard,
		loginCmd: "drawbridge login " + c.tool.conn.def.ID, dialog: dialogOf(c.tool.writes),
		granted: c.tool.def.Capabilities, spoil: c.lease.spoil, album: &c.album,
	}
	if report := c.req.Progress; report != nil {
		page.progress = func(done, total float64, message string) {
			report(done, total, c.host.redact.String(abi.Shorten(message, maxGuestProgress)))
		}
	}
	var out abi.CallOutput
	var own time.Duration
	if _, err := c.tool.conn.plugin.module.Run(ctx, sandbox.Call{
		Export: sandbox.ExportCall, Input: in, Calls: page, OwnWorker: c.tool.Destructive, Output: &out, GuestTime: &own,
	}); err != nil {
		c.lease.spoil() // a page that held the call up is not met again
		return err
	}
	c.host.opts.Logger.DebugContext(ctx, "module", slog.String("call", c.id), slog.String("tool", c.tool.Dotted), slog.Duration("guest", own))
	if !out.OK || out.Error != nil {
		return guestError(c.tool, out.Error)
	}
	c.out = out.Result
	return nil
}

func (c *call) check(context.Context) error {
	if err := c.tool.out.Validate(c.out); err != nil {
		return abi.Errorf(abi.ErrInvalidResult, c.tool.Name, "%w", err)
	}
	return nil
}

func (c *call) redact(context.Context) error {
	var err error
	c.out, err = c.host.redact.Result(c.out)
	return err
}

func (c *call) close() {
	if c.guard != nil && c.tool.Destructive {
		c.guard.Seal() // nothing more goes out, whatever the page still does
	}
	if c.lease != nil {
		c.lease.release()
	}
}

// result settles what the call came to, and writes the audit log's second row.
func (c *call) result(ctx context.Context, err error) CallResult {
	var e *abi.Error
	if err != nil {
		e = c.host.withoutSecrets(c.outcome(err))
	}
	written := c.host.journal.end(ctx, c, e)
	c.log(ctx, e)
	c.host.shots.keep(c.req.Principal.ID, c.id, c.album.last())
	c.host.health.Report(c.health, c.forHealth(err))
	if e == nil {
		return CallResult{Structured: c.out, Images: c.album.named(c.out), AuditID: c.id, Origin: string(c.tool.conn.site.base.Origin())}
	}
	if e.Code == abi.ErrInternal {
		c.host.opts.Logger.ErrorContext(ctx, "internal error", slog.String("call", c.id), slog.Any("error", err))
		e = internalError(c.id, written)
	}
	return CallResult{Err: e, AuditID: c.id, Confirm: confirmationOf(err)}
}

// log writes the call's one line: enough to see what happens and how fast, and
// nothing of what was asked or answered.
func (c *call) log(ctx context.Context, e *abi.Error) {
	name, outcome, level := abi.Shorten(c.req.Tool, maxLoggedName), "ok", slog.LevelInfo
	if c.tool != nil {
		name = c.tool.Dotted
	}
	if e != nil {
		outcome, level = string(e.Code), slog.LevelWarn
	}
	c.host.opts.Logger.LogAttrs(ctx, level, "call",
		slog.String("tool", name), slog.String("client", c.req.Principal.Name), slog.String("outcome", outcome),
		slog.Int64("ms", c.host.now().Sub(c.started).Milliseconds()), slog.String("call", c.id))
}

// maxLoggedName is how much is logged of a tool's name that is none of ours.
const maxLoggedName = 100

// internalError tells a caller no more than where to look.
func internalError(id string, written bool) *abi.Error {
	e := &abi.Error{Code: abi.ErrInternal, Msg: "internal error, in the audit log as " + id, Hint: "drawbridge audit"}
	if !written {
		e.Msg, e.Hint = "internal error, in the daemon's log as "+id+"; the audit log could not be written", "drawbridge logs"
	}
	return e
}

// outcome says what an error means for the caller. Once a write went out, no
// error proves that it did not happen.
func (c *call) outcome(err error) *abi.Error {
	e := Safe(err)
	if c.guard != nil && c.tool.Destructive && c.guard.Sent() > 0 {
		return abi.Errorf(abi.ErrOutcomeUnknown, c.tool.Name, "the request was sent, then: %s: %w", e.Error(), err).
			WithHint("look at %s before you call again", c.tool.conn.site.base.Origin())
	}
	return e
}

// withoutSecrets is an error as it may be shown: what it tells of a page or of a
// module's words is no safer than a result.
func (h *Host) withoutSecrets(e *abi.Error) *abi.Error {
	shown := *e
	shown.Msg, shown.Hint = abi.Shorten(h.redact.String(e.Msg), maxGuestMessage), h.redact.String(e.Hint)
	return &shown
}

// forHealth is what the connector's state says of a call's end. Every client sees
// it: the words are ours, and not what this client's call was told.
func (c *call) forHealth(err error) error {
	if !errors.Is(err, abi.ErrAuthExpired) {
		return err
	}
	return abi.Errorf(abi.ErrAuthExpired, "call", "nobody is signed in at %q", c.tool.conn.site.base.Origin())
}

// Safe turns any error into one that may be shown. What is not ours says nothing.
func Safe(err error) *abi.Error {
	var e *abi.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return &abi.Error{Code: abi.ErrTimeout, Msg: "the call's deadline passed", Err: err}
	case errors.Is(err, context.Canceled):
		return &abi.Error{Code: abi.ErrTimeout, Msg: "the caller gave up", Err: err}
	}
	return &abi.Error{Code: abi.ErrInternal, Msg: "internal error", Err: err}
}

func seed() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // it never fails
	return binary.LittleEndian.Uint32(b[:])
}
