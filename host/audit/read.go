package audit

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// A Record is one row as it is read back. Exactly one of Call, End and Event is
// set; their JSON form is that of the log.
type Record struct {
	Seq    int64     `json:"seq"`
	ID     ID        `json:"id"`               // of the call, for begin and end
	Client string    `json:"client,omitempty"` // the calling client's registered name, for begin and end
	At     time.Time `json:"at"`
	Kind   Kind      `json:"kind"`
	Tool   string    `json:"tool,omitempty"` // of a begin
	Code   abi.Code  `json:"code,omitempty"` // of an end that is no success
	Event  string    `json:"event,omitempty"`
	// Subject is what an event was about, such as a client's name.
	Subject string          `json:"subject,omitempty"`
	Row     json.RawMessage `json:"row"` // all of it
}

// A Filter selects records; what is zero selects everything.
type Filter struct {
	Kind      Kind
	Tool      string // of begins, dotted or as MCP names it
	Principal string // its name, of begins
	CallID    string // what the caller was told: the begin and the end of that call
	Call      ID     // the begin and the end of this call
	Since     time.Time
	Until     time.Time // not included
	Limit     int       // the newest so many; 0 and more than 10,000 are 10,000
}

const maxList = 10_000

// List returns records, the oldest first.
func (l *Log) List(ctx context.Context, f Filter) ([]Record, error) {
	return l.read.list(ctx, f)
}

func (s *store) list(ctx context.Context, f Filter) ([]Record, error) {
	where, args := f.where()
	limit := f.Limit
	if limit <= 0 || limit > maxList {
		limit = maxList
	}
	args = append(args, limit)
	out := []Record{}
	err := s.each(ctx, func(r stored) error {
		rec, err := recordOf(r)
		if err != nil {
			return fmt.Errorf("audit row %d: %w", r.seq, err)
		}
		out = append(out, rec)
		return nil
	}, `select * from (`+columns+where+` order by seq desc limit ?) order by seq`, args...)
	if err != nil {
		return out, err
	}
	return out, s.nameCallers(ctx, out)
}

// nameCallers gives each end the client of its begin, which may lie before what
// was listed.
func (s *store) nameCallers(ctx context.Context, list []Record) error {
	who := map[ID]string{}
	for _, r := range list {
		if r.Kind == KindBegin {
			who[r.ID] = r.Client
		}
	}
	for i := range list {
		r := &list[i]
		if r.Kind != KindEnd {
			continue
		}
		name, ok := who[r.ID]
		if !ok {
			begin, found, err := s.at(ctx, r.ID.seq())
			if err != nil {
				return err
			}
			if decoded, err := decodeRow(begin.text); found && err == nil && decoded.Call != nil {
				name = decoded.Call.Principal
			}
		}
		r.Client = name
	}
	return nil
}

// where builds a condition from constants; values are bound.
func (f Filter) where() (string, []any) {
	terms, args := []string{"true"}, []any(nil)
	add := func(term string, values ...any) {
		terms = append(terms, term)
		args = append(args, values...)
	}
	if f.Kind != "" {
		add(`text ->> '$.kind' = ?`, string(f.Kind))
	}
	// A row after does not repeat the call: it is found by its row before.
	ofCall := func(member, value string) {
		if value != "" {
			add(`(`+fmt.Sprintf(member, "text")+` = ? or (text ->> '$.kind' = 'end' and
	(select `+fmt.Sprintf(member, "b.text")+` from log as b where b.seq = log.text ->> '$.begin') = ?))`, value, value)
		}
	}
	ofCall(`%s ->> '$.call.call_id'`, f.CallID)
	ofCall(`replace(%s ->> '$.call.tool', '.', '_')`, strings.ReplaceAll(f.Tool, ".", "_"))
	ofCall(`%s ->> '$.call.principal'`, f.Principal)
	if f.Call != "" {
		seq := f.Call.seq()
		add(`(seq = ? or (text ->> '$.kind' = 'end' and text ->> '$.begin' = ?))`, seq, seq)
	}
	if !f.Since.IsZero() {
		add(`at >= ?`, f.Since.UnixNano())
	}
	if !f.Until.IsZero() {
		add(`at < ?`, f.Until.UnixNano())
	}
	return `where ` + strings.Join(terms, " and "), args
}

func recordOf(r stored) (Record, error) {
	decoded, err := decodeRow(r.text)
	if err != nil {
		return Record{}, err
	}
	rec := Record{Seq: r.seq, At: time.Unix(0, r.at).UTC(), Kind: decoded.Kind, Row: json.RawMessage(r.text)}
	switch decoded.Kind {
	case KindBegin:
		rec.ID, rec.Tool, rec.Client = idOf(r.seq), decoded.Call.Tool, decoded.Call.Principal
	case KindEnd:
		rec.ID, rec.Code = idOf(decoded.Begin), decoded.End.Code
	case KindEvent:
		rec.Event, rec.Subject = decoded.Event.Name, decoded.Event.Subject
	}
	return rec, nil
}

// A Problem is something that should not be.
type Problem struct {
	Seq    int64  `json:"seq"`
	Detail string `json:"detail"`
}

// A Report is what Verify found. The log is whole if there are no problems.
type Report struct {
	Rows     int64     `json:"rows"`
	Last     int64     `json:"last"`           // number of the last row
	Link     string    `json:"link,omitempty"` // of the last row, in hex: what to keep elsewhere
	Open     int       `json:"open"`           // calls that have no end yet
	Problems []Problem `json:"problems"`
}

