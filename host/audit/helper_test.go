package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/host/redact"
)

const roleVar = "AUDIT_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVar) == "write" {
		write(context.Background(), os.Args[1], os.Args[2])
		return
	}
	m.Run()
}

// write fills the log until it is killed, and tells what it was told is there.
func write(ctx context.Context, path, keyPath string) {
	l, err := Open(ctx, Options{Path: path, KeyPath: keyPath})
	if err != nil {
		fmt.Fprintln(os.Stdout, "error:", err)
		return
	}
	for i := 0; ; i++ {
		e := entry()
		e.Args = json.RawMessage(fmt.Sprintf(`{"id":%d,"text":%q}`, i, strings.Repeat("x", i*37%900)))
		id, err := l.Begin(ctx, e)
		if err != nil {
			fmt.Fprintln(os.Stdout, "error:", err)
			return
		}
		fmt.Fprintln(os.Stdout, "begun", id)
		if err := l.End(ctx, id, Outcome{}); err != nil {
			fmt.Fprintln(os.Stdout, "error:", err)
			return
		}
		fmt.Fprintln(os.Stdout, "ended", id)
	}
}

func entry() Entry {
	return Entry{
		CallID: "c1", PrincipalID: "c_1", Principal: "laptop", Client: "Some Agent 1.0", Connector: "tracker", Tool: "tracker.add_comment",
		Release: "acme/tracker@1.2.3", ModuleSHA256: strings.Repeat("ab", 32), Signer: strings.Repeat("CD", 20), Origin: "https://tracker.example",
		Account: "ada", Destructive: true, Args: json.RawMessage(`{"id":12,"text":"Grüße <&>","token":"s3cr3t"}`),
		Basis: "person", Approval: "ap-k3m9xq2w", Approver: "terminal pts/1, process 4242", Digest: "sha256:" + strings.Repeat("ef", 32),
	}
}

// paths are those of a log of its own.
func paths(t *testing.T) Options {
	t.Helper()
	dir := t.TempDir()
	return Options{
		Path: filepath.Join(dir, "state", "audit.db"), KeyPath: filepath.Join(dir, "config", "audit.key"),
		Redact: redact.New("hunter2"),
	}
}

func openLog(t *testing.T, opts Options) *Log {
	t.Helper()
	l, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func begin(t *testing.T, l *Log, e Entry) ID {
	t.Helper()
	id, err := l.Begin(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func end(t *testing.T, l *Log, id ID, o Outcome) {
	t.Helper()
	if err := l.End(t.Context(), id, o); err != nil {
		t.Fatal(err)
	}
}

func verify(t *testing.T, l *Log) Report {
	t.Helper()
	rep, err := l.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// ticking is a clock of which each reading is a second after the one before.
func ticking() func() time.Time {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return func() time.Time {
		at = at.Add(time.Second)
		return at
	}
}
