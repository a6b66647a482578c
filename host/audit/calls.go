package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A CallRecord is one call as its own caller may see it again: nothing in it tells
// of other callers, the number of its rows included.
type CallRecord struct {
	ID          string          `json:"id"` // what the caller was told
	At          time.Time       `json:"at"`
	Tool        string          `json:"tool"`
	Release     string          `json:"release,omitempty"`
	Origin      string          `json:"origin,omitempty"`
	Account     string          `json:"account,omitempty"`
	Destructive bool            `json:"destructive"`
	Args        json.RawMessage `json:"args,omitempty"` // redacted; left out where they are long
	Basis       string          `json:"basis,omitempty"`
	Approval    string          `json:"approval,omitempty"`
	Approver    string          `json:"approver,omitempty"`
	Ended       bool            `json:"ended"` // how, say the following
	Code        abi.Code        `json:"code,omitempty"`
	Message     string          `json:"message,omitempty"`
	DurationMS  int64           `json:"duration_ms,omitempty"`
	Requests    int             `json:"requests,omitempty"` // that can write, and went out
}

// maxCallArgs is the size of the arguments that a CallRecord repeats, in bytes.
const maxCallArgs = 512

// Calls returns the newest calls of one principal, the newest first, at most limit.
// With before, the id of one of them, they are those from before that call;
// any other id is not_found.
func (l *Log) Calls(ctx context.Context, principalID, before string, limit int) ([]CallRecord, error) {
	begun, err := l.read.begun(ctx, principalID, before, limit)
	if err != nil {
		return nil, err
	}
	out := make([]CallRecord, 0, len(begun))
	for _, r := range begun {
		c, err := l.read.call(ctx, r)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

const ofPrincipal = `text ->> '$.kind' = 'begin' and text ->> '$.call.principal_id' = ? `

// begun finds the rows before of a principal's calls.
func (s *store) begun(ctx context.Context, principalID, before string, limit int) ([]stored, error) {
	var rows []stored
	keep := func(r stored) error {
		rows = append(rows, r)
		return nil
	}
	where, args := ofPrincipal, []any{principalID}
	if before != "" {
		err := s.each(ctx, keep, columns+`where `+ofPrincipal+`and text ->> '$.call.call_id' = ? limit 1`, principalID, before)
		if err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			return nil, abi.Errorf(abi.ErrNotFound, "audit", "no call %.64q of this client is in the log", before)
		}
		where, args = where+`and seq < ? `, append(args, rows[0].seq)
		rows = nil
	}
	err := s.each(ctx, keep, columns+`where `+where+`order by seq desc limit ?`, append(args, max(limit, 0))...)
	return rows, err
}

// call reads a call by its row before, and its row after if there is one.
func (s *store) call(ctx context.Context, begin stored) (CallRecord, error) {
	decoded, err := decodeRow(begin.text)
	if err != nil || decoded.Call == nil {
		return CallRecord{}, fmt.Errorf("audit row %d: %w", begin.seq, err)
	}
	b := decoded.Call
	c := CallRecord{
		ID: b.CallID, At: time.Unix(0, begin.at).UTC(), Tool: b.Tool, Release: b.Release, Origin: b.Origin, Account: b.Account,
		Destructive: b.Destructive, Basis: b.Basis, Approval: b.Approval, Approver: b.Approver,
	}
	if len(b.Args) <= maxCallArgs {
		c.Args = b.Args
	}
	err = s.each(ctx, func(r stored) error {
		end, err := decodeRow(r.text)
		if err != nil || end.End == nil {
			return fmt.Errorf("audit row %d: %w", r.seq, err)
		}
		c.Ended, c.Code, c.Message, c.DurationMS, c.Requests = true, end.End.Code, end.End.Message, end.End.DurationMS, end.End.Requests
		return nil
	}, columns+`where text ->> '$.kind' = 'end' and text ->> '$.begin' = ? limit 1`, begin.seq)
	return c, err
}
