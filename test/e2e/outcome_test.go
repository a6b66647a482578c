package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/connectors-src/tracker/site"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/audit"
	"github.com/drawbridge-mcp/drawbridge/host/gate"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/sandbox"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
)

// sent begins an approved comment whose answer is withheld, and returns when the
// tracker has taken it.
func sent(ctx context.Context, w *harness.World, p gate.Principal, o orders) *decidedCall {
	w.T.Helper()
	seen, before := posted(w.Site, "POST", "/issues/"), len(comments(w, 12))
	call := begin(ctx, w, p, "puppet_touch", o)
	if err := w.Decide(call.asked(p).ID, true); err != nil {
		w.T.Fatal(err)
	}
	eventually(w.T, "the comment is taken", func() bool {
		return posted(w.Site, "POST", "/issues/") > seen && len(comments(w, 12)) > before
	})
	return call
}

// wantUnknown checks that a call whose comment was taken says that it does not
// know, in its result and in the audit log, and that nothing was sent again.
func wantUnknown(t *testing.T, w *harness.World, res host.CallResult, body string) {
	t.Helper()
	err := errorOf(t, res, abi.ErrOutcomeUnknown)
	if !strings.Contains(err.Hint, "before you call again") {
		t.Errorf("the hint is %q", err.Hint)
	}
	end := auditEnd(t, w.Audit, res.AuditID)
	if end.Code != abi.ErrOutcomeUnknown || end.Requests != 1 {
		t.Errorf("the audit log says %+v", end)
	}
	n := 0
	for _, c := range comments(w, 12) {
		if c.Body == body {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the comment stands there %d times", n)
	}
}

type endRow struct {
	Code      abi.Code `json:"code"`
	Requests  int      `json:"requests"`
	Recovered bool     `json:"recovered"`
}

// auditEnd returns how the log says that a call ended.
func auditEnd(t *testing.T, log *audit.Log, call string) endRow {
	t.Helper()
	rows, err := log.List(t.Context(), audit.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	var begun audit.ID
	for _, r := range rows {
		var row struct {
			Call *struct {
				CallID string `json:"call_id"`
			} `json:"call"`
			End *endRow `json:"end"`
		}
		if err := json.Unmarshal(r.Row, &row); err != nil {
			t.Fatal(err)
		}
		if row.Call != nil && row.Call.CallID == call {
			begun = r.ID
		}
		if row.End != nil && begun != "" && r.ID == begun {
			return *row.End
		}
	}
	t.Fatalf("the audit log has no end of call %q", call)
	return endRow{}
}

func TestCutOffAfterSending(t *testing.T) {
	w := puppet(t, harness.Options{}, puppetGrant{})
	w.Site.Stall(true)
	for name, cut := range map[string]func(cancel func()){
		"cancelled":      func(cancel func()) { cancel() },
		"guest killed":   func(func()) { killAll(t, "", sandbox.WorkerCommand) },
		"browser killed": func(func()) { killAll(t, "--user-data-dir="+filepath.Join(w.Dir, "profile"), "") },
	} {
		t.Run(name, func(t *testing.T) {
			w.T = t
			w.Login("puppet", "alice")
			p := someone(strings.ReplaceAll(name, " ", "-"))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			call := sent(ctx, w, p, comment(name, write("12", name)))
			cut(cancel)
			wantUnknown(t, w, call.result(), name)
		})
	}
	w.T = t
	w.Site.Stall(false)
	w.Login("puppet", "alice")
	p := someone("next")
	if res := begin(t.Context(), w, p, "puppet_touch", comment("next", write("12", "next"))).approve(p); res.Err != nil {
		t.Errorf("the next call failed: %v", res.Err)
	}
}

// A revocation ends a call under way. What was sent by it may have happened: the
// caller and the audit log are told so, and nothing is sent again.
func TestRevokedAfterSending(t *testing.T) {
	w := puppet(t, harness.Options{}, puppetGrant{})
	w.Site.Stall(true)
	p := someone("ann")
	call := sent(t.Context(), w, p, comment("revoked", write("12", "revoked")))
	before := posted(w.Site, "POST", "/issues/")
	if err := w.Maintainer.Revoke(t.Context(), w.Keys.Roles(), registry.Revocation{Artifacts: []string{hashOfModule(w, "puppet")}, Reason: "it leaks"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Host.FetchRegistries(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	res := call.result()
	wantUnknown(t, w, res, "revoked")
	if text := res.Err.Error(); !strings.Contains(text, "the request was sent, then: ") || !strings.Contains(text, `is revoked: "it leaks"`) {
		t.Errorf("the caller is told %q", text)
	}
	again := w.CallAs(t.Context(), p, "puppet_touch", comment("revoked", write("12", "revoked")))
	wantCode(t, again, abi.ErrUntrusted)
	if n := posted(w.Site, "POST", "/issues/"); n != before {
		t.Errorf("%d more requests were sent", n-before)
	}
	if rep, err := w.Audit.Verify(t.Context()); err != nil || len(rep.Problems) > 0 || rep.Open > 0 {
		t.Errorf("the audit log is %+v, %v", rep, err)
	}
}

func TestTimedOutAfterSending(t *testing.T) {
	w := puppet(t, harness.Options{Wait: 15 * time.Second}, puppetGrant{Timeout: 5})
	w.Site.Stall(true)
	p := someone("ann")
	call := sent(t.Context(), w, p, comment("timed out", write("12", "timed out")))
	wantUnknown(t, w, call.result(), "timed out")
}

// TestGuestFailsAfterSending ends calls whose comment was answered.
func TestGuestFailsAfterSending(t *testing.T) {
	w := puppet(t, harness.Options{}, puppetGrant{})
	for _, how := range []string{"trap", "unheard of"} {
		o := comment(how, write("12", how))
		o.Misbehave = how
		p := someone(strings.ReplaceAll(how, " ", "-"))
		wantUnknown(t, w, begin(t.Context(), w, p, "puppet_touch", o).approve(p), how)
	}
}

// TestMadeUpErrors are errors that only the host can know of.
func TestMadeUpErrors(t *testing.T) {
	w := puppet(t, harness.Options{}, puppetGrant{})
	for _, code := range []abi.Code{
		abi.ErrUntrusted, abi.ErrConfirmationRequired, abi.ErrConfirmationDenied, abi.ErrConsentPending, abi.ErrGuestTrap, abi.ErrInternal, "unheard_of",
	} {
		w.WantCode(abi.ErrInvalidResult, "puppet_look", orders{Misbehave: "claim " + string(code)})
	}
	w.WantCode(abi.ErrNotFound, "puppet_look", orders{Misbehave: "claim not_found"})
}

func TestCutOffBeforeSending(t *testing.T) {
	w := puppet(t, harness.Options{}, puppetGrant{})
	before := posted(w.Site, "POST", "/issues/")
	p := someone("ann")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := comment("never", read(navigate("/hang")), write("12", "never"))
	call := begin(ctx, w, p, "puppet_touch", o)
	if err := w.Decide(call.asked(p).ID, true); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Site.Wait(t.Context(), func(r site.Request) bool { return r.Target == "/hang" }); err != nil {
		t.Fatal(err)
	}
	cancel()
	res := call.result()
	wantCode(t, res, abi.ErrTimeout)
	if end := auditEnd(t, w.Audit, res.AuditID); end.Code != abi.ErrTimeout || end.Requests != 0 {
		t.Errorf("the audit log says %+v", end)
	}
	if n := posted(w.Site, "POST", "/issues/"); n != before {
		t.Errorf("%d comments were sent", n-before)
	}
}

// TestHostKilledMeanwhile opens the audit log as a host finds it that was killed
// after a comment went out.
func TestHostKilledMeanwhile(t *testing.T) {
	w := puppet(t, harness.Options{}, puppetGrant{})
	w.Site.Stall(true)
	p := someone("ann")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	call := sent(ctx, w, p, comment("killed", write("12", "killed")))
	left := filepath.Join(t.TempDir(), "left")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(w.Dir, "audit.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err == nil {
			err = os.WriteFile(filepath.Join(left, filepath.Base(f)), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	id := call.result().AuditID
	log, err := audit.Open(t.Context(), audit.Options{Path: filepath.Join(left, "audit.db"), KeyPath: filepath.Join(left, "audit.key")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	if end := auditEnd(t, log, id); end.Code != abi.ErrOutcomeUnknown || !end.Recovered {
		t.Errorf("at its next start the host says %+v", end)
	}
	if rep, err := log.Verify(t.Context()); err != nil || len(rep.Problems) > 0 || rep.Open > 0 {
		t.Errorf("the log is %+v, %v", rep, err)
	}
}

// killAll kills the descendants of this process that have both arguments; an
// empty one stands for any.
func killAll(t *testing.T, one, other string) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	killed := 0
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() || parent(dir) != os.Getpid() {
			continue
		}
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		args := "\x00" + string(line)
		if err != nil || (one != "" && !strings.Contains(args, "\x00"+one+"\x00")) || (other != "" && !strings.Contains(args, "\x00"+other+"\x00")) {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		killed++
	}
	if killed == 0 {
		t.Fatalf("no process %q %q was found", one, other)
	}
}

func parent(proc string) int {
	stat, err := os.ReadFile(filepath.Join(proc, "stat"))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0
	}
	ppid, _ := strconv.Atoi(fields[1])
	return ppid
}
