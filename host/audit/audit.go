package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
	"github.com/drawbridge-mcp/drawbridge/host/redact"
)

const (
	maxText      = 1 << 10  // bytes of one string in a row
	maxArgs      = 64 << 10 // bytes of redacted arguments in a row
	writeTimeout = 5 * time.Second
)

// Options say where a log is.
type Options struct {
	Path    string           // the database; the head is beside it, at Path + ".head"
	KeyPath string           // made if there is none and the log is new
	Redact  *redact.Redactor // what knows the secrets; nil knows none
	Clock   func() time.Time // time.Now if nil
}

// A Log is an open audit log. One process at a time has it open for writing.
// It serves any number of goroutines.
type Log struct {
	opts Options
	keys keys
	db   *store // nil in a reader
	read *store // of its own, so that reading holds up no call
	lock *platform.FileLock

	mu    sync.Mutex
	head  *headFile
	last  head
	stale bool               // last may not be what is in the database
	begun map[int64]struct{} // calls without an end
	shut  bool
}

// Open opens the log for writing and creates what is missing. Calls that have
// no end, because the host was killed, get one with the code outcome_unknown.
//
// It fails with untrusted (tampered) if the log ends before its head or does
// not contain it: rows were removed, and appending would hide that.
func Open(ctx context.Context, opts Options) (*Log, error) {
	l, err := open(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("opening audit log: %w", err)
	}
	return l, nil
}

func open(ctx context.Context, opts Options) (_ *Log, err error) {
	if opts.Redact == nil {
		opts.Redact = redact.New()
	}
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	l := &Log{opts: opts, begun: make(map[int64]struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.release())
		}
	}()
	if err := platform.CreateDir(filepath.Dir(opts.Path)); err != nil {
		return nil, err
	}
	if l.lock, err = platform.Lock(ctx, opts.Path+".lock", platform.LockInfo{PID: os.Getpid()}); err != nil {
		return nil, err
	}
	if l.db, err = openStore(ctx, opts.Path); err != nil {
		return nil, err
	}
	if l.read, err = connect(opts.Path, true); err != nil {
		return nil, err
	}
	if l.last, err = l.db.last(ctx); err != nil {
		return nil, err
	}
	headInfo, headErr := os.Lstat(headPath(opts.Path))
	isNew := l.last.seq == 0 && (headErr != nil || headInfo.Size() == 0)
	if l.keys, err = loadKey(opts.KeyPath, isNew); err != nil {
		return nil, err
	}
	if err := l.checkHead(ctx); err != nil {
		return nil, err
	}
	if l.head, err = openHead(headPath(opts.Path), l.keys); err != nil {
		return nil, err
	}
	if err := l.recover(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

func headPath(path string) string { return path + ".head" }

// checkHead looks whether the log contains the head, and whether its last row
// is one that this key linked.
func (l *Log) checkHead(ctx context.Context) error {
	problems, err := l.endProblems(ctx)
	if err != nil {
		return err
	}
	if len(problems) == 0 {
		return nil
	}
	return &abi.Error{
		Code: abi.ErrUntrusted, Reason: abi.ReasonTampered,
		Msg:  fmt.Sprintf("audit log %q was changed: %s", l.opts.Path, problems[0].Detail),
		Hint: "drawbridge audit verify; then move the log, its head and its key aside to start a new one",
	}
}

// recover ends the calls that have no end.
func (l *Log) recover(ctx context.Context) error {
	open, err := l.db.unfinished(ctx)
	if err != nil {
		return err
	}
	for _, seq := range open {
		end := row{Kind: KindEnd, Begin: seq, End: &rowEnd{
			Code: abi.ErrOutcomeUnknown, Recovered: true, Message: "the host ended before the call did",
		}}
		if _, err := l.append(ctx, end); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the log. Calls without an end stay without one until the next
// Open.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shut {
		return nil
	}
	l.shut = true
	return l.release()
}

func (l *Log) release() error {
	var errs []error
	if l.read != nil {
		errs = append(errs, l.read.close())
	}
	if l.db != nil { // last, so that it clears the write-ahead log away
		errs = append(errs, l.db.close())
	}
	if l.head != nil {
		errs = append(errs, l.head.close())
	}
	if l.lock != nil {
		errs = append(errs, l.lock.Unlock())
	}
	return errors.Join(errs...)
}

// Begin writes that a call is about to run. When it returns without an error
// the row is on disk (SQLite, synchronous=FULL), whatever becomes of the host.
// Without that the call must not run.
func (l *Log) Begin(ctx context.Context, e Entry) (ID, error) {
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("beginning audit row: %w", err)
	}
	text := l.text
	call := &rowCall{
		CallID: text(e.CallID), PrincipalID: text(e.PrincipalID), Principal: text(e.Principal), Client: text(e.Client),
		Connector: text(e.Connector), Tool: text(e.Tool), Release: text(e.Release), ModuleSHA256: text(e.ModuleSHA256),
		Signer: text(e.Signer), Origin: text(e.Origin), Account: text(e.Account), Destructive: e.Destructive,
		Args: l.args(e.Args), ArgsBytes: len(e.Args), ArgsHMAC: l.keys.contentHMAC(domainArgs, e.Args),
		Basis: text(e.Basis), Approval: text(e.Approval), Approver: text(e.Approver), Digest: text(e.Digest),
	}
	seq, err := l.append(ctx, row{Kind: KindBegin, Call: call})
	if err != nil {
		return "", fmt.Errorf("beginning audit row: %w", err)
	}
	return idOf(seq), nil
}

