package logfile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"time"
)

// maxLine is how much of one record is read; the rest of a longer one is dropped.
const maxLine = 1 << 20

// A Record is one line of the log.
type Record struct {
	Time  time.Time
	Level slog.Level
	Msg   string
	Attrs []Attr          // in the order in which they were logged
	Raw   json.RawMessage // the line; nil if it is none of ours
}

// An Attr is one attribute as text.
type Attr struct{ Key, Value string }

// A Filter selects records.
type Filter struct {
	Level slog.Level // and above
	Since time.Time  // not before; zero is the beginning
	Limit int        // the newest so many of what is there; 0 is all
}

func (f Filter) wants(r Record) bool {
	return r.Level >= f.Level && (f.Since.IsZero() || !r.Time.Before(f.Since))
}

// Read returns the records of the log and of its older files, the oldest first.
// There being none is no error.
func Read(o Options, f Filter) ([]Record, error) {
	o = o.withDefaults()
	list, err := older(o, f, nil)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(o.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return f.newest(list), nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading log: %w", err)
	}
	list, err = collect(list, newLines(file), f)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("reading log: %w", err)
	}
	return f.newest(list), nil
}

// older reads the older files. One of them may be current by now under another
// name, and isn't read twice.
func older(o Options, f Filter, current *os.File) (list []Record, err error) {
	for n := o.Keep; n > 0; n-- {
		file, err := os.Open(o.older(n))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading log: %w", err)
		}
		if current == nil || replaced(o.older(n), current) {
			list, err = collect(list, newLines(file), f)
		}
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, fmt.Errorf("reading log: %w", err)
		}
	}
	return list, nil
}

// newest keeps what the limit allows.
func (f Filter) newest(list []Record) []Record {
	if f.Limit > 0 && len(list) > f.Limit {
		return list[len(list)-f.Limit:]
	}
	return list
}

// collect appends what f wants of one file, without holding much more than its
// limit.
func collect(list []Record, from *lines, f Filter) ([]Record, error) {
	for {
		line, err := from.next()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		if r := parse(line); f.wants(r) {
			list = append(list, r)
		}
		if f.Limit > 0 && len(list) > 2*f.Limit {
			list = append([]Record(nil), f.newest(list)...)
		}
	}
}

// followTick is how often a log that is followed is looked at.
const followTick = 200 * time.Millisecond

// Follow gives do every record that is written from now on, and each of those that
// Read returns before, until ctx ends or do fails. It goes on over the moments
// when files are put aside.
func Follow(ctx context.Context, o Options, f Filter, do func(Record) error) error {
	o = o.withDefaults()
	file, lines, err := openFollowed(o.Path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := history(o, f, file, lines, do); err != nil {
		return err
	}
	tick := time.NewTicker(followTick)
	defer tick.Stop()
	for {
		if err := rest(lines, f, do); err != nil {
			return err
		}
		if replaced(o.Path, file) {
			if err := rest(lines, f, do); err != nil { // what came between
				return err
			}
			next, more, err := openFollowed(o.Path)
			if err != nil {
				return err
			}
			_ = file.Close() // it was only read
			file, lines = next, more
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// history gives do what was written before; lines are at their end then.
func history(o Options, f Filter, file *os.File, from *lines, do func(Record) error) error {
	list, err := older(o, f, file)
	if err == nil {
		list, err = collect(list, from, f)
	}
	if err != nil {
		return err
	}
	for _, r := range f.newest(list) {
		if err := do(r); err != nil {
			return err
		}
	}
	return nil
}

// openFollowed opens the log, or waits for none: one that is not there yet is
// made, so that there is something to follow.
func openFollowed(path string) (*os.File, *lines, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("following log: %w", err)
	}
	return f, newLines(f), nil
}

func rest(l *lines, f Filter, do func(Record) error) error {
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("following log: %w", err)
		}
		if r := parse(line); f.wants(r) {
			if err := do(r); err != nil {
				return err
			}
		}
	}
}

// replaced reports whether path is another file by now.
func replaced(path string, file *os.File) bool {
	now, err1 := os.Stat(path)
	was, err2 := file.Stat()
	return err1 == nil && err2 == nil && !os.SameFile(now, was)
}

// lines reads whole lines; a part of one is kept until its end has come.
type lines struct {
	in   *bufio.Reader
	part []byte
}

func newLines(r io.Reader) *lines { return &lines{in: bufio.NewReaderSize(r, 64<<10)} }

// next returns a line without its end, or io.EOF while there is none.
func (l *lines) next() ([]byte, error) {
	for {
		piece, err := l.in.ReadSlice('\n')
		if room := maxLine - len(l.part); room > 0 {
			l.part = append(l.part, piece[:min(room, len(piece))]...)
		}
		if err == nil {
			line := bytes.TrimRight(l.part, "\r\n")
			l.part = nil
			return line, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

// parse reads a line. One that is none of ours is a warning with its text.
func parse(line []byte) Record {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var r Record
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return foreign(line)
	}
	for d.More() {
		name, err := d.Token()
		key, ok := name.(string)
		var value json.RawMessage
		if err != nil || !ok || d.Decode(&value) != nil {
			return foreign(line)
		}
		r.set(key, value)
	}
	if _, err := d.Token(); err != nil || d.More() || r.Time.IsZero() {
		return foreign(line)
	}
	r.Raw = bytes.Clone(line)
	return r
}

func (r *Record) set(key string, value json.RawMessage) {
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	switch key {
	case slog.TimeKey:
		r.Time, _ = time.Parse(time.RFC3339Nano, text) // zero: the line is none of ours
	case slog.LevelKey:
		_ = r.Level.UnmarshalText([]byte(text)) // info if it is none
	case slog.MessageKey:
		r.Msg = text
	default:
		r.Attrs = append(r.Attrs, Attr{key, text})
	}
}

func foreign(line []byte) Record {
	return Record{Level: slog.LevelWarn, Msg: string(line)}
}