// maxProblems is where Verify stops looking.
const maxProblems = 100

// Verify reads the whole log and reports what was changed, removed, inserted,
// moved or cut off. An error says that it could not be read to the end.
func (l *Log) Verify(ctx context.Context) (Report, error) {
	rep := Report{Problems: []Problem{}}
	var prev link
	begun := make(map[int64]bool)
	err := l.read.each(ctx, func(r stored) error {
		rep.Rows++
		if r.seq != rep.Last+1 {
			rep.add(r.seq, fmt.Sprintf("rows %d to %d are missing", rep.Last+1, r.seq-1))
		} else if r.prev != prev {
			rep.add(r.seq, "it does not follow the row before it")
		}
		want := l.keys.next(r.prev, r.seq, r.at, r.text)
		if !hmac.Equal(want[:], r.link[:]) {
			rep.add(r.seq, "it is not as it was written")
		} else {
			rep.check(r, begun)
		}
		rep.Last, prev = r.seq, r.link
		if len(rep.Problems) >= maxProblems {
			return errEnough
		}
		return nil
	}, columns+`order by seq`)
	if err != nil && !errors.Is(err, errEnough) {
		return rep, fmt.Errorf("verifying audit log: %w", err)
	}
	if rep.Rows > 0 {
		rep.Link = fmt.Sprintf("%x", prev)
	}
	rep.Open = len(begun)
	end, err := l.endProblems(ctx)
	if err != nil {
		return rep, fmt.Errorf("verifying audit log: %w", err)
	}
	rep.Problems = append(rep.Problems, end...)
	return rep, nil
}

var errEnough = errors.New("enough problems")

func (rep *Report) add(seq int64, detail string) {
	rep.Problems = append(rep.Problems, Problem{Seq: seq, Detail: detail})
}

// check looks at what an authentic row says: each call ends once.
func (rep *Report) check(r stored, begun map[int64]bool) {
	decoded, err := decodeRow(r.text)
	switch {
	case err != nil:
		rep.add(r.seq, err.Error())
	case decoded.Kind == KindBegin:
		begun[r.seq] = true
	case decoded.Kind == KindEnd && !begun[decoded.Begin]:
		rep.add(r.seq, fmt.Sprintf("it ends call %s, which is not open", idOf(decoded.Begin)))
	case decoded.Kind == KindEnd:
		delete(begun, decoded.Begin)
	}
}

// ends reads the head file and then the end of the log. A log that had no row when
// its head was read, and has some now, is looked at again: it has a head as well.
func (l *Log) ends(ctx context.Context) (h head, headErr error, last head, err error) {
	for range 2 {
		h, headErr = readHead(headPath(l.opts.Path), l.keys)
		last, err = l.read.last(ctx)
		if err != nil || headErr != nil || h.seq > 0 || last.seq <= 1 {
			break
		}
	}
	return h, headErr, last, err
}

// endProblems compares the end of the log with the head file. The head is read
// first: a row that is written meanwhile makes the log longer, and not short.
func (l *Log) endProblems(ctx context.Context) ([]Problem, error) {
	var rep Report
	h, headErr, last, err := l.ends(ctx)
	if err != nil {
		return nil, err
	}
	if last.seq > 0 {
		r, _, err := l.read.at(ctx, last.seq)
		if err != nil {
			return nil, err
		}
		if want := l.keys.next(r.prev, r.seq, r.at, r.text); !hmac.Equal(want[:], r.link[:]) {
			rep.add(last.seq, fmt.Sprintf("the last row, %d, is not as it was written, or the key is another log's", last.seq))
		}
	}
	switch {
	case headErr != nil:
		rep.add(last.seq, headErr.Error())
	case h.seq == 0 && last.seq > 1: // killed before the first head was written: one row
		rep.add(last.seq, "its head file is gone")
	case h.seq > last.seq:
		rep.add(last.seq, fmt.Sprintf("it ends at row %d, and %d were written", last.seq, h.seq))
	case h.seq > 0:
		r, ok, err := l.read.at(ctx, h.seq)
		if err != nil {
			return nil, err
		}
		if !ok || !hmac.Equal(r.link[:], h.link[:]) {
			rep.add(h.seq, fmt.Sprintf("row %d is not the one in the head file", h.seq))
		}
	}
	return rep.Problems, nil
}

// OpenReader opens the log for List and Verify alone, without a lock, beside a
// daemon or without one. Nothing is created or repaired.
func OpenReader(_ context.Context, opts Options) (*Log, error) {
	for _, path := range []string{opts.Path, opts.KeyPath} {
		if err := platform.CheckFile(path); err != nil {
			if errors.Is(err, os.ErrNotExist) {
				return nil, abi.Errorf(abi.ErrNotFound, "", "there is no audit log at %q yet", opts.Path)
			}
			return nil, fmt.Errorf("opening audit log: %w", err)
		}
	}
	k, err := loadKey(opts.KeyPath, false)
	if err != nil {
		return nil, fmt.Errorf("opening audit log: %w", err)
	}
	db, err := connect(opts.Path, true)
	if err != nil {
		return nil, fmt.Errorf("opening audit log: %w", err)
	}
	return &Log{opts: opts, keys: k, read: db}, nil
}
