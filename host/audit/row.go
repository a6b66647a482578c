package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A Kind says what a row tells.
type Kind string

// The kinds. The list is append-only.
const (
	KindBegin Kind = "begin" // a call is about to run
	KindEnd   Kind = "end"   // it ended
	KindEvent Kind = "event" // something else happened
)

// An ID names a call's row: "a" and its number in the log, such as "a17".
type ID string

func idOf(seq int64) ID { return ID("a" + strconv.FormatInt(seq, 10)) }

// seq returns the number of the row, or 0 if id is none.
func (id ID) seq() int64 {
	text, ok := strings.CutPrefix(string(id), "a")
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || idOf(n) != id {
		return 0
	}
	return n
}

// An Entry is a call that is about to run. Strings may be anything; secrets in
// them are removed, and each is cut at 1 KiB.
type Entry struct {
	CallID       string // what the caller was told; finds the call again
	PrincipalID  string
	Principal    string // its name
	Client       string // what it calls itself
	Connector    string
	Tool         string // dotted
	Release      string // "namespace/name@version"
	ModuleSHA256 string
	Signer       string // fingerprint of the key that signed the release
	Origin       string
	Account      string
	Destructive  bool
	Args         json.RawMessage // canonical; stored redacted, with an HMAC of the whole
	Basis        string          // why it may run: "policy" or "person"
	Approval     string          // the approval's id, if a person allowed it
	Approver     string          // who that was and how, such as "terminal pts/3, process 4242"
	Digest       string          // what was approved: "sha256:..."
}

// An Outcome is how a call ended.
type Outcome struct {
	Code     abi.Code // empty: success
	Reason   abi.Reason
	Duration time.Duration
	Result   json.RawMessage // not stored; its HMAC and size are
	Requests int             // how many requests that can write went out
	Message  string          // of the error
}

// An Event is something other than a call: install, remove, approve, revoke,
// add a registry, change policy.
type Event struct {
	Name    string // such as "install"
	Actor   string // who did it, such as "terminal pts/3, process 4242"
	Subject string // what it was done to
	Detail  string
}

// A row is what is stored, in the order in which it is encoded. Its golden
// file is the format.
type row struct {
	V    int  `json:"v"`
	Kind Kind `json:"kind"`
	// Begin is the number of the row that an end belongs to.
	Begin int64     `json:"begin,omitempty"`
	Call  *rowCall  `json:"call,omitempty"`
	End   *rowEnd   `json:"end,omitempty"`
	Event *rowEvent `json:"event,omitempty"`
}

type rowCall struct {
	CallID       string          `json:"call_id,omitempty"`
	PrincipalID  string          `json:"principal_id"`
	Principal    string          `json:"principal"`
	Client       string          `json:"client,omitempty"`
	Connector    string          `json:"connector"`
	Tool         string          `json:"tool"`
	Release      string          `json:"release,omitempty"`
	ModuleSHA256 string          `json:"module_sha256,omitempty"`
	Signer       string          `json:"signer,omitempty"`
	Origin       string          `json:"origin,omitempty"`
	Account      string          `json:"account,omitempty"`
	Destructive  bool            `json:"destructive"`
	Args         json.RawMessage `json:"args,omitempty"` // redacted; absent if too large or no JSON
	ArgsBytes    int             `json:"args_bytes"`
	ArgsHMAC     string          `json:"args_hmac"`
	Basis        string          `json:"basis,omitempty"`
	Approval     string          `json:"approval,omitempty"`
	Approver     string          `json:"approver,omitempty"`
	Digest       string          `json:"digest,omitempty"`
}

type rowEnd struct {
	OK          bool       `json:"ok"`
	Code        abi.Code   `json:"code,omitempty"`
	Reason      abi.Reason `json:"reason,omitempty"`
	Message     string     `json:"message,omitempty"`
	DurationMS  int64      `json:"duration_ms"`
	Requests    int        `json:"requests,omitempty"`
	ResultBytes int        `json:"result_bytes,omitempty"`
	ResultHMAC  string     `json:"result_hmac,omitempty"`
	Recovered   bool       `json:"recovered,omitempty"` // written at the next start, since the host ended first
}

type rowEvent struct {
	Name    string `json:"name"`
	Actor   string `json:"actor,omitempty"`
	Subject string `json:"subject,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

const rowVersion = 1

// encode writes a row as it is stored and linked.
func (r row) encode() (string, error) {
	r.V = rowVersion
	data, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encoding audit row: %w", err)
	}
	return string(data), nil
}

// decodeRow reads a stored row. It is called for rows whose link was checked or
// is about to be reported, and accepts fields that a later version added.
func decodeRow(text string) (row, error) {
	var r row
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return row{}, fmt.Errorf("decoding audit row: %w", err)
	}
	switch {
	case r.V < 1:
		return row{}, fmt.Errorf("decoding audit row: version %d", r.V)
	case r.Kind == KindBegin && r.Call == nil,
		r.Kind == KindEnd && (r.End == nil || r.Begin <= 0),
		r.Kind == KindEvent && r.Event == nil,
		r.Kind == "":
		return row{}, errors.New("decoding audit row: it is not complete")
	}
	return r, nil
}
