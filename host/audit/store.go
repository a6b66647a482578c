package audit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// schema is version 1. Everything that a row says is in its text, which the
// chain covers: no column repeats it, since nothing would cover that.
//
//nolint:dupword // the column text is of type text
const schema = `
create table if not exists log(
	seq  integer primary key,
	at   integer not null,
	text text not null,
	prev blob not null,
	link blob not null
) strict;
create index if not exists log_begin on log(text ->> '$.begin') where text ->> '$.kind' = 'end';
create index if not exists log_kind on log(text ->> '$.kind');
`

// stored is one row of the table.
type stored struct {
	seq, at    int64
	text       string
	prev, link link
}

// A store is the database.
type store struct {
	db *sql.DB
}

// openStore opens the database, for its owner alone.
func openStore(ctx context.Context, path string) (*store, error) {
	if err := platform.CreateFile(path); err != nil { // SQLite gives its other files the same mode
		return nil, err
	}
	s, err := connect(path, false)
	if err != nil {
		return nil, err
	}
	if _, err := s.db.ExecContext(ctx, schema); err != nil {
		return nil, errors.Join(fmt.Errorf("preparing audit database: %w", err), s.close())
	}
	return s, nil
}

// connect opens a connection pool of one. If it writes, every commit is on disk
// when it returns. A reader may make the shared memory file that a write-ahead
// log can't be read without, and nothing else.
func connect(path string, readOnly bool) (*store, error) {
	q := url.Values{"_pragma": {"busy_timeout(5000)", "trusted_schema(off)", "cell_size_check(on)"}, "_txlock": {"immediate"}}
	if readOnly {
		q["_pragma"] = append(q["_pragma"], "query_only(on)")
	} else {
		q["_pragma"] = append(q["_pragma"], "journal_mode(wal)", "synchronous(full)")
	}
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	name := url.URL{Scheme: "file", Opaque: (&url.URL{Path: slashed}).EscapedPath(), RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, fmt.Errorf("opening audit database: %w", err)
	}
	db.SetMaxOpenConns(1)
	return &store{db: db}, nil
}

func (s *store) close() error {
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("closing audit database: %w", err)
	}
	return nil
}

// insert adds one row; it is on disk when insert returns without an error.
func (s *store) insert(ctx context.Context, r stored) error {
	_, err := s.db.ExecContext(ctx, `insert into log(seq, at, text, prev, link) values(?, ?, ?, ?, ?)`,
		r.seq, r.at, r.text, r.prev[:], r.link[:])
	if err != nil {
		return fmt.Errorf("writing audit row: %w", err)
	}
	return nil
}

const columns = `select seq, at, text, prev, link from log `

// each calls f with the rows that a query finds, until f fails.
func (s *store) each(ctx context.Context, f func(stored) error, query string, args ...any) (err error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("reading audit rows: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r stored
		var prev, lnk []byte
		if err := rows.Scan(&r.seq, &r.at, &r.text, &prev, &lnk); err != nil {
			return fmt.Errorf("reading audit rows: %w", err)
		}
		copy(r.prev[:], prev) // of another length: no HMAC will match
		copy(r.link[:], lnk)
		if err := f(r); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("reading audit rows: %w", err)
	}
	return nil
}

// last returns the end of the log.
func (s *store) last(ctx context.Context) (head, error) {
	var h head
	err := s.each(ctx, func(r stored) error {
		h = head{seq: r.seq, link: r.link}
		return nil
	}, columns+`order by seq desc limit 1`)
	return h, err
}

// at returns the row with this number; ok is false if there is none.
func (s *store) at(ctx context.Context, seq int64) (r stored, ok bool, err error) {
	err = s.each(ctx, func(found stored) error {
		r, ok = found, true
		return nil
	}, columns+`where seq = ?`, seq)
	return r, ok, err
}

// unfinished returns the numbers of the calls that have no end.
func (s *store) unfinished(ctx context.Context) ([]int64, error) {
	var open []int64
	err := s.each(ctx, func(r stored) error {
		open = append(open, r.seq)
		return nil
	}, columns+`as b where b.text ->> '$.kind' = 'begin' and not exists (
		select 1 from log as e where e.text ->> '$.kind' = 'end' and e.text ->> '$.begin' = b.seq) order by b.seq`)
	return open, err
}