// End writes how the call of id ended. It is written even if ctx has ended,
// since that is how calls end; it fails if there is no such call, or if it has
// an end.
func (l *Log) End(ctx context.Context, id ID, o Outcome) error {
	end := &rowEnd{
		OK: o.Code == "", Code: abi.Code(l.text(string(o.Code))), Reason: abi.Reason(l.text(string(o.Reason))), Message: l.text(o.Message),
		DurationMS: o.Duration.Milliseconds(), Requests: o.Requests,
	}
	if o.Result != nil {
		end.ResultBytes, end.ResultHMAC = len(o.Result), l.keys.contentHMAC(domainResult, o.Result)
	}
	if _, err := l.append(ctx, row{Kind: KindEnd, Begin: id.seq(), End: end}); err != nil {
		return fmt.Errorf("ending audit row %.40q: %w", id, err)
	}
	return nil
}

// Note writes an administrative event, on disk when it returns.
func (l *Log) Note(ctx context.Context, e Event) error {
	event := &rowEvent{Name: l.text(e.Name), Actor: l.text(e.Actor), Subject: l.text(e.Subject), Detail: l.text(e.Detail)}
	if _, err := l.append(ctx, row{Kind: KindEvent, Event: event}); err != nil {
		return fmt.Errorf("noting event: %w", err)
	}
	return nil
}

// append adds a row to the chain. Once it has begun it is not cut off by ctx:
// a row that may or may not be there helps nobody.
func (l *Log) append(ctx context.Context, r row) (int64, error) {
	text, err := r.encode()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shut || l.db == nil {
		return 0, errors.New("the audit log is not open for writing")
	}
	if _, ok := l.begun[r.Begin]; r.Kind == KindEnd && !ok && !r.End.Recovered {
		return 0, errors.New("there is no such call, or it has ended")
	}
	if err := l.refresh(ctx); err != nil {
		return 0, err
	}
	next := head{seq: l.last.seq + 1}
	at := l.opts.Clock().UnixNano()
	next.link = l.keys.next(l.last.link, next.seq, at, text)
	if err := l.db.insert(ctx, stored{seq: next.seq, at: at, text: text, prev: l.last.link, link: next.link}); err != nil {
		l.stale = true
		delete(l.begun, r.Begin) // it may be there: a second end would contradict it
		return 0, err
	}
	l.last = next
	switch r.Kind {
	case KindBegin:
		l.begun[next.seq] = struct{}{}
	case KindEnd:
		delete(l.begun, r.Begin)
	case KindEvent:
	}
	if err := l.head.write(next); err != nil {
		return 0, err
	}
	return next.seq, nil
}

// refresh reads the end of the log again after a write that failed: the row may
// be there.
func (l *Log) refresh(ctx context.Context) error {
	if !l.stale {
		return nil
	}
	last, err := l.db.last(ctx)
	if err != nil {
		return err
	}
	l.last, l.stale = last, false
	return nil
}

// text is s without secrets, as valid UTF-8, and not too long.
func (l *Log) text(s string) string {
	const cut = "…"
	if len(s) > 16*maxText {
		s = s[:16*maxText]
	}
	s = strings.ToValidUTF8(l.opts.Redact.String(s), "\ufffd")
	if len(s) <= maxText {
		return s
	}
	end := maxText - len(cut)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + cut
}

// args is the redacted form of arguments, or nothing if they are no JSON or
// too large.
func (l *Log) args(args json.RawMessage) json.RawMessage {
	if len(args) == 0 || len(args) > abi.MaxArgs {
		return nil
	}
	safe, err := l.opts.Redact.JSON(args)
	if err != nil || len(safe) > maxArgs {
		return nil
	}
	return bytes.ToValidUTF8(safe, []byte("\ufffd"))
}
